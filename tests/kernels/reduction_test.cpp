// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "reduction/reduction.hpp"

#include "common/access.hpp"
#include "kernels/host_kernels.hpp"
#include "reduction/reduction_access.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

#include <bit>

namespace quadrille::kernels::reduction {
namespace {

using core::DataKind;
using core::DataType;
using test::Guarded;

constexpr Operation kOperations[] = {Operation::sum, Operation::min, Operation::max, Operation::dot,
                                     Operation::norm2};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The CUDA rows have a test of their own.
std::vector<Variant<Problem>> host_variants() {
  std::vector<Variant<Problem>> rows;
  for (Variant<Problem> const& row : variants()) {
    if (row.runs_on(device::Kind::host)) rows.push_back(row);
  }
  return rows;
}

double reduce(Variant<Problem> const& variant, Problem problem, test::Host const& host) {
  Guarded<double> result{1, 1};
  problem.result = result.data();
  variant.launch(problem, host.stream);
  host.stream.view().synchronize();
  EXPECT_TRUE(result.intact());
  return result[0];
}

/// Sum of magnitudes for the bound.
template <class T>
double magnitude(Operation operation, Guarded<T>& x, Guarded<T>& y) {
  double sum = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    auto const a = std::abs(static_cast<double>(x[i]));
    sum += operation == Operation::dot     ? a * std::abs(static_cast<double>(y[i]))
           : operation == Operation::norm2 ? a * a
                                           : a;
  }
  return sum;
}

TEST(Reduction, BoundIsItsFormula) {
  auto const bound = [](Operation operation, DataType type, double chain) {
    Problem const problem{.type = type, .accumulator = DataType::f32, .operation = operation};
    return error_bound(problem, chain, 5, -2) / std::numeric_limits<float>::epsilon();
  };
  EXPECT_EQ(bound(Operation::sum, DataType::f64, 16), 3 * 4 * (5 + 2));
  EXPECT_EQ(bound(Operation::dot, DataType::f32, 0.25), 3 * (5 + 2)) << "a result is rounded once";
  EXPECT_EQ(bound(Operation::sum, DataType::i32, 16), 0);
  EXPECT_EQ(bound(Operation::min, DataType::f64, 16), 0);
  EXPECT_EQ(bound(Operation::max, DataType::f64, 16), 0);
}

template <class T>
void compare_with_reference(DataType accumulator) {
  test::Host host;
  for (std::int64_t const n : test::kSizes) {
    for (std::int64_t const offset : test::kOffsets) {
      Guarded<T> x{n, offset}, y{n, offset};
      x.generate(DataKind::uniform, 1);
      y.generate(DataKind::uniform, 2);
      for (Operation const operation : kOperations) {
        Problem const problem{.x = x.data(),
                              .y = y.data(),
                              .n = n,
                              .type = core::type_of<T>(),
                              .accumulator = accumulator,
                              .operation = operation};
        double const want = reduce(test::row(variants(), "reference"), problem, host);
        double const bound =
            error_bound(problem, static_cast<double>(n), magnitude(operation, x, y), 0);
        for (Variant<Problem> const& variant : host_variants()) {
          if (!variant.unsupported_reason(problem).empty()) continue;
          double const got = reduce(variant, problem, host);
          EXPECT_TRUE(got == want || std::abs(got - want) <= bound)
              << variant.name << " " << core::to_text(operation) << " n " << n << " offset "
              << offset << ": " << got << " for " << want << ", allowed " << bound;
        }
        EXPECT_TRUE(n > 0 || want == identity(operation)) << core::to_text(operation);
      }
    }
  }
}

TEST(Reduction, EveryVariantAgreesWithTheReference) {
  compare_with_reference<double>(DataType::f64);
  compare_with_reference<float>(DataType::f64);
  compare_with_reference<float>(DataType::f32);
  compare_with_reference<std::int32_t>(DataType::f64);
}

TEST(Reduction, WholeNumbersAreExact) {
  test::Host host;
  std::int64_t const n = 100003;
  Guarded<float> x{n}, y{n};
  x.generate(DataKind::integer, 1);
  y.generate(DataKind::integer, 2);

  for (Operation const operation : kOperations) {
    std::int64_t want = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      auto const a = static_cast<std::int64_t>(x[i]);
      auto const b = static_cast<std::int64_t>(y[i]);
      want += operation == Operation::sum ? a : operation == Operation::dot ? a * b : a * a;
    }
    if (operation == Operation::min) want = -4;
    if (operation == Operation::max) want = 4;
    for (Variant<Problem> const& variant : host_variants()) {
      for (DataType const accumulator : {DataType::f64, DataType::f32}) {
        // The root that BLAS takes is rounded.
        if (variant.role == Role::vendor && operation == Operation::norm2) continue;
        Problem const problem{.x = x.data(),
                              .y = y.data(),
                              .n = n,
                              .type = DataType::f32,
                              .accumulator = accumulator,
                              .operation = operation};
        if (!variant.unsupported_reason(problem).empty()) continue;
        double const got = reduce(variant, problem, host);
        EXPECT_EQ(got, static_cast<double>(want))
            << variant.name << " " << core::to_text(operation);
      }
    }
  }
}

TEST(Reduction, ReferenceAgreesWithHand) {
  test::Host host;
  auto const& reference = test::row(variants(), "reference");
  std::vector<double> const x{3, -1.5, 2, -7}, y{1, 2, 0.5, -1};
  std::vector<std::int32_t> const i{2000000000, 2000000000, -5};
  auto const of = [&](Operation operation) {
    return reduce(reference, {.x = x.data(), .y = y.data(), .n = 4, .operation = operation}, host);
  };
  auto const of_integers = [&](Operation operation) {
    return reduce(
        reference,
        {.x = i.data(), .y = i.data(), .n = 3, .type = DataType::i32, .operation = operation},
        host);
  };

  EXPECT_EQ(of(Operation::sum), -3.5);
  EXPECT_EQ(of(Operation::min), -7);
  EXPECT_EQ(of(Operation::max), 3);
  EXPECT_EQ(of(Operation::dot), 8);
  EXPECT_EQ(of(Operation::norm2), 64.25);
  EXPECT_EQ(of_integers(Operation::sum), 3999999995.0);
  EXPECT_EQ(of_integers(Operation::dot), 8e18 + 25);
  EXPECT_EQ(of_integers(Operation::max), 2e9);
}

template <class T>
void expect_nan_to_spread(DataType accumulator, bool reproducible) {
  test::Host host;
  for (std::int64_t const n : {1, 257, 50000}) {
    for (std::int64_t const where : {std::int64_t{0}, n / 2, n - 1}) {
      Guarded<T> x{n}, y{n};
      x.generate(DataKind::uniform, 1);
      y.generate(DataKind::uniform, 2);
      x[where] = std::numeric_limits<T>::quiet_NaN();
      for (Variant<Problem> const& variant : host_variants()) {
        for (Operation const operation : kOperations) {
          Problem problem{.x = x.data(),
                          .y = y.data(),
                          .n = n,
                          .type = core::type_of<T>(),
                          .accumulator = accumulator,
                          .operation = operation};
          if (!variant.unsupported_reason(problem).empty()) continue;
          if (!reproducible) {
            EXPECT_TRUE(std::isnan(reduce(variant, problem, host)))
                << variant.name << " " << core::to_text(operation) << " NaN at " << where << " of "
                << n;
          } else if (variant.role != Role::vendor) {
            std::vector<double> blocks(kVirtualBlocks);
            problem.reproducible = true;
            problem.global_n = n;
            problem.block_count = kVirtualBlocks;
            problem.blocks = blocks.data();
            variant.launch(problem, host.stream);
            host.stream.view().synchronize();
            EXPECT_TRUE(std::isnan(combine_blocks(operation, blocks)))
                << variant.name << " " << core::to_text(operation) << " NaN at " << where << " of "
                << n;
          }
        }
      }
    }
  }
}

TEST(Reduction, NanGivesNan) {
  expect_nan_to_spread<double>(DataType::f64, false);
  expect_nan_to_spread<float>(DataType::f64, false);
  expect_nan_to_spread<float>(DataType::f32, false);
}

TEST(Reduction, NanGivesNanInReproducibleBlocks) {
  expect_nan_to_spread<double>(DataType::f64, true);
  expect_nan_to_spread<float>(DataType::f64, true);
}

/// The reproducible result of `parts` ranks that share the virtual blocks.
template <class T>
double reduce_in_parts(Variant<Problem> const& variant, Operation operation, Guarded<T>& x,
                       Guarded<T>& y, std::int64_t parts, test::Host const& host) {
  std::vector<double> gathered;
  for (std::int64_t part = 0; part < parts; ++part) {
    auto const [first, count] = core::split_evenly(kVirtualBlocks, parts, part);
    std::int64_t const begin = block_begin(x.size(), first);
    std::int64_t const end = block_begin(x.size(), first + count);
    Guarded<double> blocks{count, 1};
    variant.launch({.x = x.data() + begin,
                    .y = y.data() + begin,
                    .n = end - begin,
                    .type = core::type_of<T>(),
                    .operation = operation,
                    .reproducible = true,
                    .global_n = x.size(),
                    .block_first = first,
                    .block_count = count,
                    .blocks = blocks.data()},
                   host.stream);
    host.stream.view().synchronize();
    EXPECT_TRUE(blocks.intact());
    gathered.insert(gathered.end(), blocks.data(), blocks.data() + count);
  }
  return combine_blocks(operation, gathered);
}

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

template <class T>
void expect_same_bits(std::int64_t n) {
  test::Host host;
  Guarded<T> x{n, 1}, y{n, 1};
  x.generate(DataKind::uniform, 1);
  y.generate(DataKind::uniform, 2);
  for (Operation const operation : kOperations) {
    Problem const plain{
        .x = x.data(), .y = y.data(), .n = n, .type = core::type_of<T>(), .operation = operation};
    double const reference = reduce(test::row(variants(), "reference"), plain, host);
    double const bound = error_bound(plain, static_cast<double>(n), magnitude(operation, x, y), 0);
    double const first =
        reduce_in_parts(test::row(variants(), "reference"), operation, x, y, 1, host);
    EXPECT_TRUE(first == reference || std::abs(first - reference) <= bound)
        << core::to_text(operation) << " n " << n << ": " << first << " for " << reference;
    for (std::string_view const name : {"reference", "host_simd", "kokkos"}) {
      for (std::int64_t const parts : {1, 2, 3, 5}) {
        double const got =
            reduce_in_parts(test::row(variants(), name), operation, x, y, parts, host);
        EXPECT_EQ(bits(got), bits(first))
            << name << " " << core::to_text(operation) << " n " << n << " in " << parts << " parts";
      }
    }
  }
}

TEST(Reduction, ReproducibleBitsDoNotDependOnVariantOrSplit) {
  for (std::int64_t const n : {0, 1, 31, 257, 4095, 4097, 100003, 1200007}) {
    expect_same_bits<double>(n);
    expect_same_bits<float>(n);
    expect_same_bits<std::int32_t>(n);
  }
}

TEST(Reduction, ReproducibleBitsAreThoseWrittenHere) {
  // From the description of the order alone, by a program of its own (exact rationals, rounded).
  test::Host host;
  std::int64_t const n = 1200007;
  Guarded<double> x{n}, y{n};
  x.generate(DataKind::normal, 1);
  y.generate(DataKind::normal, 2);

  for (std::string_view const name : {"reference", "host_simd", "kokkos"}) {
    auto const of = [&](Operation operation) {
      return bits(reduce_in_parts(test::row(variants(), name), operation, x, y, 1, host));
    };
    EXPECT_EQ(of(Operation::sum), 0xc0742e85fff18b16U) << name;
    EXPECT_EQ(of(Operation::dot), 0xc095addbb4f7b996U) << name;
    EXPECT_EQ(of(Operation::norm2), 0x41324b284b5ebe1aU) << name;
  }
}

TEST(Reduction, BlocksAreCombinedInHalves) {
  // Neighbours would cancel first, or be lost, in any other order.
  std::vector<double> blocks(kVirtualBlocks, 0);
  blocks[0] = 1e300;
  blocks[2048] = -1e300;
  blocks[1] = 1;

  EXPECT_EQ(combine_blocks(Operation::sum, blocks), 1);
  EXPECT_EQ(combine_blocks(Operation::min, blocks), -1e300);
  EXPECT_EQ(combine_blocks(Operation::max, blocks), 1e300);
  EXPECT_FAILS(combine_blocks(Operation::sum, std::span{blocks}.first(7)), "all virtual blocks");
}

TEST(Reduction, BlocksCoverTheVector) {
  for (std::int64_t const n : {0L, 1L, 4095L, 4096L, 100003L, (1L << 50) + 12345}) {
    EXPECT_EQ(block_begin(n, 0), 0);
    EXPECT_EQ(block_begin(n, kVirtualBlocks), n);
    for (std::int64_t v = 0; v < kVirtualBlocks; ++v) {
      std::int64_t const size = block_begin(n, v + 1) - block_begin(n, v);
      ASSERT_TRUE(size == n / kVirtualBlocks || size == n / kVirtualBlocks + 1);
    }
  }
}

TEST(Reduction, ConstraintsAreRefused) {
  test::Host host;
  std::vector<double> x(8), blocks(8);
  double result = 0;
  Problem const good{
      .x = x.data(), .y = x.data(), .n = 8, .operation = Operation::dot, .result = &result};
  Problem reproducible = good;
  reproducible.reproducible = true;
  reproducible.global_n = 8;
  reproducible.block_count = kVirtualBlocks;
  reproducible.blocks = blocks.data();

  for (Variant<Problem> const& variant : host_variants()) {
    auto const fails = [&](Problem bad, auto change, char const* text) {
      change(bad);
      EXPECT_FAILS(variant.launch(bad, host.stream), text);
    };
    fails(
        good, [](Problem& p) { p.type = DataType::i8; }, "has no type i8");
    fails(
        good, [](Problem& p) { p.n = -1; }, "negative");
    fails(
        good, [](Problem& p) { p.x = nullptr; }, "x is missing");
    fails(
        good, [](Problem& p) { p.y = nullptr; }, "dot needs y");
    fails(
        good, [](Problem& p) { p.result = nullptr; }, "result is missing");
    fails(
        good, [](Problem& p) { p.accumulator = DataType::f32; }, "accumulator is f64");
    fails(
        reproducible,
        [](Problem& p) {
          p.type = DataType::f32;
          p.accumulator = DataType::f32;
        },
        "accumulate in f64");
    fails(
        reproducible, [](Problem& p) { p.block_first = 1; }, "out of range");
    fails(
        reproducible, [](Problem& p) { p.global_n = 9; }, "not the number");
    fails(
        reproducible, [](Problem& p) { p.blocks = nullptr; }, "blocks is missing");
  }
  auto const vendor_fails = [&](Problem bad, auto change, char const* text) {
    change(bad);
    EXPECT_FAILS(test::launch(variants(), "vendor", bad, host.stream), text);
  };
  vendor_fails(
      good, [](Problem& p) { p.operation = Operation::sum; },
      "has dot and norm2 only; take another variant");
  vendor_fails(
      good, [](Problem& p) { p.type = DataType::i32; }, "has no type i32");
  vendor_fails(
      reproducible, [](Problem&) {}, "no reproducible bits");
}

TEST(Reduction, TableSaysWhatTheVendorHas) {
  auto const& vendor = test::row(variants(), "vendor");

  auto const takes = [](Variant<Problem> const& row, Operation operation) {
    return row.unsupported_reason({.n = 1, .operation = operation}).empty();
  };
  EXPECT_TRUE(takes(vendor, Operation::dot));
  EXPECT_TRUE(takes(vendor, Operation::norm2));
  EXPECT_FALSE(takes(vendor, Operation::sum));
  EXPECT_TRUE(takes(test::row(variants(), "vendor", device::Kind::cuda), Operation::sum));
  EXPECT_TRUE(takes(test::row(variants(), "host_simd"), Operation::min));
  EXPECT_EQ(identity(Operation::min), kInfinity);
  EXPECT_EQ(identity(Operation::max), -kInfinity);
  EXPECT_EQ(identity(Operation::norm2), 0);
}

TEST(ReductionAccess, CountsTheWordsThatABankHasToGiveInTurn) {
  std::vector<std::int64_t> offsets(32);
  auto const strided = [&](unsigned stride) {
    for (unsigned lane = 0; lane < 32; ++lane) offsets[lane] = 4 * stride * lane;
    return wavefronts_of(offsets, 4).needed;
  };
  EXPECT_EQ(strided(0), 1);  // one word for all
  EXPECT_EQ(strided(1), 1);
  EXPECT_EQ(strided(2), 2);
  EXPECT_EQ(strided(3), 1);
  EXPECT_EQ(strided(8), 8);
  EXPECT_EQ(strided(32), 32);
  EXPECT_EQ(wavefronts_of(std::span{offsets}.first(8), 4).needed, 8);
}

TEST(ReductionAccess, HasTheConflictsThatAProfilerCounted) {
  constexpr std::int64_t kBlock = 256;
  constexpr std::int64_t kBlocks = 131072;
  auto const conflicts_of = [](std::string_view name) {
    return test::row(variants(), name, device::Kind::cuda).specifics.notes.conflicts;
  };
  // 4 + 6 + 7 + 7 + 7 + 3 + 1 + 0 in the eight steps of a block.
  EXPECT_EQ(conflicts_of("interleaved")(kBlock), (Conflicts{70, 35}));
  EXPECT_EQ(conflicts_of("interleaved")(kBlocks * kBlock).stores, 4587520);
  EXPECT_EQ(conflicts_of("interleaved")(kBlock + 1).stores, 70);
  EXPECT_EQ(conflicts_of("sequential")(kBlocks * kBlock), (Conflicts{0, 0}));
  EXPECT_EQ(conflicts_of("naive")(kBlocks * kBlock), (Conflicts{0, 0}));
  EXPECT_EQ(conflicts_of("shuffle"), nullptr);
}

}  // namespace
}  // namespace quadrille::kernels::reduction
