// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "vector/vector.hpp"

#include "kernels/host_kernels.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

#include <limits>

namespace quadrille::kernels::vector {
namespace {

using core::DataType;
using test::Guarded;

constexpr Operation kOperations[] = {Operation::add, Operation::quadratic};

template <class T>
void compare_with_reference(Variant<Problem> const& variant, Operation operation, std::int64_t n,
                            std::int64_t offset) {
  test::Host host;
  Guarded<T> x{n, offset}, y{n, offset}, out{n, offset}, want{n};
  x.generate(core::DataKind::uniform, 1);
  y.generate(core::DataKind::uniform, 2);
  Problem problem{operation, core::type_of<T>(), x.data(), y.data(), out.data(), n};

  variant.launch(problem, host.stream);
  problem.out = want.data();
  test::launch(variants(), "reference", problem, host.stream);
  host.stream.view().synchronize();

  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double const error = std::abs(static_cast<double>(out[i]) - static_cast<double>(want[i]));
    if (!(error <= error_bound(problem, static_cast<double>(x[i])))) ++wrong;
  }
  EXPECT_EQ(wrong, 0) << variant.name << " " << core::to_text(operation) << " n " << n << " offset "
                      << offset;
  EXPECT_TRUE(out.intact()) << variant.name << " n " << n << " offset " << offset;
}

TEST(Vector, EveryVariantAgreesWithTheReference) {
  for (Variant<Problem> const& variant : variants()) {
    if (!variant.runs_on(device::Kind::host)) continue;
    for (Operation const operation : kOperations) {
      for (std::int64_t const n : test::kSizes) {
        for (std::int64_t const offset : test::kOffsets) {
          compare_with_reference<double>(variant, operation, n, offset);
          compare_with_reference<float>(variant, operation, n, offset);
        }
      }
    }
  }
}

TEST(Vector, ResultsLargerThanTheCachesAreStreamedRight) {
  for (Operation const operation : kOperations) {
    compare_with_reference<double>(test::row(variants(), "host_simd"), operation, (1 << 19) + 13,
                                   1);
    compare_with_reference<float>(test::row(variants(), "host_simd"), operation, (1 << 20) + 13, 3);
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
  std::vector<double> x(8), y(8), out(8);
  Problem const good{Operation::add, DataType::f64, x.data(), y.data(), out.data(), 8};

  for (Variant<Problem> const& variant : variants()) {
    if (!variant.runs_on(device::Kind::host)) continue;
    auto const fails = [&](auto change, char const* text) {
      Problem bad = good;
      change(bad);
      EXPECT_FAILS(variant.launch(bad, host.stream), text);
    };
    fails([](Problem& p) { p.type = DataType::i32; }, "has no type i32");
    fails([](Problem& p) { p.n = -1; }, "negative");
    fails([](Problem& p) { p.x = nullptr; }, "missing");
    fails([](Problem& p) { p.y = nullptr; }, "needs y");
    fails([&](Problem& p) { p.out = x.data() + 1; }, "overlaps");
  }
}

}  // namespace
}  // namespace quadrille::kernels::vector
