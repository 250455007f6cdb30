// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "check/judges.hpp"

#include "check/report.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace quadrille::check {
namespace {

constexpr double kRate = 100;

Metric const& product() { return *find_metric("gemm_f64"); }

/// GPUs of one node with these rates of products.
std::vector<Subject> gpus(std::vector<double> const& rates) {
  std::vector<Subject> subjects;
  for (double const rate : rates) {
    subjects.push_back({.node = "node",
                        .gpu = static_cast<int>(subjects.size()),
                        .model = "GPU",
                        .readings = {{.metric = &product(), .value = rate}}});
  }
  return subjects;
}

Finding finding_of(Subject const& subject, Criteria const& criteria) {
  return assess({subject}, criteria)[0].finding;
}

TEST(Judges, PeersFindTheSlowOne) {
  std::vector<Assessment> const found = assess(gpus({100, 101, 89, 99, 100}), {});

  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].finding.verdict, i == 2 ? Verdict::slow : Verdict::pass) << i;
    EXPECT_EQ(found[i].compared, 1);
  }
  EXPECT_EQ(found[2].finding.judge, Judge::peers);
  EXPECT_EQ(found[2].finding.action, Action::reset);
  EXPECT_EQ(found[2].finding.measured, 89);
  EXPECT_EQ(found[2].finding.expected, 100);
}

TEST(Judges, PeersAllowWhatThePeersDifferBy) {
  std::vector<Assessment> const found = assess(gpus({100, 102, 98, 101, 99, 100, 94}), {});

  for (Assessment const& one : found) EXPECT_EQ(one.finding.verdict, Verdict::pass);
}

TEST(Judges, OfTwoPeersTheFasterOneCounts) {
  std::vector<Assessment> const found = assess(gpus({100, 93}), {});

  EXPECT_EQ(found[0].finding.verdict, Verdict::pass);
  EXPECT_EQ(found[1].finding.verdict, Verdict::slow);
  EXPECT_EQ(found[1].finding.action, Action::monitor) << "less than 10 %";
}

TEST(Judges, OtherModelsAreNoPeers) {
  std::vector<Subject> subjects = gpus({100, 100, 50});
  subjects[2].model = "another GPU";

  std::vector<Assessment> const found = assess(subjects, {});

  EXPECT_EQ(found[0].finding.verdict, Verdict::pass);
  EXPECT_EQ(found[2].finding.verdict, Verdict::unknown) << "nothing to compare with";
  EXPECT_EQ(found[2].compared, 0);
}

TEST(Judges, TimesAreSlowWhereTheyAreLong) {
  Metric const& latency = *find_metric("network_latency");
  std::vector<Subject> subjects = gpus({1, 1, 1});
  double const times[] = {2e-6, 2e-6, 3e-6};
  for (std::size_t i = 0; i < 3; ++i)
    subjects[i].readings = {{.metric = &latency, .value = times[i]}};

  std::vector<Assessment> const found = assess(subjects, {});

  EXPECT_EQ(found[0].finding.verdict, Verdict::pass);
  EXPECT_EQ(found[2].finding.verdict, Verdict::slow);
  EXPECT_EQ(found[2].finding.expected, 2e-6);
}

TEST(Judges, PhysicsKnowsTheClock) {
  Subject gpu = gpus({kRate})[0];
  Reading& reading = gpu.readings[0];

  reading.limit = 2 * kRate;
  EXPECT_EQ(finding_of(gpu, {}).verdict, Verdict::pass);
  reading.limit = 3 * kRate;
  EXPECT_EQ(finding_of(gpu, {}).verdict, Verdict::slow);
  EXPECT_EQ(finding_of(gpu, {}).judge, Judge::physics);
  reading.limit = 0.9 * kRate;
  EXPECT_EQ(finding_of(gpu, {}).verdict, Verdict::unknown) << "faster than the hardware can be";
}

TEST(Judges, ReferenceAndHistoryHaveTheirMedian) {
  Subject const gpu = gpus({kRate})[0];
  for (double const median : {104.0, 107.0}) {
    Verdict const verdict = median > 106 ? Verdict::slow : Verdict::pass;
    Criteria const reference{.reference = {{"GPU", {{&product(), {median, 0.05}}}}}};
    Criteria const history{.baselines = {gpus({median}), gpus({median - 50}), gpus({median + 1})}};

    EXPECT_EQ(finding_of(gpu, reference).verdict, verdict);
    EXPECT_EQ(finding_of(gpu, history).verdict, verdict);
  }
}

TEST(Judges, EachCanBeLeftOut) {
  std::vector<Subject> subjects = gpus({100, 100, 50});
  for (Subject& subject : subjects) subject.readings[0].limit = 200;
  Criteria criteria{.reference = {{"GPU", {{&product(), {100, 0.05}}}}},
                    .baselines = {gpus({100, 100, 100})}};
  for (auto const& [judge, word] : enum_names(Judge{})) {
    if (judge == Judge::measurement) continue;
    EXPECT_EQ(assess(subjects, criteria)[2].finding.verdict, Verdict::slow) << word;
    criteria.without.insert(judge);
  }
  EXPECT_EQ(assess(subjects, criteria)[2].finding.verdict, Verdict::unknown);
}

TEST(Judges, WrongResultsAreBrokenWhateverTheirRate) {
  std::vector<Subject> subjects = gpus({100, 100, 100});
  subjects[1].readings[0].wrong = "C(3, 4): expected 5, got 6";

  Finding const found = assess(subjects, {})[1].finding;

  EXPECT_EQ(found.verdict, Verdict::broken);
  EXPECT_EQ(found.action, Action::isolate);
}

TEST(Judges, WhatIsNotKnownNeverPasses) {
  std::vector<Subject> subjects = gpus({100, 100, 100, 100});
  subjects[0].readings[0].value = std::nan("");
  subjects[1].readings[0].uncertainty = 0.3;
  subjects[2].readings[0].uncertainty = std::nan("");

  std::vector<Assessment> const found = assess(subjects, {});

  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found[i].finding.verdict, Verdict::unknown) << i;
  EXPECT_EQ(found[3].finding.verdict, Verdict::pass);
}

TEST(Judges, WhatIsUncertainIsSlowWhereItsWholeIntervalIs) {
  for (auto const& [value, verdict] : {std::pair{20.0, Verdict::slow}, {80.0, Verdict::unknown}}) {
    std::vector<Subject> subjects = gpus({100, 100, 100, value});
    subjects[3].readings[0].uncertainty = 0.3;
    EXPECT_EQ(assess(subjects, {})[3].finding.verdict, verdict) << value;
  }
}

TEST(Judges, LostNodesAreBroken) {
  std::vector<Subject> subjects{{.node = "node", .lost = "rank 1/2, phase 'copy: time'"}};

  Finding const found = assess(subjects, {})[0].finding;

  EXPECT_EQ(found.verdict, Verdict::broken);
  EXPECT_EQ(found.action, Action::isolate);
  EXPECT_EQ(found.note, subjects[0].lost);
}

TEST(Judges, NodesAreKnownByTheirGpus) {
  std::vector<Subject> subjects = gpus({100, 100});
  subjects.insert(subjects.begin(), {.node = "node", .model = "node of 2 x GPU"});
  subjects.push_back({.node = "other", .model = "node of 2 x GPU"});

  std::vector<Assessment> const found = assess(subjects, {});

  EXPECT_EQ(found.front().finding.verdict, Verdict::pass);
  EXPECT_EQ(found.back().finding.verdict, Verdict::unknown);
}

TEST(Judges, FactsDecideNothing) {
  std::vector<Subject> subjects = gpus({100, 100, 100});
  subjects[0].facts = {{"error counters", "not told"}};

  EXPECT_EQ(assess(subjects, {})[0].finding.verdict, Verdict::pass);
}

TEST(Judges, TheMostSeriousVerdictIsTheExitCode) {
  auto const exit_with = [](std::vector<Verdict> const& verdicts) {
    std::vector<Assessment> all;
    for (Verdict const verdict : verdicts) all.push_back({.finding = {.verdict = verdict}});
    return exit_of(all);
  };
  EXPECT_EQ(exit_with({Verdict::pass, Verdict::pass}), core::Exit::pass);
  EXPECT_EQ(exit_with({Verdict::pass, Verdict::unknown}), core::Exit::undecided);
  EXPECT_EQ(exit_with({Verdict::unknown, Verdict::slow}), core::Exit::regression);
  EXPECT_EQ(exit_with({Verdict::slow, Verdict::broken}), core::Exit::wrong_result);
}

TEST(Judges, SubjectsSurviveTheirJson) {
  std::vector<Subject> subjects = gpus({100, 90});
  subjects[0].facts = {{"PCIe", "generation 5 of 5, 16 lanes of 16"}};
  subjects[1].lost = "no answer";
  subjects[0].readings[0].note = "clock 1980 MHz";
  subjects[1].readings[0].missing = "no samples";
  subjects[1].readings[0].value = std::nan("");

  auto const read = subjects_from(to_json(subjects));

  ASSERT_TRUE(read);
  EXPECT_EQ(to_json(*read), to_json(subjects));
  EXPECT_EQ((*read)[0].gpu, 0);
  EXPECT_TRUE(std::isnan((*read)[1].readings[0].value));
}

}  // namespace
}  // namespace quadrille::check
