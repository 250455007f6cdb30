// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/integral_data.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numbers>
#include <string>

namespace quadrille::kernels::integral {
namespace {

using core::DataType;
using test::DeviceArray;
using test::KernelMode;

Rows cuda_variants() {
  return test::rows_of(variants(), [](VariantInfo const& row) {
    return test::is_cuda_row(row) && row.role != Role::demonstration;
  });
}

TEST(IntegralCuda, EveryVariantMeetsTheClosedForm) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    Memory memory{device, stream, 5000};
    for (std::int64_t const cells : {1, 1100}) {
      for (Integrand const integrand : kIntegrands) {
        for (Rule const rule : kRules) {
          for (DataType const type : kTypes) {
            Problem problem = short_problem(integrand, rule, cells);
            problem.type = type;
            problem.amplitude = 1.5;
            for (Variant<Problem> const& variant : cuda_variants()) {
              if (variant.supports(type)) memory.expect_exact(variant, problem);
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
        if (quick) memory.expect_exact(variant, problem);
      }
    }
  });
}

TEST(IntegralCuda, PartsAddUpToTheWhole) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    Memory memory{device, stream, 1301};
    expect_parts_to_add_up(memory, cuda_variants());
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
      Problem const problem = short_problem(Integrand::sin2cos2, Rule::gauss_legendre, 5003);
      Memory memory{device, stream, problem.count};
      std::vector<std::uint64_t> now;
      for (std::string_view const name :
           {"two_pass_host", "two_pass_device", "two_pass_device_vector", "two_pass_device_wide",
            "one_launch", "reduced_range"}) {
        now.push_back(
            test::bits(memory.integrate(test::row(variants(), name, device::Kind::cuda), problem)));
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
    for (std::int64_t const cells : {3 * 6400 - 5, 5 * 6400}) {
      Memory memory{device, stream, cells};
      Problem const problem = default_problem(Integrand::arctan, Rule::midpoint, cells);
      for (std::string_view const name :
           {"two_pass_host", "two_pass_device", "two_pass_device_vector", "two_pass_device_wide"}) {
        memory.expect_exact(test::row(variants(), name, device::Kind::cuda), problem);
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
      {"global_atomic", 256},           {"shared_atomic_256", 256},    {"shared_atomic_1024", 1024},
      {"warp_shuffle", 1024},           {"two_pass_host", 6400},       {"two_pass_device", 6400},
      {"two_pass_device_vector", 6400}, {"two_pass_device_wide", 6400}};
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
    memory.expect_exact(variant, problem, serial);
  }
}

TEST(IntegralCuda, ReproducibleBitsAreThoseOfTheHost) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    expect_bits_of_the_host(device, stream, cuda_variants(), {{0, 11}, {kVirtualBlocks - 11, 11}});
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

/// Far from 0, where f32 has whole numbers alone.
TEST(IntegralCuda, ArgumentsInSinglePrecisionLoseTheirPhase) {
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  constexpr std::int64_t kCells = 400;
  Memory memory{device, stream, kCells};
  Problem problem = default_problem(Integrand::sin2cos2, Rule::midpoint, kCells);
  problem.type = core::DataType::f32;
  problem.upper = 4e6 * std::numbers::pi;
  problem.lower = problem.upper - 9;
  auto const& variant = test::row(variants(), "single_precision", device::Kind::cuda);

  ASSERT_EQ(variant.role, Role::demonstration);
  double const error = std::abs(memory.integrate(variant, problem) - exact(problem));
  EXPECT_GT(error, 3 * error_bound(problem));
  EXPECT_LT(error, 1);
  memory.expect_exact(test::row(variants(), "grid_stride", device::Kind::cuda), problem);
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
