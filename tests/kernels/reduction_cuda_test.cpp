// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduction_data.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace quadrille::kernels::reduction {
namespace {

using core::DataKind;
using core::DataType;
using test::DeviceArray;
using test::KernelMode;

Rows cuda_variants() { return test::rows_of(variants(), test::is_cuda_row); }

template <class T>
void expect_right(DataType accumulator, std::int64_t n, std::int64_t x_offset,
                  std::int64_t y_offset) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    expect_right<T>(device, stream, cuda_variants(), accumulator, n, x_offset, y_offset);
  });
}

// Warps, blocks of 256 with one and two elements a thread, groups of 16 bytes.
TEST(ReductionCuda, EveryVariantIsRightAroundEveryBoundary) {
  for (std::int64_t const n : {0, 1, 3, 33, 257, 513, 1025}) {
    expect_right<double>(DataType::f64, n, 0, 0);
    expect_right<float>(DataType::f64, n, 1, 1);
    expect_right<float>(DataType::f32, n, 3, 2);
    expect_right<std::int32_t>(DataType::f64, n, 2, 1);
    expect_right<std::int32_t>(DataType::i32, n, 1, 2);
  }
}

// More than one tile, block and wave; more than a ring of bulk copies.
TEST(ReductionCuda, EveryVariantIsRightOnLongVectors) {
  bool const gpu = test::kernel_mode() == KernelMode::gpu;
  std::int64_t const n = gpu ? 5000011 : 40001;
  expect_right<double>(DataType::f64, n, 1, 1);
  expect_right<float>(DataType::f64, n, 0, 0);
  expect_right<float>(DataType::f32, n, 1, 2);
  expect_right<std::int32_t>(DataType::f64, n, 3, 3);
}

// Every stage of each block's ring is filled three times.
TEST(ReductionCuda, BulkAsyncTurnsItsRing) {
  bool const gpu = test::kernel_mode() == KernelMode::gpu;
  std::int64_t const n = gpu ? 30000007 : 450007;
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    Vectors<float> const v{device, stream, DataKind::integer, n, 3, 3};
    Memory memory{device, stream, n};
    auto const& variant = test::row(variants(), "bulk_async", device::Kind::cuda);
    for (Operation const operation : {Operation::sum, Operation::dot}) {
      EXPECT_EQ(memory.launch(variant, v.problem(operation)), exact(operation, v.x, v.y))
          << core::to_text(operation);
    }
  });
}

// Each fixed size once on both sides of the switch from one block to several and from short tiles
// to long ones.
TEST(ReductionCuda, OneLaunchIsRightForEveryShapeOfItsGrid) {
  for (std::int64_t const n : {8191, 16387, 40961}) {
    auto const x = test::generated<float>(DataKind::integer, 1, n);
    double const want = exact(Operation::sum, x, x);
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      DeviceArray<float> const dx{device, stream, x};
      Memory memory{device, stream, n};
      auto const& variant = test::row(variants(), "one_launch", device::Kind::cuda);
      for (int launch = 0; launch < 2; ++launch) {  // the second finds what the first left behind
        EXPECT_EQ(memory.launch(variant, {.x = dx.data(), .n = n, .type = DataType::f32}), want);
      }
    });
  }
}

// Clusters of every size, without scratch; elements for each of several loads and of fewer than one.
TEST(ReductionCuda, ClusterIsRightForEverySizeOfIt) {
  auto const& variant = test::row(variants(), "cluster", device::Kind::cuda);
  bool const gpu = test::kernel_mode() == KernelMode::gpu;
  for (std::int64_t const n :
       {4095, 4101, 9000, 17001, 40003, gpu ? 1 << 18 : 70001, gpu ? 1 << 20 : 70001}) {
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      Vectors<float> const v{device, stream, DataKind::integer, n, 1, 2};
      DeviceArray<double> const result{device, stream, 1};
      for (Operation const operation : {Operation::sum, Operation::dot}) {
        Problem problem = v.problem(operation);
        problem.result = result.data();
        variant.launch(problem, stream);
        EXPECT_EQ(result.download()[0], exact(operation, v.x, v.y))
            << n << " " << core::to_text(operation);
      }
    });
  }
  Problem const most{.x = &variant, .n = 1 << 20};
  Problem more = most;
  ++more.n;
  EXPECT_EQ(variant.unsupported_reason(most), "");
  EXPECT_EQ(variant.unsupported_reason(more), "takes up to 1048576 elements, not 1048577");
}

TEST(ReductionCuda, ElementsMayExceed32Bits) {
  using Long = test::LongArray<float>;
  std::int64_t const n = test::long_size();
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  if (!Long::fits(device, 1)) GTEST_SKIP() << "too little memory";
  Long x{device, stream, 0};
  float value = 0;
  double want = 0;
  for (std::int64_t const i : Long::places()) {
    value = 2 * value + 1;
    x.set(i, value);
    want += value;
  }
  Memory memory{device, stream, n};
  Problem const problem{.x = x.data(), .n = n, .type = DataType::f32};
  for (Variant<Problem> const& variant : cuda_variants()) {
    if (!variant.unsupported_reason(problem).empty()) continue;
    EXPECT_EQ(memory.launch(variant, problem), want) << variant.name;
  }
}

TEST(ReductionCuda, WholeNumbersAreExact) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    expect_exact_whole_numbers(device, stream, cuda_variants(), 20011);
  });
}

// Sums of blocks that fit 32 bits where the whole sum does not; first without the second kernel,
// which a later call brings.
TEST(ReductionCuda, TreesLeaveTheirPartialResultsToTheSecondKernel) {
  std::int64_t const n = 1 << 14;
  std::vector<std::int32_t> const x(n, 1 << 19);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<std::int32_t> const dx{device, stream, x};
    Memory memory{device, stream, n};
    std::vector<std::string_view> names;
    for (Variant<Problem> const& variant : cuda_variants()) {
      if (variant.specifics.notes.finish == nullptr) continue;
      names.push_back(variant.name);
      for (DataType const accumulator : {DataType::f64, DataType::i32}) {
        Problem problem{.x = dx.data(),
                        .n = n,
                        .type = DataType::i32,
                        .accumulator = accumulator,
                        .result = memory.result.data(),
                        .finish = false,
                        .scratch = memory.scratch.data()};
        EXPECT_TRUE(std::isnan(memory.launch(variant, problem))) << variant.name;
        variant.specifics.notes.finish(problem, stream);
        EXPECT_EQ(memory.result.download()[0], 0x1p33) << variant.name;
      }
    }
    std::vector<std::string_view> const trees{
        "naive",    "interleaved", "sequential",   "two_loads",    "unrolled_last_warp",
        "unrolled", "unrolled_64", "unrolled_128", "unrolled_512", "unrolled_1024"};
    EXPECT_EQ(names, trees);
  });
}

template <class T>
void expect_nan_to_spread(DataType accumulator) {
  for (std::int64_t const n : {1, 600}) {
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      expect_nan_to_spread<T>(device, stream, cuda_variants(), accumulator, n);
    });
  }
}

TEST(ReductionCuda, NanGivesNan) {
  expect_nan_to_spread<double>(DataType::f64);
  expect_nan_to_spread<float>(DataType::f64);
  expect_nan_to_spread<float>(DataType::f32);
}

// Blocks finish in every order; the bits must not show it.
TEST(ReductionCuda, BitsAreThoseOfTheFirstScheduleInEveryOther) {
  std::int64_t const n = 40009;
  auto const x = test::generated<double>(DataKind::normal, 1, n);
  std::vector<std::uint64_t> first;
  for (int again = 0; again < 2; ++again) {
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      DeviceArray<double> const dx{device, stream, x};
      Memory memory{device, stream, n};
      std::vector<std::uint64_t> now;
      for (Variant<Problem> const& variant : cuda_variants()) {
        if (variant.role == Role::vendor) continue;
        now.push_back(test::bits(memory.launch(variant, {.x = dx.data(), .n = n})));
      }
      if (first.empty()) first = now;
      EXPECT_EQ(now, first);
    });
  }
}

// Terms of very different size, so that any other order of rounding would show.
template <class T>
std::vector<T> wild(std::uint64_t tag, std::int64_t n) {
  auto values = test::generated<T>(DataKind::normal, tag, n);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::ldexp(values[i], static_cast<int>(i * 37 % 61) - 30);
  }
  return values;
}

template <class T>
void expect_order_free(Operation operation) {
  std::int64_t const n = 3001;
  auto x = wild<T>(1, n);
  auto y = wild<T>(2, n);
  std::uint64_t first = 0;
  for (int order = 0; order < 3; ++order) {
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      Vectors<T> const v{device, stream, x, y, order, order};
      Memory memory{device, stream, n};
      double const got =
          memory.launch(test::row(variants(), "binned", device::Kind::cuda), v.problem(operation));
      if (first == 0) first = test::bits(got);
      EXPECT_EQ(test::bits(got), first)
          << core::to_text(operation) << " order " << order << ": " << got;
      double const want = exact(operation, x, y);
      double const magnitude = exact(operation, x, y, Terms::magnitudes);
      // The comparison rounds, too: long double has 64 bits.
      double const allowed = std::abs(want) * 0x1p-52 + magnitude * 0x1p-58;
      EXPECT_LE(std::abs(got - want), allowed) << core::to_text(operation);
    });
    if (order == 0) {
      std::reverse(x.begin(), x.end());
      std::reverse(y.begin(), y.end());
    } else {
      std::rotate(x.begin(), x.begin() + n / 3, x.end());
      std::rotate(y.begin(), y.begin() + n / 3, y.end());
    }
  }
}

TEST(ReductionCuda, BinnedDoesNotDependOnTheOrder) {
  for (Operation const operation : {Operation::sum, Operation::dot, Operation::norm2}) {
    expect_order_free<double>(operation);
    expect_order_free<float>(operation);
  }
}

TEST(ReductionCuda, BinnedKeepsWhatRoundingWouldLose) {
  double const tiny = std::numeric_limits<double>::denorm_min();
  double const huge = std::numeric_limits<double>::max();
  double const infinity = std::numeric_limits<double>::infinity();
  struct Case {
    std::vector<double> x;
    double want;
  };
  std::vector<Case> const cases{
      {{1e300, 1, -1e300}, 1},       {{huge, tiny, -huge}, tiny},
      {{-1, 0x1p-60, -0x1p-60}, -1}, {{-0x1p-1000, -0x1p-1001}, -0x1.8p-1000},
      {{huge, huge, -huge}, huge},   {{huge, huge}, infinity},
      {{infinity, 1}, infinity},     {{-infinity, huge}, -infinity}};
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    Memory memory{device, stream, 4};
    auto const sum = [&](std::vector<double> const& x) {
      DeviceArray<double> const dx{device, stream, x};
      return memory.launch(test::row(variants(), "binned", device::Kind::cuda),
                           {.x = dx.data(), .n = static_cast<std::int64_t>(x.size())});
    };
    for (auto const& [x, want] : cases) EXPECT_EQ(sum(x), want) << x[0] << " + " << x[1];
    EXPECT_TRUE(std::isnan(sum({infinity, 1, -infinity})));
  });
}

// A middle part of few blocks, or the interpreter takes long.
template <class T>
void expect_bits_of_the_host(std::int64_t n) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    expect_bits_of_the_host<T>(device, stream, cuda_variants(), n, 1000, 41);
  });
}

TEST(ReductionCuda, ReproducibleBitsAreThoseOfTheHost) {
  for (std::int64_t const n : {0, 4095, 300007, 1300007}) {
    expect_bits_of_the_host<double>(n);
    expect_bits_of_the_host<float>(n);
    expect_bits_of_the_host<std::int32_t>(n);
  }
}

TEST(ReductionCuda, ConstraintsAreRefused) {
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  std::int64_t const n = 64;
  DeviceArray<double> const x{device, stream, n};
  DeviceArray<double> const y{device, stream, n, 1};
  Memory memory{device, stream, n};
  Problem const good{.x = x.data(),
                     .y = x.data(),
                     .n = n,
                     .result = memory.result.data(),
                     .scratch = memory.scratch.data(),
                     .scratch_bytes = scratch_bytes(n)};
  for (Variant<Problem> const& variant : cuda_variants()) {
    if (!variant.unsupported_reason(good).empty()) continue;
    Problem bad = good;
    bad.result = nullptr;
    EXPECT_FAILS(variant.launch(bad, stream), "result is missing");
    bad = good;
    bad.scratch_bytes -= 1;
    if (variant.name == "cluster") {  // needs none
      variant.launch(bad, stream);
    } else {
      EXPECT_FAILS(variant.launch(bad, stream), "scratch is missing");
    }
    bad = good;
    bad.operation = Operation::max;
    std::string why = variant.unsupported_reason(bad);
    if (!why.empty()) EXPECT_FAILS(variant.launch(bad, stream), why);
    bad = good;
    bad.reproducible = true;
    bad.global_n = n;
    bad.block_count = kVirtualBlocks;
    bad.blocks = memory.result.data();
    why = variant.unsupported_reason(bad);
    if (!why.empty()) EXPECT_FAILS(variant.launch(bad, stream), why);
  }
  Problem bad = good;
  bad.operation = Operation::dot;
  bad.y = y.data();
  EXPECT_FAILS(test::launch(variants(), "bulk_async", bad, stream), "same offset within 16 bytes");
}

}  // namespace
}  // namespace quadrille::kernels::reduction
