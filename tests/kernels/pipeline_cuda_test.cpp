// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pipeline.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace quadrille::kernels::pipeline {
namespace {

using test::DeviceArray;

/// Partial p of `count`, by its definition.
double partial(Interval const& interval, std::int64_t p) {
  double const h = (interval.upper - interval.lower) / static_cast<double>(interval.cells);
  double sum = 0;
  for (std::int64_t i = 0; i < interval.cells; ++i) {
    if (i / kItemsPerPartial % interval.count != p) continue;
    double const x = interval.lower + (static_cast<double>(i) + 0.5) * h;
    sum += std::pow(std::sin(2 * x) * std::cos(x), 2);
  }
  return interval.amplitude * h * sum;
}

TEST(PipelineCudaTest, EveryPartialSumHoldsItsCells) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    for (core::DataType const type : {core::DataType::f64, core::DataType::f32}) {
      for (std::int64_t const cells : {1, 31, 64, 65, 1000}) {
        for (std::int64_t const count : {std::int64_t{1}, std::int64_t{3}, (cells + 63) / 64}) {
          DeviceArray<double> partials{device, stream, count};
          Interval const interval{100, 107, cells, 1.5, type, partials.data(), count};

          launch_integrate(interval, stream);
          stream.synchronize();

          std::vector<double> const got = partials.download();
          double const bound = core::epsilon_of(type) * 100 * 1.5 * 7;
          for (std::int64_t p = 0; p < count; ++p) {
            double const error = std::abs(got[static_cast<std::size_t>(p)] - partial(interval, p));
            EXPECT_TRUE(error <= bound)
                << cells << " cells, " << count << ": " << p << ' ' << error;
          }
          EXPECT_TRUE(partials.intact());
        }
      }
    }
  });
}

TEST(PipelineCudaTest, AddsUpWholeNumbersExactly) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    for (std::int64_t const n : {0, 1, 31, 63, 64, 65, 1000}) {
      std::vector<double> values(static_cast<std::size_t>(n));
      double want = 0;
      for (std::size_t i = 0; i < values.size(); ++i)
        want += values[i] = static_cast<double>(i + 1);
      DeviceArray<double> array{device, stream, values};
      DeviceArray<double> sum{device, stream, 1};

      launch_add_up(array.data(), n, sum.data(), Into::replaced, stream);
      stream.synchronize();
      EXPECT_EQ(sum.download()[0], want) << n;

      launch_add_up(array.data(), n, sum.data(), Into::added_to, stream);
      stream.synchronize();
      EXPECT_EQ(sum.download()[0], 2 * want) << n;
      EXPECT_TRUE(sum.intact());
    }
  });
}

}  // namespace
}  // namespace quadrille::kernels::pipeline
