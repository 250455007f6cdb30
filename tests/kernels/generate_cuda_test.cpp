// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "support/generate.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace quadrille::kernels::generate {
namespace {

using core::DataKind;
using test::DeviceArray;

struct Shape {
  std::int64_t rows, cols, ld;
};
constexpr Shape kShapes[] = {{1, 1, 1}, {1, 31, 31}, {33, 1, 1}, {7, 45, 48}, {3, 4099, 4100}};

/// Blocks of 3 rows dealt to 2 owners, columns from 5 on.
Problem problem_of(DeviceArray<double> const& array, Shape const& shape, DataKind kind) {
  Problem p;
  p.data = {array.data(), core::DataType::f64, shape.rows, shape.cols, shape.ld};
  p.rows = {0, 3, 2, 1};
  p.cols = {5, 1, 1, 0};
  p.kind = kind;
  p.seed = 7;
  p.tag = 3;
  return p;
}

std::int64_t global_row(std::int64_t i) { return (i / 3 * 2 + 1) * 3 + i % 3; }

TEST(GenerateCudaTest, FillsWithTheBitsOfTheHost) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    for (Shape const& shape : kShapes) {
      for (DataKind const kind : {DataKind::uniform, DataKind::normal, DataKind::integer}) {
        for (bool const transposed : {false, true}) {
          DeviceArray<double> array{device, stream, shape.rows * shape.ld};
          Problem p = problem_of(array, shape, kind);
          p.transposed = transposed;

          launch_fill(p, stream);
          stream.synchronize();

          std::vector<double> const got = array.download();
          for (std::int64_t i = 0; i < shape.rows; ++i) {
            for (std::int64_t j = 0; j < shape.ld; ++j) {
              double const value = got[static_cast<std::size_t>(i * shape.ld + j)];
              if (j >= shape.cols) {
                ASSERT_TRUE(value != value) << "wrote behind row " << i;
                continue;
              }
              std::int64_t const row = transposed ? 5 + j : global_row(i);
              std::int64_t const col = transposed ? global_row(i) : 5 + j;
              ASSERT_EQ(value, core::generate<double>(kind, 7, 3, row, col)) << i << ' ' << j;
            }
          }
          EXPECT_TRUE(array.intact());
        }
      }
    }
  });
}

TEST(GenerateCudaTest, ConvertsAsTheHostDoes) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    constexpr std::int64_t kCount = 257;
    auto const expect_same = [&](auto zero, DataKind kind = DataKind::normal) {
      using T = decltype(zero);
      DeviceArray<T> array{device, stream, kCount};
      Problem p;
      p.kind = kind;
      p.data = {array.data(), core::type_of<T>(), 1, kCount, kCount};
      launch_fill(p, stream);
      stream.synchronize();
      std::vector<T> const got = array.download();
      for (std::int64_t j = 0; j < kCount; ++j) {
        ASSERT_EQ(static_cast<double>(got[static_cast<std::size_t>(j)]),
                  static_cast<double>(core::generate<T>(kind, 1, 0, 0, j)))
            << core::to_text(core::type_of<T>()) << " at " << j;
      }
    };
    expect_same(float{});
    expect_same(core::f16{});
    expect_same(core::bf16{});
    expect_same(std::int32_t{});
    expect_same(std::int8_t{});
    for (DataKind const kind : {DataKind::bits, DataKind::inverted}) {
      expect_same(std::int32_t{}, kind);
      expect_same(std::int8_t{}, kind);
    }
  });
}

Differences differences(Problem const& p, device::Device& device, device::StreamView stream) {
  DeviceArray<Differences> found{device, stream, std::vector<Differences>(1)};
  launch_compare(p, found.data(), stream);
  stream.synchronize();
  return found.download()[0];
}

TEST(GenerateCudaTest, CountsWhatDiffersAndNamesTheFirst) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    for (Shape const& shape : kShapes) {
      DeviceArray<double> array{device, stream, shape.rows * shape.ld};
      Problem const p = problem_of(array, shape, DataKind::uniform);
      launch_fill(p, stream);
      stream.synchronize();
      Differences const none = differences(p, device, stream);
      EXPECT_EQ(none.count, 0U);
      EXPECT_EQ(none.first, Differences::kNone);

      // Not a number in the last element, another value in one before it.
      std::int64_t const last = (shape.rows - 1) * shape.ld + shape.cols - 1;
      double const nan = std::numeric_limits<double>::quiet_NaN();
      stream.copy(array.data() + last, &nan, sizeof(nan));
      stream.synchronize();
      Differences const one = differences(p, device, stream);
      EXPECT_EQ(one.count, 1U);
      EXPECT_EQ(one.first, static_cast<std::uint64_t>(shape.rows * shape.cols - 1));

      double const wrong = 2;
      stream.copy(array.data(), &wrong, sizeof(wrong));
      stream.synchronize();
      Differences const both = differences(p, device, stream);
      EXPECT_EQ(both.count, shape.rows * shape.cols == 1 ? 1U : 2U);
      EXPECT_EQ(both.first, 0U);
    }
  });
}

std::uint64_t digest_of(DeviceArray<float> const& array, Shape const& shape, device::Device& device,
                        device::StreamView stream) {
  DeviceArray<std::uint64_t> const sum{device, stream, std::vector<std::uint64_t>(1)};
  launch_digest({array.data(), core::DataType::f32, shape.rows, shape.cols, shape.ld}, sum.data(),
                stream);
  stream.synchronize();
  return sum.download()[0];
}

TEST(GenerateCudaTest, DigestsEveryElementAndItsPlaceAlone) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    for (Shape const& shape : kShapes) {
      std::vector<float> values(static_cast<std::size_t>(shape.rows * shape.ld));
      for (std::size_t e = 0; e < values.size(); ++e) values[e] = 1 + static_cast<float>(e);
      std::uint64_t want = 0;
      for (std::int64_t i = 0; i < shape.rows; ++i) {
        for (std::int64_t j = 0; j < shape.cols; ++j) {
          float const value = values[static_cast<std::size_t>(i * shape.ld + j)];
          want += digest_term(std::bit_cast<std::uint32_t>(value), i * shape.cols + j);
        }
      }
      DeviceArray<float> const array{device, stream, values};
      EXPECT_EQ(digest_of(array, shape, device, stream), want);

      // A bit of the last element, and two that are swapped.
      auto const last = static_cast<std::size_t>((shape.rows - 1) * shape.ld + shape.cols - 1);
      std::vector<float> other = values;
      other[last] = std::nextafter(other[last], 0.0F);
      EXPECT_NE(digest_of(DeviceArray<float>{device, stream, other}, shape, device, stream), want);
      other = values;
      std::swap(other[0], other[last]);
      bool const is_one = shape.rows * shape.cols == 1;
      EXPECT_EQ(digest_of(DeviceArray<float>{device, stream, other}, shape, device, stream) == want,
                is_one);
      // What lies behind the rows is nobody's.
      other = values;
      for (std::int64_t i = 0; i < shape.rows; ++i) {
        for (std::int64_t j = shape.cols; j < shape.ld; ++j) {
          other[static_cast<std::size_t>(i * shape.ld + j)] = -1;
        }
      }
      EXPECT_EQ(digest_of(DeviceArray<float>{device, stream, other}, shape, device, stream), want);
    }
  });
}

}  // namespace
}  // namespace quadrille::kernels::generate
