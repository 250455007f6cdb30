// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/clock.hpp"
#include "device/gate.hpp"
#include "device/trace.hpp"
#include "measure/workload.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace quadrille::measure {

/// What times and observes repetitions; tests bring their own.
class Instruments {
 public:
  struct Sample {
    double seconds = 0;
    /// Why it does not count: the gate opened under the host's calls.
    std::optional<device::Gate::Expiry> expiry{};
  };

  virtual ~Instruments() = default;
  /// The host's clock, in seconds since some moment.
  virtual double now() = 0;
  /// Before the first execution of a repetition is enqueued. With max_calls > 0 behind a gate, which so
  /// many calls wait for: the repetition begins when stop() opens it, on all ranks. With 0 it begins at
  /// once, and what it takes has the host's calls in it.
  virtual void start(std::int64_t max_calls) = 0;
  /// Behind the last execution: waits for all of it. Collective where start() closed a gate.
  virtual Sample stop() = 0;
  /// For executions without a pause, behind start(0): marks the end of what is enqueued. lap() waits
  /// for the oldest mark that it has not returned for; the seconds since the one before, or since
  /// start(). At most kMaxMarks may wait so.
  virtual void mark() = 0;
  virtual double lap() = 0;
  static constexpr std::size_t kMaxMarks = 3;
  /// Clock and power of the device now; empty where it does not tell.
  virtual std::optional<device::Telemetry> telemetry() = 0;
  /// Of the cache in which a cold batch must not find operands; 0: there is none to avoid.
  virtual std::size_t last_level_cache_bytes() = 0;
};
/// Those of world.device(), for work on world.stream(). `timing` is resolved.
std::unique_ptr<Instruments> make_instruments(comm::World const& world, core::Timing timing);
/// What "auto" means on a device.
core::Timing resolved(core::Timing timing, device::Kind kind, Traits const& traits);
/// Whether a repetition is timed behind a gate: its clock is to show the device, and nothing in it
/// waits for the device before all is enqueued.
bool is_gated(core::Timing timing, Traits const& traits);
/// What a workload says of itself, with what the transport of the case makes of it.
Description described(comm::World const& world, core::Case const& spec, Description of_workload);

/// How many sets of buffers of so many bytes `executions` rotate over, so that none finds an operand of an
/// earlier one in a cache of `cache_bytes`; 1 where there is none.
std::int64_t cold_buffer_sets(std::size_t cache_bytes, double set_bytes, std::int64_t executions);

/// One variant under measurement and its samples on this rank.
struct VariantRun {
  kernels::VariantInfo const* variant = nullptr;
  std::vector<Leg> legs{Leg::overlapped};            ///< overlapped is the last
  std::int64_t batch = 1;                            ///< executions that a sample is the mean of
  std::int64_t buffer_sets = 1;                      ///< that a batch rotates over
  std::int64_t max_calls = device::Gate::kMaxCalls;  ///< that wait behind a gate
  std::vector<double> warmup;  ///< the latest untimed, seconds of an execution, as are
  std::vector<std::vector<double>> seconds;  ///< [leg][repetition]
  std::int64_t warmups = 0;                  ///< untimed executions, and their seconds, by the rank
  double warmup_s = 0;                       ///< that had the fewest
  bool is_complete = false;                  ///< its last repetition ran
  bool is_over_limit = false;                ///< a repetition took too long: no more follow
  std::string blocked;  ///< why none can be timed behind a gate: no more follow
  std::vector<std::vector<double>> slowest;  ///< [leg][repetition], of all ranks
  double extra_s = 0;                     ///< in repetitions beyond those of the case, of all legs
  std::vector<double> clock_hz, power_w;  ///< after each repetition, where the device always told
  core::EnumSet<device::ClockLimit> clock_limits;  ///< that were in force after a repetition
  std::vector<double> energy_j;  ///< its counter after each sample of a sustained clock, likewise
  /// [repetition][pair of a step], the slower rank's, of all steps; where there is a schedule of pairs.
  /// The same on every rank.
  std::vector<std::vector<double>> pair_seconds;
};

/// A repetition that nobody timed, as this rank saw it.
struct TracedRepetition {
  std::string name;  ///< of the measurement
  std::vector<device::TraceSpan> spans;
  comm::ClockOffset clock;  ///< of this rank; its error is that of all times
};

/// How the variants of one case are timed: in turn, so that all see the same clocks, after a warm-up
/// of counts and seconds, in batches where one execution is short against the cost of timing it.
/// Every member but the constructor is collective.
class Sampler {
 public:
  struct Hooks {
    /// Another workload of the case, prepared with the same data.
    std::function<std::unique_ptr<Workload>()> make_set;
    /// Behind a repetition of a variant, with its outputs in place; with a sustained clock behind the
    /// last alone.
    std::function<void(VariantRun& run, bool is_last)> after_repetition = [](VariantRun&, bool) {};
    /// "first run", "warm up" or "time", before each repetition of a variant.
    std::function<void(VariantRun const& run, std::string_view step)> on_step =
        [](VariantRun const&, std::string_view) {};
    /// The done share of a step.
    std::function<void(std::string_view step, double done)> on_progress = [](std::string_view,
                                                                             double) {};
  };

  /// `workload` is prepared and, like all others, outlives the sampler.
  Sampler(comm::World& world, core::Case const& spec, Description const& description,
          Instruments& instruments, Workload& workload, Hooks hooks);

  /// One repetition of a variant from barrier to the end of the stream; seconds of one execution of
  /// the variant's batch. The clock stops before any other barrier: every rank's time is its own.
  double repetition(VariantRun const& run, Leg leg);
  /// The very first, before anything is warm; its seconds on the slowest rank.
  double first_run(VariantRun& run);
  /// At least as many repetitions and seconds of each variant as the case wants.
  void warm_up(std::vector<VariantRun>& runs);
  /// The timed ones, in turn: as many repetitions as the case wants, and more of a variant whose median
  /// is not known well enough. With a sustained clock at least kSustainedSeconds of each variant without
  /// a pause, one variant after the other.
  void sample(std::vector<VariantRun>& runs);
  /// One execution more of a variant, of all legs together, with what streams and messages did. Its outputs
  /// are those of every repetition.
  TracedRepetition trace(VariantRun const& run, std::string const& name);
  /// A signal asked to stop; later calls do nothing.
  bool interrupted() const { return interrupted_; }

  // A sustained figure needs the device warm and its clock settled.
  static constexpr double kSustainedSeconds = 3;
  // Executions that nobody needs one by one are enqueued in chunks of this, unless one takes longer.
  static constexpr double kChunkSeconds = 0.05;
  // Where the interval of a median never gets as narrow as a case asks.
  static constexpr std::int64_t kMaxRepetitions = 1000;
  // Of repetitions beyond those that a case asks for, where its number would be SUSPECT.
  static constexpr double kExtraSeconds = 2;
  // And their number: where two ranks meet, a sample of microseconds has a barrier in front of it.
  static constexpr std::int64_t kMaxAutomatic = 5000;
  // Kernels shorter than this are launched in batches: the gaps between a clock and one launch would
  // be a good part of what it shows.
  static constexpr double kShortKernelSeconds = 200e-6, kBatchSeconds = 2e-3;
  static constexpr std::int64_t kAutomaticBatch = 100;
  // Where warm-ups take up to so many of kShortKernelSeconds, the host's calls may hide a short
  // kernel: as many looks behind a gate tell.
  static constexpr double kMaxHidden = 4;
  static constexpr int kLooks = 3;
  // A warm-up ends by the wall clock where resets and checks take longer than what is warmed up.
  static constexpr double kWarmUpFactor = 4;
  static constexpr std::int64_t kMaxResets = 32;
  // Untimed executions that tell how long one takes; the first are slower.
  static constexpr std::size_t kLatestWarmups = 31;
  // Buffers that a cold batch rotates over, in last-level caches.
  static constexpr double kColdCaches = 3;

 private:
  using Sample = Instruments::Sample;

  Sample repetition(VariantRun const& run, Leg leg, std::int64_t executions,
                    std::int64_t max_calls);
  Sample repetition_in_steps(VariantRun const& run, Leg leg, PairSchedule const& schedule,
                             std::int64_t max_calls);
  void begin(VariantRun const& run, std::string_view step);
  bool is_over(double seconds) const;
  void end(VariantRun& run);
  double limited(VariantRun& run, Leg leg, std::string_view step);
  double timed(VariantRun& run, std::size_t leg);
  void halve(VariantRun& run, std::optional<device::Gate::Expiry> const& expiry);
  void warm_up_once(VariantRun& run, std::int64_t i);
  bool is_alone() const;
  bool is_out(VariantRun const& run) const { return run.is_over_limit || !run.blocked.empty(); }
  std::int64_t executions_within(double seconds, VariantRun const& run) const;
  double seconds_of_one(VariantRun const& run);
  void choose_batch(VariantRun& run);
  void clear_outputs(VariantRun const& run);
  void enqueue(VariantRun const& run, Leg leg, std::int64_t first, std::int64_t executions);
  void take_turns(std::vector<VariantRun>& runs);
  bool is_last(VariantRun const& run) const;
  void sustain(std::vector<VariantRun>& runs);
  void sustain(VariantRun& run, std::size_t leg);
  void read_telemetry(VariantRun& run);
  static void drop_incomplete_telemetry(VariantRun& run);
  void prepare_further_sets(std::vector<VariantRun>& runs);
  Workload& set(std::size_t i) { return i == 0 ? workload_ : *further_sets_[i - 1]; }

  comm::World& world_;
  core::Case const& case_;
  Description const& description_;
  Instruments& instruments_;
  Workload& workload_;  ///< the set that is judged
  Hooks hooks_;
  std::vector<std::unique_ptr<Workload>> further_sets_;
  std::vector<double> pair_seconds_;  ///< of the latest repetition, as VariantRun keeps them
  double begun_ = 0;                  ///< when the step began that may take as long as a repetition
  bool is_gated_;
  bool interrupted_ = false;
};

}  // namespace quadrille::measure
