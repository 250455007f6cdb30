// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/attention_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace quadrille::workloads {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A row of a generated tensor.
void read_row(Source const& source, core::DataType type, std::int64_t row, std::span<float> to) {
  std::uint64_t const key = core::row_key(source.seed, source.tag, row);
  core::visit_type(type, [&](auto zero) {
    for (std::size_t e = 0; e < to.size(); ++e) {
      std::uint64_t const hash = core::element_hash(key, static_cast<std::int64_t>(e));
      to[e] = static_cast<float>(core::value_from_hash<decltype(zero)>(source.kind, hash));
    }
  });
}

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

AttentionCheck::AttentionCheck(device::MatrixView const& o, Sources const& sources, double products,
                               core::Check check, comm::World const& world, std::int64_t blocks)
    : o_{o},
      d_{o.cols},
      sources_{sources},
      world_{world},
      bound_{o.type, blocks},
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

void AttentionCheck::judge(Group const& group) {
  bool needs_keys = is_full_ && group.rows > 0;
  for (std::int64_t i = 0; i < group.rows && !needs_keys; ++i) {
    needs_keys = is_judged(group.first_row + i);
  }
  if (!needs_keys) return;
  read_keys(group);
  for_host_tiles(
      o_.block(group.first_row, 0, group.rows, d_), world_,
      [&](device::MatrixView const& host, std::int64_t first, std::int64_t) {
        core::visit_type(host.type, [&](auto zero) {
          auto const* const rows = static_cast<decltype(zero) const*>(host.data);
          finding_.add(judge_all(world_, host.rows, 1, [&](Finding& finding, std::int64_t i) {
            std::vector<double> got(at(d_));
            for (std::int64_t e = 0; e < d_; ++e) {
              got[at(e)] = static_cast<double>(rows[i * host.ld + e]);
            }
            std::int64_t const row = group.first_row + first + i;
            if (is_judged(row)) {
              judge_row(finding, group, row, got);
            } else if (is_full_) {
              judge_range(finding, group, row, got);
            }
          }));
        });
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
void AttentionCheck::read_keys(Group const& group) {
  k_.resize(at(group.keys * d_));
  v_.resize(at(group.keys * d_));
  std::vector<double> norms(at(group.keys));
  on_threads(world_, group.keys, [&](core::Range const& mine) {
    for (std::int64_t j = mine.first; j < mine.first + mine.count; ++j) {
      std::int64_t const row = group.row_of_key(j);
      std::span const key{k_.data() + j * d_, at(d_)};
      read_row(sources_.k, o_.type, row, key);
      read_row(sources_.v, o_.type, row, {v_.data() + j * d_, at(d_)});
      norms[at(j)] = std::sqrt(dot(key.data(), key.data(), d_));
    }
  });
  largest_key_ = norms.empty() ? 0 : *std::max_element(norms.begin(), norms.end());
  largest_value_ = 0;
  min_.assign(at(d_), std::numeric_limits<float>::infinity());
  max_.assign(at(d_), -std::numeric_limits<float>::infinity());
  for (std::int64_t j = 0; j < group.keys; ++j) {
    for (std::int64_t e = 0; e < d_; ++e) {
      float const value = v_[at(j * d_ + e)];
      min_[at(e)] = std::min(min_[at(e)], value);
      max_[at(e)] = std::max(max_[at(e)], value);
      largest_value_ = std::max(largest_value_, std::abs(double{value}));
    }
  }
}

void AttentionCheck::judge_row(Finding& finding, Group const& group, std::int64_t row,
                               std::vector<double> const& got) {
  std::int64_t const n = group.visible(row);
  std::vector<float> q(at(d_));
  read_row(sources_.q, o_.type, group.row_of_query(row), q);
  std::vector<double> weights(at(n)), sums(at(d_)), squares(at(d_));
  double largest = -kInfinity;
  for (std::int64_t j = 0; j < n; ++j) {
    weights[at(j)] = dot(q.data(), k_.data() + j * d_, d_) * scale_of(d_);
    largest = std::max(largest, weights[at(j)]);
  }
  double total = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    double const weight = std::exp(weights[at(j)] - largest);
    total += weight;
    float const* const v = v_.data() + j * d_;
    for (std::int64_t e = 0; e < d_; ++e) {
      double const product = weight * double{v[e]};
      sums[at(e)] += product;
      squares[at(e)] += product * double{v[e]};
    }
  }
  kernels::attention::ErrorBound::Row const facts{
      .score = scale_of(d_) * std::sqrt(dot(q.data(), q.data(), d_)) * largest_key_,
      .weight = n > 0 ? 1 / total : 0,
      .value = largest_value_,
      .n = n};
  double of_values = 0, of_bounds = 0;
  for (std::int64_t e = 0; e < d_; ++e) {
    double const want = n > 0 ? sums[at(e)] / total : 0;
    double const variance = n > 0 ? squares[at(e)] / total - want * want : 0;
    double const bound = bound_(facts, want, std::sqrt(std::max(0.0, variance)));
    double const difference = std::abs(got[at(e)] - want);
    finding.check(difference == 0 ? 0 : difference / bound, 1, [&] {
      return fmt::format("{} on rank {}: expected {:.9g}, got {}", group.place(row, e),
                         world_.rank(), want, shown(got[at(e)]));
    });
    of_values += want * want;
    of_bounds += bound * bound;
  }
  // Nothing but zeros is exact.
  if (sources_.v.kind == core::DataKind::zeros) return;
  values_ += of_values;
  bounds_ += of_bounds;
}

void AttentionCheck::judge_range(Finding& finding, Group const& group, std::int64_t row,
                                 std::vector<double> const& got) const {
  bool const sees_keys = group.visible(row) > 0;
  double const slack = core::epsilon_of(o_.type) * largest_value_;
  for (std::int64_t e = 0; e < d_; ++e) {
    double const least = sees_keys ? double{min_[at(e)]} - slack : 0;
    double const most = sees_keys ? double{max_[at(e)]} + slack : 0;
    bool const is_mean = got[at(e)] >= least && got[at(e)] <= most;
    finding.check(is_mean ? 0 : kInfinity, 1, [&] {
      return fmt::format("{} on rank {}: expected {:.9g} to {:.9g}, got {}", group.place(row, e),
                         world_.rank(), least, most, shown(got[at(e)]));
    });
  }
}

}  // namespace quadrille::workloads
