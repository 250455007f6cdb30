// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "gemm/gemm_half_rows.cuh"
#include "gemm/gemm_mma_tuned.cuh"
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

template <HalfConfig kConfig>
constexpr HalfCase half_case(std::string_view name) {
  return {{row(name, "", kConfig), launch<kConfig>}, configuration_of(kConfig)};
}

constexpr HalfCase kCases[] = {half_case<kPlain>("plain"), half_case<kInKTile>("in_k_tile"),
                               half_case<kShort>("short"), half_case<kPadded>("padded")};

}  // namespace

std::span<HalfCase const> half_cases() { return kCases; }

}  // namespace quadrille::test
