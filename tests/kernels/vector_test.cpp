// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "vector/vector.hpp"

#include "kernels/host_kernels.hpp"
#include "kernels/vector_data.hpp"
#include "support/rows.hpp"

#include <limits>

namespace quadrille::kernels::vector {
namespace {

using core::DataType;

constexpr Operation kOperations[] = {Operation::add, Operation::quadratic};

TEST(Vector, EveryVariantAgreesWithTheReference) {
  test::Host host;
  for (Variant<Problem> const& variant : test::rows_of(variants(), test::is_host_row)) {
    for (Operation const operation : kOperations) {
      for (std::int64_t const n : test::kSizes) {
        for (std::int64_t const offset : test::kOffsets) {
          expect_right<double>(*host.device, host.stream, variant, operation, n, offset);
          expect_right<float>(*host.device, host.stream, variant, operation, n, offset);
        }
      }
    }
  }
}

TEST(Vector, ResultsLargerThanTheCachesAreStreamedRight) {
  test::Host host;
  Variant<Problem> const& variant = test::row(variants(), "host_simd");
  for (Operation const operation : kOperations) {
    expect_right<double>(*host.device, host.stream, variant, operation, (1 << 19) + 13, 1);
    expect_right<float>(*host.device, host.stream, variant, operation, (1 << 20) + 13, 3);
  }
}

TEST(Vector, ReferenceAgreesWithHand) {
  test::Host host;
  std::vector<double> x{1, -2, 4}, y{0.5, 8, -4}, sum(3), square(3);

  test::launch(variants(), "reference",
               {Operation::add, DataType::f64, x.data(), y.data(), sum.data(), 3}, host.stream);
  test::launch(variants(), "reference",
               {Operation::quadratic, DataType::f64, x.data(), nullptr, square.data(), 3, 2, 3, -1},
               host.stream);
  host.stream.view().synchronize();

  EXPECT_EQ(sum, (std::vector<double>{1.5, 6, 0}));
  EXPECT_EQ(square, (std::vector<double>{4, 1, 43}));
}

TEST(Vector, InitFillsAndValidateCountsWhatDiffers) {
  test::Host host;
  device::StreamView const stream = host.stream;
  std::vector<float> x(1001);
  std::uint64_t wrong = 5;

  init(DataType::f32, x.data(), 1000, 2.5, stream);
  stream.synchronize();
  EXPECT_EQ(x[0] + x[999], 5);
  EXPECT_EQ(x[1000], 0) << "wrote behind the end";

  x[0] = 3;
  x[999] = std::numeric_limits<float>::quiet_NaN();
  validate(DataType::f32, x.data(), 1000, 2.5, &wrong, stream);
  stream.synchronize();
  EXPECT_EQ(wrong, 5 + 2) << "counts are added";
}

TEST(Vector, BoundRejectsOtherCoefficients) {
  Problem problem{.operation = Operation::quadratic, .type = DataType::f32};

  EXPECT_LT(error_bound(problem, 0.5), 1e-5 * problem.c);
  EXPECT_EQ(error_bound({.operation = Operation::add}, 0.5), 0);
  Problem const signs{
      .operation = Operation::quadratic, .type = DataType::f64, .a = -3, .b = -5, .c = -7};
  EXPECT_EQ(error_bound(signs, 2), 4 * (12 + 10 + 7) * std::numeric_limits<double>::epsilon());
}

TEST(Vector, ConstraintsAreRefused) {
  test::Host host;
  for (Variant<Problem> const& variant : test::rows_of(variants(), test::is_host_row)) {
    expect_refusals(*host.device, host.stream, variant);
  }
}

}  // namespace
}  // namespace quadrille::kernels::vector
