// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

/// A matrix and contiguous pieces of it, one for each process: what block-cyclic distributions
/// scatter over many small blocks moves in one launch.
namespace quadrille::kernels::regroup {

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
void regroup(Direction direction, Problem const& problem, device::StreamView stream);

/// The launch function behind it.
void launch_columns(Direction direction, Problem const& problem, device::StreamView stream);

}  // namespace quadrille::kernels::regroup
