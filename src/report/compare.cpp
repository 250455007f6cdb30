// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/compare.hpp"

#include "core/options.hpp"
#include "core/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>

namespace quadrille::report {
namespace {

using measure::Outcome;
using measure::Record;
using measure::RunInfo;
using measure::RunResult;

// Half a microsecond is what CUDA says of its events; a host's clock is read in tens of nanoseconds.
constexpr double kDeviceClock = 0.5e-6;
constexpr double kHostClock = 50e-9;
// A smaller change of the clock is no explanation.
constexpr double kClockChange = 0.01;

using Identified = core::Parsed<Identity>;

/// A measurement of the new run.
struct Measurement {
  Record const* record;
  Identified identity;
  bool is_matched = false;
};

/// A measurement of the base, from each of the runs that have it.
struct Baseline {
  Identified identity;  ///< of the first
  std::vector<Record const*> records;
  std::vector<std::size_t> runs;
  std::vector<core::Case> specs;  ///< where they can be read
  Measurement const* match = nullptr;
};

std::vector<Measurement> measurements_of(RunResult const& result) {
  std::vector<Measurement> all;
  for (Record const& record : result.records) {
    all.push_back({&record, identity_of(record, result.info)});
  }
  return all;
}

bool same_problem(Identified const& a, Identified const& b) {
  return a && b && report::same_problem(*a, *b);
}

bool equal(Identified const& a, Identified const& b) {
  return same_problem(a, b) && differences(*a, *b).empty();
}

/// What an identity would be if it had been measured on the devices of another one.
Identity moved(Identity one, Identity const& to) {
  one.devices = to.devices;
  // A host has no clock but its own. The launch alone is another quantity.
  std::string_view const launch = core::to_text(core::Timing::launch_only);
  if (one.timing != launch && to.timing != launch) one.timing = to.timing;
  return one;
}

/// Whether they differ in their devices alone, and as `best` of a case in their rows.
bool equal_but_for_devices(Identified const& a, Identified const& b, bool are_best) {
  if (!a || !b) return false;
  Identity one = moved(*b, *a);
  if (are_best) {
    one.variant = a->variant;
    one.configuration = a->configuration;
  }
  return report::same_problem(*a, one) && differences(*a, one).empty();
}

bool same_id(Record const& a, Record const& b) {
  return a.id == b.id && a.workload == b.workload && a.variant == b.variant;
}

/// The first that `fits`, of several one of the same name; nullptr where none does.
Baseline* find(std::vector<Baseline>& baselines, Record const& record, auto&& fits) {
  Baseline* found = nullptr;
  for (Baseline& baseline : baselines) {
    bool const is_named_so = baseline.records.front()->name == record.name;
    if ((found != nullptr && !is_named_so) || !fits(baseline)) continue;
    found = &baseline;
    if (is_named_so) break;
  }
  return found;
}

std::vector<Baseline> collect(std::span<RunResult const> runs) {
  std::vector<Baseline> all;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (Measurement const& one : measurements_of(runs[run])) {
      Baseline* known = find(all, *one.record, [&](Baseline const& baseline) {
        return baseline.runs.back() != run && equal(baseline.identity, one.identity);
      });
      if (known == nullptr) known = &all.emplace_back(Baseline{one.identity, {}, {}, {}});
      known->records.push_back(one.record);
      known->runs.push_back(run);
      if (one.identity) known->specs.push_back(one.identity->spec);
    }
  }
  return all;
}

bool is_failure(Outcome outcome) {
  return outcome == Outcome::fail || outcome == Outcome::error || outcome == Outcome::timeout;
}

std::string say(Record const& record) {
  std::string text{core::to_text(record.outcome)};
  if (!record.reason.empty()) text += fmt::format(" ({})", record.reason);
  return text;
}

double clock_floor(Record const& record) {
  bool const is_device = record.timing == core::to_text(core::Timing::device);
  double const batch = static_cast<double>(std::max<std::int64_t>(record.batch, 1));
  return (is_device ? kDeviceClock : kHostClock) / batch;
}

std::string why_no_interval(std::vector<std::vector<double>> const& base,
                            std::vector<double> const& now) {
  std::size_t const fewest = std::ranges::min(base, {}, &std::vector<double>::size).size();
  return fmt::format("{} and {} samples: a 95 % interval takes {} on each side", fewest, now.size(),
                     core::kMinForInterval);
}

/// By which samples of equal measurements are none of the same quantity: the runs chose otherwise. The
/// means of batches of different length are the same, but single executions are none of them.
std::vector<Difference> sampling_differences(Record const& base, Record const& now) {
  std::vector<Difference> found;
  auto const note = [&](char const* what, std::int64_t was, std::int64_t is) {
    if (was != is) found.push_back({what, fmt::format("{}", was), fmt::format("{}", is)});
  };
  if (base.batch == 1 || now.batch == 1) note("batch", base.batch, now.batch);
  note("buffer sets", base.buffer_sets, now.buffer_sets);
  return found;
}

void judge_times(Finding& finding, double margin, Across across) {
  std::vector<std::vector<double>> base, trusted;
  for (Record const* record : finding.base) {
    if (record->outcome != Outcome::pass) continue;
    base.push_back(measure::slowest_times(record->seconds, record->ranks));
    if (record->suspect.empty()) trusted.push_back(base.back());
    if (across == Across::devices) continue;  // where runs choose otherwise
    finding.differences = sampling_differences(*record, *finding.now);
    if (finding.differences.empty()) continue;
    finding.change = Change::refused;
    return;
  }
  std::vector<double> const now = measure::slowest_times(finding.now->seconds, finding.now->ranks);
  finding.is_doubtful = trusted.empty() || !finding.now->suspect.empty();
  if (!trusted.empty()) base = trusted;
  finding.ratio = core::median_ratio(base, now);
  finding.change = Change::ambiguous;
  finding.margin = margin;
  if (!finding.ratio) {
    finding.reason = "some times are zero, negative or not finite";
    return;
  }
  if (!finding.ratio->has_interval()) finding.reason = why_no_interval(base, now);
  auto const& [base_s, value, low, high] = *finding.ratio;
  finding.margin = std::max(margin, clock_floor(*finding.now) / base_s);
  if (finding.is_doubtful) return;
  double const least = 1 - finding.margin, most = 1 + finding.margin;
  if (low >= least && high <= most) {
    finding.change = Change::same;
  } else if (low > most) {
    finding.change = Change::slower;
  } else if (high < least) {
    finding.change = Change::faster;
  }
}

std::optional<double> median_clock(Record const& record) {
  double const clock = core::summarize(record.clock_hz).median;
  return clock > 0 ? std::optional{clock} : std::nullopt;
}

/// What a record says of how the time came about.
std::vector<Difference> explanations(Record const& base, Record const& now) {
  std::vector<Difference> found;
  auto const was = median_clock(base), is = median_clock(now);
  if (was && is && std::abs(*is / *was - 1) > kClockChange) {
    found.push_back({"clock", core::format_rate(*was, "Hz"), core::format_rate(*is, "Hz")});
  }
  if (base.transport != now.transport) {
    found.push_back({"transport", base.transport, now.transport});
  }
  if (base.implementation != now.implementation) {
    found.push_back({"implementation", base.implementation, now.implementation});
  }
  if (base.kernels != now.kernels) {
    found.push_back({"kernels", fmt::format("{}", fmt::join(base.kernels, "; ")),
                     fmt::format("{}", fmt::join(now.kernels, "; "))});
  }
  return found;
}

Finding judge(std::vector<Record const*> base, Record const& now, double margin,
              Across across = Across::nothing) {
  Finding finding{.base = std::move(base), .now = &now, .margin = margin};
  // Of several base runs, the last that passed.
  Record const* was = finding.base.back();
  for (Record const* record : finding.base) {
    if (record->outcome == Outcome::pass) was = record;
  }
  bool const has_passed = was->outcome == Outcome::pass;
  if (has_passed && now.outcome == Outcome::pass) {
    judge_times(finding, margin, across);
  } else {
    bool const is_broken = has_passed && is_failure(now.outcome);
    finding.change = is_broken ? Change::broken : Change::no_speed;
    finding.reason = fmt::format("base {}, new {}", say(*was), say(now));
  }
  if (finding.change != Change::refused) finding.differences = explanations(*was, now);
  return finding;
}

std::vector<Difference> why_refused(Baseline const& base, Measurement const& now) {
  if (base.identity && now.identity) return differences(*base.identity, *now.identity);
  auto const readable = [](Identified const& identity) {
    return identity ? std::string{"readable"} : identity.why();
  };
  return {{"configuration", readable(base.identity), readable(now.identity)}};
}

using Facts = std::vector<std::pair<std::string, std::string>>;

/// Once per run setting that may change a time.
void add_settings(Facts& facts, RunInfo const& info) {
  if (!info.settings) return;
  core::OptionTarget draft{.run = *info.settings, .spec = {}};
  for (core::Option const& option : core::common_options()) {
    bool const is_place = option.key == "output";
    if (option.scope != core::Option::Scope::run || is_place) continue;
    facts.emplace_back(fmt::format("run.{}", option.key), option.get(draft));
  }
}

void add_placement(Facts& facts, std::vector<comm::Placement> const& ranks) {
  auto const add = [&](char const* name, auto&& text_of) {
    std::vector<std::string> texts;
    for (comm::Placement const& rank : ranks) texts.push_back(text_of(rank));
    bool const is_known =
        std::ranges::any_of(texts, [](auto const& text) { return !text.empty(); });
    if (is_known) facts.emplace_back(name, list_runs(texts));
  };
  facts.emplace_back("ranks", fmt::format("{}", ranks.size()));
  add("nodes", [](auto const& rank) { return rank.node; });
  add("devices", [](auto const& rank) { return rank.device; });
  add("uuids", [](auto const& rank) { return rank.uuid; });
  add("pci", [](auto const& rank) { return rank.pci; });
  add("numa", [](auto const& rank) {
    return rank.numa < 0 ? std::string{} : fmt::format("{}", rank.numa);
  });
  add("cpus", [](auto const& rank) { return rank.cpus; });
  add("threads", [](auto const& rank) { return fmt::format("{}", rank.threads); });
  add("settings of GPUs", [](auto const& rank) { return rank.settings; });
}

/// What a launcher tells the ranks of a job: it names the job and its processes, of which placement
/// says how they run. What a person sets to tune a run is none of it.
bool is_of_launcher(std::string_view variable) {
  constexpr std::string_view kTuning[]{"SLURM_CPU_FREQ_REQ", "SLURM_HINT", "SLURM_JOB_PARTITION",
                                       "SLURM_MEM_BIND"};
  constexpr std::string_view kParameters[]{
      "ess",    "hwloc_base_binding_policy", "initial_wdir", "mpi_oversubscribe", "orte_", "pmix",
      "rmaps_", "shmem_RUNTIME_QUERY_hint"};
  constexpr std::string_view kParameter = "OMPI_MCA_";
  if (variable.starts_with("SLURM_")) {
    return std::ranges::find(kTuning, variable) == std::end(kTuning);
  }
  if (!variable.starts_with(kParameter)) return variable.starts_with("OMPI_");
  return std::ranges::any_of(kParameters, [&](std::string_view name) {
    return variable.substr(kParameter.size()).starts_with(name);
  });
}

Facts facts_of(RunInfo const& info) {
  Facts facts = info.build;
  add_settings(facts, info);
  add_placement(facts, info.ranks);
  std::ranges::copy_if(info.environment, std::back_inserter(facts),
                       [](auto const& fact) { return !is_of_launcher(fact.first); });
  return facts;
}

}  // namespace

std::vector<Difference> environment_differences(std::span<RunResult const> base,
                                                RunInfo const& now) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> values;  // of each base run, then the new one
  std::size_t const runs = base.size() + 1;
  auto const add = [&](Facts const& facts, std::size_t run) {
    for (auto const& [name, value] : facts) {
      auto const [place, is_first] = values.try_emplace(name, runs, std::string{});
      if (is_first) names.push_back(name);
      place->second[run] = value;
    }
  };
  add(facts_of(now), base.size());
  for (std::size_t i = 0; i < base.size(); ++i) add(facts_of(base[i].info), i);

  std::vector<Difference> found;
  for (std::string const& name : names) {
    std::vector<std::string>& all = values[name];
    std::string const is = all.back();
    all.pop_back();
    if (std::ranges::count(all, is) == std::ssize(all)) continue;
    found.push_back({name, list_runs(all), is});
  }
  return found;
}

std::size_t Comparison::count(Change change) const {
  return static_cast<std::size_t>(std::ranges::count(findings, change, &Finding::change));
}

bool Comparison::is_comparable() const {
  return std::ranges::any_of(findings, [](Finding const& finding) {
    bool const is_pair = !finding.base.empty() && finding.now != nullptr;
    return is_pair && finding.change != Change::refused;
  });
}

bool Comparison::is_undecided() const {
  using enum Change;
  return count(ambiguous) > 0 && count(broken) + count(slower) + count(faster) + count(same) == 0;
}

bool Comparison::is_regression() const {
  if (count(Change::slower) + count(Change::broken) > 0) return true;
  return now->status != "finished" && std::ranges::any_of(findings, [](Finding const& finding) {
           bool const has_passed =
               std::ranges::count(finding.base, Outcome::pass, &Record::outcome) > 0;
           return has_passed &&
                  (finding.now == nullptr || finding.now->outcome == Outcome::interrupted);
         });
}

namespace {

void add_new(std::vector<Difference>& known, std::vector<Difference> further) {
  for (Difference& one : further) {
    if (std::ranges::count(known, one) == 0) known.push_back(std::move(one));
  }
}

/// By what became of them, then the largest, then in the order of the run.
void sort(std::vector<Finding>& findings, RunResult const& now) {
  std::ranges::stable_sort(findings, {}, [&](Finding const& finding) {
    double const value = finding.ratio ? finding.ratio->value : 1;
    double const rank = finding.change == Change::slower   ? -value
                        : finding.change == Change::faster ? value
                                                           : 0;
    std::ptrdiff_t const place = finding.now == nullptr ? 0 : finding.now - now.records.data();
    return std::tuple{finding.change, rank, place};
  });
}

}  // namespace

Comparison compare(std::span<RunResult const> base, RunResult const& now, double margin,
                   Across across) {
  Comparison comparison{.now = &now.info, .margin = margin, .across = across};
  for (RunResult const& run : base) comparison.base.push_back(&run.info);
  comparison.environment = environment_differences(base, now.info);

  std::vector<Baseline> baselines = collect(base);
  std::vector<Measurement> measurements = measurements_of(now);
  std::vector<Finding>& findings = comparison.findings;
  auto const refuse = [&](Baseline const& baseline, Measurement const& one) {
    findings.push_back({.change = Change::refused,
                        .base = baseline.records,
                        .now = one.record,
                        .margin = margin,
                        .differences = why_refused(baseline, one)});
  };
  // Pairs what `fits`, and leaves the others for the next rule.
  auto const pair = [&](auto&& fits, auto&& add) {
    for (Measurement& one : measurements) {
      if (one.is_matched) continue;
      Baseline* const found = find(baselines, *one.record, [&](Baseline const& baseline) {
        return baseline.match == nullptr && fits(baseline, one);
      });
      if (found == nullptr) continue;
      one.is_matched = true;
      found->match = &one;
      add(*found, one);
    }
  };
  pair([](Baseline const& a, Measurement const& b) { return equal(a.identity, b.identity); },
       [&](Baseline const& baseline, Measurement const& one) {
         findings.push_back(judge(baseline.records, *one.record, margin));
         add_new(comparison.environment, sampling_settings(baseline.specs, one.identity->spec));
       });
  for (bool const are_best : {false, true}) {
    if (across == Across::nothing) break;
    pair(
        [&](Baseline const& a, Measurement const& b) {
          bool const fits = !are_best || (a.records.back()->is_best && b.record->is_best);
          return fits && equal_but_for_devices(a.identity, b.identity, are_best);
        },
        [&](Baseline const& a, Measurement const& b) {
          Finding& finding = findings.emplace_back(judge(a.records, *b.record, margin, across));
          add_new(finding.differences, differences(*a.identity, *b.identity));
        });
  }
  pair([](Baseline const& a, Measurement const& b) { return same_problem(a.identity, b.identity); },
       refuse);
  pair(
      [](Baseline const& a, Measurement const& b) { return same_id(*a.records.back(), *b.record); },
      refuse);

  for (Measurement const& one : measurements) {
    if (one.is_matched) continue;
    findings.push_back({.change = Change::only_in_new, .now = one.record, .margin = margin});
  }
  for (Baseline const& baseline : baselines) {
    if (baseline.match != nullptr) continue;
    // A base run that is not like the other ones.
    auto const other = std::ranges::find_if(baselines, [&](Baseline const& matched) {
      return matched.match != nullptr && same_problem(matched.identity, baseline.identity) &&
             std::ranges::find_first_of(matched.runs, baseline.runs) == matched.runs.end();
    });
    if (other != baselines.end()) {
      refuse(baseline, *other->match);
    } else {
      findings.push_back(
          {.change = Change::only_in_base, .base = baseline.records, .margin = margin});
    }
  }
  sort(findings, now);
  return comparison;
}

}  // namespace quadrille::report
