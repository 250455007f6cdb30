// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices by `mma`, a tile of C for each warp.
///
///   C = alpha A B + beta C
///
/// Technique    a warp computes one tile of 16 x 8 elements of C by `mma` m16n8k16: for 16 of k at a
///              time it copies the tiles of A and B to shared memory, in pieces of 16 bytes, and loads
///              fragments by ldmatrix, of a B that is not transposed in transposed matrices. Which
///              lane has which elements, in a register of a or b two neighbours along k:
///                  A  k      0,1  2,3  4,5  6,7  8,9 ... 14,15    B  column  0   1   2 ...  7
///                  row  0     0    1    2    3    0  ...   3      k  0,1     0   4   8 ... 28
///                  row  1     4    5    6    7    4  ...   7      k  2,3     1   5   9 ... 29
///                  ...             a[0]              a[2]         k  4,5     2   6  10 ... 30 b[0]
///                  row  7    28   29   30   31   28  ...  31      k  6,7     3   7  11 ... 31
///                  row  8     0    1    2    3    0  ...   3      k  8,9     0   4   8 ... 28
///                  ...             a[1]              a[3]         ...                         b[1]
///                  row 15    28   29   30   31   28  ...  31      k 14,15    3   7  11 ... 31
///                  accumulators: of columns 0 to 7 of C as a[0] and a[1] of k 0 to 7
/// Shapes       row-major, B as it is or transposed; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic 3 m n k / 8 bytes
/// Launch       32 threads; 1.3 KiB of shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
#include "gemm/tensor_cores/gemm_half_rows.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr int kM = 16, kN = 8, kK = 16;

#ifdef QUAD_KERNELS

template <class T, class Sum, bool kTransposedB>
__global__ void __launch_bounds__(32) gemm_mma_naive_kernel(HalfOperands<T> p) {
  using RowsA = SharedRows<kK, SmemLayout::linear>;
  using RowsB = SharedRows<kTransposedB ? kK : kN, SmemLayout::linear>;
  using EpilogueTile = SharedRows<kN, SmemLayout::linear>;
  QUAD_SHARED(T, tile_a, [kM * kK]);
  QUAD_SHARED(T, tile_b, [kK * kN]);
  QUAD_SHARED(Sum, epilogue_tile, [kM * kN]);
  int const lane = static_cast<int>(threadIdx.x);
  int const tiles_n = (p.n + kN - 1) / kN;
  int const row = static_cast<int>(blockIdx.x) / tiles_n * kM;
  int const col = static_cast<int>(blockIdx.x) % tiles_n * kN;
  // The piece of A that a lane copies and, in half of the lanes, that of B.
  int const row_a = lane / RowsA::kPieces, col_a = lane % RowsA::kPieces * 8;
  int const row_b = lane / RowsB::kPieces, col_b = lane % RowsB::kPieces * 8;
  Mma<T, Sum> accumulators;
  for (int first = 0; first < p.k; first += kK) {
    bool const has_a = row + row_a < p.m && first + col_a < p.k;
    *reinterpret_cast<uint4*>(tile_a + RowsA::offset(row_a, col_a)) =
        has_a ? *reinterpret_cast<uint4 const*>(p.a + (row + row_a) * p.lda + first + col_a)
              : uint4{};
    if (lane < 16) {
      int const b_row = (kTransposedB ? col : first) + row_b;
      int const b_col = (kTransposedB ? first : col) + col_b;
      bool const has_b = b_row < (kTransposedB ? p.n : p.k) && b_col < (kTransposedB ? p.k : p.n);
      *reinterpret_cast<uint4*>(tile_b + RowsB::offset(row_b, col_b)) =
          has_b ? *reinterpret_cast<uint4 const*>(p.b + b_row * p.ldb + b_col) : uint4{};
    }
    __syncwarp();  // both tiles are complete
    std::uint32_t a[4], b[2];
    ptx::ldmatrix_x4(a, tile_a + RowsA::offset(lane % 16, lane / 16 * 8));
    if constexpr (kTransposedB) {
      ptx::ldmatrix_x2(b, tile_b + RowsB::offset(lane % 8, lane / 8 % 2 * 8));
    } else {
      ptx::ldmatrix_x2_trans(b, tile_b + RowsB::offset(lane % 16, 0));
    }
    accumulators.add(a, b);
    __syncwarp();  // all have read them
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    auto const [i, j] = ptx::sum_element(lane, 2 * half);
    accumulators.store(epilogue_tile + EpilogueTile::offset(i, j), half);
  }
  __syncwarp();
  write_epilogue_tile<EpilogueTile, kN>(p, row, col, epilogue_tile);
}

void launch(Problem const& problem, device::StreamView stream) {
  with_types(problem, [&]<class T, class Sum, bool kTransposedB>() {
    auto const p = half_operands<T>(problem);
    dim3 const grid(static_cast<unsigned>(divide_up(p.m, kM) * divide_up(p.n, kN)));
    QUAD_LAUNCH((gemm_mma_naive_kernel<T, Sum, kTransposedB>), grid, dim3(32), 0, stream, p);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const mma_naive{
    row("mma_naive", "mma; a tile of 16 x 8 for each warp", {.bm = kM, .bn = kN}),
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::gemm
