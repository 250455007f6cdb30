// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/attention.hpp"
#include "workloads/data.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace quadrille::workloads {

/// The largest 2-norm of a key, and magnitude of a value.
struct Largest {
  double key = 0, value = 0;
};
/// Of keys of so many elements, one behind the other, and values.
Largest largest_of(std::span<float const> k, std::span<float const> v, std::int64_t of_key);

/// A row of o of a query that sees n keys, each of as many elements, and values of `of_value`.
std::vector<Expected> attended(std::span<float const> q, float const* k, float const* v,
                               std::int64_t n, std::int64_t of_value, Largest const& largest,
                               kernels::attention::ErrorBound const& bound);

/// Judges rows of attention from values that are generated again. A row costs as much as it cost to
/// compute, so that a full check computes all rows up to a number of products, and beyond it one of
/// each strip of rows; of the others every element must lie between the smallest and the largest value
/// of its column, as a mean does. A sample takes fewer rows and leaves the others alone.
class AttentionCheck {
 public:
  /// Generated tensors, whose rows are those of q, k and v.
  struct Sources {
    Source q, k, v;
  };
  /// Rows of o that share keys and values.
  struct Group {
    std::int64_t first_row = 0, rows = 0;
    std::int64_t keys = 0;
    /// In q; as in o, unless q is part of what is generated.
    std::function<std::int64_t(std::int64_t row)> row_of_query = [](std::int64_t row) {
      return row;
    };
    std::function<std::int64_t(std::int64_t key)> row_of_key;  ///< in k and v
    std::function<std::int64_t(std::int64_t row)> visible;     ///< keys that a row of o sees
    std::function<std::string(std::int64_t row, std::int64_t column)> place;  ///< its name
  };

  /// `type` and `head_size` are those of keys; o has the extents and type of results. `products` of a row
  /// with a key are there in all, times the head size; keys came in so many blocks.
  AttentionCheck(device::MatrixView const& o, core::DataType type, std::int64_t head_size,
                 Sources const& sources, double products, core::Check check,
                 comm::World const& world, std::int64_t blocks = 1);

  /// Groups number 0 to `groups`, each of whose rows follow those of the one before. Threads share them, and
  /// their rows where they are few.
  void judge(std::int64_t groups, std::function<Group(std::int64_t)> const& group_of);
  /// Of all judged rows as a whole: single elements may be zero. Collective.
  measure::Verdict verdict();

 private:
  /// What a thread knows of a group; f32 holds values of every type here.
  struct Keys {
    std::vector<float> k, v;
    Largest largest;
    std::vector<float> min, max;  // values of a column, for a full check
  };

  bool is_judged(std::int64_t row) const;
  Keys read_keys(Group const& group) const;
  void judge_part(Finding& finding, Group const& group, core::Range const& rows,
                  device::MatrixView const& host, std::int64_t first);
  void judge_row(Finding& finding, Group const& group, Keys const& keys, std::int64_t row,
                 std::vector<double> const& got);
  void judge_range(Finding& finding, Group const& group, Keys const& keys, std::int64_t row,
                   std::vector<double> const& got) const;

  device::MatrixView o_;
  core::DataType type_;
  std::int64_t of_key_, of_value_;  // elements
  Sources sources_;
  comm::World const& world_;
  kernels::attention::ErrorBound bound_;
  bool is_full_;
  std::int64_t strip_;
  std::atomic<double> values_ = 0, bounds_ = 0;  // sums of squares over judged rows
  Finding finding_;
};

}  // namespace quadrille::workloads
