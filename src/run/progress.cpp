// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "run/progress.hpp"

#include "core/process.hpp"
#include "measure/case_runner.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

namespace quadrille::run {
namespace {

constexpr std::size_t kBar = 20;
constexpr std::chrono::seconds kSilence{10};
// Before so much is done a factor between estimates and times would be chance.
constexpr double kTellingPart = 0.05, kTellingSeconds = 2;

}  // namespace

std::string format_duration(double seconds) {
  if (seconds < 1) return "under 1 s";
  if (seconds < 100) return fmt::format("about {:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("about {:.0f} min", seconds / 60);
  return fmt::format("about {:.1f} h", seconds / 3600);
}

TimeLeft::TimeLeft(std::vector<double> estimates)
    : estimates_{std::move(estimates)},
      total_{std::accumulate(estimates_.begin(), estimates_.end(), 0.0)} {}

double TimeLeft::seconds(std::size_t index, double fraction, double spent) const {
  auto const at = estimates_.begin() + static_cast<std::ptrdiff_t>(index);
  double const done = std::accumulate(estimates_.begin(), at, 0.0) + fraction * *at;
  bool const tells = done > kTellingPart * total_ && spent > kTellingSeconds;
  return (total_ - done) * (tells ? spent / done : 1);
}

ProgressLine::ProgressLine(std::vector<double> estimates, double duration_s)
    : ProgressLine{std::move(estimates), duration_s, isatty(STDERR_FILENO) == 1, Clock::now} {}

ProgressLine::ProgressLine(std::vector<double> estimates, double duration_s, bool is_terminal,
                           std::function<Clock::time_point()> now)
    : cases_{estimates.size()},
      time_left_{std::move(estimates)},
      duration_s_{duration_s},
      is_terminal_{is_terminal},
      now_{std::move(now)} {}

double ProgressLine::spent() const {
  return std::chrono::duration<double>(now_() - start_).count();
}

double ProgressLine::left(double fraction) const {
  return duration_s_ > 0 ? std::max(0.0, duration_s_ - spent())
                         : time_left_.seconds(index_, fraction, spent());
}

void ProgressLine::begin(std::int64_t round, std::size_t index, std::string const& name) {
  index_ = index;
  round_ = round;
  Clock::time_point const now = now_();
  if (is_terminal_ || (round > 1 && now < said_ + kSilence)) return;
  said_ = now;
  core::print_error("[{}/{}] {}{}, {} left\n", index + 1, cases_, name,
                    round > 1 ? fmt::format(", round {}", round) : "", format_duration(left(0)));
}

void ProgressLine::update(measure::Progress const& progress) {
  double const rest = left(progress.fraction);
  std::string const where = fmt::format(
      "{}{}/{}", round_ > 1 ? fmt::format("round {}, ", round_) : "", index_ + 1, cases_);
  if (is_terminal_) {
    double const done = rest + spent() > 0 ? spent() / (rest + spent()) : 0;
    auto const filled = std::min(static_cast<std::size_t>(done * kBar), kBar);
    core::print_error("\r\033[K[{}{}] {} {}: {}, {} left", std::string(filled, '#'),
                      std::string(kBar - filled, '.'), where, progress.case_name, progress.step,
                      format_duration(rest));
    return;
  }
  Clock::time_point const now = now_();
  if (now < said_ + kSilence) return;
  said_ = now;
  core::print_error("[{}] {}: {}, {:.0f} %, {} left\n", where, progress.case_name, progress.step,
                    100 * progress.fraction, format_duration(rest));
}

void ProgressLine::end() {
  if (is_terminal_) core::print_error("\r\033[K");
}

}  // namespace quadrille::run
