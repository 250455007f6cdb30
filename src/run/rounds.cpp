// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "run/rounds.hpp"

#include "core/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace quadrille::run {
namespace {

using measure::Outcome;
using measure::Record;

// As the coefficient of variation within a round.
constexpr double kMaxSpread = 1.2;

std::string text_of(device::Telemetry const& now) {
  return fmt::format("{:.0f} MHz, {:.0f} W, {:.0f} C", now.clock_hz / 1e6, now.power_w,
                     now.temperature_c);
}

}  // namespace

void join_round(Record& kept, Record further, bool has_same_bits) {
  // Cut short by a signal, it says less than the rounds before.
  if (further.outcome == Outcome::interrupted) return;
  std::int64_t const rounds = kept.rounds + 1;
  if (kept.outcome != Outcome::pass) {
    kept.rounds = rounds;
    return;
  }
  if (further.outcome != Outcome::pass) {
    further.reason = fmt::format("round {}: {}", rounds, further.reason);
  } else if (has_same_bits && further.check.digest != kept.check.digest) {
    further.outcome = Outcome::fail;
    further.reason =
        fmt::format("round {} left other bits than the rounds before: expected digest {}, got {}",
                    rounds, kept.check.digest, further.check.digest);
    further.check.first_wrong = further.reason;
    further.check.wrong = 1;
  }
  further.rounds = rounds;
  further.first_use_s = kept.first_use_s;
  further.fastest_round_s = std::min(kept.fastest_round_s, further.time.median);
  further.slowest_round_s = std::max(kept.slowest_round_s, further.time.median);
  if (further.suspect.empty()) further.suspect = std::move(kept.suspect);
  kept = std::move(further);
}

void judge_rounds(Record& record) {
  bool const is_steady = record.slowest_round_s <= kMaxSpread * record.fastest_round_s;
  if (record.outcome != Outcome::pass || is_steady) return;
  record.suspect.push_back(fmt::format("the medians of {} rounds are {} to {}", record.rounds,
                                       core::format_seconds(record.fastest_round_s),
                                       core::format_seconds(record.slowest_round_s)));
}

std::vector<std::string> changes_between(std::vector<device::ErrorCounter> const& before,
                                         std::vector<device::ErrorCounter> const& after) {
  std::vector<std::string> changes;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i].count == after[i].count) continue;
    changes.push_back(
        fmt::format("{} rose from {} to {}", after[i].name, before[i].count, after[i].count));
  }
  return changes;
}

DeviceHealth::DeviceHealth(comm::World const& world)
    : world_{world},
      counters_{world.device().error_counters()},
      telemetry_{world.device().telemetry()} {}

std::vector<std::string> DeviceHealth::changes() const {
  std::string mine;
  for (std::string const& change : changes_between(counters_, world_.device().error_counters())) {
    mine += fmt::format("rank {}: {}\n", world_.rank(), change);
  }
  std::vector<std::string> all;
  for (std::string const& text : world_.group().all_gather(mine)) {
    for (std::size_t at = 0; at < text.size();) {
      std::size_t const end = text.find('\n', at);
      all.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }
  return all;
}

std::string DeviceHealth::telemetry() const {
  auto const now = world_.device().telemetry();
  if (!telemetry_ || !now) return {};
  return fmt::format("device of rank {}: {} before, {} now", world_.rank(), text_of(*telemetry_),
                     text_of(*now));
}

}  // namespace quadrille::run
