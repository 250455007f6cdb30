// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/predict.hpp"

#include "support/cases.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace quadrille::report {
namespace {

using measure::Record;
using measure::RunResult;

constexpr double kLatency = 1e-5, kByte = 1e-9;  // of messages within a node

RunResult run_of(int ranks, int per_node, bool on_gpus) {
  RunResult run;
  run.info.run_id = "a-run";
  for (int r = 0; r < ranks; ++r) {
    comm::Placement& rank = run.info.ranks.emplace_back();
    rank.rank = r;
    rank.node = "node" + std::to_string(r / per_node);
    if (on_gpus) rank.uuid = "GPU-" + std::to_string(r);
  }
  return run;
}

void set_keys(Record& record, std::string const& keys) {
  record.config = fmt::format("[[case]]\nworkload = \"{}\"\nsize = {}\n{}", record.workload,
                              record.size.front(), keys);
}

Record record_of(std::string workload, std::vector<std::int64_t> size, int ranks, double seconds) {
  Record record;
  record.id = workload + ":variant";
  record.workload = std::move(workload);
  record.type = "f64";
  record.variant = "variant";
  record.transport = "ipc";
  record.size = std::move(size);
  record.ranks = ranks;
  record.outcome = measure::Outcome::pass;
  record.amount = 1e9;
  record.unit = "FLOP/s";
  set_keys(record, "");
  record.seconds.assign(static_cast<std::size_t>(ranks) * 8, seconds);
  return record;
}

void set_legs(Record& record, double compute, double communicate, double overlapped) {
  auto const leg = [&](char const* name, double seconds) {
    return measure::LegSamples{name, std::vector(record.seconds.size(), seconds)};
  };
  record.legs = {leg("compute", compute), leg("communicate", communicate),
                 leg("serial", compute + communicate), leg("overlapped", overlapped)};
  measure::finish(record);
}

void add_reductions(RunResult& run) {
  auto const ranks = static_cast<int>(run.info.ranks.size());
  for (std::int64_t const n : {1, 1 << 10, 1 << 20}) {
    double const bytes = 2.0 * (ranks - 1) / ranks * 8 * static_cast<double>(n);
    Record record = record_of("allreduce", {n}, ranks,
                              2 * std::ceil(std::log2(ranks)) * kLatency + bytes * kByte);
    record.id = "allreduce." + std::to_string(n);
    measure::finish(record);
    run.records.push_back(record);
  }
}

PredictionReport predicted(std::vector<RunResult> runs, PredictSettings const& settings) {
  std::ranges::for_each(runs, test::read_cases_again);
  return predict(runs, settings);
}

Prediction const& of(PredictionReport const& report, std::string const& id, std::int64_t ranks) {
  for (Prediction const& prediction : report.predictions) {
    if (prediction.id == id && prediction.ranks == ranks) return prediction;
  }
  throw std::out_of_range{id};
}

TEST(Predict, AllreduceFollowsItsFittedLatencyAndRate) {
  RunResult run = run_of(4, 4, true);
  add_reductions(run);
  std::vector const runs{run};

  PredictionReport const report = predicted(runs, {.ranks = {4, 16}, .ranks_per_node = 16});

  double const bytes = 2.0 * 15 / 16 * 8 * (1 << 20);
  double const expected = 2 * 4 * kLatency + bytes * kByte;
  Prediction const& large = of(report, "allreduce.1048576", 16);
  EXPECT_NEAR(large.seconds, expected, 1e-9);
  EXPECT_NEAR(of(report, "allreduce.1", 16).seconds, 8 * kLatency + 15e-9, 1e-9);
  double const before = 4 * kLatency + 2.0 * 3 / 4 * 8 * (1 << 20) * kByte;
  EXPECT_NEAR(of(report, "allreduce.1048576", 4).seconds, before, 1e-9);
  EXPECT_NEAR(large.efficiency, (15.0 / 16 / expected) / (3.0 / 4 / before), 1e-6);
  EXPECT_EQ(large.nodes, 1);
  EXPECT_FALSE(large.hidden);
  ASSERT_EQ(report.checks.size(), 3U);
  EXPECT_NEAR(report.checks[2].error(), 0, 1e-6);
}

TEST(Predict, NetworkIsSharedByTheRanksOfANode) {
  RunResult run = run_of(4, 4, true);
  add_reductions(run);
  std::vector const runs{run};
  PredictSettings settings{.ranks = {8}, .ranks_per_node = 4};

  EXPECT_EQ(of(predicted(runs, settings), "allreduce.1", 8).nodes, 2);
  settings.network = Network{1e8, 5e-5};
  Prediction const slow = of(predicted(runs, settings), "allreduce.1048576", 8);

  // One rank of a ring receives from the other node.
  double const bytes = 2.0 * 7 / 8 * 8 * (1 << 20);
  EXPECT_NEAR(slow.seconds, 6 * 5e-5 + bytes / 1e8, 1e-9);

  // Each of the 4 ranks of a node gets 4 / 7 of what it gets from others from the other node.
  Record record = record_of("ptrans", {4096}, 4, 0.1);
  set_legs(record, 0.05, 0.05, 0.1);
  std::vector const transposes{[&] {
    RunResult result = run_of(4, 4, true);
    result.records = {record};
    return result;
  }()};
  double const away = 4 * 4096.0 * 4096 / 8 * 8 * 7 / 8 * 4 / 7;
  Prediction const transpose = of(predicted(transposes, settings), "ptrans:variant", 8);
  // 8 ranks make a grid of 2 x 4, where a rank has 2048 rows.
  double const messages = 8 * 7 * 5e-5;
  EXPECT_NEAR(transpose.seconds, 0.05 / 2 + messages + away / 1e8, 1e-6);
}

TEST(Predict, SummaComputesLessOnMoreDevicesAndHidesWhatItHid) {
  RunResult run = run_of(2, 2, true);
  Record record = record_of("summa", {8192}, 2, 0.7);
  set_legs(record, 0.6, 0.2, 0.7);  // half of 0.2 is hidden
  run.records = {record};
  std::vector const runs{run};

  PredictionReport const report = predicted(runs, {.ranks = {2, 8}, .ranks_per_node = 8});
  Prediction const& same = of(report, "summa:variant", 2);
  EXPECT_NEAR(same.seconds, 0.7, 1e-9);
  EXPECT_NEAR(same.efficiency, 1, 1e-9);
  EXPECT_NEAR(same.hidden.value(), 0.5, 1e-9);

  // Of A a rank received 8192 x 8192 / 2; on 2 x 4 4096 x 8192 3 / 4, and of B 8192 x 2048 / 2.
  double const communicate = 0.2 * (4096 * 0.75 + 2048 * 0.5) / (8192 * 0.5);
  Prediction const& more = of(report, "summa:variant", 8);
  double const compute = 0.6 / 4;
  double const expected = compute + communicate - std::min(compute, communicate) / 2;
  EXPECT_NEAR(more.seconds, expected, 1e-9);
  EXPECT_NEAR(more.efficiency, 0.7 / expected / 4, 1e-9);
  EXPECT_NEAR(more.hidden.value(), std::min(compute, communicate) / 2 / communicate, 1e-9);

  // With as much memory for each rank, 16 times the work on 8 times the ranks: twice as long.
  std::vector const weak_runs{run};
  PredictionReport const weak =
      predicted(weak_runs, {.ranks = {8}, .ranks_per_node = 8, .weak = true});
  EXPECT_GT(of(weak, "summa:variant", 8).seconds, 1.1);
  EXPECT_GT(of(weak, "summa:variant", 8).efficiency, more.efficiency);
}

TEST(Predict, PromisesNoMoreThanWasMeasured) {
  RunResult run = run_of(2, 2, true);
  Record slowed = record_of("summa", {8192}, 2, 1.4);
  set_legs(slowed, 0.2, 0.2, 0.7);  // both take longer together than one after the other
  Record local = record_of("summa", {8192}, 2, 1);
  set_legs(local, 0.01, 1, 3);  // of so little to compute nobody knows what hides what
  local.id = "local";
  run.records = {slowed, local};
  std::vector const runs{run};

  PredictionReport const report =
      predicted(runs, {.ranks = {1, 2, 4, 64}, .ranks_per_node = 64, .weak = true});

  for (Prediction const& prediction : report.predictions) {
    EXPECT_LE(prediction.efficiency, 1) << prediction.id << prediction.ranks;
    EXPECT_GE(prediction.hidden.value_or(0), 0) << prediction.id << prediction.ranks;
  }
  EXPECT_EQ(of(report, "local", 2).hidden, 0);
  EXPECT_NEAR(of(report, "local", 2).seconds, 1.01, 1e-9);
}

TEST(Predict, AssumesANetworkBetweenNodesThatNobodyMeasured) {
  PredictSettings const assumed{.ranks = {8}, .ranks_per_node = 4};
  for (bool const on_gpus : {true, false}) {
    RunResult run = run_of(4, 4, on_gpus);
    add_reductions(run);
    std::vector const runs{run};
    PredictSettings given = assumed;  // a port for each GPU, one of a host
    given.network =
        Network{(on_gpus ? 4 : 1) * kAssumedNetwork.bytes_per_s, kAssumedNetwork.latency_s};

    double const seconds = of(predicted(runs, assumed), "allreduce.1048576", 8).seconds;
    EXPECT_TRUE(std::isfinite(seconds));
    EXPECT_EQ(seconds, of(predicted(runs, given), "allreduce.1048576", 8).seconds);
    std::string const text = render_text(predicted(runs, assumed), run, assumed);
    EXPECT_NE(text.find("50.0 GB/s and 5.00 us for each"), std::string::npos);
  }

  std::vector const spread{[] {
    RunResult result = run_of(4, 2, true);
    add_reductions(result);
    return result;
  }()};
  EXPECT_NE(render_text(predicted(spread, assumed), spread[0], assumed).find("nodes as measured"),
            std::string::npos);
}

TEST(Predict, CannonShiftsPartsFromNeighbours) {
  RunResult run = run_of(2, 2, true);
  Record record = record_of("summa", {8190}, 2, 0.7);
  set_keys(record, "schedule = \"cannon\"\n");
  set_legs(record, 0.6, 0.2, 0.7);  // half of 0.2 is hidden
  run.records = {record};
  add_reductions(run);
  std::vector const runs{run};
  PredictSettings settings{.ranks = {2, 4, 6, 8, 9, 16}, .ranks_per_node = 16};

  PredictionReport const report = predicted(runs, settings);

  // On 1 x 2 a rank got half of its rows of A in one message, under the first of two products.
  EXPECT_NEAR(of(report, "summa:variant", 2).seconds, 0.7, 1e-9);
  double const n = 8190, known = n * n / 2, byte_s = (0.2 - kLatency) / known;
  // On 2 x 2 what the slowest rank gets must be there for its first product, and nothing is hidden.
  Prediction const& four = of(report, "summa:variant", 4);
  EXPECT_NEAR(four.seconds, 0.3 + 2 * kLatency + 2 * n / 2 * n / 2 * byte_s, 1e-9);
  EXPECT_EQ(four.hidden, 0);
  // On 3 x 3 the second of two parts is hidden by half.
  double const communicate = 4 * kLatency + 2 * (n / 3) * n * 2 / 3 * byte_s;
  Prediction const& nine = of(report, "summa:variant", 9);
  EXPECT_NEAR(nine.seconds, 0.6 * 2 / 9 + communicate - std::min(0.6 * 2 / 9, communicate / 2) / 2,
              1e-9);
  ASSERT_EQ(report.impossible.size(), 1U);
  EXPECT_NE(report.impossible[0].find("on 6, 8 ranks: cannon shifts on P x P"), std::string::npos)
      << report.impossible[0];

  // With two rows of four on a node, a rank in two gets its part of B from the other node, and of the
  // first one, from afar, two in three.
  settings.ranks_per_node = 8;
  settings.network = Network{1e6, 0};
  double const part = 8 * std::ceil(n / 4) * n * 3 / 4;
  EXPECT_NEAR(of(predicted(runs, settings), "summa:variant", 16).seconds,
              8 * part * (2.0 / 3 / 3 + 2.0 / 3 / 2) / 1e6 + 6 * kLatency + 0.6 / 8 / 2, 1e-3);
}

TEST(Predict, LayersShareKAndAddUpUnhidden) {
  RunResult run = run_of(4, 4, true);
  Record record = record_of("summa", {8192}, 4, 0.9);
  set_keys(record, "layers = 2\n");
  // Of a rank half of the bytes are of A, the other half of C. Of A half is hidden.
  set_legs(record, 0.6, 0.4, 0.9);
  run.records = {record};
  add_reductions(run);
  std::vector const runs{run};
  PredictSettings settings{.ranks = {4, 5, 16}, .ranks_per_node = 16};

  PredictionReport const report = predicted(runs, settings);

  EXPECT_NEAR(of(report, "summa:variant", 4).seconds, 0.9, 1e-9);
  ASSERT_EQ(report.impossible.size(), 1U);
  EXPECT_NE(report.impossible[0].find("on 5 ranks: 2 layers do not divide them"),
            std::string::npos);
  // 1 x 2 ranks of a layer sent 16 panels of 256 and a share of C.
  double const byte_s = (0.4 - 17 * kLatency) / (8 * 8192.0 * 4096);
  // 2 x 4 of a layer have parts of 4096 x 2048.
  double const a = 4096.0 * 4096 * 3 / 4, b = 4096.0 * 2048 / 2, c = 4096.0 * 2048 / 2;
  double const communicate = (16 * 3 + 1) * kLatency + 8 * (a + b + c) * byte_s;
  double const compute = 0.6 / 4, hideable = (a + b) / (a + b + c) * communicate;
  Prediction const& more = of(report, "summa:variant", 16);
  EXPECT_NEAR(more.seconds, compute + communicate - std::min(compute, hideable) / 2, 1e-9);
  EXPECT_NEAR(more.efficiency, 0.9 / more.seconds / 4, 1e-9);

  // Each layer has a node: C alone travels.
  settings.ranks_per_node = 8;
  settings.network = Network{1e7, 0};
  double const outside = 8 * 8 * c / 1e7 + 49 * kLatency;
  EXPECT_NEAR(of(predicted(runs, settings), "summa:variant", 16).seconds,
              compute + outside - compute / 2, 1e-6);
}

TEST(Predict, ChecksAgainstTheSameSchedule) {
  RunResult run = run_of(2, 2, true);
  for (char const* keys : {"", "schedule = \"cannon\"\n", "layers = 2\n", "block = 64\n"}) {
    Record record = record_of("summa", {8192}, 2, 0.7);
    record.id = keys;
    set_keys(record, keys);
    set_legs(record, 0.6, 0.2, 0.7);
    run.records.push_back(record);
  }
  std::vector const runs{run};

  PredictionReport const report = predicted(runs, {.ranks = {2}});

  EXPECT_EQ(report.predictions.size(), 4U);
  EXPECT_EQ(report.checks.size(), 4U) << "each against itself alone";
}

TEST(Predict, RanksOfAHostShareIt) {
  RunResult run = run_of(2, 2, false);
  Record record = record_of("summa", {8192}, 2, 0.8);
  set_legs(record, 0.6, 0.2, 0.8);
  run.records = {record};
  RunResult other = run_of(4, 4, false);
  Record measured = record_of("summa", {8192}, 4, 1.0);
  set_legs(measured, 0.6, 0.4, 1.0);
  other.records = {measured};
  std::vector const runs{run, other};

  PredictionReport const report = predicted(runs, {.ranks = {4}, .ranks_per_node = 4});

  // 4 ranks compute no faster than 2 on the same processors; 2 x 2 moves as many bytes per rank.
  Prediction const& four = of(report, "summa:variant", 4);
  EXPECT_NEAR(four.seconds, 0.6 + 2 * 0.2, 1e-9);
  EXPECT_NEAR(four.efficiency, 0.8, 1e-9);
  ASSERT_EQ(report.checks.size(), 2U);
  EXPECT_EQ(report.checks[1].ranks, 4);
  EXPECT_NEAR(report.checks[1].error(), 0, 1e-9);
}

TEST(Predict, SaysWhatTellsTooLittle) {
  RunResult run = run_of(2, 2, true);
  Record without_legs = record_of("summa", {64}, 2, 0.1);
  measure::finish(without_legs);
  Record wrong = without_legs;
  wrong.outcome = measure::Outcome::fail;
  Record modelled = without_legs;
  modelled.modelled_link = true;
  Record unknown = record_of("gemm", {64}, 2, 0.1);
  run.records = {without_legs, wrong, modelled, unknown};
  std::vector const runs{run};

  PredictionReport const report = predicted(runs, {.ranks = {4}});

  EXPECT_TRUE(report.predictions.empty());
  ASSERT_EQ(report.left_out.size(), 3U);
  EXPECT_NE(report.left_out[0].find("no legs"), std::string::npos);
  EXPECT_NE(report.left_out[1].find("no speed"), std::string::npos);
  EXPECT_NE(report.left_out[2].find("modelled"), std::string::npos);
}

TEST(Predict, OneRankReducesNothing) {
  RunResult run = run_of(2, 2, true);
  add_reductions(run);
  std::vector const runs{run};

  PredictionReport const report = predicted(runs, {.ranks = {1}});

  EXPECT_TRUE(report.predictions.empty());
  ASSERT_EQ(report.impossible.size(), 3U);
  EXPECT_NE(report.impossible[0].find("on 1 ranks: one rank exchanges nothing"), std::string::npos);
}

TEST(Predict, TextStatesItsError) {
  RunResult run = run_of(2, 2, true);
  Record record = record_of("summa", {8192}, 2, 0.7);
  set_legs(record, 0.6, 0.2, 0.7);
  run.records = {record};
  RunResult other = run_of(1, 1, true);
  Record alone = record_of("summa", {8192}, 1, 1.0);  // predicted: 1.2 s, all of it computation
  set_legs(alone, 1.0, 0, 1.0);
  other.records = {alone};
  std::vector const runs{run, other};
  PredictSettings const settings{.ranks = {4}};

  std::string const text = render_text(predicted(runs, settings), run, settings);

  EXPECT_NE(text.find("+20 %"), std::string::npos) << text;
  EXPECT_NE(text.find("largest error 20 % in 2 checks on 1, 2 ranks"), std::string::npos) << text;
  EXPECT_EQ(text.find("other rank counts"), std::string::npos);
  EXPECT_NE(render_text(predicted({run}, settings), run, settings).find("other rank counts"),
            std::string::npos);
}

}  // namespace
}  // namespace quadrille::report
