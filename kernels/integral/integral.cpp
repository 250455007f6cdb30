// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "integral/integral.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace quadrille::kernels::integral {
// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  kokkos,
  host_serial,
  host_serial_f32_sum,
  race,
  global_atomic,
  shared_atomic_256,
  shared_atomic_1024,
  warp_shuffle,
  grid_stride_1,
  grid_stride_100,
  grid_stride,
  sincospi,
  fast_math,
  single_precision,
  two_pass_host,
  two_pass_device,
  two_pass_device_vector,
  two_pass_device_wide,
  one_launch,
  reduced_range
);
// clang-format on

namespace {

/// sin^2(a x) cos^2(b x) = 1/4 + the sum of weight cos(omega x).
struct Harmonic {
  long double weight;
  long double omega;
};
std::array<Harmonic, 4> harmonics(Problem const& p) {
  long double const a = p.a;
  long double const b = p.b;
  return {{{-0.25L, 2 * a}, {0.25L, 2 * b}, {-0.125L, 2 * (a + b)}, {-0.125L, 2 * (a - b)}}};
}

/// Integral of cos(omega x) over [l, u], without cancellation for small omega.
long double integral_of_cos(long double omega, long double l, long double u) {
  long double const angle = omega * (u - l) / 2;
  long double const sinc = angle == 0 ? 1 : std::sin(angle) / angle;
  return (u - l) * std::cos(omega * (u + l) / 2) * sinc;
}

/// |rule - integral| of cos(omega x), at most. With theta = omega h / 2 the sum of cos over the n
/// midpoints is cos(omega m) sin(n theta) / sin(theta), m the middle of the interval; the other
/// rules multiply it by a factor g(theta) (ends: cos(theta); nodes at +-t: cos(2 t theta)).
long double error_of_cos(Rule rule, long double omega, long double length, long double n) {
  if (omega == 0) return 0;
  long double const theta = std::abs(omega * length / n / 2);
  long double factor = 1;
  if (rule == Rule::simpson) factor = (2 + std::cos(theta)) / 3;
  if (rule == Rule::gauss_legendre) factor = (8 + 10 * std::cos(std::sqrt(0.6L) * theta)) / 18;
  // h is rounded to f64, so n theta is known to that much only.
  long double const slack = 4 * std::numeric_limits<double>::epsilon() * n * theta;
  long double const sine = std::min(1.0L, std::abs(std::sin(n * theta)) + slack);
  long double const wavelength = 2 / std::abs(omega);
  long double const smooth = wavelength * sine * std::abs(theta * factor / std::sin(theta) - 1);
  // Where cells are as long as waves the sum may be n times the factor, and no more.
  long double const aliased = std::abs(length * factor) + wavelength * sine;
  return std::min(smooth, aliased);
}

/// Upper bound of |f^(order)(x)| that falls with |x|; order is even.
double derivative_bound(Integrand integrand, int order, double x) {
  double const factorial = std::tgamma(order + 1.0);
  double const power = (order + 1) / 2.0;
  switch (integrand) {
    case Integrand::arctan: return 4 * factorial / std::pow(1 + x * x, power);
    case Integrand::runge:
      return std::pow(5.0, order) * factorial / std::pow(1 + 25 * x * x, power);
    case Integrand::gauss:
      // The Hermite function: its value at 0, or Cramer's inequality.
      return std::min(factorial / std::tgamma(order / 2.0 + 1),
                      1.0865 * std::sqrt(std::pow(2.0, order) * factorial) * std::exp(-x * x / 2));
    case Integrand::sin2cos2: break;
  }
  core::fail("derivative_bound has no sin2cos2: its discretisation error is known in closed form");
}

/// Integral of derivative_bound, as an upper sum.
double integral_of_bound(Integrand integrand, int order, double l, double u) {
  constexpr int kPieces = 1024;
  double const width = (u - l) / kPieces;
  double sum = 0;
  for (int i = 0; i < kPieces; ++i) {
    double const from = l + i * width;
    double const to = from + width;
    double const nearest = from <= 0 && to >= 0 ? 0 : std::min(std::abs(from), std::abs(to));
    sum += width * derivative_bound(integrand, order, nearest);
  }
  return sum;
}

double discretisation_error(Problem const& p, double l, double u) {
  auto const n = static_cast<double>(p.cells);
  if (p.integrand == Integrand::sin2cos2) {
    long double sum = 0;
    for (auto const& [weight, omega] : harmonics(p)) {
      sum += std::abs(weight) * error_of_cos(p.rule, omega, static_cast<long double>(u) - l, n);
    }
    return static_cast<double>(sum);
  }
  double const h = (u - l) / n;
  switch (p.rule) {
    case Rule::midpoint: return std::pow(h, 2) / 24 * integral_of_bound(p.integrand, 2, l, u);
    case Rule::simpson: return std::pow(h, 4) / 2880 * integral_of_bound(p.integrand, 4, l, u);
    case Rule::gauss_legendre:
      return std::pow(h, 6) / 2016000 * integral_of_bound(p.integrand, 6, l, u);
  }
  return 0;
}

double largest_value(Integrand integrand) { return integrand == Integrand::arctan ? 4 : 1; }

double largest_slope(Problem const& p) {
  switch (p.integrand) {
    case Integrand::sin2cos2: return std::abs(p.a) + std::abs(p.b);
    case Integrand::arctan: return 2.6;  // 3 sqrt(3) / 2
    case Integrand::gauss: return 0.86;  // sqrt(2 / e)
    case Integrand::runge: return 3.25;  // 15 sqrt(3) / 8
  }
  return 0;
}

/// The integral without the amplitude.
double exact_integral(Problem const& p) {
  long double const l = p.lower;
  long double const u = p.upper;
  switch (p.integrand) {
    case Integrand::sin2cos2: {
      long double sum = 0.25L * (u - l);
      for (auto const& [weight, omega] : harmonics(p)) sum += weight * integral_of_cos(omega, l, u);
      return static_cast<double>(sum);
    }
    case Integrand::arctan: return static_cast<double>(4 * (std::atan(u) - std::atan(l)));
    case Integrand::gauss:
      return static_cast<double>(std::sqrt(std::numbers::pi_v<long double>) / 2 *
                                 (std::erf(u) - std::erf(l)));
    case Integrand::runge: return static_cast<double>((std::atan(5 * u) - std::atan(5 * l)) / 5);
  }
  return 0;
}

double integrand_at(Problem const& p, double x) {
  switch (p.integrand) {
    case Integrand::sin2cos2: return std::pow(std::sin(p.a * x) * std::cos(p.b * x), 2);
    case Integrand::arctan: return 4 / (1 + x * x);
    case Integrand::gauss: return std::exp(-x * x);
    case Integrand::runge: return 1 / (1 + 25 * x * x);
  }
  return 0;
}

}  // namespace

Variants<Problem> variants() { return kTable; }

ProblemFacts facts_of(Problem const& p) {
  return {.types = p.type, .result = {"result", {p.result, core::DataType::f64, 1, 1, 1}}};
}

std::string plain_only(Problem const& problem) {
  return problem.reproducible ? "gives no reproducible bits" : "";
}

std::string plain_grid(Problem const& problem, std::int64_t cells_of_block) {
  std::string const reason = plain_only(problem);
  if (!reason.empty() || problem.count <= kMaxBlocks * cells_of_block) return reason;
  return "takes at most " + std::to_string(kMaxBlocks * cells_of_block) +
         " cells on a rank, in as many blocks as a grid can have";
}

std::int64_t partial_sums(std::int64_t count) {
  constexpr std::int64_t kCellsEach = 6400;
  constexpr std::int64_t kMin = 4096;  // more blocks than are resident anywhere
  return std::max(kMin, (count + kCellsEach - 1) / kCellsEach);
}

std::size_t scratch_bytes(std::int64_t count) {
  constexpr std::size_t kCounter = 256;
  return kCounter + 8 * static_cast<std::size_t>(partial_sums(count));
}

double exact(Problem const& problem) { return problem.amplitude * exact_integral(problem); }

Part part_of(Problem const& problem, double serial) {
  if (problem.count == 0) return {};
  double const h = (problem.upper - problem.lower) / static_cast<double>(problem.cells);
  std::int64_t const end = problem.first + problem.count;
  Problem part = problem;
  part.lower = problem.lower + static_cast<double>(problem.first) * h;
  part.upper = problem.lower + static_cast<double>(end) * h;
  part.cells = problem.count;
  part.first = 0;
  double value = exact(part);
  if (problem.rule == Rule::simpson) {
    // A node between two ranks counts twice where it is a left end, and not at all where a right.
    double const of_left = problem.first > 0 ? integrand_at(problem, part.lower) : 0;
    double const of_right = end < problem.cells ? integrand_at(problem, part.upper) : 0;
    value += problem.amplitude * h / 6 * (of_left - of_right);
  }
  return {value, error_bound(part, serial)};
}

double error_bound(Problem const& p, double serial) {
  constexpr double kEps = std::numeric_limits<double>::epsilon();
  double const l = std::min(p.lower, p.upper);
  double const u = std::max(p.lower, p.upper);
  double const root = std::sqrt(static_cast<double>(p.cells));
  double const evaluation = 8 * core::epsilon_of(p.type) * largest_value(p.integrand) * (u - l);
  double const arguments =
      4 * kEps * largest_slope(p) * std::max(std::abs(l), std::abs(u)) * (u - l) / root;
  double const summation = kEps * std::max(root, serial) * std::abs(exact_integral(p));
  return std::abs(p.amplitude) *
         (discretisation_error(p, l, u) + evaluation + arguments + summation);
}

void set_default_interval(Problem& problem) {
  problem.lower = problem.integrand == Integrand::runge ? -1 : 0;
  problem.upper = problem.integrand == Integrand::sin2cos2 ? 40000 * std::numbers::pi : 1;
}

void require_consistent(Problem const& p) {
  QUAD_REQUIRE(p.type == core::DataType::f64 || p.type == core::DataType::f32,
               "integral: takes f64 and f32 only");
  QUAD_REQUIRE(p.cells >= 1 && p.cells <= (1LL << 51), "integral: cells must be 1 to 2^51");
  QUAD_REQUIRE(std::isfinite(p.lower) && std::isfinite(p.upper) && std::isfinite(p.amplitude),
               "integral: limits and amplitude must be finite");
  double const reach = std::max(std::abs(p.lower), std::abs(p.upper));
  QUAD_REQUIRE(
      p.integrand != Integrand::sin2cos2 || std::max(std::abs(p.a), std::abs(p.b)) * reach < 0x1p50,
      "integral: |a x| or |b x| reaches 2^50, where f64 has no phase; lower the limits");
  if (p.reproducible) {
    QUAD_REQUIRE(
        p.block_first >= 0 && p.block_count >= 0 && p.block_first + p.block_count <= kVirtualBlocks,
        "integral: virtual blocks out of range");
    QUAD_REQUIRE(p.block_count == 0 || p.blocks != nullptr, "integral: blocks is missing");
  } else {
    QUAD_REQUIRE(p.first >= 0 && p.count >= 0 && p.first + p.count <= p.cells,
                 "integral: the cells of this rank are out of range");
    QUAD_REQUIRE(p.result != nullptr, "integral: result is missing");
  }
}

}  // namespace quadrille::kernels::integral
