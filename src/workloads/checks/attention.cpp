// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/checks/attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace quadrille::workloads {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

double scale_of(std::int64_t head_size) { return 1 / std::sqrt(static_cast<double>(head_size)); }

/// Several sums side by side, which the compiler keeps in vectors; n is a multiple of 8.
double dot(float const* a, float const* b, std::int64_t n) {
  std::array<double, 8> sums{};
  for (std::int64_t e = 0; e < n; e += 8) {
    for (std::size_t l = 0; l < 8; ++l) sums[l] += double{a[at(e) + l]} * double{b[at(e) + l]};
  }
  double sum = 0;
  for (double const part : sums) sum += part;
  return sum;
}

}  // namespace

std::vector<Expected> attended(std::span<float const> q, float const* k, float const* v,
                               std::int64_t n, std::int64_t of_value, Largest const& largest,
                               kernels::attention::ErrorBound const& bound) {
  std::int64_t const of_key = std::ssize(q);
  std::vector<double> weights(at(n)), sums(at(of_value)), squares(at(of_value));
  double top = -kInfinity;
  for (std::int64_t j = 0; j < n; ++j) {
    weights[at(j)] = dot(q.data(), k + j * of_key, of_key) * scale_of(of_key);
    top = std::max(top, weights[at(j)]);
  }
  double total = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    double const weight = std::exp(weights[at(j)] - top);
    total += weight;
    for (std::int64_t e = 0; e < of_value; ++e) {
      double const value = v[j * of_value + e], product = weight * value;
      sums[at(e)] += product;
      squares[at(e)] += product * value;
    }
  }
  kernels::attention::ErrorBound::Row const facts{
      .score = scale_of(of_key) * std::sqrt(dot(q.data(), q.data(), of_key)) * largest.key,
      .weight = n > 0 ? 1 / total : 0,
      .value = largest.value,
      .n = n};
  std::vector<Expected> row;
  for (std::int64_t e = 0; e < of_value; ++e) {
    double const want = n > 0 ? sums[at(e)] / total : 0;
    double const variance = n > 0 ? squares[at(e)] / total - want * want : 0;
    row.push_back({want, bound(facts, want, std::sqrt(std::max(0.0, variance)))});
  }
  return row;
}

Largest largest_of(std::span<float const> k, std::span<float const> v, std::int64_t of_key) {
  Largest largest;
  for (std::size_t first = 0; first < k.size(); first += at(of_key)) {
    largest.key = std::max(largest.key, std::sqrt(dot(&k[first], &k[first], of_key)));
  }
  for (float const x : v) largest.value = std::max(largest.value, double{std::abs(x)});
  return largest;
}

AttentionCheck::AttentionCheck(device::MatrixView const& o, core::DataType type,
                               std::int64_t head_size, Sources const& sources, double products,
                               core::Check check, comm::World const& world, std::int64_t blocks)
    : o_{o},
      type_{type},
      of_key_{head_size},
      of_value_{o.cols},
      sources_{sources},
      world_{world},
      bound_{type, blocks},
      is_full_{check == core::Check::full} {
  constexpr double kFull = 0x1p32, kSample = 0x1p26;
  double const strips = std::ceil(products / (is_full_ ? kFull : kSample));
  strip_ = static_cast<std::int64_t>(
      std::clamp(strips, 1.0, static_cast<double>(std::max<std::int64_t>(1, o.rows))));
  finding_.allowed = 1;
}

/// One row of each strip, the first and the last row among them: tails are where tiles go wrong.
bool AttentionCheck::is_judged(std::int64_t row) const {
  if (row == 0 || row == o_.rows - 1) return true;
  auto const strip = static_cast<std::uint64_t>(strip_);
  std::uint64_t const hash = core::mix(static_cast<std::uint64_t>(row) / strip + sources_.q.seed);
  return static_cast<std::uint64_t>(row) % strip == (hash >> 8) % strip;
}

void AttentionCheck::judge(std::int64_t groups,
                           std::function<Group(std::int64_t)> const& group_of) {
  struct Part {
    Group group;
    core::Range rows;
  };
  if (groups == 0) return;
  std::int64_t const parts_of_group = (world_.placement().threads + groups - 1) / groups;
  for_host_tiles(o_, world_, [&](device::MatrixView const& host, std::int64_t first, std::int64_t) {
    std::vector<Part> parts;
    for (std::int64_t g = 0; g < groups; ++g) {
      Group const group = group_of(g);
      std::int64_t const begin = std::max(first, group.first_row);
      std::int64_t const end = std::min(first + host.rows, group.first_row + group.rows);
      for (std::int64_t p = 0; p < parts_of_group && begin < end; ++p) {
        core::Range rows = core::split_evenly(end - begin, parts_of_group, p);
        rows.first += begin;
        if (rows.count > 0) parts.push_back({group, rows});
      }
    }
    finding_.add(judge_all(world_, std::ssize(parts), 1, [&](Finding& finding, std::int64_t i) {
      auto const& [group, rows] = parts[at(i)];
      judge_part(finding, group, rows, host, first);
    }));
  });
}

/// Rows of a group, of which `host` has those from `first` on.
void AttentionCheck::judge_part(Finding& finding, Group const& group, core::Range const& rows,
                                device::MatrixView const& host, std::int64_t first) {
  std::int64_t const end = rows.first + rows.count;
  bool needs_keys = is_full_;
  for (std::int64_t row = rows.first; row < end && !needs_keys; ++row) needs_keys = is_judged(row);
  if (!needs_keys) return;
  Keys const keys = read_keys(group);
  std::vector<double> got(at(of_value_));
  core::visit_type(host.type, [&](auto zero) {
    for (std::int64_t row = rows.first; row < end; ++row) {
      auto const* const line =
          static_cast<decltype(zero) const*>(host.data) + (row - first) * host.ld;
      for (std::int64_t e = 0; e < of_value_; ++e) got[at(e)] = static_cast<double>(line[e]);
      if (is_judged(row)) {
        judge_row(finding, group, keys, row, got);
      } else if (is_full_) {
        judge_range(finding, group, keys, row, got);
      }
    }
  });
}

measure::Verdict AttentionCheck::verdict() {
  measure::Verdict verdict = agree(world_, finding_);
  std::array<double, 2> sums{values_, bounds_};
  world_.group().sum(std::span{sums});
  require_separation(verdict, std::sqrt(sums[0]), std::sqrt(sums[1]),
                     "take fewer keys or a wider type");
  return verdict;
}

/// And what bounds the elements of the group's rows.
AttentionCheck::Keys AttentionCheck::read_keys(Group const& group) const {
  Keys keys;
  keys.k.resize(at(group.keys * of_key_));
  keys.v.resize(at(group.keys * of_value_));
  if (is_full_) {
    keys.min.assign(at(of_value_), std::numeric_limits<float>::infinity());
    keys.max.assign(at(of_value_), -std::numeric_limits<float>::infinity());
  }
  for (std::int64_t j = 0; j < group.keys; ++j) {
    std::int64_t const row = group.row_of_key(j);
    std::span const key{keys.k.data() + j * of_key_, at(of_key_)};
    std::span const value{keys.v.data() + j * of_value_, at(of_value_)};
    read_row(sources_.k, type_, row, key);
    read_row(sources_.v, type_, row, value);
    for (std::size_t e = 0; e < keys.min.size(); ++e) {
      keys.min[e] = std::min(keys.min[e], value[e]);
      keys.max[e] = std::max(keys.max[e], value[e]);
    }
  }
  keys.largest = largest_of(keys.k, keys.v, of_key_);
  return keys;
}

void AttentionCheck::judge_row(Finding& finding, Group const& group, Keys const& keys,
                               std::int64_t row, std::vector<double> const& got) {
  std::int64_t const n = group.visible(row);
  std::vector<float> q(at(of_key_));
  read_row(sources_.q, type_, group.row_of_query(row), q);
  std::vector<Expected> const wanted =
      attended(q, keys.k.data(), keys.v.data(), n, of_value_, keys.largest, bound_);
  double of_values = 0, of_bounds = 0;
  for (std::int64_t e = 0; e < of_value_; ++e) {
    Expected const& want = wanted[at(e)];
    finding.check(want, got[at(e)],
                  [&] { return fmt::format("{} on rank {}", group.place(row, e), world_.rank()); });
    of_values += want.value * want.value;
    of_bounds += want.allowed * want.allowed;
  }
  // Nothing but zeros is exact.
  if (sources_.v.kind == core::DataKind::zeros) return;
  values_ += of_values;
  bounds_ += of_bounds;
}

void AttentionCheck::judge_range(Finding& finding, Group const& group, Keys const& keys,
                                 std::int64_t row, std::vector<double> const& got) const {
  bool const sees_keys = group.visible(row) > 0;
  double const slack =
      std::max(core::epsilon_of(o_.type), core::epsilon_of(type_)) * keys.largest.value;
  for (std::int64_t e = 0; e < of_value_; ++e) {
    double const least = sees_keys ? double{keys.min[at(e)]} - slack : 0;
    double const most = sees_keys ? double{keys.max[at(e)]} + slack : 0;
    bool const is_mean = got[at(e)] >= least && got[at(e)] <= most;
    finding.check(is_mean ? 0 : kInfinity, 1, [&] {
      return fmt::format("{} on rank {}: expected {:.9g} to {:.9g}, got {}", group.place(row, e),
                         world_.rank(), least, most, shown(got[at(e)]));
    });
  }
}

}  // namespace quadrille::workloads
