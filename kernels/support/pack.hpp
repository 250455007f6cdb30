// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

/// What lies scattered and is to be contiguous, or back, in one launch: a matrix and pieces of it, one for
/// each process of a block-cyclic distribution; boxes out of larger arrays, as halos are.
namespace quadrille::kernels::pack {

/// One column of the matrix among the pieces.
struct Column {
  std::int64_t at = 0;     ///< column of the matrix
  std::int64_t start = 0;  ///< place of the element of the row whose number is 0
  std::int64_t width = 0;  ///< from a row to the next: columns of the piece
};

/// Element (i, columns[c].at) of the matrix is element columns[c].start + rows[i] * columns[c].width
/// of `pieces`. No two are the same. All in memory of the stream's device.
struct Problem {
  device::MatrixView matrix;
  std::int64_t const* rows = nullptr;  ///< numbers of the rows of the matrix
  Column const* columns = nullptr;     ///< not of all columns: others are left alone
  std::int64_t column_count = 0;
  void* pieces = nullptr;
};

enum class Direction { gather, scatter };

/// Enqueues: the elements of the matrix into the pieces, or back.
void pack(Direction direction, Problem const& problem, device::StreamView stream);

/// Element (p, i, j) of a box: from[p * from_plane + i * from_row + j] and the same of `to`.
struct Box {
  void const* from = nullptr;
  void* to = nullptr;
  std::int64_t planes = 0, rows = 0, cols = 0;
  std::int64_t from_plane = 0, from_row = 0;
  std::int64_t to_plane = 0, to_row = 0;
};

/// Boxes, none of which writes where another one reads or writes.
struct Boxes {
  core::DataType type = core::DataType::f64;
  Box const* boxes = nullptr;  ///< in memory of the stream's device
  std::int64_t count = 0;
  std::int64_t max_planes = 0;  ///< of all boxes
  std::int64_t max_area = 0;    ///< the most rows x cols of a box
};

/// Enqueues: every box to its place.
void copy(Boxes const& boxes, device::StreamView stream);

/// The launch functions behind them.
void launch_columns(Direction direction, Problem const& problem, device::StreamView stream);
void launch_boxes(Boxes const& boxes, device::StreamView stream);

}  // namespace quadrille::kernels::pack
