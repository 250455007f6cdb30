// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "attention/attention.hpp"
#include "device/trace.hpp"
#include "workloads/data.hpp"
#include "workloads/serving/measured_times_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

/// What depends on how fast and how busy this machine is.
namespace quadrille::workloads::serving {
namespace {

namespace attention = kernels::attention;

/// Attention of so many tokens, and words, that they show beside the rest of a step.
constexpr Extent kLarger = [] {
  Extent larger = kExtent;
  larger.rows = 256;
  larger.length = 512;
  larger.vocabulary = 2000;
  return larger;
}();

/// Once for all tests.
Measurement const& measured() {
  static Measurement const kMeasured = measured(kLarger);
  return kMeasured;
}

double seconds_at(Points const& points, double x, double y) {
  auto const i = std::ranges::find(points.x, x) - points.x.begin();
  auto const j = std::ranges::find(points.y, y) - points.y.begin();
  return points.seconds.at(static_cast<std::size_t>(i * std::ssize(points.y) + j));
}

TEST(MeasuredTimesSpeed, RatesAreThoseOfSomeMachine) {
  for (double const rate : {measured().memory_rate, measured().link_rate}) {
    EXPECT_GT(rate, 2e8);
    EXPECT_LT(rate, 1e13);
  }
}

// As a clock says of one execution with all that is around it.
TEST(MeasuredTimesSpeed, AreInSeconds) {
  comm::World& world = test::world();
  auto problem = attention::unallocated({.heads = kLarger.model.heads,
                                         .kv_heads = kLarger.model.kv_heads,
                                         .queries = 256,
                                         .keys = 512,
                                         .head_size = kLarger.model.head_size,
                                         .mask = attention::Mask::causal},
                                        kLarger.type);
  std::vector<device::Matrix> memory;
  for (device::MatrixView* view : {&problem.q, &problem.k, &problem.v, &problem.o}) {
    memory.push_back(allocate_matrix(*view, world));
    fill(*view, whole(view->rows, view->cols), {core::DataKind::uniform, 1, 0}, world);
  }
  auto const* row = kernels::find(attention::variants(), "reference", world.device().kind());
  for (auto const& own : attention::variants()) {
    bool const takes = own.role == kernels::Role::own && own.runs_on(world.device().kind()) &&
                       own.unsupported_reason(problem).empty();
    if (takes && (row == nullptr || own.preference > row->preference)) row = &own;
  }
  ASSERT_NE(row, nullptr);
  row->launch(problem, world.stream());
  world.stream().synchronize();

  double const start = device::host_seconds();
  row->launch(problem, world.stream());
  world.stream().synchronize();
  double const seconds = world.group().max(device::host_seconds() - start);

  double const measured_s = seconds_at(measured().chunks, 256, 256);
  EXPECT_LT(measured_s, 30 * seconds);
  EXPECT_GT(measured_s, seconds / 30);
}

// Many tokens behind none are much more work than a token behind many.
TEST(MeasuredTimesSpeed, TellTokensFromThoseBeforeThem) {
  MeasuredTimes const times{kLarger.model, measured()};
  EXPECT_GT(times.of({.chunks = {{256, 0}}}), times.of({.chunks = {{1, 256}}}));
}

TEST(MeasuredTimesSpeed, TellStepsThatDrawTokensFromThoseThatDrawNone) {
  Points const& ends = measured().ends;
  EXPECT_GT(seconds_at(ends, 256, 32), 1.2 * seconds_at(ends, 256, 0));
}

TEST(MeasuredTimesSpeed, PredictHowLongAServerWorks) {
  MeasuredTimes const times{kLarger.model, measured()};
  std::vector<Request> requests;
  for (std::int32_t i = 0; i < 24; ++i) {
    requests.push_back({.id = i, .prompt = 20 + 3 * i, .output = 60 - 2 * i, .limit = 128});
  }
  std::vector<std::int64_t> cached(requests.size()), delivered(requests.size());
  Results const results{cached, delivered};
  Execution execution{test::world(), kLarger, 1};
  for (Policy const& policy : policies()) {
    Server const server{.batching = policy.batching,
                        .kv_tokens = kLarger.kv_tokens,
                        .block_tokens = kLarger.block,
                        .max_running = kLarger.sequences,
                        .budget = kLarger.rows};
    TokenHashes const tokens{1};
    double executed_s = std::numeric_limits<double>::infinity();
    for (int round = 0; round < 3; ++round) {
      Outputs outputs{std::ssize(requests), 1};
      execution.begin(tokens, outputs, 1, [](Sequence const&) { return false; });
      executed_s = std::min(executed_s, serve(server, execution, requests, tokens, results).busy_s);
    }
    double const predicted_s = simulate(server, times, requests, tokens, results).busy_s;
    EXPECT_NEAR(predicted_s / executed_s, 1, 0.35) << policy.name;
  }
}

}  // namespace
}  // namespace quadrille::workloads::serving
