// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product from square tiles whose edge only the launch knows.
///
///   C = alpha A B + beta C
///
/// Technique    `shared_tile` with tiles in dynamic shared memory: the edge is an argument, so that one
///              kernel serves all. The compiler cannot unroll the loop over a tile's k-iterations, and
///              addresses are products of variables. Compare with `shared_tile` of the same edge: the
///              difference is what a constant is worth
/// Before       shared_tile
/// Shapes       row-major, any extents and leading dimensions; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k / 16 elements
/// Launch       edge x edge threads, 2 edge^2 elements of dynamic shared memory; here the edge is 32
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/gemm_cuda.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr int kEdge = 32;  // of this row; the kernel does not know it

#ifdef QUAD_KERNELS

template <class T>
__global__ void __launch_bounds__(1024) gemm_shared_tile_runtime_kernel(Operands<T> p, int edge) {
  QUAD_DYNAMIC_SHARED(T, tile_a);
  T* const tile_b = tile_a + edge * edge;
  int const x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  int const row = static_cast<int>(blockIdx.y) * edge + y;
  int const col = static_cast<int>(blockIdx.x) * edge + x;
  T accumulator = 0;
  for (int first = 0; first < p.k; first += edge) {
    tile_a[y * edge + x] = row < p.m && first + x < p.k ? p.a[row * p.lda + first + x] : T{};
    tile_b[y * edge + x] = first + y < p.k && col < p.n ? p.b[(first + y) * p.ldb + col] : T{};
    __syncthreads();  // both tiles are complete
    for (int q = 0; q < edge; ++q) accumulator += tile_a[y * edge + q] * tile_b[q * edge + x];
    __syncthreads();  // all have read the tiles
  }
  if (row < p.m && col < p.n) update(p, row, col, accumulator);
}

template <class T>
void enqueue(Problem const& problem, device::StreamView stream) {
  auto const p = operands<T>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_shared_tile_runtime_kernel<T>, grid_of(p, kEdge, kEdge), dim3(kEdge, kEdge),
              2 * kEdge * kEdge * sizeof(T), stream, p, kEdge);
}

void launch(Problem const& problem, device::StreamView stream) {
  problem.c.type == core::DataType::f64 ? enqueue<double>(problem, stream)
                                        : enqueue<float>(problem, stream);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const shared_tile_runtime{
    {.name = "shared_tile_runtime",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f64},
     .needs = {.layouts = {Layout::nn},
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * kEdge},
     .source = "after a DCU course",
     .summary = "shared_tile, whose edge only the launch knows"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = {kEdge, kEdge, kEdge}}}};

}  // namespace quadrille::kernels::gemm
