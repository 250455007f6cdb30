// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "check/judges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

namespace quadrille::check {
namespace {

constexpr double kAboveLimit = 1.05;
constexpr double kDeviations = 5;
/// Of a normal distribution, over the median of absolute deviations.
constexpr double kDeviationOverMad = 1.4826;
/// Bands that the uncertainty of a value may span before it says nothing.
constexpr double kMaxUncertainty = 5;
/// From so much on a node or a GPU is no longer what users were promised.
constexpr double kSerious = 0.1;

/// Larger is better.
double speed_of(Metric const& metric, double value) {
  return metric.lower_is_better() ? 1 / value : value;
}

bool is_known(Reading const& reading) { return std::isfinite(reading.value) && reading.value > 0; }

double median_of(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Action action_of(Verdict verdict, double loss) {
  switch (verdict) {
    case Verdict::broken: return Action::isolate;
    case Verdict::slow: return loss >= kSerious ? Action::reset : Action::monitor;
    case Verdict::unknown: return Action::monitor;
    case Verdict::pass: break;
  }
  return Action::none;
}

/// What the peers of a subject do, as speeds.
struct Peers {
  double typical = 0;
  double spread = 0;  ///< standard deviation over it
};
/// Subjects of a model of one kind, by metric.
using PeerKey = std::tuple<std::string, bool, Metric const*>;

PeerKey key_of(Subject const& subject, Reading const& reading) {
  return {subject.model, subject.gpu >= 0, reading.metric};
}

Peers peers_of(std::vector<double> const& speeds) {
  if (speeds.size() == 2) return {std::max(speeds[0], speeds[1]), 0};
  double const typical = median_of(speeds);
  std::vector<double> deviations;
  for (double const speed : speeds) deviations.push_back(std::abs(speed / typical - 1));
  return {typical, kDeviationOverMad * median_of(deviations)};
}

class Judges {
 public:
  Judges(std::vector<Subject> const& subjects, Criteria const& criteria) : criteria_{criteria} {
    std::map<PeerKey, std::vector<double>> speeds;
    for (Subject const& subject : subjects) {
      for (Reading const& reading : subject.readings) {
        if (!is_known(reading)) continue;
        speeds[key_of(subject, reading)].push_back(speed_of(*reading.metric, reading.value));
      }
    }
    for (auto const& [key, of_all] : speeds) {
      if (of_all.size() > 1) peers_[key] = peers_of(of_all);
    }
    for (std::vector<Subject> const& baseline : criteria.baselines) {
      for (Subject const& subject : baseline) {
        for (Reading const& reading : subject.readings) {
          if (is_known(reading))
            history_[{subject.name(), reading.metric}].push_back(reading.value);
        }
      }
    }
  }

  Assessment assess(Subject const& subject) {
    assessment_ = {};
    if (!subject.lost.empty()) {
      add({.verdict = Verdict::broken, .note = subject.lost});
      return assessment_;
    }
    for (Reading const& reading : subject.readings) judge(subject, reading);
    if (subject.gpu >= 0 && assessment_.compared > 0) has_compared_gpus_.insert(subject.node);
    bool const is_known_by_gpus = subject.gpu < 0 && has_compared_gpus_.contains(subject.node);
    if (!is_known_by_gpus && assessment_.compared == 0 &&
        assessment_.finding.verdict == Verdict::pass) {
      add({.verdict = Verdict::unknown,
           .judge = Judge::measurement,
           .note = "nothing to compare with: give --reference or --baseline"});
    }
    return assessment_;
  }

 private:
  void add(Finding finding) {
    auto const loss_of = [](Finding const& one) {
      if (one.metric == nullptr) return 0.0;
      double const share =
          speed_of(*one.metric, one.measured) / speed_of(*one.metric, one.expected);
      return std::isfinite(share) ? 1 - share : 0.0;
    };
    double const loss = loss_of(finding);
    finding.action = action_of(finding.verdict, loss);
    Finding& worst = assessment_.finding;
    bool const is_worse = finding.verdict > worst.verdict ||
                          (finding.verdict == worst.verdict && loss > loss_of(worst));
    if (is_worse) worst = std::move(finding);
  }

  /// Compares with an expected value.
  void compare(Judge judge, Reading const& reading, double expected, double allowed) {
    is_compared_ = true;
    Metric const& metric = *reading.metric;
    double const share = speed_of(metric, reading.value) / speed_of(metric, expected);
    if (share >= 1 - allowed) return;
    is_slow_ = true;
    add({.verdict = Verdict::slow,
         .judge = judge,
         .metric = &metric,
         .measured = reading.value,
         .expected = expected,
         .note = reading.note});
  }

  void judge_physics(Reading const& reading) {
    Metric const& metric = *reading.metric;
    if (reading.limit <= 0 || metric.min_share <= 0) return;
    if (reading.value > kAboveLimit * reading.limit) {
      add({.verdict = Verdict::unknown,
           .judge = Judge::physics,
           .metric = &metric,
           .measured = reading.value,
           .expected = reading.limit,
           .note = "above what the hardware can do: an error of measurement"});
    } else {
      compare(Judge::physics, reading, metric.min_share * reading.limit, reading.uncertainty);
    }
  }

  void judge_by_others(Subject const& subject, Reading const& reading) {
    Metric const& metric = *reading.metric;
    auto const wider = [&](double band) { return band + reading.uncertainty; };
    if (is_on(Judge::reference)) {
      auto const model = criteria_.reference.find(subject.model);
      if (model != criteria_.reference.end()) {
        auto const expected = model->second.find(&metric);
        if (expected != model->second.end()) {
          compare(Judge::reference, reading, expected->second.median, wider(expected->second.band));
        }
      }
    }
    if (auto const peers = peers_.find(key_of(subject, reading));
        is_on(Judge::peers) && peers != peers_.end()) {
      compare(Judge::peers, reading, speed_of(metric, peers->second.typical),
              std::max(wider(metric.band), kDeviations * peers->second.spread));
    }
    if (auto const earlier = history_.find({subject.name(), &metric});
        is_on(Judge::history) && earlier != history_.end()) {
      compare(Judge::history, reading, median_of(earlier->second), wider(metric.band));
    }
  }

  void judge(Subject const& subject, Reading const& reading) {
    ++assessment_.rates;
    Metric const& metric = *reading.metric;
    if (!reading.wrong.empty()) {
      add({.verdict = Verdict::broken, .metric = &metric, .note = reading.wrong});
      return;
    }
    if (!is_known(reading)) {
      add({.verdict = Verdict::unknown, .metric = &metric, .note = reading.missing});
      return;
    }
    is_compared_ = is_slow_ = false;
    if (!std::isnan(reading.uncertainty)) {
      if (is_on(Judge::physics)) judge_physics(reading);
      judge_by_others(subject, reading);
    }
    // What is slower than its whole interval allows is slow, however wide that is.
    if (!is_slow_ && !(reading.uncertainty <= kMaxUncertainty * metric.band)) {
      add({.verdict = Verdict::unknown,
           .metric = &metric,
           .measured = reading.value,
           .note = fmt::format("its samples tell the median to {:.0f} % only",
                               100 * reading.uncertainty)});
      return;
    }
    assessment_.compared += is_compared_ ? 1 : 0;
  }

  bool is_on(Judge judge) const { return !criteria_.without.contains(judge); }

  Criteria const& criteria_;
  std::map<PeerKey, Peers> peers_;
  std::map<std::pair<std::string, Metric const*>, std::vector<double>> history_;
  Assessment assessment_;
  std::set<std::string> has_compared_gpus_;
  bool is_compared_ = false;  ///< the reading that is judged
  bool is_slow_ = false;      ///< the same
};

}  // namespace

std::string Subject::name() const { return gpu < 0 ? node : fmt::format("{} gpu {}", node, gpu); }

std::vector<Assessment> assess(std::vector<Subject> const& subjects, Criteria const& criteria) {
  Judges judges{subjects, criteria};
  std::vector<Assessment> all(subjects.size());
  for (bool const are_gpus : {true, false}) {  // a node after its GPUs
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      if ((subjects[i].gpu >= 0) == are_gpus) all[i] = judges.assess(subjects[i]);
    }
  }
  return all;
}

core::Exit exit_of(std::vector<Assessment> const& assessments) {
  core::Exit exit = core::Exit::pass;
  for (Assessment const& assessment : assessments) {
    switch (assessment.finding.verdict) {
      case Verdict::broken: exit = core::worse(exit, core::Exit::wrong_result); break;
      case Verdict::slow: exit = core::worse(exit, core::Exit::regression); break;
      case Verdict::unknown: exit = core::worse(exit, core::Exit::undecided); break;
      case Verdict::pass: break;
    }
  }
  return exit;
}

}  // namespace quadrille::check
