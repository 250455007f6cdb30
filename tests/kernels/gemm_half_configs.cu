// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "gemm/tensor_cores/gemm_half_rows.cuh"
#include "gemm/tensor_cores/gemm_mma_tuned.cuh"
#include "kernels/gemm_half_configs.hpp"

namespace quadrille::test {
namespace {

using namespace kernels;
using namespace kernels::gemm;

template <HalfConfig kConfig>
void launch(Problem const& problem, device::StreamView stream) {
  with_tile<kConfig>(problem, [&]<class Tile>(auto const& p, dim3 grid) {
    QUAD_LAUNCH(gemm_mma_tuned_kernel<Tile>, grid, dim3(Tile::kThreads), Tile::kSharedBytes, stream,
                p);
  });
}

constexpr HalfConfig kPlain{.bm = 64,
                            .bn = 64,
                            .warp_m = 32,
                            .warp_n = 32,
                            .layout = SmemLayout::xor_swizzled,
                            .stages = 2,
                            .fragment_double_buffer = FragmentDoubleBuffer::none,
                            .raster = 2,
                            .epilogue = Epilogue::direct,
                            .blocks = 2};
constexpr HalfConfig kInKTile{.bm = 64,
                              .bn = 128,
                              .bk = 64,
                              .warp_m = 32,
                              .layout = SmemLayout::xor_swizzled,
                              .stages = 3,
                              .fragment_double_buffer = FragmentDoubleBuffer::in_k_tile,
                              .raster = 3,
                              .epilogue = Epilogue::direct};
constexpr HalfConfig kShort{.bm = 128,
                            .bn = 64,
                            .bk = 16,
                            .warp_n = 32,
                            .layout = SmemLayout::rotated,
                            .stages = 5,
                            .raster = 1,
                            .epilogue = Epilogue::padded};

constexpr HalfConfig kPadded{.bm = 64,
                             .bn = 64,
                             .warp_m = 16,
                             .warp_n = 32,
                             .layout = SmemLayout::padded,
                             .stages = 2,
                             .epilogue = Epilogue::rotated};
/// Twice the warps along a row of C, of which each stores 16 rows.
constexpr HalfConfig kBlockPadded{.bm = 64,
                                  .bn = 128,
                                  .warp_m = 32,
                                  .warp_n = 64,
                                  .layout = SmemLayout::rotated,
                                  .stages = 2,
                                  .epilogue = Epilogue::block_padded};

/// Whether it may be used with f32 accumulators and a row-major B.
constexpr bool is_allowed(HalfConfig const& base, auto const& change) {
  HalfConfig config = base;
  change(config);
  return HalfShape{config, 4, false}.is_allowed();
}
static_assert(is_allowed(kPlain, [](HalfConfig&) {}));
static_assert(!is_allowed(kPlain, [](HalfConfig& c) { c.bm = 2048; }));
static_assert(!is_allowed(kPlain, [](HalfConfig& c) { c.bm = 80; }));
static_assert(!is_allowed(kPlain, [](HalfConfig& c) { c.warp_n = 8; }));
static_assert(!is_allowed(kPlain, [](HalfConfig& c) { c.bk = 48; }));
static_assert(!is_allowed(kPlain, [](HalfConfig& c) { c.bn = 32; }), "less than 8 pieces of B");
static_assert(!is_allowed(kPlain, [](HalfConfig& c) { c.stages = 65; }));
static_assert(!is_allowed(kPlain, [](HalfConfig& c) { c.stages = 40; }),
              "more memory than there is");
static_assert(!is_allowed(kPlain, [](HalfConfig& c) { c.blocks = 33; }));
static_assert(!is_allowed(kPlain, [](HalfConfig& c) { c.raster = 0; }));
static_assert(!is_allowed(kPlain, [](HalfConfig& c) { c.is_wmma = true; }),
              "wmma reads no swizzle");
static_assert(!is_allowed(kPlain, [](HalfConfig& c) { c.layout = static_cast<SmemLayout>(9); }));
static_assert(!is_allowed(kShort,
                          [](HalfConfig& c) {
                            c.fragment_double_buffer = FragmentDoubleBuffer::across_k_tiles;
                          }),
              "one step in a k-tile");
static_assert(
    !HalfShape{{.bm = 32, .bn = 128, .bk = 32, .warp_m = 32, .warp_n = 16}, 2, false}.is_allowed(),
    "eight warps for 32 rows of C");
constexpr HalfConfig kRotatedOf48{
    .bm = 96, .bn = 96, .bk = 48, .warp_m = 32, .warp_n = 96, .stages = 2};
static_assert(is_allowed(kRotatedOf48, [](HalfConfig&) {}));
static_assert(!is_allowed(kRotatedOf48, [](HalfConfig& c) { c.layout = SmemLayout::rotated; }));

template <HalfConfig kConfig>
constexpr HalfCase half_case(std::string_view name) {
  return {{row(name, "", kConfig), launch<kConfig>}, configuration_of(kConfig)};
}

constexpr HalfCase kCases[] = {half_case<kPlain>("plain"), half_case<kInKTile>("in_k_tile"),
                               half_case<kShort>("short"), half_case<kPadded>("padded"),
                               half_case<kBlockPadded>("block_padded")};

}  // namespace

std::span<HalfCase const> half_cases() { return kCases; }

}  // namespace quadrille::test
