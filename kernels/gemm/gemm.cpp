// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "gemm/gemm.hpp"

#include "gemm/gemm_asked.hpp"
#include "gemm/gemm_moduli.hpp"

#include <algorithm>
#include <cmath>

namespace quadrille::kernels::gemm {

// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  i8_residues_host,
  kokkos,
  vendor_host,
  vendor_cuda,
  vendor_emulated,
  naive,
  naive_flat,
  coalesced,
  naive_8x8,
  naive_16x16,
  naive_32x8,
  naive_32x32,
  shared_tile,
  shared_tile_8,
  shared_tile_16,
  shared_tile_runtime,
  thread_tile_1d,
  thread_tile_1d_natural_order,
  thread_tile_2d,
  thread_tile_2d_64x64,
  thread_tile_2d_strided,
  thread_tile_2d_strided_2x2,
  thread_tile_2d_strided_2x2_unpadded,
  thread_tile_2d_strided_unpadded,
  thread_tile_2d_strided_16x16,
  thread_tile_2d_strided_1x1,
  thread_tile_2d_strided_1x1_unpadded,
  thread_tile_2d_runtime_copies,
  thread_tile_2d_runtime_bounds,
  transposed_a,
  vectorized,
  vectorized_scalar,
  vectorized_without_a,
  vectorized_one_word_of_b,
  swizzled_b,
  padded_b,
  tuned_tiles,
  tuned_32x64x16_4x4,
  tuned_64x64x8_8x8,
  tuned_64x64x16_4x4,
  tuned_64x64x16_8x4,
  tuned_64x128x16_8x8,
  tuned_128x64x16_8x8,
  tuned_128x128x8_16x8,
  tuned_128x128x16_8x8,
  tuned_128x128x32_8x8,
  tuned_128x256x16_8x8,
  tuned_128x256x16_8x16,
  tuned_256x128x16_16x8,
  warp_tile,
  warp_tile_block_swizzle,
  tuned_warp_tiles,
  warp_tile_64x64x8,
  double_buffer_split,
  double_buffer_async,
  double_buffer_barrier,
  double_buffer_pingpong,
  double_buffer_64x64x8,
  double_buffer_prefetch,
  split_k,
  thin_k,
  tall,
  batched,
  thread_tile_8x16,
  multistage,
  persistent,
  stream_k,
  tma_producer,
  simt_producer,
  simt_async,
  simt_async_128x256,
  simt_async_128x128,
  simt_async_64x128,
  simt_async_64x64,
  simt_naive,
  wmma_naive,
  wmma_base,
  wmma_padding,
  wmma_async,
  wmma_async_double_buffer,
  wmma_async_double_buffer_fragments,
  wmma_async_cross_tile_pipeline,
  wmma_async_stage3,
  wmma_async_stage3_early_copies,
  wmma_async_stage3_unhinted,
  wmma_async_stage3_l1,
  wmma_async_stage3_l1_unhinted,
  mma_naive,
  mma_base,
  mma_permuted,
  mma_async,
  mma_async_double_buffer,
  mma_async_double_buffer_fragments,
  mma_async_cross_tile_pipeline,
  mma_async_stage3,
  mma_async_stage4,
  mma_tuned,
  dequantised,
  dmma,
  wgmma_one_warpgroup,
  wgmma_specialised,
  wgmma_thin,
  wgmma_multicast,
  wgmma_persistent,
  wgmma_register_operand,
  wgmma_rounded,
  wgmma_promoted,
  wgmma_grouped,
  i8_residues
);
// clang-format on

namespace {

void require_matrix(device::MatrixView const& x, char const* name) {
  QUAD_REQUIRE(x.rows >= 0 && x.cols >= 0, std::string{"gemm: "} + name + " has a negative extent");
  QUAD_REQUIRE(x.ld >= x.cols, std::string{"gemm: the leading dimension of "} + name +
                                   " is below its columns; rows would overlap");
}

}  // namespace

Variants<Problem> variants() { return kTable; }

Problem Problem::group(std::int64_t number) const {
  if (groups.count == 1) return *this;
  Problem one = *this;
  std::int64_t const first = groups.first_rows[number], rows = rows_of_group(number);
  one.a = transpose_a ? a.block(0, first, a.rows, rows) : a.block(first, 0, rows, a.cols);
  std::int64_t const of_b = transpose_b ? n() : k();
  std::int64_t const block = groups.b_blocks == nullptr ? number : groups.b_blocks[number];
  one.b = b.block(block * of_b, 0, of_b, b.cols);
  one.c = c.block(first, 0, rows, c.cols);
  one.groups = {};
  return one;
}

bool Problem::has_equal_groups() const {
  for (std::int64_t g = 1; g < groups.count; ++g) {
    if (rows_of_group(g) != rows_of_group(0)) return false;
  }
  return true;
}

std::vector<void*> group_pointers(Problem const& problem) {
  std::vector<void*> pointers;
  for (device::MatrixView Problem::*const operand : {&Problem::a, &Problem::b, &Problem::c}) {
    for (std::int64_t g = 0; g < problem.groups.count; ++g) {
      pointers.push_back((problem.group(g).*operand).data);
    }
  }
  return pointers;
}

TileExtents tile_of(Variant<Problem> const& row, Configuration const& configuration) {
  Problem::Notes const& notes = row.specifics.notes;
  if (notes.configured == nullptr) return notes.tile;
  return notes.configured(configuration.is_empty() ? row.tunable->preset : configuration);
}

namespace {

/// The row of the table, where tiles fill the matrices and rows start with a sector: then all blocks
/// are alike.
CountedAccesses const* counted_like(Variant<Problem> const& row, Problem const& problem) {
  auto const element_bytes = static_cast<std::int64_t>(core::size_of(problem.a.type));
  auto const* const counted =
      find_accesses(Problem::kOperation, row, core::size_of(problem.a.type), problem.configuration);
  if (counted == nullptr || problem.beta != 0 || problem.groups.count > 1) return nullptr;
  auto const [rows, cols, depth] = tile_of(row, problem.configuration);
  std::int64_t const m = problem.m(), n = problem.n(), k = problem.k();
  bool const is_whole = m % rows == 0 && n % cols == 0 && k % depth == 0 &&
                        k * element_bytes % kSectorBytes == 0 &&
                        n * element_bytes % kSectorBytes == 0;
  return is_whole ? counted : nullptr;
}

}  // namespace

std::optional<Asked> asked_of(Variant<Problem> const& row, Problem const& problem) {
  CountedAccesses const* const counted = counted_like(row, problem);
  if (counted == nullptr) return {};
  auto const [rows, cols, depth] = tile_of(row, problem.configuration);
  std::int64_t const blocks = problem.m() / rows * (problem.n() / cols);
  auto const elements = static_cast<double>(
      static_cast<std::int64_t>(core::size_of(problem.a.type)) * rows * cols * depth);
  auto const& [block, each] = bytes_of(*counted);
  return Asked{blocks * block + blocks * (problem.k() / depth) * each,
               static_cast<double>(each.global_loads) / elements,
               static_cast<double>(each.shared_loads) / elements};
}

std::optional<Traffic> traffic_of(Variant<Problem> const& row, Problem const& problem) {
  CountedAccesses const* const counted = counted_like(row, problem);
  if (counted == nullptr) return {};
  auto const element_bytes = static_cast<std::int64_t>(core::size_of(problem.a.type));
  auto const [rows, cols, depth] = tile_of(row, problem.configuration);
  std::int64_t const blocks = problem.m() / rows * (problem.n() / cols),
                     k_tiles = blocks * (problem.k() / depth);
  Accesses const all = blocks * counted->block + k_tiles * counted->k_tile;
  if (all.shared_loads.requests == 0) return Traffic{all};
  std::int64_t const tile_sectors = std::min((rows + cols) * depth * element_bytes / kSectorBytes,
                                             counted->k_tile.global_loads.parts);
  return Traffic{
      all, static_cast<double>(kSectorBytes * (k_tiles * tile_sectors + all.global_stores.parts))};
}

ProblemFacts facts_of(Problem const& p) {
  core::Compute const compute = core::compute_for(p.a.type, p.compute);
  constexpr Layout kLayouts[2][2] = {{Layout::nn, Layout::nt}, {Layout::tn, Layout::tt}};
  return {.types = {p.a.type, compute, p.c.type},
          .result = {"C", p.c},
          .inputs = {{{"A", p.a}, {"B", p.b}}},
          .layout = kLayouts[p.transpose_a ? 1 : 0][p.transpose_b ? 1 : 0]};
}

ProblemKind kind_of(Problem const& problem) {
  ProblemFacts const facts = facts_of(problem);
  return {facts.types, facts.layout};
}

void require_consistent(Problem const& problem) {
  require_matrix(problem.a, "A");
  require_matrix(problem.b, "B");
  require_matrix(problem.c, "C");
  bool const has_weights = problem.weights != Weights::none;
  core::DataType const type_of_b = has_weights ? core::DataType::i8 : problem.a.type;
  QUAD_REQUIRE(problem.b.type == type_of_b, "gemm: A and B differ in type");
  QUAD_REQUIRE(!has_weights || problem.transpose_b, "gemm: weights are stored n x k");
  std::int64_t const m = problem.transpose_a ? problem.a.cols : problem.a.rows;
  std::int64_t const count = problem.groups.count;
  QUAD_REQUIRE(problem.b.rows % count == 0, "gemm: the groups differ in B");
  std::int64_t const n = problem.transpose_b ? problem.b.rows / count : problem.b.cols;
  std::int64_t const k =
      problem.transpose_b ? problem.b.cols * per_byte(problem.weights) : problem.b.rows / count;
  QUAD_REQUIRE(m == problem.m(), "gemm: op(A) and C differ in rows");
  QUAD_REQUIRE(n == problem.n(), "gemm: op(B) and C differ in columns");
  QUAD_REQUIRE(k == problem.k(), "gemm: columns of op(A) differ from rows of op(B)");
}

bool are_whole(double alpha, double beta) {
  auto const whole = [](double x) { return std::abs(x) < 0x1p31 && x == std::floor(x); };
  return whole(alpha) && whole(beta);
}

std::string whole_scalars(Problem const& problem) {
  bool const is_integral = problem.c.type == core::DataType::i32;
  if (!is_integral || are_whole(problem.alpha, problem.beta)) return {};
  return "takes whole alpha and beta for i32";
}

double epsilon_of(core::DataType stored, core::Compute compute, int moduli) {
  double const native = core::epsilon_of(core::accuracy_of(stored, compute));
  return moduli > 0 ? std::max(native, emulated_epsilon(moduli)) : native;
}

std::string emulated_unsupported(Problem const& problem) {
  if (problem.k() <= kMaxEmulatedK) return {};
  return "takes k up to " + std::to_string(kMaxEmulatedK) + ", not " + std::to_string(problem.k());
}

ErrorBound::ErrorBound(Types const& types, std::int64_t k, std::int64_t parts, int moduli)
    : adding_{1.5 * epsilon_of(types.out, types.compute, moduli)},
      root_k_{std::sqrt(static_cast<double>(std::max<std::int64_t>(k, 1)))},
      rounding_{types.compute == core::Compute::tf32   ? 0x1p-10
                : types.compute == core::Compute::bf16 ? core::epsilon_of(core::DataType::bf16)
                : types.compute == core::Compute::f32 && core::size_of(types.in) == 2
                    ? epsilon_of(types.out, types.compute, 0) * static_cast<double>(k) / 128
                    : 0},
      cutting_{core::is_float_of_8_bits(types.in) ? 0x1p-8 : 0},
      storing_{core::epsilon_of(types.out)},
      root_parts_{parts > 1 ? std::sqrt(static_cast<double>(parts)) : 0},
      least_{core::least_of(types.out)},
      deviations_{storing_ > epsilon_of(types.out, types.compute, moduli) ? 2.0 : 1.0} {}

}  // namespace quadrille::kernels::gemm
