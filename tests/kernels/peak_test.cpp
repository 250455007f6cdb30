// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "peak/peak.hpp"

#include "kernels/host_kernels.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

#include <bit>
#include <cmath>
#include <set>
#include <vector>

namespace quadrille::kernels::peak {
namespace {

constexpr Loop kMap{.results = 1, .chains = 1};
constexpr Loop kSums{.results = 1, .chains = 1, .depth = 16, .adds = true};

std::vector<std::int32_t> starts() {
  std::vector<std::int32_t> all;
  for (int i = 0; i < kStarts; ++i) all.push_back(i % (2 * kMaxStart + 1) - kMaxStart);
  return all;
}

TEST(PeakReference, RoundsEachStepOnceInItsType) {
  double const c = -61.0 / 32;
  EXPECT_EQ(std::bit_cast<double>(last_bits(core::DataType::f64, kMap, 0, 64)), 0.5);
  double const twice = std::fma(0.25 + c, 0.25 + c, c);
  EXPECT_EQ(std::bit_cast<double>(last_bits(core::DataType::f64, kMap, 2, 64)), twice);
  // 1 / 128 squared is 2^-14: f32 keeps it beside c, f16 does not.
  Types const half{core::DataType::f16, core::Compute::f16};
  auto const single = static_cast<std::uint32_t>(last_bits(core::DataType::f32, kMap, 1, 1));
  EXPECT_EQ(std::bit_cast<float>(single), -61.0F / 32 + 0x1p-14F);
  EXPECT_EQ(last_bits(half, kMap, 1, 1), core::f16{c}.bits);
  EXPECT_EQ(last_bits(core::DataType::i32, kMap, 1, -3), 9U + kMapConstantOfIntegers);
}

TEST(PeakReference, EndsWhereExactFractionsDo) {
  Types const half{core::DataType::f16, core::Compute::f16};
  for (Types const& types :
       {Types{core::DataType::f64}, Types{core::DataType::f32}, Types{core::DataType::i32}, half}) {
    EXPECT_EQ(fault_of_host(types), "");
  }
}

TEST(PeakReference, AddsTheDepthInEachStep) {
  EXPECT_EQ(std::bit_cast<double>(last_bits(core::DataType::f64, kSums, 3, -5)), 43);
  auto const single = static_cast<std::uint32_t>(last_bits(core::DataType::bf16, kSums, 3, -5));
  EXPECT_EQ(std::bit_cast<float>(single), 43) << "in f32";
  EXPECT_EQ(last_bits(core::DataType::i8, kSums, 0, -5), 0xFFFFFFFBU) << "in i32";
  EXPECT_EQ(last_bits(core::DataType::i8, kSums, (std::int64_t{1} << 28) + 3, -5), 43U);
}

TEST(PeakReference, SumsInHalfGoBackToTheirStartOnceAPeriod) {
  Types const half{core::DataType::f16, core::Compute::f16};
  Loop sums = kSums;
  sums.period = 4;
  double const want[]{-5, -4, -3, -2, -5, -4};
  for (int steps = 0; steps < 6; ++steps) {
    EXPECT_EQ(last_bits(half, sums, steps, -5), core::f16{want[steps]}.bits) << steps;
  }
  sums.period = kHalfPeriod;
  std::set<std::uint64_t> seen;
  for (int steps = 1000; steps < 1000 + kHalfPeriod; ++steps) {
    seen.insert(last_bits(half, sums, steps, kMaxStart));
  }
  EXPECT_EQ(seen.size(), std::size_t{kHalfPeriod}) << "each step shows";
}

// A step that is left out must change the result, after any number of them.
TEST(PeakReference, OrbitsStayAndNeverSettle) {
  Types const half{core::DataType::f16, core::Compute::f16};
  for (Types const& types : {Types{core::DataType::f64}, Types{core::DataType::f32}, half}) {
    for (int const start : {-kMaxStart, -1, 0, 64, kMaxStart}) {
      std::set<std::uint64_t> seen;
      for (std::int64_t steps = 1000; steps < 1010; ++steps) {
        std::uint64_t const bits = last_bits(types, kMap, steps, start);
        seen.insert(bits);
        auto const half_bits = static_cast<std::uint16_t>(bits);
        double const x = types.in == core::DataType::f64 ? std::bit_cast<double>(bits)
                         : types.in == core::DataType::f32
                             ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                             : static_cast<double>(std::bit_cast<core::f16>(half_bits));
        EXPECT_LE(std::abs(x), 1.91);
      }
      EXPECT_GT(seen.size(), 4U) << to_text(types) << " from " << start;
    }
  }
}

TEST(Peak, StepsOfAllWorkersMakeUpTheWork) {
  Problem p;
  p.workers = 3;
  p.multiply_adds = 7 * kQuantum;
  EXPECT_EQ(steps_of(p, kHostLoop, 0), 3 * kQuantum / 1024);
  EXPECT_EQ(steps_of(p, kHostLoop, 1), 2 * kQuantum / 1024);
  EXPECT_EQ(steps_of(p, kHostLoop, 2), 2 * kQuantum / 1024);
}

TEST(Peak, HostVariantsAgree) {
  test::Host host;
  std::vector<std::int32_t> const from = starts();
  for (Types const& types : kHostTypes) {
    std::vector<std::vector<std::uint64_t>> results;
    for (Variant<Problem> const& variant : variants()) {
      if (!variant.runs_on(device::Kind::host)) continue;
      std::vector<std::uint64_t>& result = results.emplace_back(2 * kHostLoop.results, ~0ULL);
      variant.launch({types.in, types.compute, 3 * kQuantum, 2, from.data(), result.data()},
                     host.stream);
      host.stream.view().synchronize();
    }
    ASSERT_EQ(results.size(), 2U);
    EXPECT_EQ(results[0], results[1]) << to_text(types);
  }
}

TEST(Peak, TheReferenceDoesWhatTensorCoresDo) {
  test::Host host;
  std::vector<std::int32_t> const from = starts();
  Variant<Problem> const& row = *find(variants(), "reference", device::Kind::host);
  for (Types const& types : row.types) {
    Loop const loop = row.specifics.notes.loop(types);
    EXPECT_EQ(loop.adds,
              types == Types{core::DataType::f16} || types == Types{core::DataType::bf16} ||
                  types.compute == core::Compute::tf32 || types.in == core::DataType::i8);
    std::vector<std::uint64_t> result(static_cast<std::size_t>(loop.results), ~0ULL);
    Problem const p{types.in, types.compute, kQuantum, 1, from.data(), result.data()};
    row.launch(p, host.stream);
    host.stream.view().synchronize();
    std::uint64_t want = 1;
    for (std::size_t c = 0; c < 128; ++c) {
      want += last_bits(types, loop, steps_of(p, loop, 0), from[128 + c]);
    }
    EXPECT_EQ(result[1], want) << to_text(types);
  }
}

TEST(Peak, WhatIsNoWholeNumberOfStepsIsUnsupported) {
  Variant<Problem> const& row = *find(variants(), "host_simd", device::Kind::host);
  auto const why = [&](std::int64_t n, int workers) {
    return row.unsupported_reason(
        {core::DataType::f64, core::Compute::f64, n, workers, nullptr, nullptr});
  };
  EXPECT_EQ(why(kQuantum, 4), "");
  for (std::int64_t const n : {std::int64_t{0}, kQuantum + 1024, -kQuantum}) {
    EXPECT_NE(why(n, 4).find("a multiple of 2Mi"), std::string::npos) << n;
  }
  EXPECT_EQ(why(std::int64_t{1} << 36, 1), "");
  EXPECT_NE(why(std::int64_t{1} << 37, 1).find("a smaller size"), std::string::npos);
  EXPECT_EQ(why(std::int64_t{1} << 37, 2), "");
}

TEST(Peak, IncompleteProblemsAreRefused) {
  test::Host host;
  std::vector<std::int32_t> const from = starts();
  std::vector<std::uint64_t> result(kHostLoop.results);
  Variant<Problem> const& row = *find(variants(), "host_simd", device::Kind::host);
  Problem const good{core::DataType::f64, core::Compute::f64, kQuantum, 1,
                     from.data(),         result.data()};
  Problem p = good;
  p.start = nullptr;
  EXPECT_FAILS(row.launch(p, host.stream), "missing");
  p = good;
  p.workers = 0;
  EXPECT_FAILS(row.launch(p, host.stream), "workers must be positive");
}

}  // namespace
}  // namespace quadrille::kernels::peak
