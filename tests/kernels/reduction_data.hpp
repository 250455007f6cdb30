// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reduction/reduction.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"
#include "support/scalar_memory.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

/// Reductions with known results, for rows of every device.
namespace quadrille::kernels::reduction {

using Rows = std::vector<Variant<Problem>>;

inline constexpr Operation kOperations[] = {Operation::sum, Operation::min, Operation::max,
                                            Operation::dot, Operation::norm2};

/// Memory for reductions of n elements.
struct Memory : test::ScalarMemory {
  Memory(device::Device& device, device::StreamView on, std::int64_t n)
      : ScalarMemory{device, on, scratch_bytes(n)} {}
};

/// The terms as they are, or their magnitudes alone, which bounds are made of.
enum class Terms { whole, magnitudes };

template <class T>
double exact(Operation operation, std::vector<T> const& x, std::vector<T> const& y,
             Terms terms = Terms::whole) {
  long double sum = 0;
  long double least = std::numeric_limits<long double>::infinity();
  long double most = -least;
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto const a = static_cast<long double>(x[i]);
    long double term = a;
    if (operation == Operation::dot) term = a * static_cast<long double>(y[i]);
    if (operation == Operation::norm2) term = a * a;
    sum += terms == Terms::magnitudes ? std::abs(term) : term;
    least = std::min(least, a);
    most = std::max(most, a);
  }
  bool const is_sum = operation != Operation::min && operation != Operation::max;
  if (is_sum || terms == Terms::magnitudes) return static_cast<double>(sum);
  return static_cast<double>(operation == Operation::min ? least : most);
}

/// Two vectors on the host and on a device.
template <class T>
struct Vectors {
  Vectors(device::Device& device, device::StreamView stream, std::vector<T> xs, std::vector<T> ys,
          std::int64_t x_offset = 0, std::int64_t y_offset = 0)
      : x{std::move(xs)},
        y{std::move(ys)},
        on_x{device, stream, x, x_offset},
        on_y{device, stream, y, y_offset} {}
  Vectors(device::Device& device, device::StreamView stream, core::DataKind kind, std::int64_t n,
          std::int64_t x_offset = 0, std::int64_t y_offset = 0)
      : Vectors{device,   stream,  test::generated<T>(kind, 1, n), test::generated<T>(kind, 2, n),
                x_offset, y_offset} {}

  Problem problem(Operation operation, core::DataType accumulator = core::DataType::f64) const {
    return {.x = on_x.data(),
            .y = on_y.data(),
            .n = on_x.size(),
            .type = core::type_of<T>(),
            .accumulator = accumulator,
            .operation = operation};
  }

  std::vector<T> x, y;
  test::DeviceArray<T> on_x, on_y;
};

/// Calls f(row) for every row that takes the problem.
template <class F>
void for_each_row(Rows const& rows, Problem const& problem, F&& f) {
  for (Variant<Problem> const& variant : rows) {
    if (!variant.unsupported_reason(problem).empty()) continue;
    SCOPED_TRACE(testing::Message() << variant.name << " " << core::to_text(problem.operation)
                                    << " of n " << problem.n << " " << core::to_text(problem.type)
                                    << " in " << core::to_text(problem.accumulator));
    f(variant);
  }
}

template <class T>
void expect_right(device::Device& device, device::StreamView stream, Rows const& rows,
                  core::DataType accumulator, std::int64_t n, std::int64_t x_offset,
                  std::int64_t y_offset) {
  Vectors<T> const v{device, stream, core::DataKind::uniform, n, x_offset, y_offset};
  Memory memory{device, stream, n};
  for (Operation const operation : kOperations) {
    Problem const problem = v.problem(operation, accumulator);
    double const want = exact(operation, v.x, v.y);
    double const magnitude = exact(operation, v.x, v.y, Terms::magnitudes);
    double const bound = error_bound(problem, static_cast<double>(n), magnitude, 0);
    for_each_row(rows, problem, [&](Variant<Problem> const& variant) {
      double const got = memory.launch(variant, problem);
      EXPECT_TRUE(got == want || std::abs(got - want) <= bound)
          << "offset " << x_offset << ": " << got << " for " << want << ", allowed " << bound;
    });
    EXPECT_TRUE(n > 0 || want == identity(operation)) << core::to_text(operation);
  }
}

inline void expect_exact_whole_numbers(device::Device& device, device::StreamView stream,
                                       Rows const& rows, std::int64_t n) {
  Vectors<float> const v{device, stream, core::DataKind::integer, n, 1, 1};
  Memory memory{device, stream, n};
  for (Operation const operation : kOperations) {
    double const want = exact(operation, v.x, v.y);
    for (core::DataType const accumulator : {core::DataType::f64, core::DataType::f32}) {
      Problem const problem = v.problem(operation, accumulator);
      for_each_row(rows, problem, [&](Variant<Problem> const& variant) {
        // The root that BLAS takes is rounded.
        if (variant.role == Role::vendor && operation == Operation::norm2) return;
        EXPECT_EQ(memory.launch(variant, problem), want);
      });
    }
  }
}

/// One NaN, in the first, a middle and the last place.
template <class T>
void expect_nan_to_spread(device::Device& device, device::StreamView stream, Rows const& rows,
                          core::DataType accumulator, std::int64_t n) {
  for (std::int64_t const where : {std::int64_t{0}, n / 2, n - 1}) {
    auto x = test::generated<T>(core::DataKind::uniform, 1, n);
    x[static_cast<std::size_t>(where)] = std::numeric_limits<T>::quiet_NaN();
    Vectors<T> const v{device, stream, std::move(x),
                       test::generated<T>(core::DataKind::uniform, 2, n)};
    Memory memory{device, stream, n};
    for (Operation const operation : kOperations) {
      Problem const problem = v.problem(operation, accumulator);
      for_each_row(rows, problem, [&](Variant<Problem> const& variant) {
        double const got = memory.launch(variant, problem);
        EXPECT_TRUE(std::isnan(got)) << "NaN at " << where << ": " << got;
      });
    }
  }
}

/// Values of the virtual blocks [first, first + count) of all n elements.
template <class T>
std::vector<double> blocks_of(Variant<Problem> const& variant, Problem problem, std::int64_t first,
                              std::int64_t count, device::Device& device,
                              device::StreamView stream) {
  test::DeviceArray<double> const blocks{device, stream, count};
  problem.global_n = problem.n;
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

/// Of a part of the blocks, as a rank among others has it.
template <class T>
void expect_bits_of_the_host(device::Device& device, device::StreamView stream, Rows const& rows,
                             std::int64_t n, std::int64_t first, std::int64_t count) {
  auto const host = device::make_host_device(1);
  device::Stream const host_stream{*host};
  Vectors<T> const v{device, stream, core::DataKind::normal, n, 1, 1};
  Vectors<T> const on_host{*host, host_stream, v.x, v.y};
  for (Operation const operation : kOperations) {
    auto const want = blocks_of<T>(test::row(variants(), "reference"), on_host.problem(operation),
                                   first, count, *host, host_stream);
    for (Variant<Problem> const& variant : rows) {
      Problem whole = v.problem(operation);
      whole.reproducible = true;
      if (!variant.unsupported_reason(whole).empty()) continue;
      auto const got = blocks_of<T>(variant, v.problem(operation), first, count, device, stream);
      EXPECT_TRUE(std::ranges::equal(got, want, {}, test::bits, test::bits))
          << variant.name << " " << core::to_text(operation) << " "
          << core::to_text(core::type_of<T>()) << " n " << n;
    }
  }
}

}  // namespace quadrille::kernels::reduction
