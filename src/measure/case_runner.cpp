// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/case_runner.hpp"

#include "comm/cpu_share.hpp"
#include "comm/link.hpp"
#include "core/units.hpp"
#include "device/host/memory.hpp"
#include "device/kernel_facts.hpp"
#include "device/occupancy.hpp"
#include "measure/digest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace quadrille::measure {
namespace {

using kernels::Role;

/// All ranks' samples as [repetition * ranks + rank] on rank 0, nothing on others; none where a rank
/// lacks some, as devices may fail to tell of themselves. Collective.
std::vector<double> gather(comm::World const& world, std::vector<double> const& local) {
  auto const count = static_cast<double>(local.size());
  std::array<double, 2> max_and_min{count, -count};
  world.group().max(max_and_min);
  if (max_and_min[0] != -max_and_min[1]) return {};
  std::vector<double> const all = world.group().gather(local);
  std::size_t const n = local.size();
  auto const ranks = static_cast<std::size_t>(world.size());
  std::vector<double> ordered(all.size());
  for (std::size_t at = 0; at < all.size(); ++at) ordered[at % n * ranks + at / n] = all[at];
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
  double const at_once = static_cast<double>(kernel.resident_blocks) * device.multiprocessors;
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

/// Who computed it, as a result names it.
std::string_view backend_of(kernels::VariantInfo const& variant) {
  switch (variant.role) {
    case Role::reference: return "reference";
    case Role::vendor:
    case Role::peer: return "vendor";
    default: break;
  }
  return variant.where == kernels::Where::any ? "host" : core::to_text(variant.where);
}

/// What is known of a measurement before anything of the workload is.
Record record_of_case(comm::World const& world, core::Case const& spec, std::string_view variant) {
  Record record;
  record.name = spec.name;
  record.id = fmt::format("{}:{}", spec.name, variant);
  record.workload = spec.workload->name;
  record.type = core::to_text(spec.type);
  record.variant = variant;
  if (spec.grid.rows > 0) record.grid = fmt::format("{}x{}", spec.grid.rows, spec.grid.cols);
  record.device = world.device().facts().name;
  record.size.assign(spec.size.value.begin(), spec.size.value.begin() + spec.size.count);
  record.config = core::to_toml(spec);
  record.spec = std::make_shared<core::Case>(spec);
  record.data = core::to_text(spec.data);
  record.seed = spec.seed;
  record.ranks = world.size();
  return record;
}

class CaseRun {
 public:
  CaseRun(comm::World& world, core::Case const& spec, WorkloadEntry const& entry,
          SelectedCase& selected, CaseOptions const& options)
      : world_{world},
        case_{spec},
        entry_{entry},
        options_{options},
        workload_{selected.workload ? options.decorate(std::move(selected.workload))
                                    : make_workload()},
        selected_{select(selected)},
        running_{running(selected_)},
        description_{described(world, spec, workload_->describe(running_))},
        timing_{resolved(spec.timing, world.device().kind(), description_.traits)},
        instruments_{options.make_instruments(world, timing_)},
        digest_{world_},
        sampler_{world_, case_, description_, *instruments_, *workload_, hooks()} {}

  std::vector<Record> run() {
    begin_records();
    if (lines_.empty()) return std::move(records_);
    if (description_.pairs) links_ = comm::links_between_ranks(world_);
    tell_partial();
    phase("prepare", limits().prepare_s);
    report_progress("prepare", 0);
    prepare(case_.seed + 1);
    check_on_other_data();
    if (!lines_.empty() && !interrupted()) {
      phase("prepare", limits().prepare_s);
      report_progress("prepare", 0.1);
      prepare(case_.seed);
      sampler_.warm_up(lines_);
      sampler_.sample(lines_);
      phase("save", limits().write_s);
      options_.on_outputs(*workload_);
      trace();
    }
    collect();
    return std::move(records_);
  }

 private:
  // Open MPI's mpirun ends its ranks a second after it was told to.
  static constexpr double kLongSeconds = 0.25;

  std::unique_ptr<Workload> make_workload() {
    return options_.decorate(entry_.make(case_, world_.size(), world_.rank()));
  }

  std::vector<Selected> select(SelectedCase const& of_plan) {
    Selection const candidates =
        candidates_for_best(*workload_, entry_, case_, world_.settings().tuned, of_plan.reasons);
    if (candidates.empty()) return of_plan.variants;
    phase("search for \"best\"", limits().prepare_s);
    report_progress("search", 0);
    best_ = options_.best_rows->find(world_, case_, entry_, *workload_, candidates);
    return select_variants(entry_, case_, world_.device(), workload_->describe({}), world_.size(),
                           of_plan.reasons, best_.row);
  }

  Sampler::Hooks hooks() {
    return {.make_set =
                [this] {
                  std::unique_ptr<Workload> further = make_workload();
                  further->prepare(world_, case_.seed, running_);
                  return further;
                },
            .after_repetition =
                [this](VariantRun& line, bool is_last) {
                  if (has_digest(line)) digests_[line.variant].push_back(digest_.of(*workload_));
                  if (is_last) after_last_repetition(line);
                  if (is_long(line)) tell_partial();
                },
            .on_step =
                [this](VariantRun const& line, std::string_view step) {
                  // Whose repetition takes too long is told when it has ended, if it does.
                  double const limit = limits().repetition_s;
                  phase(line, step, limit > 0 ? limit + limits().grace_s : limit);
                },
            .on_progress = [this](std::string_view step,
                                  double done) { report_progress(step, 0.2 + 0.8 * done); }};
  }

  void after_last_repetition(VariantRun const& line) {
    for (SecondaryMetric& extra : workload_->observed()) {
      record_of(line).extras.push_back(std::move(extra));
    }
    if (case_.check == core::Check::off) return;
    phase(line, "check", limits().check_s);
    check(line);
    judge_library(line);
    if (has_digest(line)) compare_digests(line);
  }

  void trace() {
    if (!options_.on_trace || interrupted()) return;
    for (VariantRun const& line : lines_) {
      if (line.is_complete) options_.on_trace(sampler_.trace(line, record_of(line).id));
    }
  }

  void prepare(std::uint64_t seed) {
    workload_->prepare(world_, seed, running_);
    // Buffers are filled on the stream, and a case that is skipped now would free them under it.
    world_.stream().synchronize();
  }

  void begin_records() {
    Traits const& traits = description_.traits;
    records_.reserve(selected_.size());  // lines point to them
    for (Selected const& choice : selected_) {
      Record& record = records_.emplace_back(record_of_case(world_, case_, choice.info->name));
      record.is_named = std::ranges::find(case_.variants, record.variant) != case_.variants.end();
      record.backend = backend_of(*choice.info);
      record.role = core::to_text(choice.info->role);
      record.source = choice.info->source;
      bool const is_ceiling = choice.info->role == Role::ceiling;
      bool const communicates = traits.communicates && !is_ceiling;
      record.transport =
          communicates ? world_.transport_entry(case_.transport, case_.throttle).name : "none";
      record.transport_is_chosen = case_.transport_is_chosen && communicates;
      record.modelled_link = case_.throttle > 0 && communicates;
      record.amount = description_.amount;
      record.unit = description_.unit;
      record.peak = peak();
      if (record.unit == "FLOP/s") record.peak_clock_hz = world_.device().facts().clock_hz;
      record.suspect_percent = case_.suspect_percent;
      record.roofline = roofline();
      if (choice.info->role != Role::reference) record.measures = description_.measures;
      if (!is_ceiling) record.extras = description_.extras;
      record.timing = core::to_text(timing_);
      record.is_host_timed =
          timing_ == core::Timing::synchronised && world_.device().kind() == device::Kind::cuda;
      if (timing_ == core::Timing::launch_only) {
        record.suspect.emplace_back(
            "the clock stopped when the work was launched, not when it was "
            "done: no time of this device");
      }
      set_published(record);
      if (!choice.unsupported.empty()) {
        record.outcome = choice.is_left_out ? Outcome::skip : Outcome::unsupported;
        record.reason = choice.unsupported;
      } else if (world_.size() < traits.min_ranks) {
        record.outcome = Outcome::unsupported;
        record.reason = fmt::format("needs {0} ranks: mpirun -n {0}", traits.min_ranks);
      } else {
        VariantRun& line = lines_.emplace_back();
        line.variant = choice.info;
        // Of a peer only the whole is known, and a ceiling does not communicate.
        bool const has_parts =
            choice.info->role != Role::peer && choice.info->role != Role::ceiling;
        if (case_.legs && traits.has_legs && has_parts) {
          line.legs.assign(std::begin(kLegs), std::end(kLegs));
        }
      }
    }
  }

  Record& record_of(VariantRun const& line) {
    auto const at = std::ranges::find(selected_, line.variant, &Selected::info);
    return records_[static_cast<std::size_t>(at - selected_.begin())];
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
    core::Compute const compute = core::compute_for(case_.type, case_.compute);
    double const of_one = is_memory_bound                 ? facts.peak_bandwidth
                          : description_.unit != "FLOP/s" ? 0
                                                          : facts.peaks.of(case_.type, compute);
    return of_one * world_.size();
  }

  Roofline roofline() const {
    device::Device const& device = world_.device();
    Roofline roofline{.pcie_bytes = description_.pcie_bytes,
                      .pcie_peak = device.pcie_link().peak_bandwidth() * world_.size()};
    core::Compute const compute = core::compute_for(case_.type, case_.compute);
    roofline.flop = description_.flop;
    roofline.bytes = description_.device_bytes;
    roofline.is_hot = case_.cache != core::Cache::cold;
    roofline.compute_peak = device.facts().peaks.of(case_.type, compute) * world_.size();
    roofline.memory_peak = device.facts().peak_bandwidth * world_.size();
    return roofline;
  }

  core::Timeouts const& limits() const { return world_.settings().timeout; }
  void phase(std::string_view step, double limit_s) {
    world_.enter_phase(fmt::format("{}: {}", case_.name, step), limit_s);
  }
  void phase(VariantRun const& line, std::string_view step, double limit_s) {
    world_.enter_phase(fmt::format("{}: {}", record_of(line).id, step), limit_s);
  }

  void report_progress(std::string_view step, double fraction) {
    if (world_.rank() == 0) options_.on_progress({case_.name, std::string{step}, fraction});
  }

  bool interrupted() const { return interrupted_ || sampler_.interrupted(); }

  /// Judges the outputs that the last repetition left. Collective.
  void check(VariantRun const& line) {
    Verdict const verdict = workload_->validate(world_);
    Record& record = record_of(line);
    auto const skip = [&](std::string const& reason) {
      record.outcome = Outcome::skip;
      record.reason = reason;
    };
    if (!verdict.skipped.empty()) {
      record.outcome = Outcome::unsupported;
      record.reason = verdict.skipped;
      return;
    }
    record.check.error = verdict.error;
    record.check.bound = verdict.allowed;
    record.check.wrong = verdict.wrong;
    record.check.first_wrong = verdict.detail;
    record.check.digest = verdict.digest;
    record.outcome = verdict.valid ? Outcome::pass : Outcome::fail;
    record.reason = verdict.valid ? "" : verdict.detail;
    if (line.variant->role == Role::demonstration) {
      skip(verdict.valid ? "demonstration: right by luck this time"
                         : "demonstration: " + verdict.detail);
    }
  }

  /// A wrong result of a library's search takes its call out of the choice: the next one is checked
  /// instead. Collective.
  void drop_wrong_calls(VariantRun& line) {
    Record& record = record_of(line);
    while (record.outcome == Outcome::fail && !line.is_over_limit &&
           world_.group().agree(!workload_->drop_call(*line.variant)) < 0) {
      sampler_.first_run(line);
      phase(line, "check", limits().check_s);
      check(line);
    }
  }

  /// What is wrong is the library where its plain call is wrong on the same operands, too; a row of it
  /// that a fault has damaged has none. Collective.
  void judge_library(VariantRun const& line) {
    Record& record = record_of(line);
    if (record.outcome != Outcome::fail) return;
    bool const has_run = workload_->run_plainly(world_, *line.variant);
    if (world_.group().agree(!has_run) >= 0) return;
    Verdict const verdict = workload_->validate(world_);
    if (verdict.valid || !verdict.skipped.empty()) return;
    record.outcome = Outcome::wrong_library;
    record.reason =
        fmt::format("{}; a plain call of the library: {}", record.reason, verdict.detail);
  }

  /// Whether every repetition of a variant must leave the same bits.
  bool has_digest(VariantRun const& line) const {
    return case_.check != core::Check::off && leaves_same_bits(*line.variant);
  }

  /// All repetitions left the same bits as the last, which was judged unless a signal came before,
  /// or are wrong. Collective.
  void compare_digests(VariantRun const& line) {
    std::vector<std::uint64_t> const& digests = digests_[line.variant];
    auto const other = std::ranges::find_if(
        digests, [&](std::uint64_t digest) { return digest != digests.back(); });
    int const rank = world_.group().agree(other != digests.end());
    Record& record = record_of(line);
    auto const of_rank = core::mix(digests.back() + static_cast<std::uint64_t>(world_.rank()));
    std::int64_t const whole = world_.group().sum(static_cast<std::int64_t>(of_rank));
    if (record.check.digest.empty() && !description_.traits.state_depends_on_count)
      record.check.digest = fmt::format("{:016x}", static_cast<std::uint64_t>(whole));
    if (rank < 0 || record.outcome != Outcome::pass) return;
    std::string reason = fmt::format(
        "the output of repetition {} on rank {} differs from that of repetition {}{}: expected the "
        "same bits, got others",
        other - digests.begin() + 1, world_.rank(), digests.size(),
        line.is_complete ? ", which was checked" : "");
    world_.group().broadcast(reason, rank);
    record.outcome = Outcome::fail;
    record.reason = record.check.first_wrong = reason;
    record.check.wrong = 1;
  }

  /// Every variant once, on other data than the timed: an output left over from here can never
  /// pass the check of the timed data. What fails, or cannot be judged, is not timed.
  void check_on_other_data() {
    report_progress("check", 0.1);
    for (VariantRun& line : lines_) {
      Record& record = record_of(line);
      record.first_use_s = sampler_.first_run(line);
      if (line.is_over_limit) {
        set_timeout(record);
      } else {
        phase(line, "check", limits().check_s);
        if (case_.check != core::Check::off) {
          check(line);
          drop_wrong_calls(line);
          judge_library(line);
        }
        record_kernels(line);
      }
      name_implementation(line, record);
      interrupted_ = world_.interrupted();
      if (interrupted_) break;
    }
    std::erase_if(lines_, [&](VariantRun const& line) {
      Outcome const outcome = record_of(line).outcome;
      bool const is_mistake = line.variant->role == Role::demonstration;
      return outcome == Outcome::fail || outcome == Outcome::wrong_library ||
             outcome == Outcome::unsupported || line.is_over_limit ||
             (outcome == Outcome::skip && !is_mistake);
    });
  }

  /// What a row has chosen to run, and what is to be said of it.
  void name_implementation(VariantRun const& line, Record& record) const {
    bool const is_best = line.variant == best_.row;
    record.searched_s = workload_->searched_seconds(*line.variant);
    record.implementation = workload_->implementation(*line.variant);
    for (std::string_view const text :
         {line.variant->caveat, is_best ? std::string_view{best_.text} : std::string_view{}}) {
      if (!text.empty() && !record.implementation.empty()) record.implementation += "; ";
      record.implementation += text;
    }
  }

  /// Names the kernels of one execution, a vendor's too; nothing runs. What Kokkos enqueues is not
  /// on a stream that can be recorded.
  void record_kernels(VariantRun const& line) {
    bool const is_recordable =
        description_.traits.graph_capturable && line.variant->where != kernels::Where::kokkos;
    if (!is_recordable) return;
    Record& record = record_of(line);
    auto const found = device::recorded_kernels(
        world_.stream(), [&] { workload_->run(world_, Leg::overlapped, *line.variant); });
    for (device::KernelFacts const& kernel : found) {
      record.kernels.push_back(describe(kernel, world_.device().facts()));
      if (kernel.modelled_blocks == kernel.resident_blocks || kernel.modelled_blocks == 0) continue;
      record.suspect.push_back(fmt::format(
          "{}: the occupancy model says {} blocks for each multiprocessor, the driver {}",
          kernel.name, kernel.modelled_blocks, kernel.resident_blocks));
    }
  }

  void set_timeout(Record& record) const {
    record.outcome = Outcome::timeout;
    record.reason = fmt::format(
        "a repetition took longer than run.timeout.repetition, {}: raise it, or leave the variant "
        "out",
        core::format_seconds(limits().repetition_s));
  }

  /// Whether no two ranks of the job drive one GPU, whose energy would count twice.
  bool has_device_of_its_own() const {
    std::set<std::string> devices;
    for (comm::Placement const& rank : world_.placements()) devices.insert(rank.uuid);
    return devices.size() == world_.placements().size();
  }

  /// Gives a line's record what was sampled so far, and its verdict. Collective.
  void settle(VariantRun const& line, Record& record) {
    record.batch = line.batch;
    record.buffer_sets = line.buffer_sets;
    record.warmups = line.warmups;
    record.warmup_s = line.warmup_s;
    record.clock_hz = gather(world_, line.clock_hz);
    record.power_w = gather(world_, line.power_w);
    record.clock_limits.clear();
    for (auto const& [limit, word] : enum_names(device::ClockLimit{})) {
      if (world_.group().agree(line.clock_limits.contains(limit)) >= 0) {
        record.clock_limits.emplace_back(word);
      }
    }
    if (has_device_of_its_own()) record.energy_counter_j = gather(world_, line.energy_j);
    for (std::size_t l = 0; l < line.seconds.size(); ++l) {
      std::vector<double> samples = gather(world_, line.seconds[l]);
      if (line.legs[l] == Leg::overlapped) record.seconds = samples;
      if (line.legs.size() > 1) {
        record.legs.push_back({std::string{core::to_text(line.legs[l])}, std::move(samples)});
      }
    }
    if (description_.pairs) {
      record.pairs = pair_times(*description_.pairs, line.pair_seconds, links_, world_.size());
    }
    if (record.outcome == Outcome::fail || record.outcome == Outcome::wrong_library) {
      // Stays so.
    } else if (line.is_over_limit) {
      set_timeout(record);
    } else if (!line.blocked.empty()) {
      record.outcome = Outcome::unsupported;
      record.reason = fmt::format(
          "has no time of the device: {}; timing = \"synchronised\" takes "
          "the host's clock",
          line.blocked);
    } else if (!line.is_complete) {
      record.outcome = Outcome::interrupted;
      record.reason = "stopped before the last repetition, which is checked";
    } else if (case_.check == core::Check::off) {
      record.outcome = Outcome::skip;
      record.reason = "timed, not checked (check = \"off\")";
    }
    finish(record, comm::cpu_contention(world_.placements()));
    suspect_shared_device(record, busy_before_);
  }

  /// What there is to show of the case should it never end. Collective.
  void tell_partial() {
    std::vector<Record> partial = records_;
    for (VariantRun const& line : lines_) {
      settle(line, partial[static_cast<std::size_t>(&record_of(line) - records_.data())]);
    }
    if (world_.rank() == 0) options_.on_partial(std::move(partial));
  }

  /// Whether this line's last repetition took so long that a launcher which is asked to stop may
  /// not wait for the end of another. The same on every rank.
  bool is_long(VariantRun const& line) {
    if (record_of(line).first_use_s < kLongSeconds) return false;
    double seconds = 0;
    for (std::vector<double> const& leg : line.seconds) seconds += leg.empty() ? 0 : leg.back();
    return world_.group().max(seconds) >= kLongSeconds;
  }

  void collect() {
    phase("collect", limits().write_s);
    Record const* bar = nullptr;
    Record const* ceiling = nullptr;
    for (VariantRun const& line : lines_) {
      Record& record = record_of(line);
      bool const is_interrupted = !line.is_complete && !line.is_over_limit && line.blocked.empty();
      if (is_interrupted && !digests_[line.variant].empty()) compare_digests(line);
      settle(line, record);
      // Of several libraries the fastest is what the others are compared with.
      bool const is_right =
          record.outcome != Outcome::fail && record.outcome != Outcome::wrong_library;
      bool const is_bar = line.variant->role == description_.traits.bar && is_right;
      if (is_bar && (bar == nullptr || record.rate > bar->rate)) bar = &record;
      if (ceiling == nullptr && line.variant->role == Role::ceiling) ceiling = &record;
    }
    for (VariantRun const& line : lines_) {
      Record& record = record_of(line);
      if (record.outcome != Outcome::pass) continue;
      if (bar != nullptr) set_ratio(record, *bar);
      if (ceiling == nullptr) continue;
      if (description_.traits.has_local_ceiling) {
        set_share_of_local(record, *ceiling);
      } else {
        set_ratio_to_copy(record, *ceiling);
      }
    }
  }

  comm::World& world_;
  core::Case const& case_;
  WorkloadEntry const& entry_;
  CaseOptions const& options_;
  std::unique_ptr<Workload> workload_;
  BestRow best_;  ///< without a row where nothing was searched
  std::vector<Selected> selected_;
  Selection running_;
  Description description_;
  core::Timing timing_;  ///< device, synchronised or launch_only
  std::unique_ptr<Instruments> instruments_;
  std::vector<Record> records_;    ///< of selected_
  std::vector<VariantRun> lines_;  ///< of those that run
  OutputDigest digest_;
  std::map<kernels::VariantInfo const*, std::vector<std::uint64_t>> digests_;  ///< by repetition
  Sampler sampler_;
  std::vector<device::Link> links_;  ///< between all ranks, where there is a schedule of pairs
  double busy_before_ = world_.group().max(world_.device().busy_before());  ///< the busiest device
  bool interrupted_ = false;
};

}  // namespace

std::vector<Record> measure_case(comm::World& world, core::Case const& spec,
                                 WorkloadEntry const& entry, SelectedCase& selected,
                                 CaseOptions const& options) {
  std::vector<Record> records = CaseRun{world, spec, entry, selected, options}.run();
  // From round to round of a burn-in ever more would lie between what lives on.
  device::trim_host_memory();
  return records;
}

std::vector<Record> measure_case(comm::World& world, core::Case const& spec,
                                 WorkloadEntry const& entry, CaseOptions const& options) {
  SelectedCase selected = select_case(world, spec, entry);
  return measure_case(world, spec, entry, selected, options);
}

Record unsupported_record(comm::World const& world, core::Case const& spec, std::string reason) {
  Record record = record_of_case(world, spec, spec.variants.front());
  record.transport = spec.transport;
  record.outcome = Outcome::unsupported;
  record.reason = std::move(reason);
  return record;
}

}  // namespace quadrille::measure
