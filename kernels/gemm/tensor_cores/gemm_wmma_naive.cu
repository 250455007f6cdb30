// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices on tensor cores, a tile of C for each warp.
///
///   C = alpha A B + beta C
///
/// Technique    a warp computes one tile of 16 x 16 elements of C; it loads fragments of A and B from
///              global memory, 16 of k at a time, so that every tile is read by as many warps as
///              there are tiles beside it. Tiles at an edge, which a fragment does not guard, go
///              through shared memory
/// Shapes       row-major, B as it is or transposed; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k / 4 bytes
/// Launch       32 threads; 2 KiB of shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
#include "gemm/tensor_cores/gemm_half_rows.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr int kTile = 16;

#ifdef QUAD_KERNELS

using Rows = SharedRows<kTile, SmemLayout::linear>;

/// Copies a tile with zeros beyond the rows and columns that are left: 8 elements a lane.
template <class T>
__device__ void copy_edge(T* tile, T const* from, std::int64_t ld, int rows_left, int cols_left) {
  int const row = static_cast<int>(threadIdx.x) / 2, col = static_cast<int>(threadIdx.x) % 2 * 8;
  bool const inside = row < rows_left && col < cols_left;
  *reinterpret_cast<uint4*>(tile + Rows::offset(row, col)) =
      inside ? *reinterpret_cast<uint4 const*>(from + row * ld + col) : uint4{};
}

template <class T, class Sum, bool kTransposedB>
__global__ void __launch_bounds__(32) gemm_wmma_naive_kernel(HalfOperands<T> p) {
  namespace wmma = ptx::wmma;
  QUAD_SHARED(T, edge, [2][kTile * kTile]);
  QUAD_SHARED(Sum, epilogue_tile, [kTile * kTile]);
  int const tiles_n = (p.n + kTile - 1) / kTile;
  int const row = static_cast<int>(blockIdx.x) / tiles_n * kTile;
  int const col = static_cast<int>(blockIdx.x) % tiles_n * kTile;
  T const* a = p.a + row * p.lda;
  T const* b = p.b + (kTransposedB ? col * p.ldb : col);
  bool const is_inside = row + kTile <= p.m && col + kTile <= p.n;
  wmma::fragment<wmma::accumulator, 16, 16, 16, Sum> accumulators;
  wmma::fill_fragment(accumulators, Sum(0.0F));
  for (int first = 0; first < p.k; first += kTile) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> from_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, T,
                   std::conditional_t<kTransposedB, wmma::col_major, wmma::row_major>>
        from_b;
    int const k_left = p.k - first;
    if (is_inside && k_left >= kTile) {
      wmma::load_matrix_sync(from_a, a, static_cast<unsigned>(p.lda));
      wmma::load_matrix_sync(from_b, b, static_cast<unsigned>(p.ldb));
    } else {
      copy_edge(edge[0], a, p.lda, p.m - row, k_left);
      copy_edge(edge[1], b, p.ldb, kTransposedB ? p.n - col : k_left,
                kTransposedB ? k_left : p.n - col);
      __syncwarp();
      wmma::load_matrix_sync(from_a, edge[0], Rows::kPitch);
      wmma::load_matrix_sync(from_b, edge[1], Rows::kPitch);
      __syncwarp();
    }
    wmma::mma_sync(accumulators, from_a, from_b, accumulators);
    a += kTile;
    b += kTransposedB ? kTile : kTile * p.ldb;
  }
  wmma::store_matrix_sync(epilogue_tile, accumulators, Rows::kPitch, wmma::mem_row_major);
  __syncwarp();
  write_epilogue_tile<Rows, kTile>(p, row, col, epilogue_tile);
}

void launch(Problem const& problem, device::StreamView stream) {
  with_types(problem, [&]<class T, class Sum, bool kTransposedB>() {
    auto const p = half_operands<T>(problem);
    dim3 const grid(static_cast<unsigned>(divide_up(p.m, kTile) * divide_up(p.n, kTile)));
    QUAD_LAUNCH((gemm_wmma_naive_kernel<T, Sum, kTransposedB>), grid, dim3(32), 0, stream, p);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const wmma_naive{
    {.name = "wmma_naive",
     .where = Where::cuda,
     .types = kHalfTypes,
     .needs = {.layouts = {Layout::nn, Layout::nt},
               .row_bytes = 16,
               .alignment = 32,
               .max_extent = kMaxCudaExtent,
               .tile = {kTile, kTile}},
     .source = "after cuda_hgemm 2023",
     .summary = "wmma; a tile of 16 x 16 for each warp"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::gemm
