// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/transport.hpp"
#include "workloads/checks/product.hpp"

#include <algorithm>

namespace quadrille::workloads::summa {

inline constexpr std::int64_t kAuto = 0;

/// How A and B come to those who multiply them.
enum class Schedule { broadcast, cannon };
constexpr auto enum_names(Schedule) {
  return core::EnumNames<Schedule, 2>{
      {{Schedule::broadcast, "broadcast"}, {Schedule::cannon, "cannon"}}};
}

struct Parameters {
  Schedule schedule = Schedule::broadcast;
  std::int64_t layers = 1;   ///< grids that share k
  std::int64_t panel = 256;  ///< width in elements of k; kAuto: by measured runs
  std::int64_t buffers = 2;  ///< for panels under way; kAuto: 4
  std::int64_t block = 0;    ///< block-cyclic block; 0: one block per process
  comm::Broadcast broadcast = comm::Broadcast::library;
  double alpha = 1;
  double beta = 0;
  std::int64_t sms = 0;
  bool operator==(Parameters const&) const = default;
};

/// What this rank has of a product on a P x Q grid, or of each of several layers of such: in every layer
/// the same sums of C are added up over the blocks of k that are the layer's.
struct Division {
  Division(core::Case const& spec, int ranks, int rank);

  /// The longest run of k that lies in one block of A and in one of B.
  std::int64_t k_block() const { return std::min(layout.a.cols.block(), layout.b.rows.block()); }
  /// The most rows and columns of the sums that a rank has.
  double max_rows() const;
  double max_cols() const;
  /// The larger of them, of the operands that travel.
  double across() const {
    return std::max(grid.cols > 1 ? max_rows() : 0, grid.rows > 1 ? max_cols() : 0);
  }

  std::int64_t m, n, k;
  core::DataType type;
  int rank;
  int layers, layer;
  core::GridShape grid;  ///< of a layer
  int row, col;
  ProductLayout layout;
  Layout sums;  ///< what this rank multiplies: of C, but for layers
};

/// All of a view without gaps.
inline comm::Piece piece(device::MatrixView const& packed) {
  return {packed.data,
          static_cast<std::size_t>(packed.rows * packed.cols) * core::size_of(packed.type)};
}

}  // namespace quadrille::workloads::summa
