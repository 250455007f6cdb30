// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/terminal.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace quadrille::measure {
struct Progress;
}

namespace quadrille::run {

/// "under 1 s", "about 40 s", "about 7 min", "about 3.1 h"
std::string format_duration(double seconds);

/// How long a run still takes, from what its cases were estimated at and what they have taken.
class TimeLeft {
 public:
  /// Estimates of all cases in seconds; 0 for those that do not run.
  explicit TimeLeft(std::vector<double> estimates);

  /// Behind this part of a case, `spent` seconds after the start. Estimates alone where too little is
  /// done to tell by what factor they are wrong.
  double seconds(std::size_t index, double fraction, double spent) const;

 private:
  std::vector<double> estimates_;
  double total_ = 0;
};

/// What a person sees while it runs, on stderr, in lines no wider than its terminal: one that is written
/// over and over where that can be. Elsewhere, as with most launchers, one for each case, and one every
/// ten seconds within a case.
class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;

  /// `duration_s`: of all rounds; 0 where there is one.
  ProgressLine(std::vector<double> estimates, double duration_s);
  /// The same on what `terminal` says of each line, by another clock.
  ProgressLine(std::vector<double> estimates, double duration_s,
               std::function<report::Terminal()> terminal, std::function<Clock::time_point()> now);

  void begin(std::int64_t round, std::size_t index, std::string const& name);
  void update(measure::Progress const& progress);
  void end();

 private:
  double spent() const;
  double left(double fraction) const;
  /// `compose` makes it of a case's name, which is shortened where it has to be.
  void say(report::Terminal const& terminal, std::string const& name,
           std::function<std::string(std::string const&)> const& compose) const;

  std::size_t cases_;
  TimeLeft time_left_;
  double duration_s_;
  std::int64_t round_ = 1;
  std::size_t index_ = 0;
  std::function<report::Terminal()> terminal_;
  std::function<Clock::time_point()> now_;
  Clock::time_point start_ = now_();
  Clock::time_point said_ = start_;
};

}  // namespace quadrille::run
