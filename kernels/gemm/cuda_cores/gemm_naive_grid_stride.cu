// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with one thread per element of C, in blocks of several shapes.
///
///   C = alpha A B + beta C
///
/// Technique    as `coalesced`, threads along x have neighbouring columns; the shape of the block is
///              what differs. Blocks as wide as a warp read 32 neighbours of B and one element of A;
///              a warp of an 8 x 8 block has 4 rows of 8 columns, so that each request of B is for
///              one sector and each of A for 4 elements far apart. Loops with the stride of the grid
///              take matrices that are larger than the grid
/// Before       coalesced
/// Shapes       row-major, any extents and leading dimensions
/// Work         2 m n k flop; without caches (2 k + 1) m n elements of traffic
/// Launch       8 x 8, 16 x 16, 32 x 8 or 32 x 32 threads, a block for each such part of C, no
///              shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/gemm_cuda.cuh"

#include <algorithm>

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

template <class T, int kCols, int kRows>
__global__ void __launch_bounds__(kCols* kRows) gemm_naive_grid_stride_kernel(Operands<T> p) {
  int const first_row = static_cast<int>(blockIdx.y * kRows + threadIdx.y);
  int const first_col = static_cast<int>(blockIdx.x * kCols + threadIdx.x);
  // What the steps add up to may not fit 32 bits.
  std::int64_t const row_step = std::int64_t{gridDim.y} * kRows;
  std::int64_t const col_step = std::int64_t{gridDim.x} * kCols;
#pragma unroll 1
  for (std::int64_t row = first_row; row < p.m; row += row_step) {
#pragma unroll 1
    for (std::int64_t col = first_col; col < p.n; col += col_step) {
      T accumulator = 0;
      for (int q = 0; q < p.k; ++q) accumulator += p.a[row * p.lda + q] * p.b[q * p.ldb + col];
      update(p, static_cast<int>(row), static_cast<int>(col), accumulator);
    }
  }
}

template <class T, int kCols, int kRows>
void enqueue(Problem const& problem, device::StreamView stream) {
  auto const p = operands<T>(problem);
  if (p.m == 0 || p.n == 0) return;
  dim3 grid = grid_of(p, kRows, kCols);
  grid.y = std::min(grid.y, static_cast<unsigned>(kMaxTileRows));
  QUAD_LAUNCH((gemm_naive_grid_stride_kernel<T, kCols, kRows>), grid, dim3(kCols, kRows), 0, stream,
              p);
}

template <int kCols, int kRows>
void launch(Problem const& problem, device::StreamView stream) {
  problem.c.type == core::DataType::f64 ? enqueue<double, kCols, kRows>(problem, stream)
                                        : enqueue<float, kCols, kRows>(problem, stream);
}

#endif  // QUAD_KERNELS

constexpr VariantInfo row(std::string_view name, std::string_view source,
                          std::string_view summary) {
  return {.name = name,
          .where = Where::cuda,
          .types = {core::DataType::f32, core::DataType::f64},
          .needs = {.layouts = {Layout::nn}, .max_extent = kMaxCudaExtent},
          .source = source,
          .summary = summary};
}

}  // namespace

extern constinit Variant<Problem> const naive_8x8{
    row("naive_8x8", "after a DCU course", "an element of C a thread, blocks of 8 x 8"),
    QUAD_KERNEL_LAUNCH(launch<8, 8>),
    {.notes = {.tile = {8, 8, 1}}}};

extern constinit Variant<Problem> const naive_16x16{
    row("naive_16x16", "after a DCU course", "the same with blocks of 16 x 16"),
    QUAD_KERNEL_LAUNCH(launch<16, 16>),
    {.notes = {.tile = {16, 16, 1}}}};

extern constinit Variant<Problem> const naive_32x8{
    row("naive_32x8", "own", "the same with blocks of 32 x 8: warps along a row"),
    QUAD_KERNEL_LAUNCH(launch<32, 8>),
    {.notes = {.tile = {8, 32, 1}}}};

extern constinit Variant<Problem> const naive_32x32{
    row("naive_32x32", "after a DCU course", "the same with blocks of 32 x 32"),
    QUAD_KERNEL_LAUNCH(launch<32, 32>),
    {.notes = {.tile = {32, 32, 1}}}};

}  // namespace quadrille::kernels::gemm
