// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "integral/integral.hpp"

#include "integral/integral_math.hpp"
#include "kernels/host_kernels.hpp"
#include "kernels/integral_data.hpp"
#include "reduction/reduction.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

#include <numbers>

namespace quadrille::kernels::integral {
namespace {

using core::DataType;
using std::numbers::pi;

/// The sum of what `parts` ranks compute, each from its own cells.
double integrate(Variant<Problem> const& variant, Problem problem, test::Host const& host,
                 std::int64_t parts = 1) {
  Memory memory{*host.device, host.stream, problem.cells};
  double sum = 0;
  for (std::int64_t part = 0; part < parts; ++part) {
    auto const [first, count] = core::split_evenly(problem.cells, parts, part);
    problem.first = first;
    problem.count = count;
    sum += memory.integrate(variant, problem);
  }
  return sum;
}

void expect_exact(Variant<Problem> const& variant, Problem const& problem, test::Host const& host) {
  for (std::int64_t const parts : {1, 3}) {
    double const got = integrate(variant, problem, host, parts);
    EXPECT_TRUE(std::abs(got - exact(problem)) <= error_bound(problem))
        << name_of(problem, variant) << " in " << parts << " parts: " << got << " for "
        << exact(problem) << ", allowed " << error_bound(problem);
  }
}

/// Those that are right. The CUDA rows have a test of their own.
Rows host_variants() {
  return test::rows_of(variants(), [](VariantInfo const& row) {
    return test::is_host_row(row) && row.role != Role::demonstration;
  });
}

TEST(Integral, EveryVariantMeetsTheClosedForm) {
  test::Host host;
  for (Variant<Problem> const& variant : host_variants()) {
    for (Integrand const integrand : kIntegrands) {
      for (Rule const rule : kRules) {
        for (DataType const type : kTypes) {
          for (std::int64_t const cells : {1, 31, 33, 255, 256, 257, 4095, 4097, 40000, 100003}) {
            Problem problem = default_problem(integrand, rule, cells);
            problem.type = type;
            expect_exact(variant, problem, host);
            problem.lower = -0.3;
            problem.upper = 2.9;
            problem.a = 1.7;
            problem.b = -0.6;
            problem.amplitude = -3;
            expect_exact(variant, problem, host);
          }
        }
      }
    }
  }
}

TEST(Integral, FastVariantsAgreeWithTheReferenceToRounding) {
  test::Host host;
  for (Integrand const integrand : kIntegrands) {
    for (Rule const rule : kRules) {
      for (std::int64_t const cells : {1, 33, 257, 100003}) {
        Problem problem = default_problem(integrand, rule, cells);
        problem.upper = 3;
        double const want = integrate(test::row(variants(), "reference"), problem, host);
        for (std::string_view const name : {"host_simd", "kokkos"}) {
          Variant<Problem> const& variant = test::row(variants(), name);
          problem.type = DataType::f64;
          EXPECT_NEAR(integrate(variant, problem, host), want, 1e-14) << name_of(problem, variant);
          problem.type = DataType::f32;
          EXPECT_NEAR(integrate(variant, problem, host), want, 2e-6) << name_of(problem, variant);
        }
      }
    }
  }
}

TEST(Integral, NoCellsGiveZero) {
  test::Host host;
  for (Variant<Problem> const& variant : host_variants()) {
    for (Rule const rule : kRules) {
      Memory memory{*host.device, host.stream, 0};
      Problem problem = default_problem(Integrand::gauss, rule, 1000);
      problem.first = 1000;
      problem.count = 0;
      EXPECT_EQ(memory.integrate(variant, problem), 0) << variant.name;
    }
  }
}

TEST(Integral, ReferenceAgreesWithHand) {
  test::Host host;
  auto const of = [&](Rule rule, std::int64_t cells) {
    Problem problem = default_problem(Integrand::arctan, rule, cells);
    problem.amplitude = 2;
    return integrate(test::row(variants(), "reference"), problem, host);
  };

  EXPECT_DOUBLE_EQ(of(Rule::midpoint, 1), 2 * 3.2);
  EXPECT_DOUBLE_EQ(of(Rule::midpoint, 2), 64.0 / 17 + 64.0 / 25);
  EXPECT_DOUBLE_EQ(of(Rule::simpson, 1), 2 * (4 + 4 * 3.2 + 2) / 6);
  // Nodes 1/2 -+ t, t^2 = 3/20: their two values add up to 8 * 1.4 / (1.4^2 - 0.15) by hand.
  EXPECT_NEAR(of(Rule::gauss_legendre, 1), 2 * (5 * 11.2 / 1.81 + 8 * 3.2) / 18, 1e-14);
}

/// As many terms as f32 has numbers between 1 and 2, all below its last bit once the sum is 2.
TEST(Integral, SumsInSinglePrecisionStopGrowing) {
  test::Host const host;
  Problem problem = default_problem(Integrand::arctan, Rule::midpoint, std::int64_t{1} << 25);
  problem.type = core::DataType::f32;

  EXPECT_NEAR(integrate(test::row(variants(), "host_serial"), problem, host), std::numbers::pi,
              1e-5);
  EXPECT_LT(integrate(test::row(variants(), "host_serial_f32_sum"), problem, host), 3);
}

TEST(Integral, ClosedFormAgreesWithHand) {
  auto const of = [](double a, double b, double lower, double upper) {
    return exact({.a = a, .b = b, .lower = lower, .upper = upper, .cells = 1});
  };

  EXPECT_DOUBLE_EQ(of(2, 1, 0, 40000 * pi), 10000 * pi);
  EXPECT_DOUBLE_EQ(of(1, 1, 0, pi), pi / 8);
  EXPECT_DOUBLE_EQ(of(1, 0, 0, pi), pi / 2);
  EXPECT_EQ(of(0, 3, -1, 5), 0);
  EXPECT_DOUBLE_EQ(of(1, 1, 0, 1), 0.125 - std::sin(4.0) / 32);
  EXPECT_NEAR(of(1, 1 + 1e-9, 0, 1), of(1, 1, 0, 1), 2e-9);
  EXPECT_DOUBLE_EQ(exact(default_problem(Integrand::arctan, Rule::simpson, 1)), pi);
  EXPECT_DOUBLE_EQ(exact(default_problem(Integrand::gauss, Rule::simpson, 1)), 0.7468241328124271);
  EXPECT_DOUBLE_EQ(exact(default_problem(Integrand::runge, Rule::simpson, 1)),
                   0.4 * std::atan(5.0));
}

TEST(Integral, OrderOfConvergenceIsThatOfTheRule) {
  struct Expected {
    Integrand integrand;
    Rule rule;
    std::int64_t cells;
    double order;
  };
  test::Host host;
  for (auto const& [integrand, rule, cells, order] : {
           Expected{Integrand::gauss, Rule::midpoint, 64, 2},
           Expected{Integrand::gauss, Rule::simpson, 16, 4},
           Expected{Integrand::gauss, Rule::gauss_legendre, 6, 6},
           Expected{Integrand::arctan, Rule::midpoint, 64, 2},
           // The third derivative is 0 at both ends: Simpson gains two orders.
           Expected{Integrand::arctan, Rule::simpson, 8, 6},
           Expected{Integrand::arctan, Rule::gauss_legendre, 6, 6},
           Expected{Integrand::runge, Rule::midpoint, 256, 2},
           Expected{Integrand::runge, Rule::simpson, 128, 4},
           Expected{Integrand::runge, Rule::gauss_legendre, 48, 6},
       }) {
    for (Variant<Problem> const& variant : host_variants()) {
      auto const error = [&](std::int64_t n) {
        Problem const problem = default_problem(integrand, rule, n);
        return std::abs(integrate(variant, problem, host) - exact(problem));
      };
      double const observed = std::log2(error(cells) / error(2 * cells));
      EXPECT_NEAR(observed, order, 0.2)
          << name_of(default_problem(integrand, rule, cells), variant);
    }
  }
}

TEST(Integral, BoundIsNotLoose) {
  test::Host host;
  auto const ratio = [&](Problem const& problem) {
    double const error =
        integrate(test::row(variants(), "reference"), problem, host) - exact(problem);
    return error_bound(problem) / std::abs(error);
  };
  Problem open = default_problem(Integrand::sin2cos2, Rule::midpoint, 400);
  open.upper = 10;
  Problem aliased = default_problem(Integrand::sin2cos2, Rule::midpoint, 40000);

  EXPECT_LT(ratio(open), 20);  // the harmonics cancel in part
  EXPECT_LT(ratio(aliased), 4);
  EXPECT_LT(ratio(default_problem(Integrand::arctan, Rule::midpoint, 100)), 5);
  EXPECT_LT(ratio(default_problem(Integrand::gauss, Rule::simpson, 20)), 20);
  // Over whole periods the rule is exact, and the bound knows it: a cell more would show.
  Problem const whole = default_problem(Integrand::sin2cos2, Rule::midpoint, 10000000);
  EXPECT_LT(error_bound(whole), 1e-3 * (whole.upper / 1e7) * 0.25);
}

// Of cells so small that the rule is exact: what rounding alone may leave.
TEST(Integral, BoundOfRoundingIsItsFormula) {
  constexpr double kEps = std::numeric_limits<double>::epsilon();
  Problem fine = default_problem(Integrand::arctan, Rule::gauss_legendre, 1'000'000'000'000);
  fine.amplitude = -2;
  double const largest = 4, slope = 2.6;
  for (double const serial : {0.0, 1e3, 1e9}) {
    double const steps = std::max(1e6, serial);
    double const want = 2 * kEps * (8 * largest + 4 * slope / 1e6 + steps * std::numbers::pi);
    EXPECT_NEAR(error_bound(fine, serial) / want, 1, 1e-9) << serial;
  }
  double const bound = error_bound(fine);
  std::swap(fine.lower, fine.upper);
  EXPECT_EQ(error_bound(fine), bound);
  fine.type = DataType::f32;
  EXPECT_NEAR(error_bound(fine) - bound,
              2 * 8 * largest * (std::numeric_limits<float>::epsilon() - kEps), 1e-9 * bound);
}

TEST(Integral, OwnFunctionsAreAccurate) {
  double worst = 0, worst_exp = 0;
  float worst_f32 = 0, worst_exp_f32 = 0;
  for (int i = 0; i < 200000; ++i) {
    double const y = core::generate<double>(core::DataKind::uniform, 1, 1, 0, i) * 250000;
    long double const s = std::sin(static_cast<long double>(y));
    worst = std::max(worst, std::abs(static_cast<double>(sin2<double>(y) - s * s)));
    worst_f32 = std::max(worst_f32, std::abs(static_cast<float>(sin2<float>(y) - s * s)));
    double const z = -std::abs(y) / 400;
    double const e = std::exp(z);
    worst_exp = std::max(worst_exp, std::abs(exp_negative(z) / e - 1));
    auto const w = static_cast<float>(z / 8);
    worst_exp_f32 =
        std::max(worst_exp_f32, std::abs(exp_negative(w) / static_cast<float>(std::exp(w)) - 1));
  }
  EXPECT_LT(worst, 4e-16);
  EXPECT_LT(worst_exp, 5e-16);
  EXPECT_LT(worst_f32, 2.5e-7F);
  EXPECT_LT(worst_exp_f32, 3e-7F);
  EXPECT_EQ(exp_negative(0.0), 1);
  EXPECT_LT(exp_negative(-1e6), 1e-300);
  EXPECT_TRUE(std::isnan(exp_negative(std::nan(""))));
  EXPECT_TRUE(std::isnan(sin2<double>(std::nan(""))));
}

/// The reproducible result of `parts` ranks that share the virtual blocks.
double integrate_in_parts(Variant<Problem> const& variant, Problem problem, std::int64_t parts,
                          test::Host const& host) {
  std::vector<double> gathered;
  for (std::int64_t part = 0; part < parts; ++part) {
    auto const [first, count] = core::split_evenly(kVirtualBlocks, parts, part);
    problem.block_first = first;
    problem.block_count = count;
    auto const blocks = blocks_of(variant, problem, *host.device, host.stream);
    gathered.insert(gathered.end(), blocks.begin(), blocks.end());
  }
  return reduction::combine_blocks(reduction::Operation::sum, gathered);
}

TEST(Integral, ReproducibleBitsDoNotDependOnVariantOrSplit) {
  test::Host host;
  for (Integrand const integrand : kIntegrands) {
    for (Rule const rule : kRules) {
      for (DataType const type : kTypes) {
        for (std::int64_t const cells : {1, 4097, 100003}) {
          Problem problem = default_problem(integrand, rule, cells);
          problem.type = type;
          double const first =
              integrate_in_parts(test::row(variants(), "reference"), problem, 1, host);
          EXPECT_TRUE(std::abs(first - exact(problem)) <= error_bound(problem))
              << name_of(problem, test::row(variants(), "reference"));
          for (std::string_view const name : {"reference", "host_simd", "kokkos"}) {
            Variant<Problem> const& variant = test::row(variants(), name);
            for (std::int64_t const parts : {1, 2, 3, 5}) {
              double const got = integrate_in_parts(variant, problem, parts, host);
              EXPECT_EQ(test::bits(got), test::bits(first))
                  << name_of(problem, variant) << " in " << parts << " parts";
            }
          }
        }
      }
    }
  }
}

TEST(Integral, ReproducibleBitsAreThoseWrittenHere) {
  test::Host host;
  struct Expected {
    Integrand integrand;
    Rule rule;
    DataType type;
    std::uint64_t bits;
  };
  for (auto const& [integrand, rule, type, want] : {
           Expected{Integrand::sin2cos2, Rule::midpoint, DataType::f64, 0x40deadfb4c5d390cU},
           Expected{Integrand::sin2cos2, Rule::simpson, DataType::f32, 0x40deadfb44243596U},
           Expected{Integrand::arctan, Rule::simpson, DataType::f64, 0x400921fb54442d18U},
           Expected{Integrand::gauss, Rule::gauss_legendre, DataType::f64, 0x3fe7e5fbb9495fb8U},
           Expected{Integrand::gauss, Rule::midpoint, DataType::f32, 0x3fe7e5fbba6ec101U},
           Expected{Integrand::runge, Rule::gauss_legendre, DataType::f64, 0x3fe1945c10eaa045U},
       }) {
    Problem problem = default_problem(integrand, rule, 1200007);
    problem.type = type;
    for (std::string_view const name : {"host_simd", "kokkos"}) {
      double const got = integrate_in_parts(test::row(variants(), name), problem, 1, host);
      EXPECT_EQ(test::bits(got), want)
          << name << " " << core::to_text(integrand) << " " << core::to_text(rule) << ": "
          << std::hex << test::bits(got);
    }
  }
}

TEST(Integral, ConstraintsAreRefused) {
  test::Host host;
  double result = 0;
  Problem good = default_problem(Integrand::sin2cos2, Rule::midpoint, 100);
  good.result = &result;
  Problem reproducible = good;
  reproducible.reproducible = true;

  for (Variant<Problem> const& variant : host_variants()) {
    auto const fails = [&](char const* text, Problem bad, auto change) {
      change(bad);
      EXPECT_FAILS(variant.launch(bad, host.stream), text);
    };
    fails("f64 and f32", good, [](Problem& p) { p.type = DataType::i32; });
    fails("1 to 2^51", good, [](Problem& p) { p.cells = 0; });
    fails("out of range", good, [](Problem& p) { p.first = 1; });
    fails("result is missing", good, [](Problem& p) { p.result = nullptr; });
    fails("must be finite", good, [](Problem& p) { p.upper = std::nan(""); });
    fails("lower the limits", good, [](Problem& p) { p.a = 1e12; });
    fails("out of range", reproducible, [](Problem& p) { p.block_count = kVirtualBlocks + 1; });
    fails("blocks is missing", reproducible, [](Problem& p) { p.block_count = 1; });
  }
}

}  // namespace
}  // namespace quadrille::kernels::integral
