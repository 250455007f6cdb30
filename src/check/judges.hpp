// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/metrics.hpp"
#include "core/enum_names.hpp"
#include "core/enum_set.hpp"
#include "core/error.hpp"

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::check {

/// What is said of a node or a GPU. A later one is more serious.
enum class Verdict { pass, unknown, slow, broken };
constexpr auto enum_names(Verdict) {
  return core::EnumNames<Verdict, 4>{{{Verdict::pass, "PASS"},
                                      {Verdict::unknown, "UNKNOWN"},
                                      {Verdict::slow, "SLOW"},
                                      {Verdict::broken, "BROKEN"}}};
}

/// What to do with it.
enum class Action { none, monitor, reset, isolate };
constexpr auto enum_names(Action) {
  return core::EnumNames<Action, 4>{{{Action::none, "none"},
                                     {Action::monitor, "MONITOR"},
                                     {Action::reset, "RESET"},
                                     {Action::isolate, "ISOLATE"}}};
}

/// By what a rate is judged. The measurement itself tells of results that are wrong or not known.
enum class Judge { measurement, physics, reference, peers, history };
constexpr auto enum_names(Judge) {
  return core::EnumNames<Judge, 5>{{{Judge::measurement, "measurement"},
                                    {Judge::physics, "physics"},
                                    {Judge::reference, "reference"},
                                    {Judge::peers, "peers"},
                                    {Judge::history, "history"}}};
}

/// A rate, latency or launch time that was measured, or was to be.
struct Reading {
  Metric const* metric = nullptr;
  double value = std::numeric_limits<double>::quiet_NaN();  ///< the median, in the metric's unit
  double uncertainty = 0;  ///< half the 95 % interval of the median, as a part of it
  double limit = 0;        ///< of the hardware at the clock of the samples; 0 unknown
  std::string wrong{};     ///< the first wrong element; empty where all are right
  std::string missing{};   ///< why there is no value
  std::string note{};      ///< what may explain the value, such as a lowered clock
};

/// A GPU, or a node.
struct Subject {
  std::string node;
  int gpu = -1;         ///< its index on the node; -1: the node
  std::string model{};  ///< rates of equal models should be equal
  std::vector<Reading> readings{};
  std::string lost{};  ///< where and why a node failed or hung while it was measured
  /// What the system tells beside rates; decides nothing.
  std::vector<std::pair<std::string, std::string>> facts{};

  /// "node07", "node07 gpu 3"
  std::string name() const;
};

/// What a rate of a model usually is.
struct Expected {
  double median = 0;
  double band = 0.05;  ///< as that of a metric
};
/// By model and metric.
using Reference = std::map<std::string, std::map<Metric const*, Expected>>;

/// What subjects are judged by.
struct Criteria {
  core::EnumSet<Judge> without{};
  Reference reference{};
  std::vector<std::vector<Subject>> baselines{};  ///< earlier checks
};

struct Finding {
  Verdict verdict = Verdict::pass;
  Action action = Action::none;
  Judge judge = Judge::measurement;
  Metric const* metric = nullptr;
  double measured = std::numeric_limits<double>::quiet_NaN();
  double expected = std::numeric_limits<double>::quiet_NaN();
  std::string note{};
};

/// The verdict on a subject: its most serious finding.
struct Assessment {
  Finding finding{};
  int rates = 0;     ///< that it has
  int compared = 0;  ///< of which an expected value is known
};

/// One for each subject, in their order.
///
/// physics: SLOW below metric.min_share of the limit; a rate above it by 5 % is an error of measurement.
/// reference: SLOW where slower than the model's median by more than its band.
/// peers: SLOW where slower than the median of the model by more than the metric's band and by five
/// standard deviations, as the median of absolute deviations has them; of two the faster one counts.
/// history: as reference, by the median of the same subject in earlier checks.
/// To each band, and to the share of physics, the uncertainty of the value is added. What is not SLOW and more
/// uncertain than five bands is UNKNOWN, and so is a subject of which nothing is compared, but for a node with GPUs of which something is.
std::vector<Assessment> assess(std::vector<Subject> const& subjects, Criteria const& criteria);

/// Of the process: the most serious verdict's.
core::Exit exit_of(std::vector<Assessment> const& assessments);

}  // namespace quadrille::check
