// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "attention/attention.hpp"
#include "device/trace.hpp"
#include "workloads/data.hpp"
#include "workloads/serving/measured_times_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

/// What depends on how fast and how busy this machine is.
namespace quadrille::workloads::serving {
namespace {

namespace attention = kernels::attention;

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
  auto problem = attention::unallocated({.heads = kExtent.model.heads,
                                         .kv_heads = kExtent.model.kv_heads,
                                         .queries = 64,
                                         .keys = 256,
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

  double const measured_s = seconds_at(measured().chunks, 64, 192);
  EXPECT_LT(measured_s, 30 * seconds);
  EXPECT_GT(measured_s, seconds / 30);
}

// Many tokens behind none are much more work than a token behind many.
TEST(MeasuredTimesSpeed, TellTokensFromThoseBeforeThem) {
  MeasuredTimes const times{kExtent.model, measured()};
  EXPECT_GT(times.of({.chunks = {{64, 0}}}), times.of({.chunks = {{1, 8}}}));
}

}  // namespace
}  // namespace quadrille::workloads::serving
