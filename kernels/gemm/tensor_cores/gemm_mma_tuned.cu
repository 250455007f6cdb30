// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices by `mma`, as `mma_async_stage4` in other configurations.
///
///   C = alpha A B + beta C
///
/// Technique    the loop of gemm_half_multistage.cu with everything that the ladder varies as a
///              parameter: BM, BN, BK of the block's tile, WM, WN of a warp's; what keeps rows out of
///              the same banks (CONFLICTS); k-tiles in shared memory (SLOTS); where fragments of the
///              next step are read (REGISTERS); columns of blocks in a slab (RASTER); the way of
///              accumulators to C (EPILOGUE); blocks of a multiprocessor for which registers are
///              limited (BLOCKS). `mma_async_stage4` is its preset, all others are compiled at run
///              time, so that the kernel stands in gemm_mma_tuned.cuh, all that NVRTC gets
/// Before       mma_async_stage4
/// Shapes       row-major, B as it is or transposed; outside the matrices, k-tiles are zero
/// Work         2 m n k flop; traffic 2 m n k (1 / BM + 1 / BN) bytes
/// Launch       a warp for each warp tile; SLOTS k-tiles of 2 BK (BM + BN) bytes in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
#include "common/tunable.cuh"
#include "gemm/tensor_cores/gemm_half_rows.cuh"
#include "gemm/tensor_cores/gemm_mma_tuned.cuh"

#include <algorithm>
#include <string>

namespace quadrille::kernels::gemm {

extern constinit Variant<Problem> const mma_async_stage4;

namespace {

// The values that are tried: of ways to registers and to C the preset's, and more stages gain nothing.
constexpr int kBlockExtents[] = {64, 128, 256};
constexpr int kDepths[] = {32, 64};
constexpr int kWarpExtents[] = {32, 64, 128};
constexpr int kLayouts[] = {static_cast<int>(SmemLayout::rotated),
                            static_cast<int>(SmemLayout::xor_swizzled)};
constexpr int kStages[] = {3, 4};
constexpr int kRegisters[] = {static_cast<int>(FragmentDoubleBuffer::across_k_tiles)};
constexpr int kRasters[] = {8, 16};
constexpr int kEpilogues[] = {static_cast<int>(Epilogue::block_rotated)};
constexpr int kBlocks[] = {1};
constexpr std::string_view kConflictWords[] = {"none", "pad", "rotate", "xor"};
constexpr std::string_view kRegisterWords[] = {"none", "in_chunk", "across_chunks"};
constexpr std::string_view kEpilogueWords[] = {"direct", "padded", "rotated", "block_padded",
                                               "block_rotated"};
constexpr TunedParameter kParameters[] = {
    {"BM", kBlockExtents}, {"BN", kBlockExtents},
    {"BK", kDepths},       {"WM", kWarpExtents},
    {"WN", kWarpExtents},  {"CONFLICTS", kLayouts, kConflictWords},
    {"SLOTS", kStages},    {"REGISTERS", kRegisters, kRegisterWords},
    {"RASTER", kRasters},  {"EPILOGUE", kEpilogues, kEpilogueWords},
    {"BLOCKS", kBlocks}};
constexpr Configuration kCompiled[] = {configuration_of(kStage4Config)};

bool has_f16_sums(ProblemKind const& kind) { return kind.types.compute == core::Compute::f16; }

HalfShape shape_of(Configuration const& c, ProblemKind const& kind) {
  HalfShape shape{half_config(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10]),
                  has_f16_sums(kind) ? 2 : 4, kind.layout == Layout::nt};
  // HalfConfig counts blocks with f16 accumulators, BLOCKS those of this kind.
  if (c[10] > 1) shape.config.blocks = std::min(c[10], 64) * shape.sum_bytes / 2;
  return shape;
}

std::string kernel_name(Configuration const& configuration, ProblemKind const& kind) {
  HalfShape const shape = shape_of(configuration, kind);
  std::string const space = "quadrille::kernels::gemm::";
  return space + "gemm_mma_tuned_kernel<" + space + "HalfTile<" + space + "half_config(" +
         to_arguments(configuration_of(shape.config)) + "), " +
         (kind.types.in == core::DataType::bf16 ? "__nv_bfloat16, " : "__half, ") +
         (has_f16_sums(kind) ? "__half, " : "float, ") +
         (shape.is_b_transposed ? "true>>" : "false>>");
}

std::optional<device::BlockNeeds> needs_of(Configuration const& configuration,
                                           ProblemKind const& kind) {
  HalfShape const shape = shape_of(configuration, kind);
  HalfConfig const& c = shape.config;
  if (!shape.is_allowed() || c.stages < 2) return std::nullopt;
  int const accumulators = c.warp_m * c.warp_n / 32 * shape.sum_bytes / 4;
  int const fragments = c.warp_m / 16 * 4 + c.warp_n / 8 * 2;
  constexpr int kOthers = 30;  // addresses and counters, at least
  int const registers =
      accumulators + fragments * (c.fragment_double_buffer == FragmentDoubleBuffer::none ? 1 : 2) +
      kOthers;
  constexpr int kMaxOfThread = 255, kMaxRegisters = 64 * 1024;
  constexpr int kMaxShared = 228 * 1024, kReserved = 1024;
  if (registers > kMaxOfThread || registers * shape.threads() * shape.blocks() > kMaxRegisters ||
      (shape.shared_bytes() + kReserved) * shape.blocks() > kMaxShared) {
    return std::nullopt;
  }
  return device::BlockNeeds{shape.threads(), registers,
                            static_cast<std::size_t>(shape.shared_bytes())};
}

constexpr Tunable kTunable{
    .header = "gemm/tensor_cores/gemm_mma_tuned.cuh",
    .kernel = kernel_name,
    .parameters = kParameters,
    .rule =
        "warp tiles in multiples of 16 that divide the block's, whose threads fill both k-tiles in "
        "whole passes of 8 rows and more; two SLOTS or more; BK of 16, 32 or a multiple of 64 (and "
        "BN of 64, with rows of B) where places turn; BK in multiples of 32 with registers across "
        "k-tiles; 255 registers, and of BLOCKS blocks 64 Ki registers and 227 KiB of shared memory",
    .needs = needs_of,
    .preset = configuration_of(kStage4Config),
    .compiled = kCompiled,
    .prepare = QUAD_KERNEL_LAUNCH(prepare)};

Configuration configuration_of(Problem const& problem) {
  return problem.configuration.is_empty() ? kTunable.preset : problem.configuration;
}

#ifdef QUAD_KERNELS

void launch(Problem const& problem, device::StreamView stream) {
  Configuration const configuration = configuration_of(problem);
  if (configuration == kTunable.preset) return mma_async_stage4.enqueue(problem, stream);
  HalfShape const shape = shape_of(configuration, kind_of(problem));
  with_types<true>(problem, [&]<class T, class Sum, bool>() {
    auto const kernel = runtime_function<void (*)(HalfOperands<T>)>(
        kTunable, configuration, kind_of(problem), stream.facts());
    QUAD_REQUIRE(kernel, "gemm/mma_tuned: " + kernel.why());
    auto const p = half_operands<T>(problem);
    auto* const gemm_mma_tuned = *kernel;
    QUAD_LAUNCH(gemm_mma_tuned, tiles_of(p, shape.config),
                dim3(static_cast<unsigned>(shape.threads())),
                static_cast<std::size_t>(shape.shared_bytes()), stream, p);
  });
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& problem) {
  Configuration const configuration = configuration_of(problem);
  ProblemKind const kind = kind_of(problem);
  return needs_of(configuration, kind) ? "" : illegal_reason(kTunable, configuration, kind, 0);
}

std::string implementation(Problem const& problem) {
  return to_text(kTunable, configuration_of(problem));
}

constexpr VariantInfo tuned_row() {
  VariantInfo info =
      row("mma_tuned",
          "the configuration that `quadrille tune` found or `config` names; else that of "
          "mma_async_stage4",
          {.bm = 16, .bn = 16}, kHalfAndBf16Types, 0, &kTunable);
  info.needs.other = "a configuration that its rule allows";
  return info;
}

}  // namespace

extern constinit Variant<Problem> const mma_tuned{
    tuned_row(),
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported, .implementation = implementation}};

}  // namespace quadrille::kernels::gemm
