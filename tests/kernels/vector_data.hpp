// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "vector/vector.hpp"

#include <cmath>
#include <vector>

/// Vectors with known results, for rows of every device.
namespace quadrille::kernels::vector {

template <class T>
void expect_right(device::Device& device, device::StreamView stream,
                  Variant<Problem> const& variant, Operation operation, std::int64_t n,
                  std::int64_t offset) {
  SCOPED_TRACE(testing::Message() << variant.name << " " << core::to_text(operation) << " "
                                  << core::to_text(core::type_of<T>()) << " n " << n << " offset "
                                  << offset);
  auto const xs = test::generated<T>(core::DataKind::uniform, 1, n);
  auto const ys = test::generated<T>(core::DataKind::uniform, 2, n);
  test::DeviceArray<T> const x{device, stream, xs, offset}, y{device, stream, ys, offset};
  test::DeviceArray<T> const out{device, stream, n, offset};
  Problem const problem{operation, core::type_of<T>(), x.data(), y.data(), out.data(), n};

  variant.launch(problem, stream);
  stream.synchronize();

  std::vector<T> const got = out.download();
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    auto const at = static_cast<double>(xs[i]);
    double const want = operation == Operation::add
                            ? static_cast<double>(static_cast<T>(xs[i] + ys[i]))
                            : problem.a * at * at + problem.b * at + problem.c;
    if (!(std::abs(static_cast<double>(got[i]) - want) <= error_bound(problem, at))) ++wrong;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(out.intact());
}

/// What no row takes.
inline void expect_refusals(device::Device& device, device::StreamView stream,
                            Variant<Problem> const& variant) {
  test::DeviceArray<double> const x{device, stream, 64}, y{device, stream, 64},
      out{device, stream, 64};
  Problem const good{Operation::add, core::DataType::f64, x.data(), y.data(), out.data(), 64};
  auto const fails = [&](auto change, char const* text) {
    Problem bad = good;
    change(bad);
    EXPECT_FAILS(variant.launch(bad, stream), text);
  };
  fails([](Problem& p) { p.type = core::DataType::i32; }, "has no type i32");
  fails([](Problem& p) { p.n = -1; }, "negative");
  fails([](Problem& p) { p.x = nullptr; }, "missing");
  fails([](Problem& p) { p.y = nullptr; }, "needs y");
  fails([&](Problem& p) { p.out = x.data() + 1; }, "overlaps");
}

}  // namespace quadrille::kernels::vector
