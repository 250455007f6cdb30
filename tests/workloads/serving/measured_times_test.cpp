// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/measured_times.hpp"

#include "attention/attention.hpp"
#include "device/trace.hpp"
#include "support/mpi_world.hpp"
#include "workloads/data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace quadrille::workloads::serving {
namespace {

namespace attention = kernels::attention;

constexpr Extent kExtent{
    .model = {.layers = 2, .heads = 4, .kv_heads = 2, .head_size = 64, .element_bytes = 2},
    .type = core::DataType::f16,
    .rows = 64,
    .length = 256,
    .sequences = 32,  // more than tokens in a block: a sequence alone may have fewer
    .kv_tokens = 1024,
    .block = 16};

/// Once for all tests. Collective.
Measurement const& measured() {
  static Measurement const kMeasured = measure_times(test::world(), kExtent);
  return kMeasured;
}

/// Of more work, in either direction: what the model may take a disturbed time for.
double least_of_more(Points const& points, std::size_t at) {
  std::size_t const ny = points.y.size();
  double least = points.seconds[at];
  for (std::size_t i = at / ny; i < points.x.size(); ++i) {
    for (std::size_t j = at % ny; j < ny; ++j) least = std::min(least, points.seconds[i * ny + j]);
  }
  return least;
}

double seconds_at(Points const& points, double x, double y) {
  auto const i = std::ranges::find(points.x, x) - points.x.begin();
  auto const j = std::ranges::find(points.y, y) - points.y.begin();
  return points.seconds.at(static_cast<std::size_t>(i * std::ssize(points.y) + j));
}

void expect_times(Points const& points, MeasuredTimes const& times, auto const& work_of) {
  ASSERT_EQ(points.seconds.size(), points.x.size() * points.y.size());
  for (std::size_t at = 0; at < points.seconds.size(); ++at) {
    double const x = points.x[at / points.y.size()], y = points.y[at % points.y.size()];
    StepWork const work = work_of(static_cast<std::int64_t>(x), static_cast<std::int64_t>(y));
    EXPECT_DOUBLE_EQ(times.of(work), 2 * least_of_more(points, at)) << x << " " << y;
    EXPECT_TRUE(times.covers(work)) << x << " " << y;
  }
}

TEST(MeasuredTimes, AreThoseOfThePointsOfThisDevice) {
  comm::World& world = test::world();
  ASSERT_EQ(shape_error(kExtent), "");
  ASSERT_EQ(unsupported_reason(kExtent, world.device()), "");

  EXPECT_EQ(measured().products.x, (std::vector<double>{1, 4, 16, 64}));
  EXPECT_EQ(measured().chunks.x, (std::vector<double>{1, 4, 16, 64, 256}));
  EXPECT_EQ(measured().chunks.y, (std::vector<double>{0, 32, 256}));
  EXPECT_EQ(measured().singles.x, (std::vector<double>{16, 64, 256, 1024}));
  EXPECT_EQ(measured().singles.y, (std::vector<double>{1, 4, 16, 32}));
  EXPECT_NE(measured().kernels.find("paged_decode by"), std::string::npos) << measured().kernels;
  for (double const rate : {measured().memory_rate, measured().link_rate}) {
    EXPECT_GT(rate, 2e8);
    EXPECT_LT(rate, 1e13);
  }
  MeasuredTimes const times{kExtent.model, measured()};
  expect_times(measured().products, times, [](auto rows, auto) { return StepWork{.rows = rows}; });
  expect_times(measured().chunks, times, [](auto tokens, auto before) {
    return tokens > 0 ? StepWork{.chunks = {{tokens, before}}} : StepWork{};
  });
  expect_times(measured().singles, times, [](auto context, auto sequences) {
    return StepWork{.sequences = sequences, .context = context};
  });
  world.group().barrier();
  for (double const seconds : measured().chunks.seconds) {
    EXPECT_EQ(world.group().max(seconds), seconds) << "the same on all ranks";
  }
}

// As a clock says of one execution with all that is around it.
TEST(MeasuredTimes, AreInSeconds) {
  comm::World& world = test::world();
  auto problem = attention::unallocated({.heads = kExtent.model.heads,
                                         .kv_heads = kExtent.model.kv_heads,
                                         .queries = 256,
                                         .keys = 512,
                                         .head_size = kExtent.model.head_size,
                                         .mask = attention::Mask::causal},
                                        kExtent.type);
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
TEST(MeasuredTimes, TellTokensFromThoseBeforeThem) {
  MeasuredTimes const times{kExtent.model, measured()};
  EXPECT_GT(times.of({.chunks = {{256, 0}}}), 2 * times.of({.chunks = {{1, 256}}}));
}

TEST(MeasuredTimes, SayWhatNoKernelTakes) {
  Extent odd = kExtent;
  odd.model.head_size = 80;
  EXPECT_NE(shape_error(odd).find("64 or 128"), std::string::npos);
  odd = kExtent;
  odd.block = 20;
  EXPECT_NE(shape_error(odd).find("block_size"), std::string::npos);
  odd = kExtent;
  odd.type = core::DataType::i32;
  EXPECT_NE(unsupported_reason(odd, test::world().device()).find("state them"), std::string::npos);
}

}  // namespace
}  // namespace quadrille::workloads::serving
