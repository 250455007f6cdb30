// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product from square tiles in shared memory.
///
///   C = alpha A B + beta C
///
/// Technique    a block copies a square tile of A and of B to shared memory and multiplies from
///              there: each element comes from global memory once per block and not once per
///              thread. Every multiply-add still reads two words of shared memory, which is now the
///              limit. Tile edges 8, 16 and 32 are variants: a larger tile reads less global memory
/// Before       coalesced
/// Shapes       row-major, any extents and leading dimensions; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic 2 m n k / tile elements
/// Launch       tile^2 threads in a row, 2 tile^2 elements of shared memory; two barriers per pair
///              of tiles
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/gemm_cuda.cuh"

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

template <class T, int kTile>
__global__ void __launch_bounds__(kTile* kTile) gemm_shared_tile_kernel(Operands<T> p) {
  QUAD_SHARED(T, tile_a, [kTile][kTile]);
  QUAD_SHARED(T, tile_b, [kTile][kTile]);
  int const x = static_cast<int>(threadIdx.x) % kTile;
  int const y = static_cast<int>(threadIdx.x) / kTile;
  int const row = static_cast<int>(blockIdx.y) * kTile + y;
  int const col = static_cast<int>(blockIdx.x) * kTile + x;
  T const* a = p.a + row * p.lda + x;
  T const* b = p.b + y * p.ldb + col;
  T accumulator = 0;
  for (int first = 0; first < p.k; first += kTile) {
    tile_a[y][x] = row < p.m && first + x < p.k ? *a : T{};
    tile_b[y][x] = first + y < p.k && col < p.n ? *b : T{};
    a += kTile;
    b += kTile * p.ldb;
    __syncthreads();  // both tiles are complete
#pragma unroll
    for (int q = 0; q < kTile; ++q) accumulator += tile_a[y][q] * tile_b[q][x];
    __syncthreads();  // all have read the tiles
  }
  if (row < p.m && col < p.n) update(p, row, col, accumulator);
}

template <class T, int kTile>
void enqueue(Problem const& problem, device::StreamView stream) {
  auto const p = operands<T>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH((gemm_shared_tile_kernel<T, kTile>), grid_of(p, kTile, kTile), dim3(kTile * kTile), 0,
              stream, p);
}

template <int kTile>
void launch(Problem const& problem, device::StreamView stream) {
  problem.c.type == core::DataType::f64 ? enqueue<double, kTile>(problem, stream)
                                        : enqueue<float, kTile>(problem, stream);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const shared_tile{
    {.name = "shared_tile",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f64},
     .needs = {.layouts = {Layout::nn},
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * 32},
     .source = "after Boehm 2022",
     .summary = "32 x 32 tiles in shared memory"},
    QUAD_KERNEL_LAUNCH(launch<32>),
    {.notes = {.tile = {32, 32, 32}}}};

extern constinit Variant<Problem> const shared_tile_8{
    {.name = "shared_tile_8",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f64},
     .needs = {.layouts = {Layout::nn}, .max_extent = kMaxCudaExtent, .max_rows = kMaxTileRows * 8},
     .source = "after Boehm 2022",
     .summary = "8 x 8 tiles in shared memory"},
    QUAD_KERNEL_LAUNCH(launch<8>),
    {.notes = {.tile = {8, 8, 8}}}};

extern constinit Variant<Problem> const shared_tile_16{
    {.name = "shared_tile_16",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f64},
     .needs = {.layouts = {Layout::nn},
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * 16},
     .source = "after Boehm 2022",
     .summary = "16 x 16 tiles in shared memory"},
    QUAD_KERNEL_LAUNCH(launch<16>),
    {.notes = {.tile = {16, 16, 16}}}};

}  // namespace quadrille::kernels::gemm
