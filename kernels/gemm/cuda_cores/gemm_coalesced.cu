// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with one thread per element of C, warps along rows.
///
///   C = alpha A B + beta C
///
/// Technique    quotient and remainder are exchanged: the 32 threads of a warp have one row and 32
///              neighbouring columns. Their reads of B and writes of C are neighbouring words and
///              their reads of A one broadcast. The instructions are those of `naive_flat`:
///              coalescing happens in the memory system
/// Before       naive_flat
/// Shapes       row-major, any extents and leading dimensions
/// Work         2 m n k flop; without caches (2 k + 1) m n elements of traffic
/// Launch       1024 threads in a row, no shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/gemm_cuda.cuh"

namespace quadrille::kernels::gemm {
namespace {

inline constexpr int kTile = 32;

#ifdef QUAD_KERNELS

template <class T>
__global__ void __launch_bounds__(kTile* kTile) gemm_coalesced_kernel(Operands<T> p) {
  int const row = static_cast<int>(blockIdx.y * kTile + threadIdx.x / kTile);
  int const col = static_cast<int>(blockIdx.x * kTile + threadIdx.x % kTile);
  if (row >= p.m || col >= p.n) return;
  T accumulator = 0;
  for (int q = 0; q < p.k; ++q) accumulator += p.a[row * p.lda + q] * p.b[q * p.ldb + col];
  update(p, row, col, accumulator);
}

template <class T>
void enqueue(Problem const& problem, device::StreamView stream) {
  auto const p = operands<T>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_coalesced_kernel<T>, grid_of(p, kTile, kTile), dim3(kTile * kTile), 0, stream,
              p);
}

void launch(Problem const& problem, device::StreamView stream) {
  problem.c.type == core::DataType::f64 ? enqueue<double>(problem, stream)
                                        : enqueue<float>(problem, stream);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const coalesced{
    {.name = "coalesced",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f64},
     .needs = {.layouts = {Layout::nn},
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * kTile},
     .source = "after Boehm 2022",
     .summary = "a warp along a row of C"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = {kTile, kTile, 1}}}};

}  // namespace quadrille::kernels::gemm
