// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product as `warp_tile`, for other tiles, with one pair of them in shared memory or two.
///
///   C = alpha A B + beta C
///
/// Technique    the tiles of block, warp and thread of `warp_tile` as parameters, as `tuned_tiles` has
///              those of `vectorized`: BM, BN, BK of the block; WM, WN of a warp; PARTS, into which a
///              warp's tile is cut along n, and TM, TN of a thread in each part, from which the cut
///              along m follows. BUFFERS = 2 alternates between two pairs of tiles with one barrier
///              each, as `double_buffer_pingpong`. `tuned_warp_tiles` takes any legal configuration;
///              the rows of 64 x 64 x 8 are those of a course, small enough for small matrices
/// Before       warp_tile
/// Shapes       row-major; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k (1 / BM + 1 / BN) elements
/// Launch       a warp for each warp tile; one or two pairs of tiles in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "common/tunable.cuh"
#include "gemm/cuda_cores/gemm_warp_tile_tuned.cuh"
#include "gemm/gemm_cuda.cuh"

#include <algorithm>
#include <array>
#include <string>

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS
using Kernel = void (*)(Operands<float>);
#endif

template <int... Values>
struct Config {
  static constexpr Configuration kConfiguration{Values...};
#ifdef QUAD_KERNELS
  static constexpr Kernel kKernel = gemm_warp_tile_tuned_kernel<Values...>;
#endif
};
using Preset = Config<128, 128, 16, 32, 64, 2, 4, 4, 1>;
using Small = Config<64, 64, 8, 32, 32, 1, 4, 4, 1>;
using SmallPairs = Config<64, 64, 8, 32, 32, 1, 4, 4, 2>;

constexpr Configuration kCompiled[] = {Preset::kConfiguration, Small::kConfiguration,
                                       SmallPairs::kConfiguration};
#ifdef QUAD_KERNELS
constexpr std::array kKernels{Preset::kKernel, Small::kKernel, SmallPairs::kKernel};
static_assert(kKernels.size() == std::size(kCompiled));
#endif

constexpr int kBlockExtents[] = {64, 128, 256};
constexpr int kDepths[] = {8, 16, 32};
constexpr int kWarpExtents[] = {32, 64, 128};
constexpr int kParts[] = {1, 2, 4};
constexpr int kThreadExtents[] = {4, 8};
constexpr int kBuffers[] = {1, 2};
constexpr TunedParameter kParameters[] = {
    {"BM", kBlockExtents},  {"BN", kBlockExtents},  {"BK", kDepths},
    {"WM", kWarpExtents},   {"WN", kWarpExtents},   {"PARTS", kParts},
    {"TM", kThreadExtents}, {"TN", kThreadExtents}, {"BUFFERS", kBuffers}};

constexpr WarpTiling tiling_of(Configuration const& c) {
  return {c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8]};
}

std::string kernel_name(Configuration const& configuration, ProblemKind const&) {
  return "quadrille::kernels::gemm::gemm_warp_tile_tuned_kernel<" + to_arguments(configuration) +
         ">";
}

std::optional<device::BlockNeeds> needs_of(Configuration const& configuration, ProblemKind const&) {
  WarpTiling const tiling = tiling_of(configuration);
  if (!tiling.is_allowed()) return std::nullopt;
  // Accumulators, one k-iteration's values, addresses and counters.
  constexpr int kOthers = 28;
  constexpr int kMaxRegisters = 255;  // of a thread
  int const values = tiling.parts_m() * tiling.rows + tiling.parts_n * tiling.cols;
  int const registers = tiling.accumulators() + values + kOthers;
  if (registers > kMaxRegisters) return std::nullopt;
  return device::BlockNeeds{tiling.threads(), registers,
                            static_cast<std::size_t>(tiling.shared_bytes())};
}

constexpr Tunable kTunable{
    .header = "gemm/cuda_cores/gemm_warp_tile_tuned.cuh",
    .kernel = kernel_name,
    .parameters = kParameters,
    .rule =
        "tiles that divide the next larger ones, lanes that fill each part of a warp's tile, up to "
        "1024 threads that fill both tiles in whole passes, 48 KiB of shared memory, 255 registers",
    .needs = needs_of,
    .preset = Preset::kConfiguration,
    .compiled = kCompiled,
    .prepare = QUAD_KERNEL_LAUNCH(prepare)};

Configuration configuration_of(Problem const& problem) {
  return problem.configuration.is_empty() ? kTunable.preset : problem.configuration;
}

constexpr TileExtents extents_of(Configuration const& configuration) {
  return {configuration[0], configuration[1], configuration[2]};
}

#ifdef QUAD_KERNELS

core::Parsed<Kernel> find_kernel(Configuration const& configuration, ProblemKind const& kind,
                                 device::Facts const& device) {
  auto const found = std::ranges::find(kCompiled, configuration);
  auto const index = static_cast<std::size_t>(found - std::begin(kCompiled));
  if (index < kKernels.size()) return kKernels[index];
  return runtime_function<Kernel>(kTunable, configuration, kind, device);
}

void enqueue(Kernel gemm_warp_tile_tuned, WarpTiling const& tiling, Problem const& problem,
             device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_warp_tile_tuned, grid_of(p, tiling.bm, tiling.bn),
              dim3(static_cast<unsigned>(tiling.threads())), 0, stream, p);
}

template <class C>
void launch(Problem const& problem, device::StreamView stream) {
  enqueue(C::kKernel, tiling_of(C::kConfiguration), problem, stream);
}

void launch_configured(Problem const& problem, device::StreamView stream) {
  Configuration const configuration = configuration_of(problem);
  core::Parsed<Kernel> const kernel = find_kernel(configuration, kind_of(problem), stream.facts());
  QUAD_REQUIRE(kernel, "gemm/tuned_warp_tiles: " + kernel.why());
  enqueue(*kernel, tiling_of(configuration), problem, stream);
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& problem) {
  Configuration const configuration = configuration_of(problem);
  ProblemKind const kind = kind_of(problem);
  if (!needs_of(configuration, kind)) return illegal_reason(kTunable, configuration, kind, 0);
  // Of a grid that counts in 16 bits.
  bool const fits = problem.m() <= kMaxTileRows * configuration[0];
  return fits ? "" : "takes at most 65535 tiles of BM rows";
}

std::string implementation(Problem const& problem) {
  return to_text(kTunable, configuration_of(problem));
}

/// The row of one configuration.
template <class C>
constexpr Variant<Problem> row(std::string_view name, std::string_view summary) {
  return {{.name = name,
           .where = Where::cuda,
           .types = {core::DataType::f32},
           .needs = {.layouts = {Layout::nn},
                     .row_bytes = 16,
                     .alignment = 16,
                     .max_extent = kMaxCudaExtent,
                     .max_rows = kMaxTileRows * C::kConfiguration[0]},
           .source = "PaddleJitLab/CUDATutorial, chapter 11",
           .summary = summary},
          QUAD_KERNEL_LAUNCH(launch<C>),
          {.notes = {.tile = extents_of(C::kConfiguration)}}};
}

}  // namespace

extern constinit Variant<Problem> const tuned_warp_tiles{
    {.name = "tuned_warp_tiles",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.layouts = {Layout::nn},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .other = "at most 65535 tiles of BM rows"},
     .tunable = &kTunable,
     .source = "after Boehm 2022",
     .summary = "the warp tiles that `quadrille tune` found or `config` names; else warp_tile's"},
    QUAD_KERNEL_LAUNCH(launch_configured),
    {.unsupported = unsupported,
     .implementation = implementation,
     .notes = {.configured = extents_of}}};

extern constinit Variant<Problem> const warp_tile_64x64x8 =
    row<Small>("warp_tile_64x64x8", "warp_tile of 32 x 32 in a tile of 64 x 64 x 8");
extern constinit Variant<Problem> const double_buffer_64x64x8 = row<SmallPairs>(
    "double_buffer_64x64x8", "warp_tile_64x64x8 with two pairs of tiles, one barrier");

}  // namespace quadrille::kernels::gemm
