// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/runner.hpp"

#include "core/units.hpp"
#include "device/kernel_facts.hpp"
#include "device/occupancy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace quadrille::measure {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A sustained figure needs the device warm and its clock settled.
constexpr double kSustainedSeconds = 3;
constexpr std::int64_t kMostWarmups = 1000;
// Kernels shorter than this are launched in batches: the gaps between a clock and one launch would
// be a good part of what it shows.
constexpr double kShortKernelSeconds = 50e-6;
constexpr std::int64_t kAutomaticBatch = 100;
// Buffers that a cold batch goes round over, in last-level caches.
constexpr double kColdCaches = 3;
constexpr std::string_view kNotApplicable = "this fault does not apply to this workload or world";

/// One variant under measurement: where its samples go.
struct Line {
  kernels::VariantInfo const* variant = nullptr;
  Record* record = nullptr;
  std::vector<Leg> legs;
  std::int64_t batch = 1;                  ///< executions that one sample is the mean of
  std::vector<std::vector<double>> local;  ///< [leg][repetition], this rank
  std::vector<double> warmup;
  std::vector<double> clock_hz, power_w;  ///< after each repetition, where the device tells
  std::vector<std::vector<std::byte>> earlier_output;  ///< for Fault::stale
};

/// Rank-major samples to [repetition * ranks + rank]. Collective.
std::vector<double> gather(comm::World const& world, std::vector<double> const& local) {
  std::vector<double> const all = world.group().all_gather(local);
  std::size_t const n = local.size();
  auto const ranks = static_cast<std::size_t>(world.size());
  std::vector<double> ordered(all.size());
  for (std::size_t r = 0; r < ranks; ++r) {
    for (std::size_t i = 0; i < n; ++i) ordered[i * ranks + r] = all[r * n + i];
  }
  return ordered;
}

/// "gemm_naive_kernel: grid 128x128x1, block 32x32x1, 40 registers, ..."
std::string describe(device::KernelFacts const& kernel, device::Facts const& device) {
  auto const shape = [](std::array<std::int64_t, 3> const& n) {
    return fmt::format("{}x{}x{}", n[0], n[1], n[2]);
  };
  auto const product = [](std::array<std::int64_t, 3> const& n) {
    return static_cast<double>(n[0] * n[1] * n[2]);
  };
  double const at_once = static_cast<double>(kernel.resident_blocks) * device.units;
  device::Multiprocessor const offered = device::multiprocessor(device.compute_capability);
  std::string text = fmt::format(
      "{}: grid {}, block {}, {} registers, {} shared, {} blocks a multiprocessor", kernel.name,
      shape(kernel.grid), shape(kernel.block), kernel.registers,
      core::format_bytes(static_cast<double>(kernel.shared_bytes)), kernel.resident_blocks);
  if (offered.threads > 0) {
    text += fmt::format(" ({:.0f} % of its threads)",
                        100 * kernel.resident_blocks * product(kernel.block) / offered.threads);
  }
  if (at_once > 0) text += fmt::format(", {:.2f} waves", product(kernel.grid) / at_once);
  if (kernel.local_bytes > 0) text += fmt::format(", {} B of local memory", kernel.local_bytes);
  return text;
}

class CaseRun {
 public:
  CaseRun(comm::World& world, core::Case const& one, WorkloadEntry const& entry,
          RunnerOptions const& options)
      : world_{world}, case_{one}, entry_{entry}, options_{options} {
    if (options.fault == Fault::off_by_one) case_.data = core::DataKind::integer;
    workload_ = entry.make(case_, world.size(), world.rank());
    description_ = workload_->describe();
    timing_ = case_.timing;
    if (timing_ == core::Timing::automatic) {
      timing_ = world.device().kind() == device::Kind::cuda ? core::Timing::device
                                                            : core::Timing::synchronised;
    }
    begin_ = device::Event{world.device()};
    end_ = device::Event{world.device()};
  }

  std::vector<Record> run() {
    begin_records();
    if (lines_.empty()) return std::move(records_);
    if (!inject()) {
      for (Line& line : lines_) skip(line, kNotApplicable);
      return std::move(records_);
    }
    phase("prepare");
    report_progress("prepare", 0);
    prepare(case_.seed + 1);
    check_on_other_data();
    std::erase_if(lines_, [](Line const& line) { return line.record->outcome == Outcome::fail; });
    if (!lines_.empty() && !interrupted_) {
      phase("prepare");
      report_progress("prepare", 0.1);
      prepare(case_.seed);
      warm_up();
      time();
      options_.on_outputs(*workload_);
    }
    collect();
    return std::move(records_);
  }

 private:
  void prepare(std::uint64_t seed) {
    workload_->prepare(world_, seed);
    // Buffers are filled on the stream, and a case that is skipped now would free them under it.
    world_.stream().synchronize();
  }

  void begin_records() {
    std::vector<Selected> const selected = select_variants(*workload_, case_, world_.device());
    records_.reserve(selected.size());
    for (Selected const& choice : selected) {
      Record& record = records_.emplace_back();
      record.name = case_.name;
      record.id = fmt::format("{}:{}", case_.name, choice.info->name);
      record.workload = case_.workload->name;
      record.type = core::to_text(case_.type);
      record.variant = choice.info->name;
      record.backend = core::to_text(choice.info->backend);
      record.source = choice.info->source;
      record.transport = !description_.communicates  ? "none"
                         : case_.transport == "auto" ? world_.automatic_transport()
                                                     : case_.transport;
      if (case_.grid.rows > 0) record.grid = fmt::format("{}x{}", case_.grid.rows, case_.grid.cols);
      record.device = world_.device().facts().name;
      record.size.assign(case_.size.value.begin(), case_.size.value.begin() + case_.size.count);
      record.config = core::to_toml(case_);
      record.data = core::to_text(case_.data);
      record.seed = case_.seed;
      record.ranks = world_.size();
      record.modelled_link = case_.throttle > 0 && description_.communicates;
      record.amount = description_.amount;
      record.unit = description_.unit;
      record.peak = peak();
      record.extras = description_.extras;
      record.timing = core::to_text(timing_);
      if (timing_ == core::Timing::launch_only) {
        record.suspect.push_back(
            "the clock stopped when the work was launched, not when it was "
            "done: no time of this device");
      }
      set_published(record);
      if (!choice.unsupported.empty()) {
        record.outcome = Outcome::unsupported;
        record.reason = choice.unsupported;
      } else if (world_.size() < description_.min_ranks) {
        record.outcome = Outcome::unsupported;
        record.reason = fmt::format("needs {} ranks", description_.min_ranks);
      } else {
        Line& line = lines_.emplace_back();
        line.variant = choice.info;
        line.record = &record;
        line.legs = {Leg::overlapped};
        if (case_.legs && workload_->has_legs(*choice.info)) {
          line.legs.assign(std::begin(kLegs), std::end(kLegs));
        }
        line.local.resize(line.legs.size());
      }
    }
  }

  void set_published(Record& record) const {
    for (std::string const& text : case_.published) {
      std::size_t const colon = text.find(": ");
      if (text.substr(0, colon) != record.variant) continue;
      record.published = *core::parse_figure(text.substr(colon + 2), record.amount);
      record.published_on = case_.published_on;
    }
  }

  double peak() const {
    device::Facts const& facts = world_.device().facts();
    bool const is_memory_bound = description_.unit == "B/s" && description_.device_bytes > 0 &&
                                 (entry_.local || world_.size() == 1) &&
                                 case_.cache == core::Cache::cold;
    core::Compute const compute =
        case_.compute == core::Compute::automatic ? core::compute_for(case_.type) : case_.compute;
    double const one = is_memory_bound                 ? facts.peak_bandwidth
                       : description_.unit != "FLOP/s" ? 0
                                                       : facts.peaks.of(case_.type, compute);
    return one * world_.size();
  }

  void phase(std::string_view step) {
    world_.enter_phase(fmt::format("{}: {}", case_.name, step), 0);
  }
  void phase(Line const& line, std::string_view step) {
    world_.enter_phase(fmt::format("{}: {}", line.record->id, step),
                       world_.settings().timeout.repetition_s);
  }

  void report_progress(std::string_view step, double fraction) {
    if (world_.rank() == 0) options_.on_progress({case_.name, std::string{step}, fraction});
  }

  static void skip(Line& line, std::string_view reason) {
    line.record->outcome = Outcome::skip;
    line.record->reason = reason;
  }

  /// Faults that sit inside the exchanges or the workload, before it connects. False where they
  /// cannot.
  bool inject() {
    switch (options_.fault) {
      case Fault::wrong_rank:
        // Inside the exchange where there is one, else by swapping results.
        world_.inject(comm::MessageFault::wrong_rank);
        return world_.size() > 1;
      case Fault::drop_message:
        world_.inject(comm::MessageFault::drop_message);
        return world_.size() > 1 && description_.communicates;
      case Fault::misplaced_wait: return workload_->misplace_waits();
      default: return true;
    }
  }

  /// One repetition from barrier to the end of the stream, which is a batch of executions; seconds
  /// of one of them. The clock stops before the closing barrier, so that every rank's own time is
  /// kept.
  double repetition(Line const& line, Leg leg) {
    device::StreamView const stream = world_.stream();
    auto const sets = static_cast<std::size_t>(line.record->buffer_sets);
    for (std::size_t i = 0; i < sets; ++i) set(i).reset(world_, *line.variant);
    stream.synchronize();
    world_.group().barrier();
    Clock::time_point const start = Clock::now();
    if (timing_ == core::Timing::device) stream.record(begin_);
    for (std::int64_t i = 0; i < line.batch && options_.fault != Fault::not_run; ++i) {
      set(static_cast<std::size_t>(i) % sets).run(world_, leg, *line.variant);
    }
    if (timing_ == core::Timing::device) stream.record(end_);
    double seconds = seconds_since(start);
    stream.synchronize();
    if (timing_ == core::Timing::synchronised) seconds = seconds_since(start);
    if (timing_ == core::Timing::device) seconds = end_.seconds_since(begin_);
    return seconds / static_cast<double>(line.batch);
  }

  /// How many executions one sample is the mean of. Collective, the same on every rank.
  void choose_batch(Line& line) {
    double const seconds =
        line.warmup.empty() ? 0 : world_.group().max(core::summarize(line.warmup).median);
    // The other clocks are there to show what one launch looks like to them.
    bool const is_short = timing_ == core::Timing::device && is_alone() && !line.warmup.empty() &&
                          seconds < kShortKernelSeconds;
    line.batch = case_.batch > 0 ? case_.batch : is_short ? kAutomaticBatch : 1;
    if (!workload_->repeatable(*line.variant)) line.batch = 1;
    line.record->batch = line.batch;
  }

  /// Whether no rank waits for another in an execution.
  bool is_alone() const { return world_.size() == 1 || !description_.communicates; }

  /// The first set of buffers is the one that is judged.
  Workload& set(std::size_t i) { return i == 0 ? *workload_ : *further_sets_[i - 1]; }

  /// Makes what batches go round over, so that they find no operand of an earlier execution in the
  /// last-level cache. Collective.
  void prepare_further_sets() {
    device::Facts const& facts = world_.device().facts();
    double const wanted = std::ceil(kColdCaches * static_cast<double>(facts.l2_bytes) /
                                    std::max(1.0, description_.memory_bytes));
    bool const is_cold = case_.cache == core::Cache::cold &&
                         world_.device().kind() == device::Kind::cuda && is_alone();
    std::int64_t most = 1;
    for (Line& line : lines_) {
      double const sets = is_cold ? std::min(wanted, static_cast<double>(line.batch)) : 1;
      line.record->buffer_sets = std::max<std::int64_t>(1, static_cast<std::int64_t>(sets));
      most = std::max(most, line.record->buffer_sets);
    }
    while (static_cast<std::int64_t>(further_sets_.size()) + 1 < most) {
      further_sets_.push_back(entry_.make(case_, world_.size(), world_.rank()));
      further_sets_.back()->prepare(world_, case_.seed);
    }
    world_.stream().synchronize();
  }

  void read_telemetry(Line& line) {
    std::optional<device::Telemetry> const now = world_.device().telemetry();
    if (!now) return;
    line.clock_hz.push_back(now->clock_hz);
    line.power_w.push_back(now->power_w);
  }

  /// Judges the outputs that the last repetition left. Collective.
  void check(Line& line) {
    switch (options_.fault) {
      case Fault::none:
      case Fault::drop_message:
      case Fault::not_run:
      case Fault::stale:
      case Fault::misplaced_wait: break;
      case Fault::wrong_rank:
        if (description_.communicates) break;
        [[fallthrough]];
      default:
        if (!damage_outputs(world_, *workload_, options_.fault)) {
          skip(line, kNotApplicable);
          return;
        }
    }
    Verdict const verdict = workload_->validate(world_);
    Record& record = *line.record;
    record.check.error = verdict.error;
    record.check.bound = verdict.allowed;
    record.check.wrong = verdict.wrong;
    record.check.first_wrong = verdict.detail;
    record.check.digest = workload_->digest(world_);
    record.outcome = verdict.valid ? Outcome::pass : Outcome::fail;
    record.reason = verdict.valid ? "" : verdict.detail;
    if (line.variant->demonstration) {
      skip(line, verdict.valid ? "demonstration: right by luck this time"
                               : "demonstration: " + verdict.detail);
    }
  }

  /// Every variant once, on other data than the timed: an output left over from here can never
  /// pass the check of the timed data.
  void check_on_other_data() {
    report_progress("check", 0.1);
    for (Line& line : lines_) {
      phase(line, "first run");
      line.record->first_use_s = world_.group().max(repetition(line, Leg::overlapped));
      if (case_.check != core::Check::off) check(line);
      if (options_.fault == Fault::stale) line.earlier_output = save_outputs(world_, *workload_);
      record_kernels(line);
      interrupted_ = world_.interrupted();
      if (interrupted_) return;
    }
  }

  /// Names the kernels of one execution, a vendor's too; nothing runs.
  void record_kernels(Line& line) {
    if (!workload_->recordable() || line.variant->backend == kernels::Backend::kokkos) return;
    auto const found = device::recorded_kernels(
        world_.stream(), [&] { workload_->run(world_, Leg::overlapped, *line.variant); });
    for (device::KernelFacts const& kernel : found) {
      line.record->kernels.push_back(describe(kernel, world_.device().facts()));
      if (kernel.modelled_blocks == kernel.resident_blocks || kernel.modelled_blocks == 0) continue;
      line.record->suspect.push_back(fmt::format(
          "{}: the occupancy model says {} blocks for each multiprocessor, the driver {}",
          kernel.name, kernel.modelled_blocks, kernel.resident_blocks));
    }
  }

  void warm_up() {
    Clock::time_point const start = Clock::now();
    for (std::int64_t i = 0; i < kMostWarmups; ++i) {
      double const elapsed = world_.group().min(seconds_since(start));
      if (i >= case_.warmup.count && elapsed >= case_.warmup.seconds) return;
      for (Line& line : lines_) {
        phase(line, "warm up");
        if (i == 0) {
          for (Leg const leg : line.legs) {
            if (leg != Leg::overlapped) repetition(line, leg);
          }
        }
        line.warmup.push_back(repetition(line, Leg::overlapped));
      }
      interrupted_ = world_.interrupted();
      if (interrupted_) return;
      report_progress("warm up", 0.2);
    }
  }

  void time() {
    for (Line& line : lines_) choose_batch(line);
    prepare_further_sets();
    double spent = 0;
    for (std::int64_t i = 0; !interrupted_; ++i) {
      bool const enough_time = case_.clock == core::Clock::burst || spent >= kSustainedSeconds;
      if (i >= case_.repetitions && enough_time) break;
      // The last repetition is the one that is judged; with a sustained clock it is not known
      // beforehand, so each from the planned number on is.
      bool const judged = i + 1 >= case_.repetitions;
      double shortest = std::numeric_limits<double>::infinity();
      for (Line& line : lines_) {
        phase(line, "time");
        for (std::size_t l = 0; l < line.legs.size(); ++l) {
          line.local[l].push_back(repetition(line, line.legs[l]));
        }
        read_telemetry(line);
        shortest = std::min(shortest, line.local.back().back());
        if (i + 1 == case_.repetitions) {
          for (Extra const& extra : workload_->observed()) line.record->extras.push_back(extra);
        }
        if (judged && case_.check != core::Check::off && line.record->outcome != Outcome::fail) {
          phase(line, "check");
          if (options_.fault == Fault::stale) {
            restore_outputs(world_, *workload_, line.earlier_output);
          }
          check(line);
        }
      }
      if (case_.clock == core::Clock::sustained) spent += world_.group().min(shortest);
      interrupted_ = world_.interrupted();
      report_progress("time", 0.2 + 0.8 * static_cast<double>(i + 1) /
                                        static_cast<double>(std::max(case_.repetitions, i + 1)));
    }
  }

  void collect() {
    phase("collect");
    for (Line& line : lines_) {
      Record& record = *line.record;
      record.warmup = gather(world_, line.warmup);
      record.clock_hz = gather(world_, line.clock_hz);
      record.power_w = gather(world_, line.power_w);
      for (std::size_t l = 0; l < line.legs.size(); ++l) {
        std::vector<double> samples = gather(world_, line.local[l]);
        if (line.legs[l] == Leg::overlapped) record.seconds = samples;
        if (line.legs.size() > 1) {
          record.legs.push_back({std::string{core::to_text(line.legs[l])}, std::move(samples)});
        }
      }
      if (interrupted_) {
        record.outcome = Outcome::interrupted;
        record.reason = "a signal asked to stop";
      } else if (case_.check == core::Check::off && record.outcome != Outcome::fail) {
        record.outcome = Outcome::skip;
        record.reason = "timed, not checked (check = \"off\")";
      }
      finish(record);
    }
    Record const* vendor = nullptr;
    Record const* copy = nullptr;
    for (Line const& line : lines_) {
      bool const stands =
          workload_->vendor_row().empty() || line.variant->name == workload_->vendor_row();
      if (vendor == nullptr && stands && line.record->backend == "vendor") vendor = line.record;
      if (copy == nullptr && line.record->variant == "copy") copy = line.record;
    }
    for (Line const& line : lines_) {
      if (vendor != nullptr && line.record->outcome == Outcome::pass)
        set_ratio(*line.record, *vendor);
      if (copy != nullptr && line.record->outcome == Outcome::pass && copy->rate > 0) {
        line.record->ratio_to_copy = line.record->rate / copy->rate;
      }
    }
  }

  comm::World& world_;
  core::Case case_;
  WorkloadEntry const& entry_;
  RunnerOptions const& options_;
  std::unique_ptr<Workload> workload_;
  std::vector<std::unique_ptr<Workload>> further_sets_;  ///< alike, for cold batches
  Description description_;
  core::Timing timing_;        ///< device, synchronised or launch_only
  device::Event begin_, end_;  ///< around a repetition
  std::vector<Record> records_;
  std::vector<Line> lines_;
  bool interrupted_ = false;
};

}  // namespace

namespace {

/// Why this device does not run a row; empty when it does.
std::string why_not(Workload const& workload, core::Case const& one,
                    kernels::VariantInfo const& row, device::Device const& device) {
  if (!workload.runs_on(row, device.kind())) {
    return fmt::format("variant '{}' ({}) does not run on this device", row.name,
                       core::to_text(row.backend));
  }
  if (!row.is_built()) {
    return fmt::format("variant '{}' needs CUDA; this program was built without CUDA", row.name);
  }
  if (!row.supports(one.type)) {
    return fmt::format("variant '{}' has no type {}", row.name, core::to_text(one.type));
  }
  int const has = device.facts().compute_capability;
  if (device.kind() == device::Kind::cuda && has < row.min_sm) {
    return fmt::format("variant '{}' needs compute capability {}.{}, this device has {}.{}",
                       row.name, row.min_sm / 10, row.min_sm % 10, has / 10, has % 10);
  }
  if (std::string const reason = workload.refusal(row); !reason.empty()) {
    return fmt::format("variant '{}' {}", row.name, reason);
  }
  if (row.demonstration && !one.demonstrate) {
    return fmt::format(
        "variant '{}' shows a mistake and gives wrong results; set demonstrate = "
        "true to see it",
        row.name);
  }
  return {};
}

}  // namespace

std::vector<Selected> select_variants(Workload const& workload, core::Case const& one,
                                      device::Device const& device) {
  std::vector<kernels::VariantInfo const*> const rows = workload.variants();
  std::string_view const best = workload.best(device.kind());
  std::vector<Selected> selected;
  auto const add = [&](kernels::VariantInfo const* row, bool asked_for) {
    bool const known = std::any_of(selected.begin(), selected.end(),
                                   [&](Selected const& other) { return other.info == row; });
    if (known) return;
    std::string const reason = why_not(workload, one, *row, device);
    if (reason.empty() || asked_for) selected.push_back({row, reason});
  };
  for (std::string const& name : one.variants) {
    for (kernels::VariantInfo const* row : rows) {
      if (name == "all") add(row, false);
      if (name == "best" && row->name == best) add(row, true);
      if (name != row->name) continue;
      // A name may have a row for each kind of device.
      bool const other_runs = std::any_of(rows.begin(), rows.end(), [&](auto const* other) {
        return other != row && other->name == name && workload.runs_on(*other, device.kind());
      });
      add(row, !other_runs || workload.runs_on(*row, device.kind()));
    }
  }
  if (one.vendor == core::VendorLine::automatic) {
    for (kernels::VariantInfo const* row : rows) {
      bool const joins = workload.vendor_row().empty() || row->name == workload.vendor_row();
      if (row->backend == kernels::Backend::vendor && joins) add(row, false);
    }
  }
  return selected;
}

double memory_per_rank(comm::World const& world) {
  comm::Placement const& here = world.placement();
  auto const free = static_cast<double>(world.device().free_memory());
  auto sharers = static_cast<double>(here.local_size);
  if (world.device().kind() == device::Kind::cuda) {
    sharers = static_cast<double>(
        std::ranges::count(world.placements(), here.uuid, &comm::Placement::uuid));
  }
  return world.group().min(free / sharers);
}

namespace {

core::Extents scaled(core::Extents const& shape, std::int64_t first) {
  core::Extents result = shape;
  result.auto_fraction = 0;
  for (int i = 0; i < result.count; ++i) result.value[static_cast<std::size_t>(i)] = first;
  return result;
}

double memory_of(core::Case const& one, WorkloadEntry const& entry, int ranks) {
  return entry.make(one, ranks, 0)->describe().memory_bytes;
}

}  // namespace

core::Extents largest_fitting(core::Case one, WorkloadEntry const& entry, int ranks,
                              double memory) {
  core::Extents const shape = one.size;
  std::int64_t low = 1;
  std::int64_t high = 1LL << 40;
  while (low + 1 < high) {
    std::int64_t const middle = low + (high - low) / 2;
    one.size = scaled(shape, middle);
    (memory_of(one, entry, ranks) <= memory ? low : high) = middle;
  }
  // Round large sizes down to a multiple of 64, as people would choose them.
  return scaled(shape, low >= 1024 ? low / 64 * 64 : low);
}

void resolve_auto_size(core::Case& one, WorkloadEntry const& entry, int ranks, double memory) {
  if (one.size.auto_fraction <= 0) return;
  double const share = memory * one.size.auto_fraction;
  if (one.size.count == 0) one.size.count = 1;
  one.size = largest_fitting(one, entry, ranks, share);
}

std::vector<Record> measure_case(comm::World& world, core::Case const& one,
                                 WorkloadEntry const& entry, RunnerOptions const& options) {
  return CaseRun{world, one, entry, options}.run();
}

}  // namespace quadrille::measure
