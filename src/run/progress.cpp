// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "run/progress.hpp"

#include "core/process.hpp"
#include "measure/case_runner.hpp"
#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace quadrille::run {
namespace {

constexpr std::size_t kBar = 20;
// Of narrower terminals the bar takes too much, and a name, and the whole line, are shortened to no less.
constexpr std::size_t kWithBar = 72, kShortName = 3, kNarrowest = 4;
// To the beginning of the line, and away with what stands there.
constexpr std::string_view kRewrite = "\r\033[K";
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
    : ProgressLine{std::move(estimates), duration_s, report::terminal_of_errors, Clock::now} {}

ProgressLine::ProgressLine(std::vector<double> estimates, double duration_s,
                           std::function<report::Terminal()> terminal,
                           std::function<Clock::time_point()> now)
    : cases_{estimates.size()},
      time_left_{std::move(estimates)},
      duration_s_{duration_s},
      terminal_{std::move(terminal)},
      now_{std::move(now)} {}

double ProgressLine::spent() const {
  return std::chrono::duration<double>(now_() - start_).count();
}

double ProgressLine::left(double fraction) const {
  return duration_s_ > 0 ? std::max(0.0, duration_s_ - spent())
                         : time_left_.seconds(index_, fraction, spent());
}

void ProgressLine::say(report::Terminal const& terminal, std::string const& name,
                       std::function<std::string(std::string const&)> const& compose) const {
  // In its last place a terminal may begin the next line.
  std::size_t const room = std::max(terminal.width, kNarrowest) - 1;
  std::size_t const others = report::width_of(compose(""));
  std::size_t const of_name = room > others ? room - others : 0;
  std::string const line =
      report::clip_end(compose(report::clip(name, std::max(of_name, kShortName))), room);
  core::print_error("{}{}{}", terminal.rewrites ? kRewrite : "", line,
                    terminal.rewrites ? "" : "\n");
}

void ProgressLine::begin(std::int64_t round, std::size_t index, std::string const& name) {
  index_ = index;
  round_ = round;
  report::Terminal const terminal = terminal_();
  Clock::time_point const now = now_();
  if (terminal.rewrites || (round > 1 && now < said_ + kSilence)) return;
  said_ = now;
  say(terminal, name, [&](std::string const& shown) {
    return fmt::format("[{}/{}] {}{}, {} left", index + 1, cases_, shown,
                       round > 1 ? fmt::format(", round {}", round) : "", format_duration(left(0)));
  });
}

void ProgressLine::update(measure::Progress const& progress) {
  double const rest = left(progress.fraction);
  std::string const where = fmt::format(
      "{}{}/{}", round_ > 1 ? fmt::format("round {}, ", round_) : "", index_ + 1, cases_);
  report::Terminal const terminal = terminal_();
  if (terminal.rewrites) {
    double const done = rest + spent() > 0 ? spent() / (rest + spent()) : 0;
    auto const filled = std::min(static_cast<std::size_t>(done * kBar), kBar);
    bool const has_bar = terminal.width >= kWithBar;
    std::string const bar = fmt::format("[{:#>{}}{:.>{}}] ", "", filled, "", kBar - filled);
    return say(terminal, progress.case_name, [&](std::string const& name) {
      return fmt::format("{}{} {}: {}, {} left", has_bar ? bar : "", where, name, progress.step,
                         format_duration(rest));
    });
  }
  Clock::time_point const now = now_();
  if (now < said_ + kSilence) return;
  said_ = now;
  say(terminal, progress.case_name, [&](std::string const& name) {
    return fmt::format("[{}] {}: {}, {:.0f} %, {} left", where, name, progress.step,
                       100 * progress.fraction, format_duration(rest));
  });
}

void ProgressLine::end() {
  if (terminal_().rewrites) core::print_error("{}", kRewrite);
}

}  // namespace quadrille::run
