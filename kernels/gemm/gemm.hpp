// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <span>

namespace quadrille::kernels::gemm {

/// How A and B are stored: n as they are, t transposed.
enum class Layout { nn, nt, tn, tt };
constexpr auto enum_names(Layout) {
  return core::EnumNames<Layout, 4>{
      {{Layout::nn, "nn"}, {Layout::nt, "nt"}, {Layout::tn, "tn"}, {Layout::tt, "tt"}}};
}

/// C = alpha op(A) op(B) + beta C, row-major; op(A) is m x k, op(B) k x n, C m x n.
/// With beta == 0, C is written and never read. Any extent may be 0.
struct Problem {
  device::MatrixView a;
  device::MatrixView b;
  device::MatrixView c;
  double alpha = 1;
  double beta = 0;
  bool transpose_a = false;  ///< a is stored k x m
  bool transpose_b = false;  ///< b is stored n x k
  /// On a GPU, for products of f32: split_k needs split_k_scratch() elements, and simt_async makes
  /// use of simt_async_scratch(). The first kScratchCounters of them are 0 before and after.
  device::Span<float> scratch{};

  std::int64_t m() const { return c.rows; }
  std::int64_t n() const { return c.cols; }
  std::int64_t k() const { return transpose_a ? a.rows : a.cols; }
};

/// Ends the job unless extents, types and leading dimensions fit together.
void require_consistent(Problem const& problem);

constexpr double flop(double m, double n, double k) { return 2 * m * n * k; }
constexpr double compulsory_bytes(double m, double n, double k, double beta, double element_bytes) {
  return element_bytes * (m * k + k * n + (beta == 0 ? 1 : 2) * m * n);
}

/// Allowed error of one element of C: eps (sqrt(k) + 2) times (|alpha| |A| |B| + |beta| |C0|)_ij.
double error_bound(core::DataType type, double k, double weight);

std::span<Variant<Problem> const> variants();
/// What a row asks of a product of these extents that it does not meet, with a row that fits, for
/// rows without padding; empty otherwise. The launch functions check alignment too.
std::string refusal(VariantInfo const& variant, bool is_transposed, std::int64_t n, std::int64_t k);

/// The launch functions behind the table: each checks the problem and enqueues it.
void launch_reference(Problem const& problem, device::StreamView stream);
void launch_kokkos(Problem const& problem, device::StreamView stream);
/// launch_kokkos on a GPU; only in a build whose Kokkos has CUDA.
void launch_kokkos_cuda(Problem const& problem, device::StreamView stream);
void launch_vendor(Problem const& problem, device::StreamView stream);
void launch_vendor_host(Problem const& problem, device::StreamView stream);
void launch_vendor_cuda(Problem const& problem, device::StreamView stream);
void launch_naive(Problem const& problem, device::StreamView stream);
void launch_naive_flat(Problem const& problem, device::StreamView stream);
void launch_coalesced(Problem const& problem, device::StreamView stream);
void launch_shared_tile(Problem const& problem, device::StreamView stream);
void launch_shared_tile_8(Problem const& problem, device::StreamView stream);
void launch_shared_tile_16(Problem const& problem, device::StreamView stream);
void launch_thread_tile_1d(Problem const& problem, device::StreamView stream);
void launch_thread_tile_1d_natural_order(Problem const& problem, device::StreamView stream);
void launch_thread_tile_2d(Problem const& problem, device::StreamView stream);
void launch_thread_tile_2d_strided(Problem const& problem, device::StreamView stream);
void launch_thread_tile_2d_strided_2x2(Problem const& problem, device::StreamView stream);
void launch_thread_tile_2d_strided_16x16(Problem const& problem, device::StreamView stream);
void launch_transposed_a(Problem const& problem, device::StreamView stream);
void launch_vectorized(Problem const& problem, device::StreamView stream);
void launch_vectorized_scalar(Problem const& problem, device::StreamView stream);
void launch_swizzled_b(Problem const& problem, device::StreamView stream);
void launch_padded_b(Problem const& problem, device::StreamView stream);
void launch_tuned_32x64x16_4x4(Problem const& problem, device::StreamView stream);
void launch_tuned_64x64x8_8x8(Problem const& problem, device::StreamView stream);
void launch_tuned_64x64x16_4x4(Problem const& problem, device::StreamView stream);
void launch_tuned_64x64x16_8x4(Problem const& problem, device::StreamView stream);
void launch_tuned_64x128x16_8x8(Problem const& problem, device::StreamView stream);
void launch_tuned_128x64x16_8x8(Problem const& problem, device::StreamView stream);
void launch_tuned_128x128x8_16x8(Problem const& problem, device::StreamView stream);
void launch_tuned_128x128x16_8x8(Problem const& problem, device::StreamView stream);
void launch_tuned_128x128x32_8x8(Problem const& problem, device::StreamView stream);
void launch_tuned_128x256x16_8x8(Problem const& problem, device::StreamView stream);
void launch_tuned_128x256x16_8x16(Problem const& problem, device::StreamView stream);
void launch_tuned_256x128x16_16x8(Problem const& problem, device::StreamView stream);
void launch_warp_tile(Problem const& problem, device::StreamView stream);
void launch_warp_tile_block_swizzle(Problem const& problem, device::StreamView stream);
void launch_double_buffer_split(Problem const& problem, device::StreamView stream);
void launch_double_buffer_async(Problem const& problem, device::StreamView stream);
void launch_double_buffer_pingpong(Problem const& problem, device::StreamView stream);
void launch_double_buffer_prefetch(Problem const& problem, device::StreamView stream);
void launch_split_k(Problem const& problem, device::StreamView stream);
void launch_simt_async(Problem const& problem, device::StreamView stream);
void launch_simt_async_128x256(Problem const& problem, device::StreamView stream);
void launch_simt_async_128x128(Problem const& problem, device::StreamView stream);
void launch_simt_async_64x128(Problem const& problem, device::StreamView stream);
void launch_simt_async_64x64(Problem const& problem, device::StreamView stream);

/// Parts into which split_k cuts k, such that all multiprocessors have work and a part is worth
/// starting.
int split_k_slices(std::int64_t m, std::int64_t n, std::int64_t k, int units);

inline constexpr std::int64_t kScratchCounters = 1024;
/// Elements of scratch memory that split_k needs for its partial sums, counters included.
std::int64_t split_k_scratch(std::int64_t m, std::int64_t n, std::int64_t k, int units);
inline constexpr std::int64_t kSimtAsyncTile = 128 * 256;
/// Elements with which simt_async can cut tiles along k, counters included: a tile for each block.
std::int64_t simt_async_scratch(int units);

}  // namespace quadrille::kernels::gemm
