// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "integral/integral.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"
#include "support/scalar_memory.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

/// Integrals with known results, for rows of every device.
namespace quadrille::kernels::integral {

using Rows = std::vector<Variant<Problem>>;

inline constexpr Integrand kIntegrands[] = {Integrand::sin2cos2, Integrand::arctan,
                                            Integrand::gauss, Integrand::runge};
inline constexpr Rule kRules[] = {Rule::midpoint, Rule::simpson, Rule::gauss_legendre};
inline constexpr core::DataType kTypes[] = {core::DataType::f64, core::DataType::f32};

inline Problem default_problem(Integrand integrand, Rule rule, std::int64_t cells) {
  Problem problem{.integrand = integrand, .rule = rule, .cells = cells, .count = cells};
  set_default_interval(problem);
  return problem;
}
/// Over few waves: many more than cells tell nothing.
inline Problem short_problem(Integrand integrand, Rule rule, std::int64_t cells) {
  Problem problem = default_problem(integrand, rule, cells);
  if (integrand == Integrand::sin2cos2) problem.upper = 7;
  return problem;
}

inline std::string name_of(Problem const& p, VariantInfo const& variant) {
  return std::string{variant.name} + " " + std::string{core::to_text(p.integrand)} + " " +
         std::string{core::to_text(p.rule)} + " " + std::string{core::to_text(p.type)} + " " +
         std::to_string(p.first) + " + " + std::to_string(p.count) + " of " +
         std::to_string(p.cells);
}

/// Memory for integrals of so many parts.
struct Memory : test::ScalarMemory {
  Memory(device::Device& device, device::StreamView on, std::int64_t count)
      : ScalarMemory{device, on, scratch_bytes(count)}, host{device, partial_sums(count) + 1} {}

  double integrate(Variant<Problem> const& variant, Problem problem) {
    problem.host_scratch = host.data();
    return launch(variant, problem);
  }

  void expect_exact(Variant<Problem> const& variant, Problem const& problem, double serial = 0) {
    double const error = std::abs(integrate(variant, problem) - exact(problem));
    EXPECT_LE(error, error_bound(problem, serial)) << name_of(problem, variant);
  }

  device::PinnedBuffer<double> host;
};

/// Ranks have parts of the interval, some none; Simpson's ends belong to the first and the last.
inline void expect_parts_to_add_up(Memory& memory, Rows const& rows) {
  for (Integrand const integrand : {Integrand::sin2cos2, Integrand::runge}) {
    for (Rule const rule : kRules) {
      for (Variant<Problem> const& variant : rows) {
        Problem problem = short_problem(integrand, rule, 1301);
        problem.type = variant.types.begin()->in;
        double sum = 0;
        for (auto const& [first, end] :
             {std::pair{0, 130}, {130, 130}, {130, 1299}, {1299, 1301}}) {
          problem.first = first;
          problem.count = end - first;
          double const part = memory.integrate(variant, problem);
          EXPECT_TRUE(first != end || part == 0) << part;
          sum += part;
        }
        EXPECT_LE(std::abs(sum - exact(problem)), error_bound(problem))
            << name_of(problem, variant);
      }
    }
  }
}

/// Values of the virtual blocks that the problem names.
inline std::vector<double> blocks_of(Variant<Problem> const& variant, Problem problem,
                                     device::Device& device, device::StreamView stream) {
  test::DeviceArray<double> const blocks{device, stream, problem.block_count};
  problem.reproducible = true;
  problem.blocks = blocks.data();
  variant.launch(problem, stream);
  auto values = blocks.download();
  EXPECT_TRUE(blocks.intact());
  return values;
}

/// Of parts of the blocks, as ranks have them: first, count.
inline void expect_bits_of_the_host(
    device::Device& device, device::StreamView stream, Rows const& rows,
    std::vector<std::pair<std::int64_t, std::int64_t>> const& parts) {
  auto const host = device::make_host_device(1);
  device::Stream const host_stream{*host};
  for (Integrand const integrand : kIntegrands) {
    for (Rule const rule : kRules) {
      for (core::DataType const type : kTypes) {
        for (std::int64_t const cells : {100, 1200007}) {
          for (auto const& [first, count] : parts) {
            Problem problem = default_problem(integrand, rule, cells);
            problem.type = type;
            problem.reproducible = true;
            problem.block_first = first;
            problem.block_count = count;
            auto const want =
                blocks_of(test::row(variants(), "reference"), problem, *host, host_stream);
            for (Variant<Problem> const& variant : rows) {
              if (!variant.unsupported_reason(problem).empty()) continue;
              auto const got = blocks_of(variant, problem, device, stream);
              ASSERT_TRUE(std::ranges::equal(got, want, {}, test::bits, test::bits))
                  << name_of(problem, variant) << " blocks " << first << " + " << count;
            }
          }
        }
      }
    }
  }
}

}  // namespace quadrille::kernels::integral
