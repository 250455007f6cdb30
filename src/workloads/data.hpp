// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/grid.hpp"
#include "comm/threads.hpp"
#include "core/generator.hpp"
#include "measure/workload.hpp"
#include "support/generate.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
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

/// As a rank's block will lie in memory that nobody has allocated yet.
device::MatrixView unallocated(Layout const& layout, core::DataType type);

/// The whole matrix on this rank.
Layout whole(std::int64_t rows, std::int64_t cols);

/// Why a case has no tensors of so many elements; empty where it may.
std::string elements_conflict(double elements);

/// Memory for a view that has none yet; the view gets it.
device::Matrix allocate_matrix(device::MatrixView& view, comm::World const& world);
/// Of a matrix's elements, without what lies between rows.
inline double bytes_of(device::MatrixView const& view) {
  return static_cast<double>(view.rows) * static_cast<double>(view.cols) *
         static_cast<double>(core::size_of(view.type));
}
/// Values in memory of the device. Blocks.
template <class T>
device::Buffer<T> uploaded(std::vector<T> const& values, comm::World const& world) {
  device::Buffer<T> buffer{world.device(), std::ssize(values), world.stream()};
  world.stream().copy(buffer.data(), values.data(), buffer.bytes());
  world.stream().synchronize();
  return buffer;
}
/// Scratch memory of variants, with the counters of products zero; empty for 0 bytes.
device::Buffer<std::byte> allocate_scratch(std::size_t bytes, comm::World const& world);
/// Before a repetition, in the place of what messages brought in the one before, which would be right:
/// a rank's own data, which are wrong and cost what right ones do, and NaN behind them.
void forget_received(device::Matrix const& buffer, device::MatrixView const& own,
                     device::StreamView stream);

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

/// Elements of a row of it, from the first on, in a type, as f32 has them.
void read_row(Source const& source, core::DataType type, std::int64_t row, std::span<float> to);

/// Where the elements of a block lie in a generated array: element (i, j) of the block is (rows(i),
/// cols(j)), or with `transposed` (cols(j), rows(i)).
struct Region {
  kernels::generate::IndexMap rows, cols;
  bool transposed = false;
};
Region region_of(Layout const& layout, bool transposed = false);
/// A row whose elements are [first, first + n) of row 0.
Region row_from(std::int64_t first);
/// A block whose first element is (row, col).
Region block_from(std::int64_t row, std::int64_t col);

/// Who reads and writes some memory: a device reaches its own and page-locked host memory.
enum class Reach { device, host };

/// Fills a rank's block from the generator, on the device where that is a GPU. Blocks until it is
/// there.
void fill(device::MatrixView const& view, Region const& region, Source const& source,
          comm::World const& world, Reach reach = Reach::device);
inline void fill(device::MatrixView const& view, Layout const& layout, Source const& source,
                 comm::World const& world) {
  fill(view, region_of(layout), source, world);
}

/// A part of a block in memory of the host, and the place of its first element in the block.
using UseTile =
    std::function<void(device::MatrixView const& tile, std::int64_t row, std::int64_t col)>;
/// Copies a block part by part to at most `bytes` of host memory. Blocks.
void for_copied_tiles(device::MatrixView const& view, device::StreamView stream, std::int64_t bytes,
                      UseTile const& use);
/// Shows a block to the host: as it lies where the host reaches it, else in copies of 16 MiB. Blocks.
void for_host_tiles(device::MatrixView const& view, comm::World const& world, UseTile const& use);

/// A rank's block in host memory, packed (ld == cols); for small ones. Blocks.
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
/// A vector of n elements, of which this rank has those from `first` on.
measure::Field vector_field(std::string name, device::MatrixView const& view, std::int64_t n,
                            std::int64_t first = 0);
/// Of arrays that every rank has under one name a file holds rank 0's.
measure::Field of_rank_0(measure::Field field, int rank);
/// The same of a matrix that every rank has the whole of.
measure::Field whole_of_rank_0(std::string name, device::MatrixView const& view, int rank);

/// What was got, for people, with so many digits; 0: with those that tell it from others. Fresh outputs
/// hold bits of 1 alone, a NaN that no arithmetic gives.
std::string shown(double got, int digits = 9);

/// A right element, and what it may be off by.
struct Expected {
  double value = 0, allowed = 0;
};

/// What one rank found; agree() makes a verdict of all of them.
struct Finding {
  double error = 0;
  double allowed = 0;
  std::int64_t wrong = 0;
  std::string first_wrong;

  /// Holds one element against its bound; NaN is wrong, and no later error hides it.
  template <class Describe>
  void check(double scaled_error, double bound, Describe&& describe) {
    take_error(scaled_error);
    if (!(scaled_error <= bound)) {
      if (wrong == 0) first_wrong = describe();
      ++wrong;
    }
  }
  /// The same of a value, as a share of its bound; `name` is called where it is wrong.
  template <class Name>
  void check(Expected const& expected, double got, Name&& name) {
    double const off = std::abs(got - expected.value);
    allowed = 1;
    check(off == 0 ? 0 : off / expected.allowed, 1, [&] {
      return fmt::format("{}: expected {:.9g}, got {}", name(), expected.value, shown(got));
    });
  }
  /// Adds what was found further behind.
  void add(Finding const& later) {
    take_error(later.error);
    if (wrong == 0) first_wrong = later.first_wrong;
    wrong += later.wrong;
  }

 private:
  void take_error(double found) {
    if (!std::isnan(error) && !(found <= error)) error = found;
  }
};

/// Collective: the same verdict on every rank, naming the first wrong element of the lowest rank.
measure::Verdict agree(comm::World const& world, Finding const& mine);

/// A bound that is not below the value lets zero pass: then nothing was judged, unless it failed.
inline void require_separation(measure::Verdict& verdict, double value, double bound,
                               std::string_view advice) {
  if (!verdict.valid || bound == 0 || bound < std::abs(value)) return;
  verdict.skipped = fmt::format(
      "the error that the check must allow, {:.2g}, is not below the result, {:.2g}: {}", bound,
      std::abs(value), advice);
}

/// Compares a block bit by bit with the generator's values, on the device where that is a GPU; on
/// the host `stride` > 1 samples. Blocks.
Finding compare(std::string_view name, device::MatrixView const& view, Region const& region,
                Source const& source, comm::World const& world, std::int64_t stride,
                Reach reach = Reach::device);

/// Calls `judge(finding, i)` for i = 0, stride, 2 stride, ... below n, on this rank's host threads,
/// and puts what they found together in the order of i.
template <class Judge>
Finding judge_all(comm::World const& world, std::int64_t n, std::int64_t stride, Judge&& judge) {
  std::int64_t const steps = (n + stride - 1) / stride;
  std::vector<Finding> found(static_cast<std::size_t>(world.placement().threads));
  on_threads(world, world.placement().threads, [&](core::Range const& threads) {
    for (std::int64_t t = threads.first; t < threads.first + threads.count; ++t) {
      core::Range const part = core::split_evenly(steps, world.placement().threads, t);
      for (std::int64_t i = part.first; i < part.first + part.count; ++i) {
        judge(found[static_cast<std::size_t>(t)], i * stride);
      }
    }
  });
  Finding whole;
  for (Finding const& part : found) whole.add(part);
  return whole;
}

/// 1 for a full check, a prime for a sample.
inline std::int64_t check_stride(core::Case const& spec) {
  return spec.check == core::Check::sample ? 97 : 1;
}

}  // namespace quadrille::workloads
