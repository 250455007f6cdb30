// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "rowwise/rowwise.hpp"

#include "kernels/host_kernels.hpp"
#include "kernels/rowwise_data.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

namespace quadrille::kernels::rowwise {
namespace {

class RowwiseTest : public testing::TestWithParam<std::string_view> {};

TEST_P(RowwiseTest, EqualsTheFormula) {
  test::Host host;
  expect_all_right(*host.device, host.stream, test::row(variants(), GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Variants, RowwiseTest,
                         testing::ValuesIn(test::names_of(variants(), test::is_host_row)),
                         test::RowName{});

/// (1, 3) has mean 2 and variance 1, and 5 as the mean of its squares.
TEST(Rowwise, EqualsValuesFoundByHand) {
  test::Host host;
  auto const& row = test::row(variants(), "reference");
  float x[]{1, 3}, weights[]{2, 10, 5, -1}, y[2];
  Problem p = unallocated(Action::layer_norm, {.tokens = 1, .features = 2}, core::DataType::f32);
  p.x.data = x;
  p.y.data = y;
  p.weights.data = weights;
  row.launch(p, host.stream);
  host.stream.view().synchronize();
  EXPECT_NEAR(y[0], -2 + 5, 1e-4);
  EXPECT_NEAR(y[1], 10 - 1, 1e-4);

  p = unallocated(Action::rms_norm, {.tokens = 1, .features = 2}, core::DataType::f32);
  p.x.data = x;
  p.y.data = y;
  p.weights.data = weights;
  row.launch(p, host.stream);
  host.stream.view().synchronize();
  EXPECT_NEAR(y[0], 2 / 2.2360680, 1e-5);
  EXPECT_NEAR(y[1], 30 / 2.2360680, 1e-4);

  // A quarter turn: (1, 3) becomes (-3, 1).
  float const quarter[]{0, 1};
  std::int32_t const position = 0;
  p = unallocated(Action::rotary, {.tokens = 1, .features = 2, .head_size = 2, .max_positions = 1},
                  core::DataType::f32);
  p.x.data = x;
  p.y.data = y;
  p.cos_sin.data = const_cast<float*>(quarter);
  p.positions = &position;
  row.launch(p, host.stream);
  host.stream.view().synchronize();
  EXPECT_EQ(y[0], -3);
  EXPECT_EQ(y[1], 1);
}

TEST(Rowwise, SaysWhichShapesThereAreNot) {
  EXPECT_EQ(shape_error(Action::rotary, {.features = 384, .head_size = 128}), "");
  EXPECT_EQ(shape_error(Action::rotary, {.features = 200, .head_size = 128}),
            "200 features are no whole heads of 128; take a multiple");
  EXPECT_EQ(shape_error(Action::rotary, {.features = 9, .head_size = 3}),
            "head_size is 3; take an even number");
  EXPECT_EQ(shape_error(Action::gelu, {.features = 9, .has_residual = true}),
            "a residual belongs to norms; take it out");
}

TEST(Rowwise, RefusesWhatDoesNotFitTogether) {
  test::Host host;
  auto const& row = test::row(variants(), "reference");
  Problem problem = unallocated(Action::swiglu, {.tokens = 2, .features = 8}, core::DataType::f32);
  problem.x.cols = problem.x.ld = 8;
  EXPECT_FAILS(row.launch(problem, host.stream), "x or y has");
  problem = unallocated(Action::layer_norm, {.tokens = 2, .features = 8}, core::DataType::f32);
  problem.weights.rows = 1;
  EXPECT_FAILS(row.launch(problem, host.stream), "weights, sum or residual");
}

TEST(Rowwise, CountsWhatIsReadAndWritten) {
  auto const bytes = [](Action action, Shape const& shape) {
    return bytes_moved(unallocated(action, shape, core::DataType::f16));
  };
  EXPECT_EQ(bytes(Action::swiglu, {.tokens = 5, .features = 8}), 2 * 5 * 8 * 3);
  EXPECT_EQ(bytes(Action::layer_norm, {.tokens = 5, .features = 8, .has_residual = true}),
            2 * (4 * 5 * 8 + 2 * 8));
  EXPECT_EQ(bytes(Action::rotary, {.tokens = 5, .features = 8, .head_size = 4}),
            2 * 2 * 5 * 8 + 5 * (4 * 4 + 4));
}

}  // namespace
}  // namespace quadrille::kernels::rowwise
