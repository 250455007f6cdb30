// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/generator.hpp"
#include "reduction/reduction.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace quadrille::kernels::reduction {
namespace {

using core::DataKind;
using core::DataType;
using test::DeviceArray;
using test::KernelMode;

constexpr Operation kOperations[] = {Operation::sum, Operation::min, Operation::max, Operation::dot,
                                     Operation::norm2};

std::vector<Variant<Problem>> cuda_variants() {
  std::vector<Variant<Problem>> rows;
  for (Variant<Problem> const& row : variants()) {
    // The vendor's libraries are not interpreted.
    bool const runs = row.role != Role::vendor || test::kernel_mode() == KernelMode::gpu;
    if (row.where == Where::cuda && runs) rows.push_back(row);
  }
  return rows;
}

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

template <class T>
std::vector<T> generate(DataKind kind, std::uint64_t tag, std::int64_t n) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(core::generate<T>(kind, 1, tag, 0, i));
  return values;
}

/// Scratch for n elements and a result, as an owner keeps them over many launches.
struct Memory {
  Memory(device::Device& device, device::StreamView on, std::int64_t n)
      : stream{on},
        scratch{device, on, static_cast<std::int64_t>(scratch_bytes(n))},
        result{device, on, 1} {
    stream.fill(scratch.data(), 0, static_cast<std::size_t>(scratch.size()));
  }
  ~Memory() { EXPECT_TRUE(scratch.intact()); }

  double reduce(Variant<Problem> const& variant, Problem problem) {
    problem.scratch = scratch.data();
    problem.scratch_bytes = static_cast<std::size_t>(scratch.size());
    problem.result = result.data();
    stream.fill(result.data(), 0xFF, sizeof(double));
    variant.launch(problem, stream);
    double const value = result.download()[0];
    EXPECT_TRUE(result.intact()) << variant.name;
    return value;
  }

  device::StreamView stream;
  DeviceArray<unsigned char> scratch;
  DeviceArray<double> result;
};

template <class T>
long double exact(Operation operation, std::vector<T> const& x, std::vector<T> const& y,
                  bool magnitude) {
  long double sum = 0;
  long double least = std::numeric_limits<long double>::infinity();
  long double most = -least;
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto const a = static_cast<long double>(x[i]);
    long double term = a;
    if (operation == Operation::dot) term = a * static_cast<long double>(y[i]);
    if (operation == Operation::norm2) term = a * a;
    sum += magnitude ? std::abs(term) : term;
    least = std::min(least, a);
    most = std::max(most, a);
  }
  if (magnitude || (operation != Operation::min && operation != Operation::max)) return sum;
  return operation == Operation::min ? least : most;
}

template <class T>
void expect_right(DataType accumulator, std::int64_t n, std::int64_t offset,
                  std::int64_t offset_y) {
  auto const x = generate<T>(DataKind::uniform, 1, n);
  auto const y = generate<T>(DataKind::uniform, 2, n);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<T> const dx{device, stream, x, offset};
    DeviceArray<T> const dy{device, stream, y, offset_y};
    Memory memory{device, stream, n};
    for (Operation const operation : kOperations) {
      Problem const problem{.x = dx.data(),
                            .y = dy.data(),
                            .n = n,
                            .type = core::type_of<T>(),
                            .accumulator = accumulator,
                            .operation = operation};
      auto const want = static_cast<double>(exact(operation, x, y, false));
      auto const magnitude = static_cast<double>(exact(operation, x, y, true));
      double const bound = error_bound(problem, static_cast<double>(n), magnitude, 0);
      for (Variant<Problem> const& variant : cuda_variants()) {
        if (!variant.unsupported_reason(problem).empty()) continue;
        double const got = memory.reduce(variant, problem);
        EXPECT_TRUE(got == want || std::abs(got - want) <= bound)
            << variant.name << " " << core::to_text(operation) << " n " << n << " offset " << offset
            << ": " << got << " for " << want << ", allowed " << bound;
      }
    }
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
  auto const x = generate<float>(DataKind::integer, 1, n);
  auto const y = generate<float>(DataKind::integer, 2, n);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<float> const dx{device, stream, x, 3};
    DeviceArray<float> const dy{device, stream, y, 3};
    Memory memory{device, stream, n};
    auto const& variant = test::row(variants(), "bulk_async", device::Kind::cuda);
    for (Operation const operation : {Operation::sum, Operation::dot}) {
      Problem const problem{
          .x = dx.data(), .y = dy.data(), .n = n, .type = DataType::f32, .operation = operation};
      EXPECT_EQ(memory.reduce(variant, problem), static_cast<double>(exact(operation, x, y, false)))
          << core::to_text(operation);
    }
  });
}

// Each fixed size once on both sides of the switch from one block to several and from short tiles
// to long ones.
TEST(ReductionCuda, OneLaunchIsRightForEveryShapeOfItsGrid) {
  for (std::int64_t const n : {8191, 16387, 40961}) {
    auto const x = generate<float>(DataKind::integer, 1, n);
    auto const want = static_cast<double>(exact(Operation::sum, x, x, false));
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      DeviceArray<float> const dx{device, stream, x};
      Memory memory{device, stream, n};
      auto const& variant = test::row(variants(), "one_launch", device::Kind::cuda);
      for (int launch = 0; launch < 2; ++launch) {  // the second finds what the first left behind
        EXPECT_EQ(memory.reduce(variant, {.x = dx.data(), .n = n, .type = DataType::f32}), want);
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
    auto const x = generate<float>(DataKind::integer, 1, n);
    auto const y = generate<float>(DataKind::integer, 2, n);
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      DeviceArray<float> const dx{device, stream, x, 1};
      DeviceArray<float> const dy{device, stream, y, 2};
      DeviceArray<double> const result{device, stream, 1};
      for (Operation const operation : {Operation::sum, Operation::dot}) {
        variant.launch({.x = dx.data(),
                        .y = dy.data(),
                        .n = n,
                        .type = DataType::f32,
                        .operation = operation,
                        .result = result.data()},
                       stream);
        EXPECT_EQ(result.download()[0], static_cast<double>(exact(operation, x, y, false)))
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
    EXPECT_EQ(memory.reduce(variant, problem), want) << variant.name;
  }
}

TEST(ReductionCuda, WholeNumbersAreExact) {
  std::int64_t const n = 20011;
  auto const x = generate<float>(DataKind::integer, 1, n);
  auto const y = generate<float>(DataKind::integer, 2, n);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<float> const dx{device, stream, x, 1};
    DeviceArray<float> const dy{device, stream, y, 1};
    Memory memory{device, stream, n};
    for (Operation const operation : kOperations) {
      auto const want = static_cast<double>(exact(operation, x, y, false));
      for (Variant<Problem> const& variant : cuda_variants()) {
        // The root that BLAS takes is rounded.
        if (variant.role == Role::vendor && operation == Operation::norm2) continue;
        for (DataType const accumulator : {DataType::f64, DataType::f32}) {
          Problem const problem{.x = dx.data(),
                                .y = dy.data(),
                                .n = n,
                                .type = DataType::f32,
                                .accumulator = accumulator,
                                .operation = operation};
          if (!variant.unsupported_reason(problem).empty()) continue;
          double const got = memory.reduce(variant, problem);
          EXPECT_EQ(got, want) << variant.name << " " << core::to_text(operation);
        }
      }
    }
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
        EXPECT_TRUE(std::isnan(memory.reduce(variant, problem))) << variant.name;
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
    for (std::int64_t const where : {std::int64_t{0}, n / 2, n - 1}) {
      auto x = generate<T>(DataKind::uniform, 1, n);
      auto const y = generate<T>(DataKind::uniform, 2, n);
      x[static_cast<std::size_t>(where)] = std::numeric_limits<T>::quiet_NaN();
      test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
        DeviceArray<T> const dx{device, stream, x};
        DeviceArray<T> const dy{device, stream, y};
        Memory memory{device, stream, n};
        for (Operation const operation : kOperations) {
          for (Variant<Problem> const& variant : cuda_variants()) {
            Problem const problem{.x = dx.data(),
                                  .y = dy.data(),
                                  .n = n,
                                  .type = core::type_of<T>(),
                                  .accumulator = accumulator,
                                  .operation = operation};
            if (!variant.unsupported_reason(problem).empty()) continue;
            double const got = memory.reduce(variant, problem);
            EXPECT_TRUE(std::isnan(got)) << variant.name << " " << core::to_text(operation)
                                         << " NaN at " << where << " of " << n << ": " << got;
          }
        }
      });
    }
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
  auto const x = generate<double>(DataKind::normal, 1, n);
  std::vector<std::uint64_t> first;
  for (int again = 0; again < 2; ++again) {
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      DeviceArray<double> const dx{device, stream, x};
      Memory memory{device, stream, n};
      std::vector<std::uint64_t> now;
      for (Variant<Problem> const& variant : cuda_variants()) {
        if (variant.role == Role::vendor) continue;
        now.push_back(bits(memory.reduce(variant, {.x = dx.data(), .n = n})));
      }
      if (first.empty()) first = now;
      EXPECT_EQ(now, first);
    });
  }
}

// Terms of very different size, so that any other order of rounding would show.
template <class T>
std::vector<T> wild(std::uint64_t tag, std::int64_t n) {
  auto values = generate<T>(DataKind::normal, tag, n);
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
      DeviceArray<T> const dx{device, stream, x, order};
      DeviceArray<T> const dy{device, stream, y, order};
      Memory memory{device, stream, n};
      Problem const problem{.x = dx.data(),
                            .y = dy.data(),
                            .n = n,
                            .type = core::type_of<T>(),
                            .operation = operation};
      double const got =
          memory.reduce(test::row(variants(), "binned", device::Kind::cuda), problem);
      if (first == 0) first = bits(got);
      EXPECT_EQ(bits(got), first) << core::to_text(operation) << " order " << order << ": " << got;
      auto const want = static_cast<double>(exact(operation, x, y, false));
      auto const magnitude = static_cast<double>(exact(operation, x, y, true));
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
      return memory.reduce(test::row(variants(), "binned", device::Kind::cuda),
                           {.x = dx.data(), .n = static_cast<std::int64_t>(x.size())});
    };
    for (auto const& [x, want] : cases) EXPECT_EQ(sum(x), want) << x[0] << " + " << x[1];
    EXPECT_TRUE(std::isnan(sum({infinity, 1, -infinity})));
  });
}

/// Block values of the virtual blocks [first, first + count), from a variant.
template <class T>
std::vector<double> blocks_of(Variant<Problem> const& variant, Problem problem, std::int64_t first,
                              std::int64_t count, device::Device& device,
                              device::StreamView stream) {
  DeviceArray<double> const blocks{device, stream, count};
  std::int64_t const begin = block_begin(problem.global_n, first);
  problem.n = block_begin(problem.global_n, first + count) - begin;
  problem.x = static_cast<T const*>(problem.x) + begin;
  problem.y = static_cast<T const*>(problem.y) + begin;
  problem.reproducible = true;
  problem.block_first = first;
  problem.block_count = count;
  problem.blocks = blocks.data();
  variant.launch(problem, stream);
  auto values = blocks.download();
  EXPECT_TRUE(blocks.intact());
  return values;
}

template <class T>
void expect_bits_of_the_host(std::int64_t n) {
  auto const x = generate<T>(DataKind::normal, 1, n);
  auto const y = generate<T>(DataKind::normal, 2, n);
  auto const host = device::make_host_device(1);
  device::Stream const host_stream{*host};
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<T> const dx{device, stream, x, 1};
    DeviceArray<T> const dy{device, stream, y, 1};
    for (Operation const operation : kOperations) {
      Problem problem{.n = n, .type = core::type_of<T>(), .operation = operation, .global_n = n};
      // A middle part: blocks of this rank and not of others. Few, or the interpreter takes long.
      std::int64_t const first = 1000;
      std::int64_t const count = 41;
      problem.x = x.data();
      problem.y = y.data();
      auto const want = blocks_of<T>(test::row(variants(), "reference"), problem, first, count,
                                     *host, host_stream);
      problem.x = dx.data();
      problem.y = dy.data();
      for (Variant<Problem> const& variant : cuda_variants()) {
        Problem whole = problem;
        whole.reproducible = true;
        if (!variant.unsupported_reason(whole).empty()) continue;
        auto const got = blocks_of<T>(variant, problem, first, count, device, stream);
        for (std::size_t b = 0; b < got.size(); ++b) {
          ASSERT_EQ(bits(got[b]), bits(want[b]))
              << variant.name << " " << core::to_text(operation) << " n " << n << " block " << b;
        }
      }
    }
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
