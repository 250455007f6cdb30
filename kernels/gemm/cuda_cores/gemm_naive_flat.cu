// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with one thread per element of C, threads in a row.
///
///   C = alpha A B + beta C
///
/// Technique    from a one-dimensional block: the remainder of the thread number is the row, the
///              quotient the column. Differs from `coalesced` in exchanging the two, and in nothing
///              else: the pair shows what the order of threads alone is worth
/// Before       naive
/// Shapes       row-major, any extents and leading dimensions
/// Work         2 m n k flop; without caches (2 k + 1) m n elements of traffic
/// Launch       1024 threads in a row, no shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/gemm_cuda.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr int kTile = 32;

#ifdef QUAD_KERNELS

__global__ void __launch_bounds__(kTile* kTile) gemm_naive_flat_kernel(Operands<float> p) {
  int const row = static_cast<int>(blockIdx.y * kTile + threadIdx.x % kTile);
  int const col = static_cast<int>(blockIdx.x * kTile + threadIdx.x / kTile);
  if (row >= p.m || col >= p.n) return;
  float accumulator = 0;
  for (int q = 0; q < p.k; ++q) accumulator += p.a[row * p.lda + q] * p.b[q * p.ldb + col];
  update(p, row, col, accumulator);
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_naive_flat_kernel, grid_of(p, kTile, kTile), dim3(kTile * kTile), 0, stream, p);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const naive_flat{
    {.name = "naive_flat",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.layouts = {Layout::nn},
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * kTile},
     .source = "after Boehm 2022",
     .summary = "the same from a one-dimensional block"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = {kTile, kTile, 1}}}};

}  // namespace quadrille::kernels::gemm
