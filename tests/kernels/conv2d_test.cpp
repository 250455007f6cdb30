// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "conv2d/conv2d.hpp"

#include "conv2d/conv2d_columns.hpp"
#include "conv2d/conv2d_division.hpp"
#include "kernels/conv2d_data.hpp"
#include "kernels/host_kernels.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace quadrille::kernels::conv2d {
namespace {

using core::DataType;
using test::Host;

template <class T>
void expect_right(Host& host, Variant<Problem> const& variant, Shape const& shape,
                  DataLayout layout) {
  EXPECT_TRUE(expect_right<T>(*host.device, host.stream, variant, shape, layout,
                              core::Compute::automatic, {.y = 1}));
}

class Conv2dTest : public testing::TestWithParam<std::string_view> {};

TEST_P(Conv2dTest, EqualsSums) {
  Host host;
  Variant<Problem> const& variant = test::row(variants(), GetParam());
  for (Shape const& shape : kShapes) {
    for (DataLayout const layout : kLayouts) {
      expect_right<float>(host, variant, shape, layout);
      if (variant.supports(DataType::f16)) expect_right<core::f16>(host, variant, shape, layout);
      if (variant.supports(DataType::bf16)) expect_right<core::bf16>(host, variant, shape, layout);
    }
  }
}

TEST_P(Conv2dTest, EqualsSumsOfManyBlocks) {
  Host host;
  Variant<Problem> const& variant = test::row(variants(), GetParam());
  Shape const wide{.n = 1, .c = 3, .h = 70, .w = 301, .k = 9, .r = 3, .s = 3, .padding = 1};
  Shape const deep{.n = 2, .c = 300, .h = 12, .w = 13, .k = 20, .r = 3, .s = 3, .stride = 2};
  for (DataLayout const layout : kLayouts) {
    expect_right<float>(host, variant, wide, layout);
    expect_right<float>(host, variant, deep, layout);
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, Conv2dTest,
                         testing::ValuesIn(test::names_of(variants(), test::is_host_row)),
                         test::RowName{});

/// An image of 4 x 4 pixels that are numbered, and windows of 3 x 3.
Problem numbered_image(std::vector<float>& x) {
  Problem problem = unallocated({.h = 4, .w = 4, .r = 3, .s = 3}, DataLayout::nchw, DataType::f32);
  x.resize(16);
  std::iota(x.begin(), x.end(), 0.0F);
  problem.x.data = x.data();
  return problem;
}

TEST(Conv2dColumns, AreThePatchesOfTheTutorial) {
  std::vector<float> x, got(36);
  Problem const problem = numbered_image(x);

  columns<float>(problem, 0, 0, {0, 4}, got.data(), 4);

  std::vector<float> const patches[] = {{0, 1, 2, 4, 5, 6, 8, 9, 10},
                                        {1, 2, 3, 5, 6, 7, 9, 10, 11},
                                        {4, 5, 6, 8, 9, 10, 12, 13, 14},
                                        {5, 6, 7, 9, 10, 11, 13, 14, 15}};
  for (std::size_t j = 0; j < 4; ++j) {
    for (std::size_t t = 0; t < 9; ++t) EXPECT_EQ(got[t * 4 + j], patches[j][t]) << j << " " << t;
  }
}

TEST(Conv2dReference, MatchesHandComputedValues) {
  Host host;
  std::vector<float> x, y(4, -1);
  Problem problem = numbered_image(x);
  std::vector<float> w{1, 0, 0, 0, 2, 0, 0, 0, -1};  // 1 top left, 2 in the middle, -1 bottom right
  problem.w.data = w.data();
  problem.y.data = y.data();

  test::launch(variants(), "reference", problem, host.stream);
  host.stream.view().synchronize();

  EXPECT_EQ(y, (std::vector<float>{0, 2, 8, 10}));
}

TEST(Conv2dShape, CountsWindows) {
  EXPECT_EQ((Shape{.h = 225, .w = 225, .r = 3, .s = 3, .stride = 2}).out_h(), 112);
  EXPECT_EQ((Shape{.h = 838, .w = 1350, .r = 7, .s = 7, .stride = 2}).positions(), 416 * 672);
  EXPECT_EQ((Shape{.h = 5, .w = 9, .r = 3, .s = 3, .dilation = 4}).out_h(), 0);
  EXPECT_EQ((Shape{.h = 5, .w = 9, .r = 3, .s = 3, .dilation = 4}).out_w(), 1);
  EXPECT_EQ((Shape{.h = 5, .w = 9, .r = 3, .s = 3, .padding = 2, .dilation = 4}).out_h(), 1);
}

TEST(Conv2dShape, CountsWork) {
  Shape const shape{.n = 2, .c = 6, .h = 5, .w = 4, .k = 8, .r = 3, .s = 2, .groups = 2};

  EXPECT_EQ(flop(shape), 2 * 2 * 8 * 9 * (3 * 3 * 2));
  EXPECT_EQ(compulsory_bytes(shape, 4), 4 * (2 * 6 * 20 + 8 * 3 * 6 + 2 * 8 * 9));
  EXPECT_EQ(column_bytes(shape, 4), 4 * (6 * 6) * (2 * 9));
}

TEST(Conv2d, RefusesWhatDoesNotFitTogether) {
  auto const error = [](Shape const& shape) { return shape_error(shape); };
  auto const problem = [](Shape const& shape) {
    return unallocated(shape, DataLayout::nchw, DataType::f32);
  };
  Shape const good{.n = 2, .c = 4, .h = 5, .w = 5, .k = 6, .r = 3, .s = 3};
  Shape larger = good, odd = good, still = good;
  larger.r = 6;
  odd.groups = 4;
  still.stride = 0;
  EXPECT_EQ(error(good), "");
  EXPECT_NE(error(larger).find("outputs have no size"), std::string::npos);
  EXPECT_NE(error(odd).find("groups"), std::string::npos);
  EXPECT_NE(error(still).find("must be positive"), std::string::npos);

  Problem wrong = problem(good);
  wrong.y.cols -= 1;
  EXPECT_FAILS(require_consistent(wrong), "y is not n x");
  wrong = problem(good);
  wrong.w.type = DataType::f16;
  EXPECT_FAILS(require_consistent(wrong), "w is not k x");
  wrong = problem(good);
  wrong.x.ld += 1;
  EXPECT_FAILS(require_consistent(wrong), "x is not n x");
  EXPECT_FAILS(require_consistent(problem(larger)), "take smaller filters");

  Shape const huge{.n = 1 << 12, .c = 1 << 10, .h = 64, .w = 64, .k = 1, .r = 1, .s = 1};
  EXPECT_NE(few_elements(problem(huge)), "");
  EXPECT_EQ(few_elements(problem(good)), "");
}

TEST(Conv2dDivisor, DividesExactly) {
  constexpr int kMax = std::numeric_limits<int>::max();
  for (int const divisor : {1, 2, 3, 7, 9, 10, 49, 224, 12544, 49729, 65536, 1000003, kMax}) {
    Divisor const by{divisor};
    for (int const dividend : {0, 1, divisor - 1, divisor, 6 * (divisor % 1000) + 5, 123456789,
                               kMax - 1, kMax / divisor * divisor - 1, kMax}) {
      if (dividend < 0) continue;
      EXPECT_EQ(by.quotient(dividend), dividend / divisor) << dividend << " / " << divisor;
      EXPECT_EQ(by.remainder(dividend, by.quotient(dividend)), dividend % divisor);
    }
  }
}

}  // namespace
}  // namespace quadrille::kernels::conv2d
