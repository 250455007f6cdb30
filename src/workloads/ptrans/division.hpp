// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transpose/transpose_blocks.hpp"
#include "workloads/data.hpp"

namespace quadrille::workloads::ptrans {

struct Parameters {
  std::int64_t panel = 256;  ///< width of a step in rows of A
  std::int64_t buffers = 2;  ///< steps under way
  std::int64_t block = 0;    ///< block-cyclic block; 0: one block per process
  bool operator==(Parameters const&) const = default;
};

/// Global indices that one process holds as rows of A and another as columns of B, where each holds
/// one block.
struct Run {
  std::int64_t a = 0;  ///< first local index in A
  std::int64_t b = 0;  ///< first local index in B
  std::int64_t count = 0;
};

/// What one rank has of A that another has of B: rows and columns of A as the sender has them, and the
/// same seen by the receiver. Each holds one block.
struct Pair {
  Run rows;               ///< indices i: rows of A, columns of B
  Run cols;               ///< indices j: columns of A, rows of B
  bool in_place = false;  ///< lies together in A
};

/// Which parts of A (m x n) and B ranks of a P x Q grid have, and the steps in which they exchange them.
struct Division {
  Division(core::Case const& spec, int ranks, int rank);

  int row_of(int r) const { return r / grid.cols; }
  int col_of(int r) const { return r % grid.cols; }
  std::size_t size() const { return core::size_of(type); }
  std::size_t bytes_of(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * size();
  }
  /// Of n rows, those of step t.
  core::Range part(std::int64_t count, std::size_t t) const {
    return core::split_evenly(count, static_cast<std::int64_t>(steps),
                              static_cast<std::int64_t>(t));
  }

  /// What `from` sends to `to`.
  Pair pair(int from, int to) const;
  /// The same of any distribution: rows of A, and its columns.
  kernels::transpose::CommonIndices common_rows(int from, int to) const;
  kernels::transpose::CommonIndices common_cols(int from, int to) const;

  std::int64_t m, n;
  core::DataType type;
  int ranks, rank;
  core::GridShape grid;
  Layout a, b;
  std::size_t steps;
  bool is_cyclic;  ///< blocks of one rank are one block, too
};

}  // namespace quadrille::workloads::ptrans
