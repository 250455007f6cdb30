// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "integral/integral.hpp"
#include "reduction/reduction.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <string>

namespace quadrille::kernels::integral {
namespace {

using core::DataType;
using test::DeviceArray;
using test::KernelMode;

constexpr Integrand kIntegrands[] = {Integrand::sin2cos2, Integrand::arctan, Integrand::gauss,
                                     Integrand::runge};
constexpr Rule kRules[] = {Rule::midpoint, Rule::simpson, Rule::gauss_legendre};
constexpr DataType kTypes[] = {DataType::f64, DataType::f32};

std::vector<Variant<Problem>> cuda_variants() {
  std::vector<Variant<Problem>> rows;
  for (Variant<Problem> const& row : variants()) {
    if (row.where == Where::cuda && row.role != Role::demonstration) rows.push_back(row);
  }
  return rows;
}

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

Problem default_problem(Integrand integrand, Rule rule, std::int64_t cells) {
  Problem problem{.integrand = integrand, .rule = rule, .cells = cells, .count = cells};
  set_default_interval(problem);
  return problem;
}

std::string name_of(Problem const& p, VariantInfo const& variant) {
  return std::string{variant.name} + " " + std::string{core::to_text(p.integrand)} + " " +
         std::string{core::to_text(p.rule)} + " " + std::string{core::to_text(p.type)} + " " +
         std::to_string(p.first) + " + " + std::to_string(p.count) + " of " +
         std::to_string(p.cells);
}

/// Scratch and a result, as an owner keeps them over many launches.
struct Memory {
  Memory(device::Device& device, device::StreamView on, std::int64_t count)
      : stream{on},
        scratch{device, on, static_cast<std::int64_t>(scratch_bytes(count))},
        host{device, partial_sums(count) + 1},
        result{device, on, 1} {
    stream.fill(scratch.data(), 0, static_cast<std::size_t>(scratch.size()));
  }
  ~Memory() { EXPECT_TRUE(scratch.intact()); }

  double integrate(Variant<Problem> const& variant, Problem problem) {
    problem.scratch = scratch.data();
    problem.scratch_bytes = static_cast<std::size_t>(scratch.size());
    problem.host_scratch = host.data();
    problem.result = result.data();
    stream.fill(result.data(), 0xFF, sizeof(double));
    variant.launch(problem, stream);
    double const value = result.download()[0];
    EXPECT_TRUE(result.intact()) << variant.name;
    return value;
  }

  device::StreamView stream;
  DeviceArray<unsigned char> scratch;
  device::PinnedBuffer<double> host;
  DeviceArray<double> result;
};

TEST(IntegralCuda, EveryVariantMeetsTheClosedForm) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    Memory memory{device, stream, 5000};
    for (std::int64_t const cells : {1, 1100}) {
      for (Integrand const integrand : kIntegrands) {
        for (Rule const rule : kRules) {
          for (DataType const type : kTypes) {
            Problem problem = default_problem(integrand, rule, cells);
            problem.type = type;
            problem.amplitude = 1.5;
            // Many more waves than cells tell nothing.
            if (integrand == Integrand::sin2cos2) problem.upper = 7;
            for (Variant<Problem> const& variant : cuda_variants()) {
              if (!variant.supports(type)) continue;
              double const got = memory.integrate(variant, problem);
              double const error = std::abs(got - exact(problem));
              EXPECT_LE(error, error_bound(problem)) << name_of(problem, variant);
            }
          }
        }
      }
    }
  });
}

// The interval of the source, where arguments are large.
TEST(IntegralCuda, LargeArgumentsKeepTheirPhase) {
  bool const gpu = test::kernel_mode() == KernelMode::gpu;
  std::int64_t const cells = gpu ? 10000000 : 100000;
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    if (test::finds_races()) return;  // long, and no other accesses
    Memory memory{device, stream, cells};
    for (DataType const type : kTypes) {
      Problem problem = default_problem(Integrand::sin2cos2, Rule::midpoint, cells);
      problem.type = type;
      for (Variant<Problem> const& variant : cuda_variants()) {
        if (!variant.supports(type)) continue;
        // As many collectives as cells take the interpreter too long.
        bool const quick = gpu || variant.name == "reduced_range" || variant.name == "sincospi";
        if (!quick) continue;
        double const error = std::abs(memory.integrate(variant, problem) - exact(problem));
        EXPECT_LE(error, error_bound(problem)) << name_of(problem, variant);
      }
    }
  });
}

// Ranks have parts of the interval, some none; Simpson's ends belong to the first and the last.
TEST(IntegralCuda, PartsAddUpToTheWhole) {
  std::int64_t const cells = 1301;
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    Memory memory{device, stream, cells};
    for (Integrand const integrand : {Integrand::sin2cos2, Integrand::runge}) {
      for (Rule const rule : kRules) {
        for (Variant<Problem> const& variant : cuda_variants()) {
          Problem problem = default_problem(integrand, rule, cells);
          problem.type = variant.types.begin()->in;
          if (integrand == Integrand::sin2cos2) problem.upper = 7;
          double sum = 0;
          for (auto const& [first, end] :
               {std::pair{0, 130}, {130, 130}, {130, 1299}, {1299, 1301}}) {
            problem.first = first;
            problem.count = end - first;
            sum += memory.integrate(variant, problem);
          }
          EXPECT_LE(std::abs(sum - exact(problem)), error_bound(problem))
              << name_of(problem, variant);
        }
      }
    }
  });
}

TEST(IntegralCuda, NoCellsGiveZero) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    Memory memory{device, stream, 0};
    for (Variant<Problem> const& variant : cuda_variants()) {
      for (Integrand const integrand : {Integrand::sin2cos2, Integrand::gauss}) {
        Problem problem = default_problem(integrand, Rule::simpson, 1000);
        problem.type = variant.types.begin()->in;
        problem.first = 1000;
        problem.count = 0;
        EXPECT_EQ(memory.integrate(variant, problem), 0) << name_of(problem, variant);
      }
    }
  });
}

// Without atomics on floating-point numbers nothing depends on the schedule.
TEST(IntegralCuda, OrderedSumsHaveTheSameBitsInEverySchedule) {
  std::vector<std::uint64_t> first;
  for (int again = 0; again < 2; ++again) {
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      Problem problem = default_problem(Integrand::sin2cos2, Rule::gauss_legendre, 5003);
      problem.upper = 7;
      Memory memory{device, stream, problem.count};
      std::vector<std::uint64_t> now;
      for (std::string_view const name :
           {"two_pass_host", "two_pass_device", "two_pass_device_vector", "one_launch",
            "reduced_range"}) {
        now.push_back(
            bits(memory.integrate(test::row(variants(), name, device::Kind::cuda), problem)));
      }
      if (first.empty()) first = now;
      EXPECT_EQ(now, first);
    });
  }
}

// Three and five partial sums, of which the last pair is half.
TEST(IntegralCuda, TwoPassAddsOddNumbersOfPartialSums) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    if (test::finds_races()) return;  // long, and no other accesses
    for (std::int64_t const cells : {3 * 3200 - 5, 5 * 3200}) {
      Memory memory{device, stream, cells};
      Problem const problem = default_problem(Integrand::arctan, Rule::midpoint, cells);
      for (std::string_view const name :
           {"two_pass_host", "two_pass_device", "two_pass_device_vector"}) {
        Variant<Problem> const& variant = test::row(variants(), name, device::Kind::cuda);
        double const error = std::abs(memory.integrate(variant, problem) - exact(problem));
        EXPECT_LE(error, error_bound(problem)) << name_of(problem, variant);
      }
    }
  });
}

TEST(IntegralCuda, GridsCoverAllCellsOrAreRefused) {
  EXPECT_EQ(blocks_for(0, 256), 0U);
  EXPECT_EQ(blocks_for(257, 256), 2U);
  EXPECT_EQ(blocks_for(std::int64_t{1} << 42, 1024, 264), 264U);
  EXPECT_EQ(blocks_for((std::int64_t{1} << 42) + 1, 1024, 264), 264U);
  // Cells of a block where no thread goes on to others.
  std::map<std::string_view, std::int64_t> const limited{
      {"global_atomic", 256},          {"shared_atomic_256", 256}, {"shared_atomic_1024", 1024},
      {"warp_shuffle", 1024},          {"two_pass_host", 3200},    {"two_pass_device", 3200},
      {"two_pass_device_vector", 3200}};
  for (Variant<Problem> const& variant : cuda_variants()) {
    Problem problem = default_problem(Integrand::gauss, Rule::midpoint, std::int64_t{1} << 51);
    problem.type = variant.types.begin()->in;
    auto const found = limited.find(variant.name);
    if (found != limited.end()) {
      problem.count = INT32_MAX * found->second;
      EXPECT_EQ(variant.unsupported_reason(problem), "") << variant.name;
      ++problem.count;
      EXPECT_NE(variant.unsupported_reason(problem), "") << variant.name;
    } else {
      EXPECT_EQ(variant.unsupported_reason(problem), "") << variant.name;
    }
  }
}

// More cells than 32 bits count.
TEST(IntegralCuda, CellsMayExceed32Bits) {
  if (test::kernel_mode() != KernelMode::gpu) GTEST_SKIP() << "long";
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  Problem problem =
      default_problem(Integrand::gauss, Rule::midpoint, (std::int64_t{1} << 32) + 4097);
  Memory memory{device, stream, problem.count};
  for (Variant<Problem> const& variant : cuda_variants()) {
    problem.type = variant.types.begin()->in;
    double const serial =
        variant.specifics.notes.adds_serially ? static_cast<double>(problem.cells) : 0;
    double const error = std::abs(memory.integrate(variant, problem) - exact(problem));
    EXPECT_LE(error, error_bound(problem, serial)) << name_of(problem, variant);
  }
}

std::vector<double> blocks_of(Variant<Problem> const& variant, Problem problem,
                              device::Device& device, device::StreamView stream) {
  DeviceArray<double> const blocks{device, stream, problem.block_count};
  problem.blocks = blocks.data();
  variant.launch(problem, stream);
  auto values = blocks.download();
  EXPECT_TRUE(blocks.intact());
  return values;
}

TEST(IntegralCuda, ReproducibleBitsAreThoseOfTheHost) {
  auto const host = device::make_host_device(1);
  device::Stream const host_stream{*host};
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (Integrand const integrand : kIntegrands) {
      for (Rule const rule : kRules) {
        for (DataType const type : kTypes) {
          for (std::int64_t const cells : {100, 1200007}) {
            Problem problem = default_problem(integrand, rule, cells);
            problem.type = type;
            problem.reproducible = true;
            problem.block_count = 11;
            for (std::int64_t const first : {std::int64_t{0}, kVirtualBlocks - 11}) {
              problem.block_first = first;
              auto const want =
                  blocks_of(test::row(variants(), "reference"), problem, *host, host_stream);
              for (Variant<Problem> const& variant : cuda_variants()) {
                if (!variant.unsupported_reason(problem).empty()) continue;
                auto const got = blocks_of(variant, problem, device, stream);
                for (std::size_t b = 0; b < got.size(); ++b) {
                  ASSERT_EQ(bits(got[b]), bits(want[b]))
                      << name_of(problem, variant) << " block " << first << " + " << b << ": "
                      << got[b] << " for " << want[b];
                }
              }
            }
          }
        }
      }
    }
  });
}

TEST(IntegralCuda, TheRaceIsFound) {
  if (!test::finds_races()) GTEST_SKIP() << "the race detector finds it";
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  Memory memory{device, stream, 1000};
  auto const& race = test::row(variants(), "race", device::Kind::cuda);
  Problem const problem = default_problem(Integrand::gauss, Rule::midpoint, 1000);

  ASSERT_EQ(race.role, Role::demonstration);
  std::string found;
  try {
    memory.integrate(race, problem);
  } catch (std::exception const& error) {
    found = error.what();
  }
  EXPECT_NE(found.find("race"), std::string::npos) << found;
}

TEST(IntegralCuda, ConstraintsAreRefused) {
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  Memory memory{device, stream, 100};
  Problem good = default_problem(Integrand::gauss, Rule::midpoint, 100);
  good.result = memory.result.data();
  good.scratch = memory.scratch.data();
  good.scratch_bytes = scratch_bytes(100);
  good.host_scratch = memory.host.data();

  for (Variant<Problem> const& variant : variants()) {
    if (variant.where != Where::cuda) continue;
    Problem bad = good;
    bad.type = variant.types.begin()->in;
    bad.result = nullptr;
    EXPECT_FAILS(variant.launch(bad, stream), "result is missing");
    bad = good;
    bad.reproducible = true;
    bad.block_count = 1;
    bad.blocks = memory.result.data();
    bad.type = variant.types.begin()->in;
    std::string const why = variant.unsupported_reason(bad);
    if (!why.empty()) {
      EXPECT_EQ(why, "gives no reproducible bits");
      EXPECT_FAILS(variant.launch(bad, stream), why);
    }
  }
  for (std::string_view const name : {"two_pass_host", "two_pass_device", "two_pass_device_vector",
                                      "one_launch", "reduced_range"}) {
    Problem bad = good;
    bad.scratch_bytes -= 1;
    EXPECT_FAILS(test::row(variants(), name, device::Kind::cuda).launch(bad, stream),
                 "scratch is missing");
  }
  Problem bad = good;
  bad.host_scratch = nullptr;
  EXPECT_FAILS(test::launch(variants(), "two_pass_host", bad, stream), "host_scratch is missing");
  EXPECT_FAILS(test::launch(variants(), "fast_math", good, stream), "has no type f64");
}

}  // namespace
}  // namespace quadrille::kernels::integral
