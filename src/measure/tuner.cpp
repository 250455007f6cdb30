// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/tuner.hpp"

#include "core/stats.hpp"
#include "measure/halving.hpp"
#include "measure/sampler.hpp"
#include "measure/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace quadrille::measure {
namespace {

using kernels::VariantInfo;

/// What the sampler takes for variants: one for each candidate, which run() leads back to its row.
class CandidateWorkload final : public Workload {
 public:
  CandidateWorkload(std::unique_ptr<Workload> real, std::span<Candidate const> candidates,
                    std::span<VariantInfo const> infos)
      : real_{std::move(real)}, candidates_{candidates}, infos_{infos} {}

  Description describe(Selection const&) const override { return real_->describe(rows()); }
  double scratch_bytes(Selection const&, device::Facts const& device) const override {
    return real_->scratch_bytes(rows(), device);
  }
  void prepare(comm::World& world, std::uint64_t seed, Selection const&) override {
    real_->prepare(world, seed, rows());
  }
  void reset(comm::World& world, VariantInfo const& info) override {
    Candidate const& candidate = candidate_of(info);
    real_->configure(*candidate.row, candidate.configuration);
    real_->reset(world, *candidate.row);
  }
  void run(comm::World& world, Leg leg, VariantInfo const& info) override {
    real_->run(world, leg, *candidate_of(info).row);
  }
  Verdict validate(comm::World& world) override { return real_->validate(world); }
  std::vector<Field> fields() override { return real_->fields(); }

 private:
  Candidate const& candidate_of(VariantInfo const& info) const {
    return candidates_[static_cast<std::size_t>(&info - infos_.data())];
  }
  Selection rows() const {
    Selection found;
    for (Candidate const& candidate : candidates_) {
      if (std::ranges::find(found, candidate.row) == found.end()) found.push_back(candidate.row);
    }
    return found;
  }

  std::unique_ptr<Workload> real_;
  std::span<Candidate const> candidates_;
  std::span<VariantInfo const> infos_;
};

class Tuner {
 public:
  Tuner(comm::World& world, core::Case const& spec, WorkloadEntry const& entry,
        std::span<Candidate const> candidates, TunerOptions const& options)
      : world_{world},
        case_{of_tuner(spec, options)},
        entry_{entry},
        candidates_{candidates},
        options_{options},
        infos_{infos_of(candidates)},
        workload_{make_workload()},
        description_{workload_->describe({})},
        instruments_{options.make_instruments(
            world, resolved(spec.timing, world.device().kind(), description_.traits))},
        sampler_{world, case_, description_, *instruments_, *workload_, hooks()},
        halving_{candidates.size(), rounds()} {
    for (std::size_t i = 0; i < infos_.size(); ++i) runs_.emplace_back().variant = &infos_[i];
  }

  TuningResult run() {
    prepare(case_.seed);
    double const start = instruments_->now();
    total_ = halving_.missing();
    do {
      std::vector<std::size_t> const survivors = halving_.survivors();
      for (std::size_t i = 0; i < survivors.size() && !result_.interrupted; i += kTogether) {
        std::size_t const n = std::min(kTogether, survivors.size() - i);
        time({survivors.begin() + static_cast<std::ptrdiff_t>(i),
              survivors.begin() + static_cast<std::ptrdiff_t>(i + n)});
      }
    } while (!result_.interrupted && halving_.next());
    // Where all was known, its seconds are not.
    if (!result_.interrupted && reference_seconds_.empty()) take_turns({0}, 1);
    result_.measured_s = instruments_->now() - start;
    if (!result_.interrupted) check_finalists();
    double const reference_s =
        reference_seconds_.empty() ? 0 : core::summarize(reference_seconds_).median;
    result_.ranking = halving_.ranking();
    result_.seconds.resize(candidates_.size());
    for (std::size_t const i : result_.ranking) {
      result_.seconds[i] = reference_s * halving_.median(i);
    }
    return std::move(result_);
  }

 private:
  // Candidates that take turns, with the first one among them: their ratios to it are free of the
  // clock, which falls while a device gets warm.
  static constexpr std::size_t kTogether = 16;

  /// Candidates in turn, and what does not win is not warmed up for long.
  static core::Case of_tuner(core::Case spec, TunerOptions const& options) {
    spec.clock = core::Clock::burst;
    spec.stop_percent = spec.suspect_percent = 0;
    if (!options.exhaustive) spec.warmup = {.count = 1, .seconds = 0};
    return spec;
  }
  static std::vector<VariantInfo> infos_of(std::span<Candidate const> candidates) {
    std::vector<VariantInfo> infos;
    for (Candidate const& candidate : candidates) infos.push_back(*candidate.row);
    return infos;
  }
  Halving::Rounds rounds() const {
    if (!options_.exhaustive) return {};
    return {.samples = {static_cast<std::size_t>(case_.repetitions)}, .keep_one_of = 1};
  }
  std::unique_ptr<Workload> make_workload() {
    return std::make_unique<CandidateWorkload>(entry_.make(case_, world_.size(), world_.rank()),
                                               candidates_, infos_);
  }
  Sampler::Hooks hooks() {
    return {.make_set =
                [this] {
                  std::unique_ptr<Workload> further = make_workload();
                  further->prepare(world_, case_.seed, {});
                  return further;
                },
            .on_step =
                [this](VariantRun const& run, std::string_view step) {
                  phase(place_of(run), step,
                        world_.settings().timeout.repetition_s + world_.settings().timeout.grace_s);
                }};
  }
  std::size_t place_of(VariantRun const& run) const {
    return static_cast<std::size_t>(run.variant - infos_.data());
  }
  void phase(std::size_t candidate, std::string_view step, double limit_s) {
    world_.enter_phase(fmt::format("{}, {}: {}", case_.name, candidates_[candidate].name(), step),
                       limit_s);
  }
  void prepare(std::uint64_t seed) {
    world_.enter_phase(case_.name + ": prepare", world_.settings().timeout.prepare_s);
    workload_->prepare(world_, seed, {});
    world_.stream().synchronize();
  }

  void add(std::size_t candidate, double cost) {
    halving_.add(candidate, cost);
    ++taken_;
  }
  void drop(std::size_t candidate, std::string const& why) {
    halving_.drop(candidate);
    result_.dropped.push_back(fmt::format("{}: {}", candidates_[candidate].name(), why));
  }

  /// What an earlier search has found counts first.
  void recall(std::size_t candidate) {
    if (candidate >= options_.known.size()) return;
    std::vector<double> const& known = options_.known[candidate];
    for (std::size_t n = halving_.costs(candidate).size();
         halving_.missing(candidate) > 0 && n < known.size(); ++n) {
      add(candidate, known[n]);
    }
  }

  /// Times some candidates until nothing is missing in this round.
  void time(std::vector<std::size_t> const& group) {
    for (std::size_t const i : group) recall(i);
    while (!result_.interrupted) {
      // Those that lack the same number of samples, the fewest first.
      std::size_t turns = std::numeric_limits<std::size_t>::max();
      std::vector<std::size_t> timed;
      for (std::size_t const i : group) {
        std::size_t const missing = runs_[i].is_over_limit ? 0 : halving_.missing(i);
        if (missing == 0) continue;
        turns = std::min(turns, missing);
        timed.push_back(i);
      }
      if (timed.empty()) return;
      take_turns(timed, turns);
    }
  }

  /// Those that have not run yet, and the first.
  void warm_up(std::vector<std::size_t> const& timed) {
    std::vector<VariantRun> cold;
    if (runs_[0].warmups == 0) cold.push_back(runs_[0]);
    for (std::size_t const i : timed) {
      if (i > 0 && runs_[i].warmups == 0) cold.push_back(runs_[i]);
    }
    sampler_.warm_up(cold);
    for (VariantRun const& run : cold) runs_[place_of(run)] = run;
  }

  void take_turns(std::vector<std::size_t> const& timed, std::size_t turns) {
    warm_up(timed);
    std::vector<VariantRun> runs{runs_[0]};
    for (std::size_t const i : timed) {
      if (i > 0) runs.push_back(runs_[i]);
    }
    for (VariantRun& run : runs) run.seconds.clear();
    case_.repetitions = static_cast<std::int64_t>(turns);
    sampler_.sample(runs);
    result_.interrupted = sampler_.interrupted();
    QUAD_REQUIRE(
        !runs[0].is_over_limit,
        fmt::format("{}: a repetition of {} takes longer than run.timeout.repetition; take a "
                    "smaller size",
                    case_.name, candidates_[0].name()));
    for (VariantRun const& run : runs) runs_[place_of(run)] = run;
    if (runs[0].seconds.empty()) return;  // interrupted while they were warmed up
    std::vector<double> const& reference = runs[0].seconds.front();
    reference_seconds_.insert(reference_seconds_.end(), reference.begin(), reference.end());
    for (std::size_t const i : timed) {
      if (runs_[i].is_over_limit) {
        drop(i, "a repetition takes longer than run.timeout.repetition");
        continue;
      }
      std::vector<double> const& seconds = runs_[i].seconds.front();
      for (std::size_t n = 0; n < std::min(seconds.size(), reference.size()); ++n) {
        add(i, seconds[n] / reference[n]);
        options_.on_cost(i, seconds[n] / reference[n]);
      }
    }
    report();
  }

  void report() {
    std::vector<std::size_t> const ranking = halving_.ranking();
    if (ranking.empty()) return;
    double const seconds =
        core::summarize(reference_seconds_).median * halving_.median(ranking.front());
    options_.on_progress(ranking.front(), seconds, taken_, std::max(taken_, total_));
  }

  /// What may win, on other data than the timed.
  void check_finalists() {
    prepare(case_.seed + 1);
    std::vector<std::size_t> finalists = halving_.ranking();
    finalists.resize(std::min(finalists.size(), Halving::kFinalists));
    for (std::size_t const i : finalists) {
      sampler_.repetition(runs_[i], Leg::overlapped);
      phase(i, "check", world_.settings().timeout.check_s);
      Verdict const verdict = workload_->validate(world_);
      if (!verdict.skipped.empty()) {
        drop(i, verdict.skipped);
      } else if (!verdict.valid) {
        drop(i, verdict.detail);
      }
    }
    // Those behind them were not checked.
    for (std::size_t const i : halving_.ranking()) {
      if (std::ranges::find(finalists, i) == finalists.end()) halving_.drop(i);
    }
  }

  comm::World& world_;
  core::Case case_;
  WorkloadEntry const& entry_;
  std::span<Candidate const> candidates_;
  TunerOptions const& options_;
  std::vector<VariantInfo> infos_;
  std::unique_ptr<Workload> workload_;
  Description description_;
  std::unique_ptr<Instruments> instruments_;
  Sampler sampler_;
  Halving halving_;
  std::vector<VariantRun> runs_;  ///< of the candidates
  std::vector<double> reference_seconds_;
  std::size_t taken_ = 0, total_ = 0;
  TuningResult result_;
};

}  // namespace

std::string Candidate::name() const {
  return configuration.is_empty()
             ? std::string{row->name}
             : fmt::format("{} {}", row->name, kernels::to_text(*row->tunable, configuration));
}

std::vector<Candidate> candidates_of(Workload const& workload, WorkloadEntry const& entry,
                                     core::Case const& spec, device::Device const& device) {
  if (!(workload.describe({}).amount > 0)) return {};
  std::vector<std::string> const reasons = unsupported_reasons(workload, entry, spec, device);
  core::Case untuned = spec;
  untuned.variants = {"best"};
  untuned.vendor = core::VendorLine::off;
  Selection const best =
      running(select_variants(entry, untuned, device, workload.describe({}), 1, reasons));
  std::vector<Candidate> found;
  for (VariantInfo const* row : best) found.push_back({row, {}});
  for (std::size_t i = 0; i < reasons.size() && !found.empty(); ++i) {
    VariantInfo const* const row = entry.variants[i];
    if (!reasons[i].empty() || row->tunable == nullptr) continue;
    for (kernels::Configuration const& configuration : kernels::legal_configurations(
             *row->tunable, workload.problem_kind(), device.facts().compute_capability)) {
      found.push_back({row, configuration});
    }
  }
  if (found.size() < 2) found.clear();
  return found;
}

TuningResult tune(comm::World& world, core::Case const& spec, WorkloadEntry const& entry,
                  std::span<Candidate const> candidates, TunerOptions const& options) {
  return Tuner{world, spec, entry, candidates, options}.run();
}

}  // namespace quadrille::measure
