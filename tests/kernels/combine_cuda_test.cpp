// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/combine.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace quadrille::kernels {
namespace {

using test::DeviceArray;

constexpr Combine kOps[] = {Combine::sum, Combine::min, Combine::max};

/// Values that differ by position, at times equal in both arrays, in reverse order in the other.
template <class T>
std::vector<T> values(std::int64_t n, int which) {
  std::vector<T> all;
  for (std::int64_t i = 0; i < n; ++i)
    all.push_back(static_cast<T>(static_cast<double>((i * (7 + 4 * which)) % 61 - 30)));
  return all;
}

template <class T>
T expected(Combine op, T a, T b) {
  switch (op) {
    case Combine::sum: return T(static_cast<double>(a) + static_cast<double>(b));
    case Combine::min: return static_cast<double>(b) < static_cast<double>(a) ? b : a;
    default: return static_cast<double>(a) < static_cast<double>(b) ? b : a;
  }
}

enum class Into { third, first, second };

template <class T>
void expect_combined(std::int64_t n, Combine op, Into into, std::int64_t offset) {
  test::on_every_schedule([=](device::Device& device, device::StreamView stream) {
    std::vector<T> const x = values<T>(n, 0), y = values<T>(n, 1);
    DeviceArray<T> const a{device, stream, x, offset}, b{device, stream, y};
    DeviceArray<T> const third{device, stream, n};
    DeviceArray<T> const& out = into == Into::first ? a : into == Into::second ? b : third;

    launch_combine(a.data(), b.data(), out.data(), n, core::type_of<T>(), op, stream);
    stream.synchronize();

    std::vector<T> const got = out.download();
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], expected(op, x[i], y[i])) << i;
    EXPECT_TRUE(a.intact() && b.intact() && third.intact());
    EXPECT_TRUE(into == Into::first || a.download() == x);
    EXPECT_TRUE(into == Into::second || b.download() == y);
  });
}

TEST(CombineCudaTest, TakesEveryTypeAndOperation) {
  for (Combine const op : kOps) {
    expect_combined<double>(3001, op, Into::third, 0);
    expect_combined<float>(3001, op, Into::third, 1);
    expect_combined<std::int64_t>(3001, op, Into::third, 0);
    expect_combined<std::int32_t>(3001, op, Into::third, 3);
    expect_combined<std::int8_t>(3001, op, Into::third, 1);
    expect_combined<core::f16>(3001, op, Into::third, 1);
    expect_combined<core::bf16>(3001, op, Into::third, 2);
  }
}

TEST(CombineCudaTest, TakesAnyLengthAndPlace) {
  for (std::int64_t const n : {0, 1, 255, 1023, 1024, 1025, 70000}) {
    for (Into const into : {Into::third, Into::first, Into::second}) {
      expect_combined<double>(n, Combine::sum, into, 0);
    }
  }
}

TEST(CombineCudaTest, KeepsNan) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  for (Combine const op : kOps) {
    test::on_every_schedule([=](device::Device& device, device::StreamView stream) {
      DeviceArray<double> const a{device, stream, std::vector<double>{nan, 1, 2}};
      DeviceArray<double> const b{device, stream, std::vector<double>{1, nan, 2}};
      launch_combine(a.data(), b.data(), b.data(), 3, core::DataType::f64, op, stream);
      stream.synchronize();
      std::vector<double> const got = b.download();
      EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1]) && !std::isnan(got[2]));
    });
  }
}

}  // namespace
}  // namespace quadrille::kernels
