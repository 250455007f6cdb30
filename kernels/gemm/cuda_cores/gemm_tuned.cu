// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product as `vectorized`, for other tiles.
///
///   C = alpha A B + beta C
///
/// Technique    other tiles, which threads may fill in several passes. Which tile is best depends
///              on registers, shared memory and the number of tiles that a matrix cuts into, and is
///              found by trying. The name of a variant has BM, BN and BK of the block's tile, then
///              rows and columns of the thread tile. In all legal tiles every thread copies whole
///              vectors; these are the dozen worth showing. `tuned_tiles` takes any legal tile:
///              those that are none of the dozen are compiled at run time,
///              so that the kernel stands in gemm_tuned.cuh, all that NVRTC gets
/// Before       vectorized
/// Shapes       row-major; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k (1 / BM + 1 / BN) elements
/// Launch       a thread for each thread tile, with as many registers as it needs; one tile of A
///              and one of B in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "common/tunable.cuh"
#include "gemm/cuda_cores/gemm_tuned.cuh"
#include "gemm/gemm_cuda.cuh"

#include <algorithm>
#include <array>
#include <string>

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS
using Kernel = void (*)(Operands<float>);
#endif

template <int BM, int BN, int BK, int Rows, int Cols>
struct Config {
  static constexpr TunedTile kTile{BM, BN, BK, Rows, Cols};
  static constexpr Configuration kConfiguration{BM, BN, BK, Rows, Cols};
#ifdef QUAD_KERNELS
  static constexpr Kernel kKernel = gemm_tuned_kernel<BM, BN, BK, Rows, Cols>;
#endif
};

template <class... Configs>
struct List {
  static constexpr Configuration kConfigurations[] = {Configs::kConfiguration...};
#ifdef QUAD_KERNELS
  static constexpr std::array<Kernel, sizeof...(Configs)> kKernels{Configs::kKernel...};
#endif
};

using Compiled =
    List<Config<32, 64, 16, 4, 4>, Config<64, 64, 8, 8, 8>, Config<64, 64, 16, 4, 4>,
         Config<64, 64, 16, 8, 4>, Config<64, 128, 16, 8, 8>, Config<128, 64, 16, 8, 8>,
         Config<128, 128, 8, 16, 8>, Config<128, 128, 16, 8, 8>, Config<128, 128, 32, 8, 8>,
         Config<128, 256, 16, 8, 8>, Config<128, 256, 16, 8, 16>, Config<256, 128, 16, 16, 8>>;

constexpr int kBlockExtents[] = {16, 32, 64, 128, 256};
constexpr int kDepths[] = {4, 8, 16, 32, 64};
constexpr int kThreadExtents[] = {4, 8, 12, 16};
constexpr TunedParameter kParameters[] = {{"BM", kBlockExtents},
                                          {"BN", kBlockExtents},
                                          {"BK", kDepths},
                                          {"TM", kThreadExtents},
                                          {"TN", kThreadExtents}};

TunedTile tile_of(Configuration const& c) { return {c[0], c[1], c[2], c[3], c[4]}; }

std::string kernel_name(Configuration const& configuration, ProblemKind const&) {
  return "quadrille::kernels::gemm::gemm_tuned_kernel<" + to_arguments(configuration) + ">";
}

std::optional<device::BlockNeeds> needs_of(Configuration const& configuration, ProblemKind const&) {
  TunedTile const tile = tile_of(configuration);
  if (!tile.is_allowed()) return std::nullopt;
  // Accumulators, one k-iteration's values, addresses and counters.
  constexpr int kOthers = 24;
  constexpr int kMaxRegisters = 255;  // of a thread
  int const registers = tile.rows * tile.cols + tile.rows + tile.cols + kOthers;
  if (registers > kMaxRegisters) return std::nullopt;
  return device::BlockNeeds{tile.threads(), registers,
                            static_cast<std::size_t>(tile.shared_bytes())};
}

constexpr Tunable kTunable{
    .header = "gemm/cuda_cores/gemm_tuned.cuh",
    .kernel = kernel_name,
    .parameters = kParameters,
    .rule =
        "multiples of 4 that divide each other's tiles, 32 to 1024 threads that fill both tiles "
        "in whole passes, 48 KiB of shared memory, 255 registers",
    .needs = needs_of,
    .preset = Configuration{128, 128, 16, 8, 8},
    .compiled = Compiled::kConfigurations,
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
  auto const found = std::ranges::find(Compiled::kConfigurations, configuration);
  auto const index = static_cast<std::size_t>(found - std::begin(Compiled::kConfigurations));
  if (index < Compiled::kKernels.size()) return Compiled::kKernels[index];
  return runtime_function<Kernel>(kTunable, configuration, kind, device);
}

void enqueue(Kernel gemm_tuned, TunedTile const& tile, Problem const& problem,
             device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_tuned, grid_of(p, tile.bm, tile.bn), dim3(static_cast<unsigned>(tile.threads())),
              0, stream, p);
}

template <class C>
void launch(Problem const& problem, device::StreamView stream) {
  enqueue(C::kKernel, C::kTile, problem, stream);
}

void launch_configured(Problem const& problem, device::StreamView stream) {
  Configuration const configuration = configuration_of(problem);
  core::Parsed<Kernel> const kernel = find_kernel(configuration, kind_of(problem), stream.facts());
  QUAD_REQUIRE(kernel, "gemm/tuned_tiles: " + kernel.why());
  enqueue(*kernel, tile_of(configuration), problem, stream);
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

/// The row of one tile.
template <class C>
constexpr Variant<Problem> row(std::string_view name, std::string_view summary) {
  return {{.name = name,
           .where = Where::cuda,
           .types = {core::DataType::f32},
           .needs = {.layouts = {Layout::nn},
                     .row_bytes = 16,
                     .alignment = 16,
                     .max_extent = kMaxCudaExtent,
                     .max_rows = kMaxTileRows * C::kTile.bm},
           .source = "after Boehm 2022",
           .summary = summary},
          QUAD_KERNEL_LAUNCH(launch<C>),
          {.notes = {.tile = extents_of(C::kConfiguration)}}};
}

}  // namespace

extern constinit Variant<Problem> const tuned_tiles{
    {.name = "tuned_tiles",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.layouts = {Layout::nn},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .other = "at most 65535 tiles of BM rows"},
     .tunable = &kTunable,
     .source = "after Boehm 2022",
     .summary =
         "the tiles that `quadrille tune` found or `config` names; else 128 x 128 x 16, 8 x 8"},
    QUAD_KERNEL_LAUNCH(launch_configured),
    {.unsupported = unsupported,
     .implementation = implementation,
     .notes = {.configured = extents_of}}};

extern constinit Variant<Problem> const tuned_32x64x16_4x4 =
    row<Config<32, 64, 16, 4, 4>>("tuned_32x64x16_4x4", "tile 32 x 64 x 16, thread tile 4 x 4");
extern constinit Variant<Problem> const tuned_64x64x8_8x8 =
    row<Config<64, 64, 8, 8, 8>>("tuned_64x64x8_8x8", "tile 64 x 64 x 8, thread tile 8 x 8");
extern constinit Variant<Problem> const tuned_64x64x16_4x4 =
    row<Config<64, 64, 16, 4, 4>>("tuned_64x64x16_4x4", "tile 64 x 64 x 16, thread tile 4 x 4");
extern constinit Variant<Problem> const tuned_64x64x16_8x4 =
    row<Config<64, 64, 16, 8, 4>>("tuned_64x64x16_8x4", "tile 64 x 64 x 16, thread tile 8 x 4");
extern constinit Variant<Problem> const tuned_64x128x16_8x8 =
    row<Config<64, 128, 16, 8, 8>>("tuned_64x128x16_8x8", "tile 64 x 128 x 16, thread tile 8 x 8");
extern constinit Variant<Problem> const tuned_128x64x16_8x8 =
    row<Config<128, 64, 16, 8, 8>>("tuned_128x64x16_8x8", "tile 128 x 64 x 16, thread tile 8 x 8");
extern constinit Variant<Problem> const tuned_128x128x8_16x8 = row<Config<128, 128, 8, 16, 8>>(
    "tuned_128x128x8_16x8", "tile 128 x 128 x 8, thread tile 16 x 8");
extern constinit Variant<Problem> const tuned_128x128x16_8x8 = row<Config<128, 128, 16, 8, 8>>(
    "tuned_128x128x16_8x8", "tile 128 x 128 x 16, thread tile 8 x 8");
extern constinit Variant<Problem> const tuned_128x128x32_8x8 = row<Config<128, 128, 32, 8, 8>>(
    "tuned_128x128x32_8x8", "tile 128 x 128 x 32, thread tile 8 x 8");
extern constinit Variant<Problem> const tuned_128x256x16_8x8 = row<Config<128, 256, 16, 8, 8>>(
    "tuned_128x256x16_8x8", "tile 128 x 256 x 16, thread tile 8 x 8");
extern constinit Variant<Problem> const tuned_128x256x16_8x16 = row<Config<128, 256, 16, 8, 16>>(
    "tuned_128x256x16_8x16", "tile 128 x 256 x 16, thread tile 8 x 16");
extern constinit Variant<Problem> const tuned_256x128x16_16x8 = row<Config<256, 128, 16, 16, 8>>(
    "tuned_256x128x16_16x8", "tile 256 x 128 x 16, thread tile 16 x 8");

}  // namespace quadrille::kernels::gemm
