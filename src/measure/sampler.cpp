// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/sampler.hpp"

#include "comm/job_guard.hpp"
#include "device/profiler_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace quadrille::measure {
namespace {

/// Of the device, by the host's clock or its own.
class DeviceInstruments final : public Instruments {
 public:
  DeviceInstruments(comm::World const& world, core::Timing timing)
      : world_{world}, device_{world.device()}, stream_{world.stream()}, timing_{timing} {
    for (device::Event& mark : marks_) mark = device::Event{device_};
    if (timing_ != core::Timing::device) return;
    begin_ = device::Event{device_};
    end_ = device::Event{device_};
  }

  double now() override { return device::host_seconds(); }
  void start(std::int64_t max_calls) override {
    marked_ = read_ = 0;
    is_gated_ = max_calls > 0;
    if (is_gated_ && !gate_) gate_.emplace(device_);
    if (is_gated_) gate_->close(max_calls);
    if (timing_ == core::Timing::device) stream_.record(begin_);
    start_ = now();
  }
  Sample stop() override {
    Sample sample;
    if (timing_ == core::Timing::device) stream_.record(end_);
    double const enqueue_s = now() - start_;
    if (is_gated_) {
      world_.group().barrier();
      start_ = now();
      sample.expiry = gate_->open();
    }
    stream_.synchronize();
    switch (timing_) {
      case core::Timing::device: sample.seconds = end_.seconds_since(begin_); break;
      case core::Timing::launch_only: sample.seconds = enqueue_s; break;
      default: sample.seconds = now() - start_;
    }
    return sample;
  }
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
  comm::World const& world_;
  device::Device& device_;
  device::StreamView stream_;
  core::Timing timing_;
  std::optional<device::Gate> gate_;
  bool is_gated_ = false;
  double start_ = 0;
  device::Event begin_, end_;
  // Those that wait, and the one before them.
  std::array<device::Event, kMaxMarks + 1> marks_;
  std::size_t marked_ = 0, read_ = 0;
};

/// By which profilers filter: "repetition", and the legs that show a part of it by their names.
std::string range_name(Leg leg) {
  return leg == Leg::overlapped ? "repetition" : std::string{core::to_text(leg)};
}

}  // namespace

core::Timing resolved(core::Timing timing, device::Kind kind, Traits const& traits) {
  if (timing != core::Timing::automatic) return timing;
  return kind == device::Kind::cuda && !traits.host_timed ? core::Timing::device
                                                          : core::Timing::synchronised;
}

bool is_gated(core::Timing timing, Traits const& traits) {
  bool const shows_device = timing == core::Timing::automatic || timing == core::Timing::device;
  return shows_device && !traits.host_timed;
}

Description described(comm::World const& world, core::Case const& spec, Description of_workload) {
  if (world.size() > 1 && of_workload.traits.communicates &&
      world.transport_entry(spec.transport, spec.throttle).is_host_driven) {
    of_workload.traits.host_timed = true;
  }
  return of_workload;
}

std::int64_t cold_buffer_sets(std::size_t cache_bytes, double set_bytes, std::int64_t executions) {
  double const wanted =
      std::ceil(Sampler::kColdCaches * static_cast<double>(cache_bytes) / std::max(1.0, set_bytes));
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::min(wanted, static_cast<double>(executions))));
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
      hooks_{std::move(hooks)},
      is_gated_{is_gated(spec.timing, description.traits)} {}

double Sampler::repetition(VariantRun const& run, Leg leg) {
  return repetition(run, leg, run.batch, 0).seconds;
}

Sampler::Sample Sampler::repetition(VariantRun const& run, Leg leg, std::int64_t executions,
                                    std::int64_t max_calls) {
  device::ProfilerRange const of_variant{std::string{run.variant->name}};
  clear_outputs(run);
  device::ProfilerRange const of_repetition{range_name(leg)};
  if (description_.pairs) return repetition_in_steps(run, leg, *description_.pairs, max_calls);
  instruments_.start(max_calls);
  enqueue(run, leg, 0, executions);
  Sample sample = instruments_.stop();
  sample.seconds /= static_cast<double>(executions);
  return sample;
}

/// Seconds of all steps with large messages, each by the slowest pair. The same on every rank.
Sampler::Sample Sampler::repetition_in_steps(VariantRun const& run, Leg leg,
                                             PairSchedule const& schedule, std::int64_t max_calls) {
  Sample sum;
  pair_seconds_.clear();
  for (std::int64_t step = 0; step < schedule.steps(); ++step) {
    workload_.select_step(step);
    if (step > 0) world_.group().barrier();
    instruments_.start(max_calls);
    workload_.run(world_, leg, *run.variant);
    Sample const mine = instruments_.stop();
    if (mine.expiry) sum.expiry = mine.expiry;
    for (Pair const& pair : schedule.pairs(step)) {
      pair_seconds_.push_back(pair.has(world_.rank()) ? mine.seconds : 0);
    }
  }
  world_.group().max(pair_seconds_);
  auto next = pair_seconds_.begin();
  for (std::int64_t step = 0; step < schedule.steps(); ++step) {
    auto const end = next + std::ssize(schedule.pairs(step));
    if (PairSchedule::is_large(step)) sum.seconds += *std::max_element(next, end);
    next = end;
  }
  return sum;
}

/// Ends with all ranks at a barrier and nothing on their streams.
void Sampler::clear_outputs(VariantRun const& run) {
  for (std::int64_t i = 0; i < run.buffer_sets; ++i) {
    set(static_cast<std::size_t>(i)).reset(world_, *run.variant);
  }
  world_.stream().synchronize();
  world_.group().barrier();
}

/// The executions first, first + 1, ... of a row of them.
void Sampler::enqueue(VariantRun const& run, Leg leg, std::int64_t first, std::int64_t executions) {
  for (std::int64_t i = first; i < first + executions; ++i) {
    set(static_cast<std::size_t>(i % run.buffer_sets)).run(world_, leg, *run.variant);
  }
}

void Sampler::begin(VariantRun const& run, std::string_view step) {
  hooks_.on_step(run, step);
  begun_ = instruments_.now();
}

bool Sampler::is_over(double seconds) const {
  double const limit = world_.settings().timeout.repetition_s;
  return limit > 0 && seconds > limit;
}

/// Marks the run where what began took too long on any rank. Collective.
void Sampler::end(VariantRun& run) {
  run.is_over_limit = world_.group().agree(is_over(instruments_.now() - begun_)) >= 0;
}

double Sampler::limited(VariantRun& run, Leg leg, std::string_view step) {
  begin(run, step);
  double const seconds = repetition(run, leg);
  end(run);
  return seconds;
}

/// A timed repetition of a leg that still may run, on this rank; what ended it stands in the run.
double Sampler::timed(VariantRun& run, std::size_t leg) {
  while (!is_out(run)) {
    begin(run, "time");
    Sample const sample = repetition(run, run.legs[leg], run.batch, is_gated_ ? run.max_calls : 0);
    std::array<double, 3> worst{static_cast<double>(is_over(instruments_.now() - begun_)),
                                static_cast<double>(sample.expiry.has_value()), sample.seconds};
    world_.group().max(worst);
    run.is_over_limit = worst[0] > 0;
    if (worst[1] == 0) {
      run.slowest[leg].push_back(worst[2]);
      if (std::ssize(run.slowest[leg]) > case_.repetitions) {
        run.extra_s += worst[2] * static_cast<double>(run.batch);
      }
      return sample.seconds;
    }
    if (!run.is_over_limit) halve(run, sample.expiry);
  }
  return 0;
}

/// Half as many launches wait for the next sample, until not even one may. Collective.
void Sampler::halve(VariantRun& run, std::optional<device::Gate::Expiry> const& expiry) {
  std::int64_t const waited = expiry ? expiry->calls : run.max_calls;
  auto const most = static_cast<double>(std::min(run.max_calls, waited));
  run.max_calls = static_cast<std::int64_t>(world_.group().min(most)) / 2;
  run.batch = std::max<std::int64_t>(1, run.batch / 2);
  int const rank = world_.group().agree(expiry.has_value());
  if (run.max_calls > 0) return;
  run.blocked = expiry ? fmt::format(
                             "a call of rank {} waits for the device before all is enqueued, "
                             "after {} calls, the last of them {}",
                             world_.rank(), expiry->calls, expiry->last_call)
                       : "";
  world_.group().broadcast(run.blocked, rank);
}

double Sampler::first_run(VariantRun& run) {
  // Its caches are cold: profilers tell it from the repetitions of a variant.
  device::ProfilerRange const range{"first run"};
  return world_.group().max(limited(run, Leg::overlapped, "first run"));
}

void Sampler::warm_up(std::vector<VariantRun>& runs) {
  bool is_warm = false;
  for (std::int64_t i = 0; !is_warm && !interrupted_; ++i) {
    is_warm = true;
    for (VariantRun& run : runs) {
      bool const is_done = i >= case_.warmup.count && run.warmup_s >= case_.warmup.seconds;
      if (is_done || run.is_over_limit) continue;
      is_warm = false;
      if (i == 0) {
        for (Leg const leg : run.legs) {
          if (leg != Leg::overlapped && !run.is_over_limit) limited(run, leg, "warm up");
        }
        if (run.is_over_limit) continue;
      }
      begin(run, "warm up");
      warm_up_once(run, i);
      end(run);
    }
    if (is_warm) return;
    interrupted_ = world_.interrupted();
    hooks_.on_progress("warm up", 0);
  }
}

void Sampler::warm_up_once(VariantRun& run, std::int64_t i) {
  // The count first, one by one; then what is left of the seconds, in chunks, so that a short kernel
  // keeps the device busy. What needs a reset before each execution has some of both in a chunk.
  double const left = std::min(case_.warmup.seconds - run.warmup_s, kChunkSeconds);
  bool const is_single = i < case_.warmup.count || run.warmup.empty();
  bool const is_row = is_repeatable(description_.traits, *run.variant);
  std::int64_t n = is_single ? 1 : executions_within(left, run);
  if (!is_row) n = std::min(n, kMaxResets);
  double spent = 0;
  for (std::int64_t k = 0; k < (is_row ? 1 : n); ++k) {
    std::int64_t const together = is_row ? n : 1;
    double const seconds = repetition(run, Leg::overlapped, together, 0).seconds;
    spent += seconds * static_cast<double>(together);
    if (run.warmup.size() == kLatestWarmups) run.warmup.erase(run.warmup.begin());
    run.warmup.push_back(seconds);
  }
  run.warmups += n;
  // By the rank that had the fewest, and by the wall clock where little of it is execution.
  std::array<double, 2> both{spent, (instruments_.now() - begun_) / kWarmUpFactor};
  world_.group().min(both);
  spent = std::max(both[0], both[1]);
  // Where the clock stands, nothing would ever be warm.
  run.warmup_s = spent > 0 ? run.warmup_s + spent : case_.warmup.seconds;
}

void Sampler::sample(std::vector<VariantRun>& runs) {
  if (interrupted_) return;
  bool const is_sustained = case_.clock == core::Clock::sustained;
  for (VariantRun& run : runs) {
    run.seconds.resize(run.legs.size());
    run.slowest.assign(run.legs.size(), {});
    run.extra_s = 0;
    run.is_complete = false;
    if (run.is_over_limit) continue;
    if (is_sustained && run.warmup.empty()) warm_up_once(run, 0);  // how long is one?
    choose_batch(run);
  }
  prepare_further_sets(runs);
  is_sustained ? sustain(runs) : take_turns(runs);
}

TracedRepetition Sampler::trace(VariantRun const& run, std::string const& name) {
  hooks_.on_step(run, "trace");
  TracedRepetition traced{name, {}, comm::clock_offset(world_.group(), device::host_seconds)};
  clear_outputs(run);
  device::Trace trace{world_.device(), world_.stream()};
  world_.group().barrier();
  std::int64_t const steps = description_.pairs ? description_.pairs->steps() : 1;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (description_.pairs) workload_.select_step(step);
    if (step > 0) world_.group().barrier();
    {
      device::TraceScope const all{world_.stream(), device::TraceKind::repetition, name};
      workload_.run(world_, Leg::overlapped, *run.variant);
    }
    world_.stream().synchronize();
  }
  traced.spans = trace.finish();
  traced.clock.error_s += trace.error_s();
  return traced;
}

/// Whether no repetition follows the next one, which is known before it runs: its outputs are judged
/// before another variant's replace them. The same on every rank.
bool Sampler::is_last(VariantRun const& run) const {
  auto const next = std::ssize(run.slowest.back()) + 1;
  if (next < case_.repetitions) return false;
  bool const has_aim = case_.stop_percent > 0;
  double const aim = (has_aim ? case_.stop_percent : suspect_percent(case_, false)) / 100;
  std::int64_t const most = has_aim ? kMaxRepetitions : kMaxAutomatic;
  if (aim <= 0 || next >= std::max(case_.repetitions, most)) return true;
  if (!has_aim && run.extra_s >= kExtraSeconds) return true;
  // A user's aim is an interval. Nothing is known of one repetition, which is no reason for more.
  bool const is_known = !has_aim || next > core::kMinForInterval;
  return is_known && std::ranges::all_of(run.slowest, [&](std::vector<double> const& leg) {
           return core::half_width_with_one_more(leg) <= aim;  // NaN: no
         });
}

void Sampler::take_turns(std::vector<VariantRun>& runs) {
  bool is_over = false;
  for (std::int64_t i = 0; !is_over && !interrupted_; ++i) {
    is_over = true;
    for (VariantRun& run : runs) {
      if (run.is_complete || is_out(run)) continue;
      bool const ends = is_last(run);
      std::vector<double> seconds;
      for (std::size_t l = 0; l < run.legs.size() && !is_out(run); ++l) {
        seconds.push_back(timed(run, l));
      }
      if (is_out(run)) continue;
      for (std::size_t l = 0; l < seconds.size(); ++l) run.seconds[l].push_back(seconds[l]);
      if (description_.pairs) run.pair_seconds.push_back(pair_seconds_);
      read_telemetry(run);
      run.is_complete = ends;
      is_over = is_over && ends;
      hooks_.after_repetition(run, ends);
      interrupted_ = world_.interrupted();
      if (interrupted_) break;
    }
    hooks_.on_progress(
        "time", std::min(1.0, static_cast<double>(i + 1) / static_cast<double>(case_.repetitions)));
  }
  for (VariantRun& run : runs) drop_incomplete_telemetry(run);
}

// One variant after the other: the figure is what a device settles at under this variant's own load.
// In turns, each would start with the power and heat that another one left.
void Sampler::sustain(std::vector<VariantRun>& runs) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    VariantRun& run = runs[i];
    for (std::size_t l = 0; l < run.legs.size() && !interrupted_ && !run.is_over_limit; ++l) {
      sustain(run, l);
    }
    if (interrupted_) return;
    if (run.is_over_limit) continue;
    run.is_complete = true;
    hooks_.after_repetition(run, true);
    hooks_.on_progress("time", static_cast<double>(i + 1) / static_cast<double>(runs.size()));
  }
}

void Sampler::sustain(VariantRun& run, std::size_t leg) {
  std::vector<double>& seconds = run.seconds[leg];
  // Where ranks wait for each other in an execution, all must run as many, and agree on it now and
  // then: on a host that takes time from what is measured. Elsewhere a faster one would pause for
  // the others.
  bool const in_step = !is_alone();
  auto const laps_between =
      static_cast<std::size_t>(std::max<std::int64_t>(1, executions_within(0.5, run) / run.batch));
  auto const lap = [&] {
    double const sum = instruments_.lap();
    seconds.push_back(sum / static_cast<double>(run.batch));
    if (run.legs[leg] == Leg::overlapped) read_telemetry(run);
    return sum;
  };
  device::ProfilerRange const of_variant{std::string{run.variant->name}};
  clear_outputs(run);
  device::ProfilerRange const of_repetitions{range_name(run.legs[leg])};
  instruments_.start(0);
  std::size_t marks = 0;
  double spent = 0;
  double longest = 0;
  for (bool is_last = false; !is_last;) {
    begin(run, "time");
    // Behind the chunk that lap() waits for lie others: the queue never runs dry.
    for (; marks < seconds.size() + Instruments::kMaxMarks; ++marks) {
      enqueue(run, run.legs[leg], static_cast<std::int64_t>(marks) * run.batch, run.batch);
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
    begin(run, "time");
    lap();
  }
  run.is_over_limit = world_.group().agree(is_over(longest)) >= 0;
  interrupted_ = world_.interrupted();
  drop_incomplete_telemetry(run);
  // A sample of every rank, or none.
  auto const common =
      static_cast<std::size_t>(world_.group().min(static_cast<double>(seconds.size())));
  for (std::vector<double>* const samples :
       {&seconds, &run.clock_hz, &run.power_w, &run.energy_j}) {
    samples->resize(std::min(samples->size(), common));
  }
}

void Sampler::read_telemetry(VariantRun& run) {
  if (std::optional<device::Telemetry> const now = instruments_.telemetry()) {
    run.clock_hz.push_back(now->clock_hz);
    run.power_w.push_back(now->power_w);
    run.clock_limits |= now->clock_limits;
    bool const is_sustained = case_.clock == core::Clock::sustained;
    if (is_sustained && now->energy_j > 0) run.energy_j.push_back(now->energy_j);
  }
}

/// After a read that failed nobody knows which values belong to which repetition.
void Sampler::drop_incomplete_telemetry(VariantRun& run) {
  for (std::vector<double>* const told : {&run.clock_hz, &run.power_w, &run.energy_j}) {
    if (told->size() != run.seconds.back().size()) told->clear();
  }
}

/// Whether no rank waits for another in an execution.
bool Sampler::is_alone() const { return world_.size() == 1 || !description_.traits.communicates; }

/// How many executions take so long, by the slowest rank's warm-up; at least 1. The same on every
/// rank.
std::int64_t Sampler::executions_within(double seconds, VariantRun const& run) const {
  if (run.warmup.empty()) return 1;
  double const one = world_.group().max(core::summarize(run.warmup).median);
  constexpr double kMax = 1'000'000;
  return one > 0 ? static_cast<std::int64_t>(std::clamp(seconds / one, 1.0, kMax)) : 1;
}

/// Of an execution on the slowest rank, without the host's calls where a gate can hold them off: a
/// busy host must not decide whether launches are timed in batches. 0: not known.
double Sampler::seconds_of_one(VariantRun const& run) {
  if (run.warmup.empty()) return 0;
  double const warm = world_.group().max(core::summarize(run.warmup).median);
  if (!is_gated_ || warm >= kMaxHidden * kShortKernelSeconds) return warm;
  double least = warm;
  for (int i = 0; i < kLooks; ++i) {
    begin(run, "warm up");
    Sample const sample = repetition(run, Leg::overlapped, 1, run.max_calls);
    std::array<double, 2> worst{static_cast<double>(sample.expiry.has_value()), sample.seconds};
    world_.group().max(worst);
    if (worst[0] > 0) return warm;
    least = std::min(least, worst[1]);
  }
  return least;
}

/// The same on every rank.
void Sampler::choose_batch(VariantRun& run) {
  run.batch = std::max<std::int64_t>(1, case_.batch);
  if (!is_repeatable(description_.traits, *run.variant)) {
    run.batch = 1;
    return;
  }
  if (case_.clock == core::Clock::sustained) {
    run.batch = std::max(case_.batch, executions_within(kChunkSeconds, run));
    return;
  }
  // The other clocks are there to show what one launch looks like to them.
  bool const shows_batch =
      is_gated_ || (case_.timing == core::Timing::automatic && description_.traits.host_timed);
  if (case_.batch > 0 || !shows_batch || !(is_alone() || description_.traits.can_pipeline)) return;
  double const seconds = seconds_of_one(run);
  if (seconds <= 0 || seconds >= kShortKernelSeconds) return;
  run.batch =
      std::min(static_cast<std::int64_t>(std::ceil(kBatchSeconds / seconds)), kAutomaticBatch);
}

/// Makes what batches rotate over, so that they find no operand of an earlier execution in the
/// last-level cache.
void Sampler::prepare_further_sets(std::vector<VariantRun>& runs) {
  bool const is_cold = case_.cache == core::Cache::cold && is_alone();
  std::int64_t most = 1;
  for (VariantRun& run : runs) {
    std::int64_t const rotated =
        case_.clock == core::Clock::sustained ? std::min(run.batch, kAutomaticBatch) : run.batch;
    run.buffer_sets = is_cold ? cold_buffer_sets(instruments_.last_level_cache_bytes(),
                                                 description_.memory_bytes, rotated)
                              : 1;
    most = std::max(most, run.buffer_sets);
  }
  while (static_cast<std::int64_t>(further_sets_.size()) + 1 < most) {
    further_sets_.push_back(hooks_.make_set());
  }
  world_.stream().synchronize();
}

}  // namespace quadrille::measure
