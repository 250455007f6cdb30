// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose of swizzled tiles of 512-byte rows, in orders that keep to few pages of memory.
///
///   out[j][i] = in[i][j]
///
/// Technique    `shared_swizzled` with tiles twice as wide: every warp reads and writes 512 bytes in
///              a row, and every thread has eight loads in flight. The order of the blocks decides
///              which rows of memory are open together: by rows of tiles, blocks that run together
///              write a short run in each row of out, all at the same column; bands of 8 or 32 tiles
///              taken column by column make these runs 4 or 16 KiB and reach less of either matrix
///              at a time, so fewer pages; diagonals spread both columns. `shared_swizzled_band_8` has the
///              tiles of `shared_swizzled` and changes the order alone
/// Shapes       row-major, any extents, not overlapping
/// Types        f64, f32, i64, i32, as integers of their size
/// Work         2 m n s bytes; sectors per request, read and written: 16 and 16
/// Constraints  in and out aligned to 16 bytes; leading dimensions multiples of 16 bytes; fewer than
///              2^31 tiles
/// Launch       tiles of 64 x 64 (s = 8) or 128 x 128 (4) elements, 256 or 512 threads, 32 or 64 KiB
///              of shared memory
/// Accuracy     exact
/// Source       own; diagonals after G. Ruetsch and P. Micikevicius, Optimizing Matrix Transpose in
///              CUDA
#include "transpose/transpose_swizzled_tile.cuh"

#include <algorithm>

namespace quadrille::kernels::transpose {
namespace {

#ifdef QUAD_KERNELS

/// Tiles in bands of rows of tiles, each column by column; one row: row by row.
struct Banded {
  Tiling tiling;
  unsigned rows;  ///< at most all

  __device__ Position tile(unsigned index) const {
    unsigned const band = index / (rows * tiling.across);
    unsigned const in_band = index - band * rows * tiling.across;
    unsigned const left = tiling.down - band * rows;
    unsigned const height = rows < left ? rows : left;
    return {static_cast<int>(band * rows + in_band % height), static_cast<int>(in_band / height)};
  }
};

/// Tiles along diagonals that start in the first row and go on at the left side.
struct Diagonal {
  Tiling tiling;

  __device__ Position tile(unsigned index) const {
    unsigned const row = index % tiling.down;
    return {static_cast<int>(row),
            static_cast<int>((std::uint64_t{row} + index / tiling.down) % tiling.across)};
  }
};

template <class T, class Shape, class Order>
__global__ void __launch_bounds__(Shape::kThreads)
    transpose_wide_tile_kernel(Operands<T> p, Order order) {
  QUAD_DYNAMIC_SHARED(Piece, tile);
  move_tile<Shape>(p, order.tile(blockIdx.x), tile);
}

/// make_order(tiling) gives the order.
template <template <int> class TileOf, class MakeOrder>
void launch_in(MakeOrder const& make_order, Problem const& problem, device::StreamView stream) {
  with_operands(problem, [&]<class T>(Operands<T> const& operands) {
    if constexpr (sizeof(T) >= 4) {
      using Shape = TileOf<sizeof(T)>;
      Tiling const tiling = tiles_of(problem.in, Shape::kSide, Shape::kSide);
      auto const order = make_order(tiling);
      QUAD_LAUNCH((transpose_wide_tile_kernel<T, Shape, decltype(order)>), dim3(tiling.count()),
                  dim3(Shape::kThreads), sizeof(Piece) * Shape::kSide * Shape::kPieces, stream,
                  operands, order);
    }
  });
}

template <int kElementBytes>
using NarrowTile = Swizzled<kElementBytes>;

template <template <int> class TileOf, unsigned kRows>
void launch_banded(Problem const& problem, device::StreamView stream) {
  launch_in<TileOf>(
      [](Tiling const& tiling) {
        return Banded{tiling, std::min(kRows, tiling.down)};
      },
      problem, stream);
}

void launch_diagonal(Problem const& problem, device::StreamView stream) {
  launch_in<WideTile>([](Tiling const& tiling) { return Diagonal{tiling}; }, problem, stream);
}

#endif  // QUAD_KERNELS

constexpr VariantInfo row(std::string_view name, std::string_view summary) {
  return {
      .name = name,
      .where = Where::cuda,
      .types = {core::DataType::f64, core::DataType::f32, core::DataType::i64, core::DataType::i32},
      .needs = {.ld_bytes = 16, .alignment = 16, .tile = {32, 32}},
      .source = "own",
      .summary = summary};
}

}  // namespace

extern constinit Variant<Problem> const wide_tile{
    row("wide_tile", "rows of 512 bytes, row by row; f32 sectors per request 16 and 16"),
    QUAD_KERNEL_LAUNCH((launch_banded<WideTile, 1>)),
    {.notes = {.sectors = sectors_of_wide_tiles}}};

extern constinit Variant<Problem> const wide_tile_diagonal{
    row("wide_tile_diagonal", "wide_tile along diagonals; f32 sectors per request 16 and 16"),
    QUAD_KERNEL_LAUNCH(launch_diagonal),
    {.notes = {.sectors = sectors_of_wide_tiles}}};

extern constinit Variant<Problem> const wide_tile_band_8{
    row("wide_tile_band_8", "wide_tile in bands of 8; f32 sectors per request 16 and 16"),
    QUAD_KERNEL_LAUNCH((launch_banded<WideTile, 8>)),
    {.notes = {.sectors = sectors_of_wide_tiles}}};

extern constinit Variant<Problem> const wide_tile_band_32{
    row("wide_tile_band_32", "wide_tile in bands of 32; f32 sectors per request 16 and 16"),
    QUAD_KERNEL_LAUNCH((launch_banded<WideTile, 32>)),
    {.notes = {.sectors = sectors_of_wide_tiles}}};

extern constinit Variant<Problem> const shared_swizzled_band_8{
    row("shared_swizzled_band_8",
        "shared_swizzled in bands of 8; f32 sectors per request 16 and 16"),
    QUAD_KERNEL_LAUNCH((launch_banded<NarrowTile, 8>)),
    {.notes = {.sectors = sectors_of_swizzled}}};

}  // namespace quadrille::kernels::transpose
