// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// All blocks of a matrix between their places and the pieces of the processes, in one launch.
///
///   pieces[columns[c].start + rows[i] * columns[c].width] = matrix[i, columns[c].at], or back
///
/// Technique    tables of places instead of a launch for each block; a warp takes 32 columns, whose
///              places it keeps in registers, through all its rows
/// Shapes       matrix: rows x cols with a leading dimension; any selection of columns, no two
///              elements at one place; any type
/// Work         2 s bytes per element, and 8 bytes for each row of a warp
/// Launch       256 threads per block, one block for every 32 columns and 64 rows, at most 1024 x 512
/// Accuracy     exact
#include "common/simt.cuh"
#include "support/generate.hpp"
#include "support/pack.hpp"

#include <algorithm>

namespace quadrille::kernels::pack {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;
constexpr std::int64_t kRowsOfWarp = 8;

template <Direction kDirection, class Bits>
__global__ void pack_columns_kernel(Bits* matrix, std::int64_t ld, std::int64_t row_count,
                                    std::int64_t const* rows, Column const* columns,
                                    std::int64_t column_count, Bits* pieces) {
  std::int64_t const lane = threadIdx.x % 32;
  std::int64_t const warp = static_cast<std::int64_t>(blockIdx.y) * kWarps + threadIdx.x / 32;
  std::int64_t const warps = static_cast<std::int64_t>(gridDim.y) * kWarps;
  std::int64_t const stride = static_cast<std::int64_t>(gridDim.x) * 32;
  for (std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * 32 + lane; c < column_count;
       c += stride) {
    Column const column = columns[c];
    for (std::int64_t i = warp; i < row_count; i += warps) {
      Bits& inside = matrix[i * ld + column.at];
      Bits& outside = pieces[column.start + rows[i] * column.width];
      if constexpr (kDirection == Direction::gather) {
        outside = inside;
      } else {
        inside = outside;
      }
    }
  }
}

template <Direction kDirection>
void launch(Problem const& p, device::StreamView stream) {
  auto const blocks = [](std::int64_t n, std::int64_t each, std::int64_t most) {
    return static_cast<unsigned>(std::min((n + each - 1) / each, most));
  };
  dim3 const grid{blocks(p.column_count, 32, 1024),
                  blocks(p.matrix.rows, kWarps * kRowsOfWarp, 512)};
  generate::visit_bits(p.matrix.type, [&](auto zero) {
    using Bits = decltype(zero);
    QUAD_LAUNCH((pack_columns_kernel<kDirection, Bits>), grid, kThreads, 0, stream,
                static_cast<Bits*>(p.matrix.data), p.matrix.ld, p.matrix.rows, p.rows, p.columns,
                p.column_count, static_cast<Bits*>(p.pieces));
  });
}

}  // namespace

void launch_columns(Direction direction, Problem const& problem, device::StreamView stream) {
  if (direction == Direction::gather) return launch<Direction::gather>(problem, stream);
  launch<Direction::scatter>(problem, stream);
}

}  // namespace quadrille::kernels::pack
