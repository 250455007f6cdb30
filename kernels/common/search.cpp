// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/search.hpp"

#include "core/stats.hpp"
#include "device/gate.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace quadrille::kernels {
namespace {

constexpr int kRounds = 5;
// Slower than the fastest by more than this after the first round, half of it after the second, a third
// ...: out. Wide, because at the power limit one row differs from the next by a tenth and more.
constexpr double kBehind = 0.3;
// Of one launch a clock shows so much more or less.
constexpr double kClockSeconds = 2e-6;
// Half of what may wait behind a gate: a call of a library may launch two kernels.
constexpr std::int64_t kMaxLaunches = device::Gate::kMaxCalls / 2;

struct Tried {
  std::size_t candidate;
  double look;
  std::vector<double> rows{};

  double seconds() const { return rows.empty() ? look : core::summarize(rows).median; }
};

std::int64_t launches_of(double once, Effort const& effort) {
  double const row = std::clamp(effort.launches * once, effort.min_row_s, effort.max_row_s);
  double const launches = std::ceil(row / std::max(once, 1e-7));
  return std::clamp(static_cast<std::int64_t>(std::min(launches, 1e6)), effort.min_launches,
                    kMaxLaunches);
}

/// Sorts them by what they take. The end of those that take no longer than the most.
template <class Iterator>
Iterator part(Iterator begin, Iterator end, double most) {
  std::stable_sort(begin, end,
                   [](Tried const& a, Tried const& b) { return a.seconds() < b.seconds(); });
  return std::find_if(begin, end, [&](Tried const& one) { return one.seconds() > most; });
}

}  // namespace

std::vector<Ranked> rank(std::size_t candidates, Trial const& trial, Effort const& effort) {
  std::vector<Tried> tried;
  double least = kUntimed;
  for (std::size_t i = 0;
       i < candidates && (tried.size() < effort.min_looks || trial.spent() < effort.looks_s); ++i) {
    double const seconds = trial.look(i);
    if (std::isnan(seconds)) continue;
    tried.push_back({i, seconds});
    least = std::min(least, seconds);
  }
  auto last = part(tried.begin(), tried.end(), kFarBehind * least + kClockSeconds);
  // One look may take longer than all rows: a single thread where others fill a GPU.
  double const end_s = effort.all_s + std::max(0.0, trial.spent() - effort.looks_s);
  bool is_over = false;
  for (int round = 0; round < kRounds && !is_over && last - tried.begin() > 1; ++round) {
    for (auto one = tried.begin(); one != last; ++one) {
      auto const place = static_cast<std::size_t>(one - tried.begin());
      is_over = trial.spent() >= end_s && (round > 0 || place >= effort.min_rows);
      if (is_over) {
        // Those without any row are not known as well as the others.
        if (round == 0) last = one;
        break;
      }
      double const seconds = trial.row(one->candidate, launches_of(one->look, effort));
      if (seconds != kUntimed) one->rows.push_back(seconds);
    }
    least = kUntimed;
    for (auto one = tried.begin(); one != last; ++one) least = std::min(least, one->seconds());
    last = part(tried.begin(), last, (1 + kBehind / (round + 1)) * least);
  }
  std::vector<Ranked> ranked;
  for (Tried const& one : tried) ranked.push_back({one.candidate, one.seconds()});
  return ranked;
}

std::vector<Ranked> rank(std::size_t candidates, std::function<bool(std::size_t)> const& enqueue,
                         device::StreamView stream, Effort const& effort) {
  using Clock = std::chrono::steady_clock;
  auto const start = Clock::now();
  device::Event begin{stream.device()}, end{stream.device()};
  device::Gate gate{stream.device()};
  // Behind as many that are not timed: its clock shows once the one before has left the device's mean.
  auto const row = [&](std::size_t candidate, std::int64_t launches) {
    for (; launches > 0; launches /= 2) {
      for (std::int64_t i = 0; i < launches; ++i) enqueue(candidate);
      gate.close();
      stream.record(begin);
      for (std::int64_t i = 0; i < launches; ++i) enqueue(candidate);
      stream.record(end);
      bool const is_valid = !gate.open();
      end.synchronize();
      if (is_valid) return end.seconds_since(begin) / static_cast<double>(launches);
    }
    return kUntimed;
  };
  Trial const trial{
      .look =
          [&](std::size_t i) {
            return enqueue(i) ? row(i, 1) : std::numeric_limits<double>::quiet_NaN();
          },
      .row = row,
      .spent = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); }};
  return rank(candidates, trial, effort);
}

}  // namespace quadrille::kernels
