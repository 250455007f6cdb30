// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/sampler.hpp"

#include "comm/job_guard.hpp"
#include "common/delay.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

namespace quadrille::measure {
namespace {

/// Of the device, by the host's clock or its own.
class DeviceInstruments final : public Instruments {
 public:
  DeviceInstruments(comm::World const& world, core::Timing timing)
      : device_{world.device()}, stream_{world.stream()}, timing_{timing} {
    for (device::Event& mark : marks_) mark = device::Event{device_};
    if (timing_ != core::Timing::device) return;
    begin_ = device::Event{device_};
    end_ = device::Event{device_};
  }

  double now() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void start(double head_start_s) override {
    start_ = now();
    marked_ = read_ = 0;
    if (timing_ != core::Timing::device) return;
    kernels::delay(head_start_s, stream_);
    stream_.record(begin_);
  }
  double stop() override {
    if (timing_ == core::Timing::device) stream_.record(end_);
    enqueue_s_ = now() - start_;
    stream_.synchronize();
    switch (timing_) {
      case core::Timing::device: return end_.seconds_since(begin_);
      case core::Timing::launch_only: return enqueue_s_;
      default: return now() - start_;
    }
  }
  double enqueue_seconds() override { return enqueue_s_; }
  void mark() override { stream_.record(marks_[marked_++ % marks_.size()]); }
  double lap() override {
    device::Event const& before = read_ == 0 ? begin_ : marks_[(read_ - 1) % marks_.size()];
    device::Event const& reached = marks_[read_++ % marks_.size()];
    reached.synchronize();
    if (timing_ == core::Timing::device) return reached.seconds_since(before);
    double const arrived = now();
    return arrived - std::exchange(start_, arrived);
  }
  std::optional<device::Telemetry> telemetry() override { return device_.telemetry(); }
  std::size_t last_level_cache_bytes() override {
    return device_.kind() == device::Kind::cuda ? device_.facts().l2_bytes : 0;
  }

 private:
  device::Device& device_;
  device::StreamView stream_;
  core::Timing timing_;
  double start_ = 0, enqueue_s_ = 0;
  device::Event begin_, end_;
  // Those that wait, and the one before them.
  std::array<device::Event, kMostMarks + 1> marks_;
  std::size_t marked_ = 0, read_ = 0;
};

}  // namespace

core::Timing resolved(core::Timing timing, device::Kind kind, Traits const& traits) {
  if (timing != core::Timing::automatic) return timing;
  return kind == device::Kind::cuda && !traits.of_host ? core::Timing::device
                                                       : core::Timing::synchronised;
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
  clear_outputs(line);
  if (description_.pairs) return repetition_in_steps(line, leg, *description_.pairs);
  instruments_.start(head_start(line, executions));
  enqueue(line, leg, 0, executions);
  return instruments_.stop() / static_cast<double>(executions);
}

/// Seconds of all steps with large messages, each by the slowest pair. The same on every rank.
double Sampler::repetition_in_steps(Line const& line, Leg leg, PairSchedule const& schedule) {
  pair_seconds_.clear();
  for (std::int64_t step = 0; step < schedule.steps(); ++step) {
    workload_.select_step(step);
    if (step > 0) world_.group().barrier();
    instruments_.start(Instruments::kHeadStartSeconds);
    workload_.run(world_, leg, *line.variant);
    double const mine = instruments_.stop();
    for (Pair const& pair : schedule.pairs(step)) {
      pair_seconds_.push_back(pair.has(world_.rank()) ? mine : 0);
    }
  }
  world_.group().max(pair_seconds_);
  double sum = 0;
  auto next = pair_seconds_.begin();
  for (std::int64_t step = 0; step < schedule.steps(); ++step) {
    auto const end = next + std::ssize(schedule.pairs(step));
    if (PairSchedule::is_large(step)) sum += *std::max_element(next, end);
    next = end;
  }
  return sum;
}

/// Where ranks wait for each other, or an execution for the host, the same for all.
double Sampler::head_start(Line const& line, std::int64_t executions) const {
  double const usual = Instruments::kHeadStartSeconds;
  if (executions == 1 || !is_alone()) return usual;
  return std::max(usual, kernels::head_start(line.enqueue_s * static_cast<double>(executions)));
}

/// Ends with all ranks at a barrier and nothing on their streams.
void Sampler::clear_outputs(Line const& line) {
  for (std::int64_t i = 0; i < line.buffer_sets; ++i) {
    set(static_cast<std::size_t>(i)).reset(world_, *line.variant);
  }
  world_.stream().synchronize();
  world_.group().barrier();
}

/// The executions first, first + 1, ... of a row of them.
void Sampler::enqueue(Line const& line, Leg leg, std::int64_t first, std::int64_t executions) {
  for (std::int64_t i = first; i < first + executions; ++i) {
    set(static_cast<std::size_t>(i % line.buffer_sets)).run(world_, leg, *line.variant);
  }
}

void Sampler::begin(Line const& line, std::string_view step) {
  hooks_.on_step(line, step);
  begun_ = instruments_.now();
}

bool Sampler::is_over(double seconds) const {
  double const limit = world_.settings().timeout.repetition_s;
  return limit > 0 && seconds > limit;
}

/// Marks the line where what began took too long on any rank. Collective.
void Sampler::end(Line& line) {
  line.is_over_limit = world_.group().agree(is_over(instruments_.now() - begun_)) >= 0;
}

double Sampler::limited(Line& line, Leg leg, std::string_view step) {
  begin(line, step);
  double const seconds = repetition(line, leg);
  end(line);
  return seconds;
}

double Sampler::first_run(Line& line) {
  return world_.group().max(limited(line, Leg::overlapped, "first run"));
}

void Sampler::warm_up(std::vector<Line>& lines) {
  bool is_warm = false;
  for (std::int64_t i = 0; !is_warm && !interrupted_; ++i) {
    is_warm = true;
    for (Line& line : lines) {
      bool const is_done = i >= case_.warmup.count && line.warmup_s >= case_.warmup.seconds;
      if (is_done || line.is_over_limit) continue;
      is_warm = false;
      if (i == 0) {
        for (Leg const leg : line.legs) {
          if (leg != Leg::overlapped && !line.is_over_limit) limited(line, leg, "warm up");
        }
        if (line.is_over_limit) continue;
      }
      begin(line, "warm up");
      warm_up_once(line, i);
      end(line);
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
  double const enqueue_s = instruments_.enqueue_seconds() / static_cast<double>(n);
  line.enqueue_s = line.warmup.empty() ? enqueue_s : std::min(line.enqueue_s, enqueue_s);
  if (line.warmup.size() == kLatestWarmups) line.warmup.erase(line.warmup.begin());
  line.warmup.push_back(seconds);
  line.warmups += n;
  double const spent = world_.group().min(seconds) * static_cast<double>(n);
  // Where the clock stands, nothing would ever be warm.
  line.warmup_s = spent > 0 ? line.warmup_s + spent : case_.warmup.seconds;
}

void Sampler::sample(std::vector<Line>& lines) {
  if (interrupted_) return;
  bool const is_sustained = case_.clock == core::Clock::sustained;
  for (Line& line : lines) {
    line.seconds.resize(line.legs.size());
    if (line.is_over_limit) continue;
    if (is_sustained && line.warmup.empty()) warm_up_once(line, 0);  // how long is one?
    choose_batch(line);
  }
  prepare_further_sets(lines);
  is_sustained ? sustain(lines) : take_turns(lines);
}

TracedRepetition Sampler::trace(Line const& line, std::string const& name) {
  hooks_.on_step(line, "trace");
  TracedRepetition traced{name, {}, comm::clock_offset(world_.group(), device::host_seconds)};
  clear_outputs(line);
  device::Trace trace{world_.device(), world_.stream()};
  world_.group().barrier();
  std::int64_t const steps = description_.pairs ? description_.pairs->steps() : 1;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (description_.pairs) workload_.select_step(step);
    if (step > 0) world_.group().barrier();
    {
      device::TraceScope const all{world_.stream(), device::TraceKind::repetition, name};
      workload_.run(world_, Leg::overlapped, *line.variant);
    }
    world_.stream().synchronize();
  }
  traced.spans = trace.finish();
  traced.clock.error_s += trace.error_s();
  return traced;
}

/// Whether the median is known as well as the case asks. The same on every rank.
bool Sampler::is_narrow(Line const& line) const {
  core::Summary const times = core::summarize(line.slowest);
  double const half_width = (times.median_high - times.median_low) / 2;
  return half_width <= case_.stop_percent / 100 * times.median;  // NaN: too few to tell
}

void Sampler::take_turns(std::vector<Line>& lines) {
  bool const may_stop = case_.stop_percent > 0;
  std::int64_t const most =
      may_stop ? std::max(case_.repetitions, kMostRepetitions) : case_.repetitions;
  // Known before it runs, because its outputs are judged before another variant's replace them.
  bool is_last = false;
  for (std::int64_t i = 0; !is_last && !interrupted_; ++i) {
    is_last = i + 1 == most || (may_stop && i + 1 >= case_.repetitions &&
                                std::ranges::all_of(lines, [&](Line const& line) {
                                  return line.is_over_limit || is_narrow(line);
                                }));
    for (Line& line : lines) {
      std::vector<double> seconds;
      for (std::size_t l = 0; l < line.legs.size() && !line.is_over_limit; ++l) {
        seconds.push_back(limited(line, line.legs[l], "time"));
      }
      if (line.is_over_limit) continue;
      for (std::size_t l = 0; l < seconds.size(); ++l) line.seconds[l].push_back(seconds[l]);
      if (description_.pairs) line.pair_seconds.push_back(pair_seconds_);
      if (may_stop) line.slowest.push_back(world_.group().max(line.seconds.back().back()));
      read_telemetry(line);
      line.is_complete = is_last;
      hooks_.after_repetition(line, is_last);
      interrupted_ = world_.interrupted();
      if (interrupted_) break;
    }
    hooks_.on_progress(
        "time", std::min(1.0, static_cast<double>(i + 1) / static_cast<double>(case_.repetitions)));
  }
  for (Line& line : lines) drop_incomplete_telemetry(line);
}

// One line after the other: the figure is what a device settles at under this variant's own load.
// In turns, each would start with the power and heat that another one left.
void Sampler::sustain(std::vector<Line>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Line& line = lines[i];
    for (std::size_t l = 0; l < line.legs.size() && !interrupted_ && !line.is_over_limit; ++l) {
      sustain(line, l);
    }
    if (interrupted_) return;
    if (line.is_over_limit) continue;
    line.is_complete = true;
    hooks_.after_repetition(line, true);
    hooks_.on_progress("time", static_cast<double>(i + 1) / static_cast<double>(lines.size()));
  }
}

void Sampler::sustain(Line& line, std::size_t leg) {
  std::vector<double>& seconds = line.seconds[leg];
  // Where ranks wait for each other in an execution, all must run as many, and agree on it now and
  // then: on a host that takes time from what is measured. Elsewhere a faster one would pause for
  // the others.
  bool const in_step = !is_alone();
  auto const laps_between = static_cast<std::size_t>(
      std::max<std::int64_t>(1, executions_within(0.5, line) / line.batch));
  auto const lap = [&] {
    double const sum = instruments_.lap();
    seconds.push_back(sum / static_cast<double>(line.batch));
    if (line.legs[leg] == Leg::overlapped) read_telemetry(line);
    return sum;
  };
  clear_outputs(line);
  instruments_.start(Instruments::kHeadStartSeconds);
  std::size_t marks = 0;
  double spent = 0;
  double longest = 0;
  for (bool is_last = false; !is_last;) {
    begin(line, "time");
    // Behind the chunk that lap() waits for lie others: the queue never runs dry.
    for (; marks < seconds.size() + Instruments::kMostMarks; ++marks) {
      enqueue(line, line.legs[leg], static_cast<std::int64_t>(marks) * line.batch, line.batch);
      instruments_.mark();
    }
    spent += lap();
    longest = std::max(longest, instruments_.now() - begun_);
    bool const is_slow = is_over(longest);
    bool const is_done = spent >= kSustainedSeconds &&
                         static_cast<std::int64_t>(seconds.size()) >= case_.repetitions;
    if (!in_step) {
      is_last = is_done || is_slow || comm::JobGuard::signalled();
    } else if (seconds.size() % laps_between == 0) {
      is_last = world_.group().agree(!is_done) < 0 || world_.group().agree(is_slow) >= 0 ||
                world_.interrupted();
    }
  }
  while (seconds.size() < marks) {
    begin(line, "time");
    lap();
  }
  line.is_over_limit = world_.group().agree(is_over(longest)) >= 0;
  interrupted_ = world_.interrupted();
  drop_incomplete_telemetry(line);
  // A sample of every rank, or none.
  auto const common =
      static_cast<std::size_t>(world_.group().min(static_cast<double>(seconds.size())));
  for (std::vector<double>* const samples :
       {&seconds, &line.clock_hz, &line.power_w, &line.energy_j}) {
    samples->resize(std::min(samples->size(), common));
  }
}

void Sampler::read_telemetry(Line& line) {
  if (std::optional<device::Telemetry> const now = instruments_.telemetry()) {
    line.clock_hz.push_back(now->clock_hz);
    line.power_w.push_back(now->power_w);
    bool const is_sustained = case_.clock == core::Clock::sustained;
    if (is_sustained && now->energy_j > 0) line.energy_j.push_back(now->energy_j);
  }
}

/// After a read that failed nobody knows which values belong to which repetition.
void Sampler::drop_incomplete_telemetry(Line& line) {
  for (std::vector<double>* const told : {&line.clock_hz, &line.power_w, &line.energy_j}) {
    if (told->size() != line.seconds.back().size()) told->clear();
  }
}

/// Whether no rank waits for another in an execution.
bool Sampler::is_alone() const { return world_.size() == 1 || !description_.traits.communicates; }

/// How many executions take so long, by the slowest rank's warm-up; at least 1. The same on every
/// rank.
std::int64_t Sampler::executions_within(double seconds, Line const& line) const {
  if (!is_repeatable(description_.traits, *line.variant) || line.warmup.empty()) return 1;
  double const one = world_.group().max(core::summarize(line.warmup).median);
  constexpr double kMost = 1'000'000;
  return one > 0 ? static_cast<std::int64_t>(std::clamp(seconds / one, 1.0, kMost)) : 1;
}

/// The same on every rank.
void Sampler::choose_batch(Line& line) const {
  double const seconds =
      line.warmup.empty() ? 0 : world_.group().max(core::summarize(line.warmup).median);
  // The other clocks are there to show what one launch looks like to them.
  core::Timing const timing = resolved(case_.timing, world_.device().kind(), description_.traits);
  bool const by_device = timing == core::Timing::device ||
                         (timing == core::Timing::synchronised && description_.traits.of_host);
  bool const is_short = by_device && (is_alone() || description_.traits.back_to_back) &&
                        !line.warmup.empty() && seconds < kShortKernelSeconds;
  line.batch = case_.batch > 0 ? case_.batch : is_short ? kAutomaticBatch : 1;
  if (case_.clock == core::Clock::sustained) {
    line.batch = std::max(case_.batch, executions_within(kChunkSeconds, line));
  }
  if (!is_repeatable(description_.traits, *line.variant)) line.batch = 1;
}

/// Makes what batches rotate over, so that they find no operand of an earlier execution in the
/// last-level cache.
void Sampler::prepare_further_sets(std::vector<Line>& lines) {
  auto const cache = static_cast<double>(instruments_.last_level_cache_bytes());
  double const wanted = std::ceil(kColdCaches * cache / std::max(1.0, description_.memory_bytes));
  bool const is_cold = case_.cache == core::Cache::cold && is_alone();
  std::int64_t most = 1;
  for (Line& line : lines) {
    std::int64_t const rotated =
        case_.clock == core::Clock::sustained ? std::min(line.batch, kAutomaticBatch) : line.batch;
    double const sets = is_cold ? std::min(wanted, static_cast<double>(rotated)) : 1;
    line.buffer_sets = std::max<std::int64_t>(1, static_cast<std::int64_t>(sets));
    most = std::max(most, line.buffer_sets);
  }
  while (static_cast<std::int64_t>(further_sets_.size()) + 1 < most) {
    further_sets_.push_back(hooks_.make_set());
  }
  world_.stream().synchronize();
}

}  // namespace quadrille::measure
