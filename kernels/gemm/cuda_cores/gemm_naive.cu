// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with one thread per element of C.
///
///   C = alpha A B + beta C
///
/// Technique    none: every thread walks a row of A and a column of B. Threads of a warp differ in
///              the row, so their reads of A and writes of C lie lda and ldc elements apart and
///              take up to 32 transactions where one would do: the mistake that `coalesced`
///              corrects
/// Shapes       row-major, any extents and leading dimensions
/// Work         2 m n k flop; without caches (2 k + 1) m n elements of traffic
/// Launch       32 x 32 threads, no shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/gemm_cuda.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr int kTile = 32;

#ifdef QUAD_KERNELS

template <class T>
__global__ void __launch_bounds__(kTile* kTile) gemm_naive_kernel(Operands<T> p) {
  int const row = static_cast<int>(blockIdx.y * kTile + threadIdx.x);
  int const col = static_cast<int>(blockIdx.x * kTile + threadIdx.y);
  if (row >= p.m || col >= p.n) return;
  T accumulator = 0;
  for (int q = 0; q < p.k; ++q) accumulator += p.a[row * p.lda + q] * p.b[q * p.ldb + col];
  update(p, row, col, accumulator);
}

template <class T>
void enqueue(Problem const& problem, device::StreamView stream) {
  auto const p = operands<T>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_naive_kernel<T>, grid_of(p, kTile, kTile), dim3(kTile, kTile), 0, stream, p);
}

void launch(Problem const& problem, device::StreamView stream) {
  problem.c.type == core::DataType::f64 ? enqueue<double>(problem, stream)
                                        : enqueue<float>(problem, stream);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const naive{
    {.name = "naive",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f64},
     .needs = {.layouts = {Layout::nn},
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * kTile},
     .source = "after Boehm 2022",
     .summary = "one element of C per thread, uncoalesced"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = {kTile, kTile, 1}}}};

}  // namespace quadrille::kernels::gemm
