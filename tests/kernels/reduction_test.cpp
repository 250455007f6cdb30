// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "reduction/reduction.hpp"

#include "kernels/host_kernels.hpp"
#include "kernels/reduction_data.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

namespace quadrille::kernels::reduction {
namespace {

using core::DataKind;
using core::DataType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The CUDA rows have a test of their own.
Rows host_variants() { return test::rows_of(variants(), test::is_host_row); }

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
void expect_right(DataType accumulator) {
  test::Host host;
  for (std::int64_t const n : test::kSizes) {
    for (std::int64_t const offset : test::kOffsets) {
      expect_right<T>(*host.device, host.stream, host_variants(), accumulator, n, offset, offset);
    }
  }
}

TEST(Reduction, EveryVariantAgreesWithTheReference) {
  expect_right<double>(DataType::f64);
  expect_right<float>(DataType::f64);
  expect_right<float>(DataType::f32);
  expect_right<std::int32_t>(DataType::f64);
}

TEST(Reduction, WholeNumbersAreExact) {
  test::Host host;
  expect_exact_whole_numbers(*host.device, host.stream, host_variants(), 100003);
}

TEST(Reduction, ReferenceAgreesWithHand) {
  test::Host host;
  Memory memory{*host.device, host.stream, 4};
  auto const& reference = test::row(variants(), "reference");
  std::vector<double> const x{3, -1.5, 2, -7}, y{1, 2, 0.5, -1};
  std::vector<std::int32_t> const i{2000000000, 2000000000, -5};
  auto const of = [&](Operation operation) {
    return memory.launch(reference, {.x = x.data(), .y = y.data(), .n = 4, .operation = operation});
  };
  auto const of_integers = [&](Operation operation) {
    return memory.launch(
        reference,
        {.x = i.data(), .y = i.data(), .n = 3, .type = DataType::i32, .operation = operation});
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
void expect_nan_to_spread(DataType accumulator) {
  test::Host host;
  for (std::int64_t const n : {1, 257, 50000}) {
    expect_nan_to_spread<T>(*host.device, host.stream, host_variants(), accumulator, n);
  }
}

TEST(Reduction, NanGivesNan) {
  expect_nan_to_spread<double>(DataType::f64);
  expect_nan_to_spread<float>(DataType::f64);
  expect_nan_to_spread<float>(DataType::f32);
}

/// The reproducible result of `parts` ranks that share the virtual blocks.
template <class T>
double reduce_in_parts(Variant<Problem> const& variant, Operation operation, Vectors<T> const& v,
                       std::int64_t parts, test::Host const& host) {
  std::vector<double> gathered;
  for (std::int64_t part = 0; part < parts; ++part) {
    auto const [first, count] = core::split_evenly(kVirtualBlocks, parts, part);
    auto const blocks =
        blocks_of<T>(variant, v.problem(operation), first, count, *host.device, host.stream);
    gathered.insert(gathered.end(), blocks.begin(), blocks.end());
  }
  return combine_blocks(operation, gathered);
}

constexpr std::string_view kReproducible[] = {"reference", "host_simd", "kokkos"};

template <class T>
void expect_nan_to_spread_in_blocks() {
  test::Host host;
  for (std::int64_t const n : {1, 257, 50000}) {
    for (std::int64_t const where : {std::int64_t{0}, n / 2, n - 1}) {
      auto x = test::generated<T>(DataKind::uniform, 1, n);
      x[static_cast<std::size_t>(where)] = std::numeric_limits<T>::quiet_NaN();
      Vectors<T> const v{*host.device, host.stream, x, test::generated<T>(DataKind::uniform, 2, n)};
      for (std::string_view const name : kReproducible) {
        for (Operation const operation : kOperations) {
          EXPECT_TRUE(
              std::isnan(reduce_in_parts(test::row(variants(), name), operation, v, 1, host)))
              << name << " " << core::to_text(operation) << " NaN at " << where << " of " << n;
        }
      }
    }
  }
}

TEST(Reduction, NanGivesNanInReproducibleBlocks) {
  expect_nan_to_spread_in_blocks<double>();
  expect_nan_to_spread_in_blocks<float>();
}

template <class T>
void expect_same_bits(std::int64_t n) {
  test::Host host;
  Vectors<T> const v{*host.device, host.stream, DataKind::uniform, n, 1, 1};
  for (Operation const operation : kOperations) {
    double const want = exact(operation, v.x, v.y);
    double const magnitude = exact(operation, v.x, v.y, Terms::magnitudes);
    double const bound = error_bound(v.problem(operation), static_cast<double>(n), magnitude, 0);
    double const first = reduce_in_parts(test::row(variants(), "reference"), operation, v, 1, host);
    EXPECT_TRUE(first == want || std::abs(first - want) <= bound)
        << core::to_text(operation) << " n " << n << ": " << first << " for " << want;
    for (std::string_view const name : kReproducible) {
      for (std::int64_t const parts : {1, 2, 3, 5}) {
        double const got = reduce_in_parts(test::row(variants(), name), operation, v, parts, host);
        EXPECT_EQ(test::bits(got), test::bits(first))
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
  Vectors<double> const v{*host.device, host.stream, DataKind::normal, 1200007};

  for (std::string_view const name : kReproducible) {
    auto const of = [&](Operation operation) {
      return test::bits(reduce_in_parts(test::row(variants(), name), operation, v, 1, host));
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
    auto const fails = [&](char const* text, Problem bad, auto change) {
      change(bad);
      EXPECT_FAILS(variant.launch(bad, host.stream), text);
    };
    fails("has no type i8", good, [](Problem& p) { p.type = DataType::i8; });
    fails("negative", good, [](Problem& p) { p.n = -1; });
    fails("x is missing", good, [](Problem& p) { p.x = nullptr; });
    fails("dot needs y", good, [](Problem& p) { p.y = nullptr; });
    fails("result is missing", good, [](Problem& p) { p.result = nullptr; });
    fails("accumulator is f64", good, [](Problem& p) { p.accumulator = DataType::f32; });
    fails("accumulate in f64", reproducible,
          [](Problem& p) { p.type = p.accumulator = DataType::f32; });
    fails("out of range", reproducible, [](Problem& p) { p.block_first = 1; });
    fails("not the number", reproducible, [](Problem& p) { p.global_n = 9; });
    fails("blocks is missing", reproducible, [](Problem& p) { p.blocks = nullptr; });
  }
  auto const vendor_fails = [&](char const* text, Problem bad, auto change) {
    change(bad);
    EXPECT_FAILS(test::launch(variants(), "vendor", bad, host.stream), text);
  };
  vendor_fails("has dot and norm2 only; take another variant", good,
               [](Problem& p) { p.operation = Operation::sum; });
  vendor_fails("has no type i32", good, [](Problem& p) { p.type = DataType::i32; });
  vendor_fails("no reproducible bits", reproducible, [](Problem&) {});
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

TEST(ReductionAccess, HasTheConflictsThatAProfilerCounted) {
  constexpr std::int64_t kBlock = 256;
  constexpr std::int64_t kBlocks = 131072;
  using Conflicts = std::pair<std::int64_t, std::int64_t>;  // loads, stores
  auto const conflicts = [](std::string_view name, std::int64_t n) {
    auto const accesses = accesses_of(test::row(variants(), name, device::Kind::cuda), n);
    return accesses
               ? Conflicts{accesses->shared_loads.conflicts(), accesses->shared_stores.conflicts()}
               : Conflicts{-1, -1};
  };
  // 4 + 6 + 7 + 7 + 7 + 3 + 1 + 0 in the eight steps of a block.
  EXPECT_EQ(conflicts("interleaved", kBlock), (Conflicts{70, 35}));
  EXPECT_EQ(conflicts("interleaved", kBlocks * kBlock).second, 4587520);
  EXPECT_EQ(conflicts("interleaved", kBlock + 1).second, 70);
  EXPECT_EQ(conflicts("sequential", kBlocks * kBlock), (Conflicts{0, 0}));
  EXPECT_EQ(conflicts("naive", kBlocks * kBlock), (Conflicts{0, 0}));
  EXPECT_EQ(conflicts("shuffle", kBlock), (Conflicts{-1, -1}));
}

}  // namespace
}  // namespace quadrille::kernels::reduction
