// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/grid.hpp"
#include "comm/world.hpp"
#include "core/generator.hpp"
#include "measure/workload.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::workloads {

/// How one rank's block of a matrix lies in the global matrix. Vectors are matrices of one row.
struct Layout {
  comm::Distribution rows;
  comm::Distribution cols;
  int row_part = 0;
  int col_part = 0;

  std::int64_t local_rows() const { return rows.count(row_part); }
  std::int64_t local_cols() const { return cols.count(col_part); }
  std::int64_t global_row(std::int64_t i) const { return rows.global(row_part, i); }
  std::int64_t global_col(std::int64_t j) const { return cols.global(col_part, j); }
};

/// The whole matrix on this rank.
Layout whole(std::int64_t rows, std::int64_t cols);

/// A generated array: element (i, j) is core::generate(kind, seed, tag, i, j).
struct Source {
  core::DataKind kind = core::DataKind::uniform;
  std::uint64_t seed = 1;
  std::uint64_t tag = 0;

  template <class T>
  T at(std::int64_t i, std::int64_t j) const {
    return core::generate<T>(kind, seed, tag, i, j);
  }
};

/// Fills a rank's block from the generator. Blocks until it is there.
void fill(device::MatrixView const& view, Layout const& layout, Source const& source,
          comm::World const& world);

/// A rank's block in host memory, packed (ld == cols). Blocks.
template <class T>
std::vector<T> download(device::MatrixView const& view, device::StreamView stream) {
  std::vector<T> host(static_cast<std::size_t>(view.rows * view.cols));
  std::size_t const row_bytes = static_cast<std::size_t>(view.cols) * sizeof(T);
  stream.copy_2d(host.data(), row_bytes, view.data, static_cast<std::size_t>(view.ld) * sizeof(T),
                 row_bytes, static_cast<std::size_t>(view.rows));
  stream.synchronize();
  return host;
}

/// The blocks of a matrix as fields want them: maximal rectangles that are contiguous globally.
measure::Field field(std::string name, device::MatrixView const& view, Layout const& layout);

/// What one rank found; agree() makes a verdict of all of them.
struct Finding {
  double error = 0;
  double allowed = 0;
  std::int64_t wrong = 0;
  std::string first_wrong;

  /// Holds one element against its bound; NaN is wrong.
  template <class Describe>
  void hold(double scaled_error, double bound, Describe&& describe) {
    if (!(scaled_error <= error)) error = scaled_error;
    if (!(scaled_error <= bound)) {
      if (wrong == 0) first_wrong = describe();
      ++wrong;
    }
  }
};

/// Collective: the same verdict on every rank, naming the first wrong element of the lowest rank.
measure::Verdict agree(comm::World const& world, Finding const& mine);

/// Compares a block bit by bit with `expected(i, j)` of the global element; `stride` > 1 samples.
template <class T, class Expected>
Finding compare_exactly(std::string_view name, device::MatrixView const& view, Layout const& layout,
                        comm::World const& world, std::int64_t stride, Expected&& expected) {
  std::vector<T> const got = download<T>(view, world.stream());
  Finding finding;
  for (std::int64_t i = 0; i < view.rows; ++i) {
    std::int64_t const global_i = layout.global_row(i);
    for (std::int64_t j = i % stride; j < view.cols; j += stride) {
      std::int64_t const global_j = layout.global_col(j);
      T const want = expected(global_i, global_j);
      T const have = got[static_cast<std::size_t>(i * view.cols + j)];
      finding.hold(have == want ? 0 : 1, 0, [&] {
        return fmt::format("{}({}, {}) on rank {}: expected {}, got {}", name, global_i, global_j,
                           world.rank(), static_cast<double>(want), static_cast<double>(have));
      });
    }
  }
  return finding;
}

/// 1 for a full check, a prime for a sample.
inline std::int64_t check_stride(core::Case const& one) {
  return one.check == core::Check::sample ? 97 : 1;
}

}  // namespace quadrille::workloads
