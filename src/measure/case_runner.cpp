// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/case_runner.hpp"

#include "comm/cpu_share.hpp"
#include "comm/link.hpp"
#include "core/units.hpp"
#include "device/host/memory.hpp"
#include "device/profiler_range.hpp"
#include "measure/case_records.hpp"
#include "measure/result_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace quadrille::measure {
namespace {

using kernels::Role;

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
        check_{world_, case_, description_.traits, *workload_},
        sampler_{world_, case_, description_, *instruments_, *workload_, hooks()} {}

  std::vector<Record> run() {
    device::ProfilerRange const range{case_.name};
    begin_records();
    if (runs_.empty()) return std::move(records_);
    if (description_.pairs) links_ = comm::links_between_ranks(world_);
    tell_partial();
    phase("prepare", limits().prepare_s);
    report_progress("prepare", 0);
    prepare(case_.seed + 1);
    check_on_other_data();
    if (!runs_.empty() && !interrupted()) {
      phase("prepare", limits().prepare_s);
      report_progress("prepare", 0.1);
      prepare(case_.seed);
      sampler_.warm_up(runs_);
      sampler_.sample(runs_);
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
                [this](VariantRun& run, bool is_last) {
                  check_.keep_digest(*run.variant);
                  if (is_last) after_last_repetition(run);
                  if (is_long(run)) tell_partial();
                },
            .on_step =
                [this](VariantRun const& run, std::string_view step) {
                  // Whose repetition takes too long is told when it has ended, if it does.
                  double const limit = limits().repetition_s;
                  phase(run, step, limit > 0 ? limit + limits().grace_s : limit);
                },
            .on_progress = [this](std::string_view step,
                                  double done) { report_progress(step, 0.2 + 0.8 * done); }};
  }

  void after_last_repetition(VariantRun const& run) {
    Record& record = record_of(run);
    for (SecondaryMetric& extra : workload_->observed()) record.extras.push_back(std::move(extra));
    add_published_metrics(case_, record);
    phase(run, "check", limits().check_s);
    check_.judge(*run.variant, record);
    check_.judge_library(*run.variant, record);
    check_.compare_digests(*run.variant, run.is_complete, record);
  }

  void trace() {
    if (!options_.on_trace || interrupted()) return;
    for (VariantRun const& run : runs_) {
      if (run.is_complete) options_.on_trace(sampler_.trace(run, record_of(run).id));
    }
  }

  void prepare(std::uint64_t seed) {
    workload_->prepare(world_, seed, running_);
    // Buffers are filled on the stream, and a case that is skipped now would free them under it.
    world_.stream().synchronize();
  }

  void begin_records() {
    CaseFacts const facts{world_, case_, entry_, description_, timing_};
    records_.reserve(selected_.size());  // runs point to them
    for (Selected const& choice : selected_) {
      Record& record = records_.emplace_back(record_of_variant(facts, choice));
      if (!record.reason.empty()) continue;
      // Rows may differ in what they carry over the link, which a host does not have.
      if (world_.device().kind() == device::Kind::cuda) {
        record.roofline.pcie_bytes = workload_->describe({choice.info}).pcie_bytes;
      }
      VariantRun& run = runs_.emplace_back();
      run.variant = choice.info;
      // Of a peer only the whole is known, and a ceiling does not communicate.
      bool const has_parts = choice.info->role != Role::peer && choice.info->role != Role::ceiling;
      if (case_.legs && description_.traits.has_legs && has_parts) {
        run.legs.assign(std::begin(kLegs), std::end(kLegs));
      }
    }
  }

  Record& record_of(VariantRun const& run) {
    auto const at = std::ranges::find(selected_, run.variant, &Selected::info);
    return records_[static_cast<std::size_t>(at - selected_.begin())];
  }

  core::Timeouts const& limits() const { return world_.settings().timeout; }
  void phase(std::string_view step, double limit_s) {
    world_.enter_phase(fmt::format("{}: {}", case_.name, step), limit_s);
  }
  void phase(VariantRun const& run, std::string_view step, double limit_s) {
    world_.enter_phase(fmt::format("{}: {}", record_of(run).id, step), limit_s);
  }

  void report_progress(std::string_view step, double fraction) {
    if (world_.rank() == 0) options_.on_progress({case_.name, std::string{step}, fraction});
  }

  bool interrupted() const { return interrupted_ || sampler_.interrupted(); }

  /// A wrong result of a library's search takes its call out of the choice: the next one is checked
  /// instead. Collective.
  void check_first(VariantRun& run) {
    Record& record = record_of(run);
    phase(run, "check", limits().check_s);
    check_.judge(*run.variant, record);
    while (!run.is_over_limit && check_.drop_wrong_call(*run.variant, record)) {
      sampler_.first_run(run);
      phase(run, "check", limits().check_s);
      check_.judge(*run.variant, record);
    }
    check_.judge_library(*run.variant, record);
  }

  /// Every variant once, on other data than the timed: an output left over from here can never
  /// pass the check of the timed data. What fails, or cannot be judged, is not timed.
  void check_on_other_data() {
    report_progress("check", 0.1);
    for (VariantRun& run : runs_) {
      Record& record = record_of(run);
      record.first_use_s = sampler_.first_run(run);
      if (run.is_over_limit) {
        set_timeout(record);
      } else {
        check_first(run);
        record_kernels(world_, *workload_, description_.traits, *run.variant, record);
      }
      name_implementation(run, record);
      interrupted_ = world_.interrupted();
      if (interrupted_) break;
    }
    std::erase_if(runs_, [&](VariantRun const& run) {
      Outcome const outcome = record_of(run).outcome;
      bool const is_mistake = run.variant->role == Role::demonstration;
      return outcome == Outcome::fail || outcome == Outcome::wrong_library ||
             outcome == Outcome::unsupported || run.is_over_limit ||
             (outcome == Outcome::skip && !is_mistake);
    });
  }

  /// What a row has chosen to run, and what is to be said of it.
  void name_implementation(VariantRun const& run, Record& record) const {
    bool const is_best = run.variant == best_.row;
    record.searched_s = workload_->searched_seconds(*run.variant);
    record.implementation = workload_->implementation(*run.variant);
    for (std::string_view const text :
         {run.variant->caveat, is_best ? std::string_view{best_.text} : std::string_view{}}) {
      if (!text.empty() && !record.implementation.empty()) record.implementation += "; ";
      record.implementation += text;
    }
  }

  void set_timeout(Record& record) const {
    record.outcome = Outcome::timeout;
    record.reason = fmt::format(
        "a repetition took longer than run.timeout.repetition, {}: raise it, or leave the variant "
        "out",
        core::format_seconds(limits().repetition_s));
  }

  /// Gives a run's record what was sampled so far, and its verdict. Collective.
  void settle(VariantRun const& run, Record& record) {
    record_samples(world_, description_, links_, run, record);
    if (record.outcome == Outcome::fail || record.outcome == Outcome::wrong_library) {
      // Stays so.
    } else if (run.is_over_limit) {
      set_timeout(record);
    } else if (!run.blocked.empty()) {
      record.outcome = Outcome::unsupported;
      record.reason = fmt::format(
          "has no time of the device: {}; timing = \"synchronised\" takes "
          "the host's clock",
          run.blocked);
    } else if (!run.is_complete) {
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
    for (VariantRun const& run : runs_) {
      settle(run, partial[static_cast<std::size_t>(&record_of(run) - records_.data())]);
    }
    if (world_.rank() == 0) options_.on_partial(std::move(partial));
  }

  /// Whether this run's last repetition took so long that a launcher which is asked to stop may
  /// not wait for the end of another. The same on every rank.
  bool is_long(VariantRun const& run) {
    if (record_of(run).first_use_s < kLongSeconds) return false;
    double seconds = 0;
    for (std::vector<double> const& leg : run.seconds) seconds += leg.empty() ? 0 : leg.back();
    return world_.group().max(seconds) >= kLongSeconds;
  }

  void collect() {
    phase("collect", limits().write_s);
    Record const* bar = nullptr;
    Record const* ceiling = nullptr;
    for (VariantRun const& run : runs_) {
      Record& record = record_of(run);
      bool const is_interrupted = !run.is_complete && !run.is_over_limit && run.blocked.empty();
      if (is_interrupted) check_.compare_digests(*run.variant, false, record);
      settle(run, record);
      // Of several libraries the fastest is what the others are compared with.
      bool const is_right =
          record.outcome != Outcome::fail && record.outcome != Outcome::wrong_library;
      bool const is_bar = run.variant->role == description_.traits.bar && is_right;
      if (is_bar && (bar == nullptr || record.rate > bar->rate)) bar = &record;
      if (ceiling == nullptr && run.variant->role == Role::ceiling) ceiling = &record;
    }
    for (VariantRun const& run : runs_) {
      Record& record = record_of(run);
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
  std::vector<Record> records_;   ///< of selected_
  std::vector<VariantRun> runs_;  ///< of those that run
  ResultCheck check_;
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

std::vector<Record> unmeasured_records(comm::World const& world, core::Case const& spec,
                                       std::vector<Selected> const& selected) {
  std::vector<Record> records;
  for (Selected const& choice : selected) {
    Record& record = records.emplace_back(record_of_case(world, spec, choice.info->name));
    record.transport = spec.transport;
    record.role = core::to_text(choice.info->role);
    record.outcome = choice.unsupported.empty() ? Outcome::interrupted
                     : choice.is_left_out       ? Outcome::skip
                                                : Outcome::unsupported;
    record.reason = choice.unsupported.empty() ? "the run ended before it" : choice.unsupported;
  }
  return records;
}

Record unsupported_record(comm::World const& world, core::Case const& spec, std::string reason) {
  Record record = record_of_case(world, spec, spec.variants.front());
  record.transport = spec.transport;
  record.outcome = Outcome::unsupported;
  record.reason = std::move(reason);
  return record;
}

}  // namespace quadrille::measure
