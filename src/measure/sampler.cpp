// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/sampler.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

namespace quadrille::measure {
namespace {

/// Of the device, by the host's clock or its own.
class DeviceInstruments final : public Instruments {
 public:
  DeviceInstruments(comm::World const& world, core::Timing timing)
      : device_{world.device()}, stream_{world.stream()}, timing_{timing} {
    if (timing_ != core::Timing::device) return;
    begin_ = device::Event{device_};
    end_ = device::Event{device_};
  }

  double now() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void start() override {
    start_ = now();
    if (timing_ == core::Timing::device) stream_.record(begin_);
  }
  double stop() override {
    if (timing_ == core::Timing::device) stream_.record(end_);
    double const launched = now() - start_;
    stream_.synchronize();
    switch (timing_) {
      case core::Timing::device: return end_.seconds_since(begin_);
      case core::Timing::launch_only: return launched;
      default: return now() - start_;
    }
  }
  std::optional<device::Telemetry> telemetry() override { return device_.telemetry(); }
  std::size_t last_level_cache_bytes() override {
    return device_.kind() == device::Kind::cuda ? device_.facts().l2_bytes : 0;
  }

 private:
  device::Device& device_;
  device::StreamView stream_;
  core::Timing timing_;
  double start_ = 0;
  device::Event begin_, end_;
};

}  // namespace

core::Timing resolved(core::Timing timing, device::Kind kind) {
  if (timing != core::Timing::automatic) return timing;
  return kind == device::Kind::cuda ? core::Timing::device : core::Timing::synchronised;
}

std::unique_ptr<Instruments> make_instruments(comm::World const& world, core::Timing timing) {
  return std::make_unique<DeviceInstruments>(world, timing);
}

Sampler::Sampler(comm::World& world, core::Case const& spec, Description const& description,
                 Instruments& instruments, Workload& workload, Hooks hooks)
    : world_{world},
      case_{spec},
      description_{description},
      instruments_{instruments},
      workload_{workload},
      hooks_{std::move(hooks)} {}

double Sampler::repetition(Line const& line, Leg leg) { return repetition(line, leg, line.batch); }

double Sampler::repetition(Line const& line, Leg leg, std::int64_t executions) {
  auto const sets = static_cast<std::size_t>(line.buffer_sets);
  for (std::size_t i = 0; i < sets; ++i) set(i).reset(world_, *line.variant);
  world_.stream().synchronize();
  world_.group().barrier();
  instruments_.start();
  for (std::int64_t i = 0; i < executions; ++i) {
    set(static_cast<std::size_t>(i) % sets).run(world_, leg, *line.variant);
  }
  return instruments_.stop() / static_cast<double>(executions);
}

void Sampler::warm_up(std::vector<Line>& lines) {
  bool is_warm = false;
  for (std::int64_t i = 0; !is_warm && !interrupted_; ++i) {
    is_warm = true;
    for (Line& line : lines) {
      if (i >= case_.warmup.count && line.warmup_s >= case_.warmup.seconds) continue;
      is_warm = false;
      hooks_.on_step(line, "warm up");
      if (i == 0) {
        for (Leg const leg : line.legs) {
          if (leg != Leg::overlapped) repetition(line, leg);
        }
      }
      warm_up_once(line, i);
    }
    if (is_warm) return;
    interrupted_ = world_.interrupted();
    hooks_.on_progress("warm up", 0);
  }
}

void Sampler::warm_up_once(Line& line, std::int64_t i) {
  // The count first, one by one; then what is left of the seconds, in chunks, so that a short kernel
  // keeps the device busy.
  double const left = case_.warmup.seconds - line.warmup_s;
  std::int64_t const n = i < case_.warmup.count || line.warmup.empty()
                             ? 1
                             : executions_within(std::min(left, kChunkSeconds), line);
  double const seconds = repetition(line, Leg::overlapped, n);
  line.warmup.push_back(seconds);
  double const spent = world_.group().min(seconds) * static_cast<double>(n);
  // Where the clock stands, nothing would ever be warm.
  line.warmup_s = spent > 0 ? line.warmup_s + spent : case_.warmup.seconds;
}

void Sampler::sample(std::vector<Line>& lines) {
  for (Line& line : lines) {
    line.seconds.resize(line.legs.size());
    choose_batch(line);
  }
  prepare_further_sets(lines);
  double spent = 0;
  for (std::int64_t i = 0; !interrupted_; ++i) {
    bool const enough_time = case_.clock == core::Clock::burst || spent >= kSustainedSeconds;
    if (i >= case_.repetitions && enough_time) break;
    double shortest = std::numeric_limits<double>::infinity();
    for (Line& line : lines) {
      hooks_.on_step(line, "time");
      for (std::size_t l = 0; l < line.legs.size(); ++l) {
        line.seconds[l].push_back(repetition(line, line.legs[l]));
      }
      if (std::optional<device::Telemetry> const now = instruments_.telemetry()) {
        line.clock_hz.push_back(now->clock_hz);
        line.power_w.push_back(now->power_w);
      }
      shortest = std::min(shortest, line.seconds.back().back());
      hooks_.after_repetition(line, i);
    }
    if (case_.clock == core::Clock::sustained) spent += world_.group().min(shortest);
    interrupted_ = world_.interrupted();
    hooks_.on_progress("time", static_cast<double>(i + 1) /
                                   static_cast<double>(std::max(case_.repetitions, i + 1)));
  }
}

/// Whether no rank waits for another in an execution.
bool Sampler::is_alone() const { return world_.size() == 1 || !description_.traits.communicates; }

bool Sampler::is_repeatable(Line const& line) const {
  return description_.traits.repeatable && !line.variant->in_place;
}

/// How many executions take so long, by the slowest rank's warm-up; at least 1. The same on every
/// rank.
std::int64_t Sampler::executions_within(double seconds, Line const& line) const {
  if (!is_repeatable(line) || line.warmup.empty()) return 1;
  double const one = world_.group().max(core::summarize(line.warmup).median);
  constexpr double kMost = 1'000'000;
  return one > 0 ? static_cast<std::int64_t>(std::clamp(seconds / one, 1.0, kMost)) : 1;
}

/// The same on every rank.
void Sampler::choose_batch(Line& line) const {
  double const seconds =
      line.warmup.empty() ? 0 : world_.group().max(core::summarize(line.warmup).median);
  // The other clocks are there to show what one launch looks like to them.
  bool const by_device = resolved(case_.timing, world_.device().kind()) == core::Timing::device;
  bool const is_short =
      by_device && is_alone() && !line.warmup.empty() && seconds < kShortKernelSeconds;
  line.batch = case_.batch > 0 ? case_.batch : is_short ? kAutomaticBatch : 1;
  if (!is_repeatable(line)) line.batch = 1;
}

/// Makes what batches rotate over, so that they find no operand of an earlier execution in the
/// last-level cache.
void Sampler::prepare_further_sets(std::vector<Line>& lines) {
  auto const cache = static_cast<double>(instruments_.last_level_cache_bytes());
  double const wanted = std::ceil(kColdCaches * cache / std::max(1.0, description_.memory_bytes));
  bool const is_cold = case_.cache == core::Cache::cold && is_alone();
  std::int64_t most = 1;
  for (Line& line : lines) {
    double const sets = is_cold ? std::min(wanted, static_cast<double>(line.batch)) : 1;
    line.buffer_sets = std::max<std::int64_t>(1, static_cast<std::int64_t>(sets));
    most = std::max(most, line.buffer_sets);
  }
  while (static_cast<std::int64_t>(further_sets_.size()) + 1 < most) {
    further_sets_.push_back(hooks_.make_set());
  }
  world_.stream().synchronize();
}

}  // namespace quadrille::measure
