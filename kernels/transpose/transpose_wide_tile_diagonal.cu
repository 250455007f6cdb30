// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose of swizzled tiles of 512-byte rows, along diagonals.
///
///   out[j][i] = in[i][j]
///
/// Technique    tiles twice as wide, so that every warp reads and writes 512 bytes in a row and
///              every thread has eight loads in flight, taken along diagonals (Ruetsch and
///              Micikevicius): by rows of tiles, blocks that run together write at the same column
///              of all rows of out, which lie in few channels of memory where rows are a large
///              power of two apart; diagonals spread what is read and what is written
/// Before       shared_swizzled
/// Shapes       row-major, any extents, not overlapping
/// Work         2 m n s bytes; sectors per request, read and written: 16 and 16
/// Launch       tiles of 64 x 64 (s = 8) or 128 x 128 (4) elements, 256 or 512 threads, 32 or 64 KiB
///              of shared memory
/// Accuracy     exact
#include "transpose/transpose_swizzled_tile.cuh"

namespace quadrille::kernels::transpose {
namespace {

#ifdef QUAD_KERNELS

/// Tiles along diagonals that start in the first row and go on at the left side.
struct Diagonal {
  Tiling tiling;

  __device__ Position tile(unsigned index) const {
    unsigned const row = index % tiling.down;
    return {static_cast<int>(row),
            static_cast<int>((std::uint64_t{row} + index / tiling.down) % tiling.across)};
  }
};

template <class T>
__global__ void __launch_bounds__(WideTile<sizeof(T)>::kThreads)
    transpose_wide_tile_diagonal_kernel(Operands<T> p, Diagonal order) {
  QUAD_DYNAMIC_SHARED(Piece, tile);
  move_tile<WideTile<sizeof(T)>>(p, order.tile(blockIdx.x), tile);
}

void launch(Problem const& problem, device::StreamView stream) {
  with_operands(problem, [&]<class T>(Operands<T> const& operands) {
    if constexpr (sizeof(T) >= 4) {
      using Shape = WideTile<sizeof(T)>;
      Tiling const tiling = tiles_of(problem.in, Shape::kSide, Shape::kSide);
      QUAD_LAUNCH((transpose_wide_tile_diagonal_kernel<T>), dim3(tiling.count()),
                  dim3(Shape::kThreads), sizeof(Piece) * Shape::kSide * Shape::kPieces, stream,
                  operands, Diagonal{tiling});
    }
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const wide_tile_diagonal{
    {.name = "wide_tile_diagonal",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32, core::DataType::i64, core::DataType::i32},
     .needs = {.ld_bytes = 16, .alignment = 16, .tile = {32, 32}},
     .source = "own",
     .summary = "rows of 512 bytes along diagonals; f32 sectors per request 16 and 16"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::transpose
