// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/measured_times_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace quadrille::workloads::serving {
namespace {

/// Of more work, in either direction: what the model may take a disturbed time for.
double least_of_more(Points const& points, std::size_t at) {
  std::size_t const ny = points.y.size();
  double least = points.seconds[at];
  for (std::size_t i = at / ny; i < points.x.size(); ++i) {
    for (std::size_t j = at % ny; j < ny; ++j) least = std::min(least, points.seconds[i * ny + j]);
  }
  return least;
}

/// Once for all tests. Collective.
Measurement const& measured() {
  static Measurement const kMeasured = measured(kExtent);
  return kMeasured;
}

void expect_times(Points const& points, MeasuredTimes const& times, auto const& work_of) {
  ASSERT_EQ(points.seconds.size(), points.x.size() * points.y.size());
  for (std::size_t at = 0; at < points.seconds.size(); ++at) {
    double const x = points.x[at / points.y.size()], y = points.y[at % points.y.size()];
    StepWork const work = work_of(static_cast<std::int64_t>(x), static_cast<std::int64_t>(y));
    // What is besides layers is of steps that have rows.
    double const ends =
        work.rows > 0 ? least_of_more(measured().ends, at * measured().ends.y.size()) : 0;
    EXPECT_DOUBLE_EQ(times.of(work), 2 * least_of_more(points, at) + ends) << x << " " << y;
    EXPECT_TRUE(times.covers(work)) << x << " " << y;
  }
}

TEST(MeasuredTimes, AreThoseOfThePointsOfThisDevice) {
  comm::World& world = test::world();
  ASSERT_EQ(shape_error(kExtent), "");
  ASSERT_EQ(unsupported_reason(kExtent, world.device()), "");

  EXPECT_EQ(measured().products.x, (std::vector<double>{1, 4, 16, 17, 64})) << "classes end at 16";
  EXPECT_EQ(measured().ends.x, measured().products.x);
  EXPECT_EQ(measured().ends.y, (std::vector<double>{0, 1, 4, 16, 32}));
  EXPECT_EQ(measured().chunks.x, (std::vector<double>{1, 4, 16, 64}));
  EXPECT_EQ(measured().chunks.y, (std::vector<double>{0, 8, 192}));
  EXPECT_EQ(measured().singles.x, (std::vector<double>{16, 64, 256, 1024}));
  EXPECT_EQ(measured().singles.y, (std::vector<double>{1, 4, 16, 32}));
  EXPECT_NE(measured().kernels.find("paged_decode: "), std::string::npos) << measured().kernels;
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

TEST(MeasuredTimes, SayWhatNoKernelTakes) {
  Extent odd = kExtent;
  odd.model.head_size = 80;
  EXPECT_NE(shape_error(odd).find("take 64"), std::string::npos);
  odd = kExtent;
  odd.block = 20;
  EXPECT_NE(shape_error(odd).find("block_size"), std::string::npos);
  odd = kExtent;
  odd.type = core::DataType::i32;
  EXPECT_NE(unsupported_reason(odd, test::world().device()).find("i32"), std::string::npos);
}

}  // namespace
}  // namespace quadrille::workloads::serving
