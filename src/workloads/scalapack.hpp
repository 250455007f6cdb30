// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/grid.hpp"
#include "workloads/data.hpp"

#include <initializer_list>
#include <string>

namespace quadrille::workloads {

/// True when this build found ScaLAPACK.
bool has_scalapack();
/// Why it does not take matrices of these extents; empty where it does.
std::string scalapack_unsupported(std::initializer_list<std::int64_t> extents);

/// ScaLAPACK's process grid and its matrices: block-cyclic with the block it likes, filled outside
/// the timed region. A row-major block of M is a column-major block of M^T, so every call works
/// on transposes over a Q x P grid and nothing is ever converted. Host device only.
class Scalapack {
 public:
  /// Collective over the world of the grid.
  Scalapack(comm::World const& world, comm::Grid const& grid);
  ~Scalapack();  ///< Collective.
  Scalapack(Scalapack const&) = delete;
  Scalapack& operator=(Scalapack const&) = delete;

  /// Where the rows and columns of an m x n matrix lie.
  Layout layout(std::int64_t m, std::int64_t n) const;

  /// C = alpha A B + beta C, each with layout(rows, cols). f64 and f32. Blocks the calling thread.
  void multiply(std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                device::MatrixView const& a, device::MatrixView const& b, double beta,
                device::MatrixView const& c) const;
  /// B = A^T, A is m x n. f64 and f32. Blocks the calling thread.
  void transpose(std::int64_t m, std::int64_t n, device::MatrixView const& a,
                 device::MatrixView const& b) const;

 private:
  int rows_, cols_, row_, col_;
  int threads_;
  int system_ = -1, context_ = -1;  ///< of BLACS
  std::unique_ptr<comm::Group> group_;
};

}  // namespace quadrille::workloads
