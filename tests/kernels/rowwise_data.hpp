// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/generator.hpp"
#include "rowwise/rowwise.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

/// Rows of tokens with known results.
namespace quadrille::kernels::rowwise {

struct Example {
  Action action;
  Shape shape;
  double mean = 0;       ///< what is added to x
  std::int64_t gap = 0;  ///< elements between rows of x
};
/// One element, rows that are no words and fill several, more threads than words, a row of many; a mean
/// that is large against what differs from it.
inline std::vector<Example> const kExamples{
    {Action::layer_norm, {.tokens = 3, .features = 1}},
    {Action::layer_norm, {.tokens = 5, .features = 776, .has_residual = true}},
    {Action::layer_norm, {.tokens = 2, .features = 300}, 8},
    {Action::rms_norm, {.tokens = 4, .features = 33, .has_residual = true}},
    {Action::rms_norm, {.tokens = 2, .features = 2080}},
    {Action::rms_norm, {.tokens = 1, .features = 12296, .has_residual = true}},
    {Action::rms_norm, {.tokens = 0, .features = 64}},
    {Action::gelu, {.tokens = 7, .features = 40}, -3},
    {Action::gelu, {.tokens = 3, .features = 11}},
    {Action::swiglu, {.tokens = 5, .features = 264}},
    {Action::swiglu, {.tokens = 3, .features = 13}, -4},
    {Action::rotary, {.tokens = 6, .features = 3 * 64, .head_size = 64, .max_positions = 5}, 0, 16},
    {Action::rotary, {.tokens = 9, .features = 2 * 128, .head_size = 128, .max_positions = 7}},
    {Action::rotary, {.tokens = 4, .features = 5 * 6, .head_size = 6, .max_positions = 3}},
    {Action::embedding, {.tokens = 7, .features = 264, .max_positions = 5, .table_rows = 6}},
    {Action::embedding, {.tokens = 9, .features = 13, .max_positions = 0, .table_rows = 4}}};

template <class T>
std::vector<T> random(device::MatrixView const& view, std::uint64_t tag, double mean = 0) {
  std::vector<T> values;
  for (std::int64_t e = 0; e < view.rows * view.ld; ++e) {
    values.push_back(T(mean + core::generate<double>(core::DataKind::uniform, 1, tag, 0, e)));
  }
  return values;
}

/// Runs the row; every element of y, and of the sum, is within its bound of the formula in long double.
/// False where the row does not take the example.
template <class T>
bool expect_right(device::Device& device, device::StreamView stream, Variant<Problem> const& row,
                  Example const& example) {
  auto const& [action, shape, offset, gap] = example;
  SCOPED_TRACE(std::string{row.name} + " " + std::string{core::to_text(action)} + " " +
               std::to_string(shape.tokens) + " x " + std::to_string(shape.features));
  Problem p = unallocated(action, shape, core::type_of<T>());
  p.x.ld += gap;
  std::vector<T> const x = random<T>(p.x, 1, offset), residual = random<T>(p.residual, 2),
                       weights = random<T>(p.weights, 3);
  std::vector<float> const cos_sin = random<float>(p.cos_sin, 4);
  std::vector<std::int32_t> positions, rows;
  for (std::int64_t i = 0; i < shape.tokens; ++i) {
    positions.push_back(
        static_cast<std::int32_t>((i * 3 + 1) % std::max<std::int64_t>(1, shape.max_positions)));
    rows.push_back(static_cast<std::int32_t>((i * 5 + 2) % shape.table_rows));
  }
  test::DeviceArray<T> const on_x{device, stream, x}, on_residual{device, stream, residual},
      on_weights{device, stream, weights}, on_y{device, stream, shape.tokens * shape.features},
      on_sum{device, stream, p.sum.rows * p.sum.cols};
  test::DeviceArray<float> const on_cos_sin{device, stream, cos_sin};
  test::DeviceArray<std::int32_t> const on_positions{device, stream, positions},
      on_rows{device, stream, rows};
  p.x.data = on_x.data();
  p.y.data = on_y.data();
  p.residual.data = on_residual.data();
  p.weights.data = on_weights.data();
  p.sum.data = on_sum.data();
  p.cos_sin.data = on_cos_sin.data();
  p.positions = on_positions.data();
  p.rows = on_rows.data();
  if (!row.unsupported_reason(p).empty()) return false;
  row.launch(p, stream);
  stream.synchronize();

  std::vector<T> const y = on_y.download(), sum = on_sum.download();
  ErrorBound const bound{core::type_of<T>()};
  std::int64_t const n = shape.features, half = shape.head_size / 2;
  int wrong = 0;
  auto const expect = [&](char const* name, std::int64_t i, std::int64_t j, T got, long double want,
                          double rounded, double computed) {
    double const off = std::abs(static_cast<double>(got) - static_cast<double>(want));
    if (off <= bound(static_cast<double>(want), rounded, computed) || ++wrong > 3) return;
    ADD_FAILURE() << name << "(" << i << ", " << j << ") is " << static_cast<double>(got)
                  << ", expected " << static_cast<double>(want);
  };
  for (std::int64_t i = 0; i < shape.tokens; ++i) {
    auto const of = [&](std::vector<T> const& values, std::int64_t j) {
      return static_cast<long double>(static_cast<double>(values[static_cast<std::size_t>(j)]));
    };
    std::vector<long double> r;
    long double mean = 0, squares = 0;
    for (std::int64_t j = 0; j < n && is_norm(action); ++j) {
      r.push_back(of(x, i * n + j));
      if (p.has_residual()) {
        r.back() += of(residual, i * n + j);
        auto const at = static_cast<std::size_t>(i * n + j);
        expect("sum", i, j, sum[at], r.back(), 0, 0);
      }
      if (action == Action::layer_norm) mean += r.back() / static_cast<long double>(n);
    }
    for (long double const value : r) {
      squares += (value - mean) * (value - mean) / static_cast<long double>(n);
    }
    long double const sigma = std::sqrt(squares + static_cast<long double>(kNormEpsilon));
    for (std::int64_t j = 0; j < n; ++j) {
      T const got = y[static_cast<std::size_t>(i * n + j)];
      if (is_norm(action)) {
        long double const gain = of(weights, j), value = r[static_cast<std::size_t>(j)];
        long double const bias = action == Action::layer_norm ? of(weights, n + j) : 0;
        auto const size = static_cast<double>(std::abs(gain) / sigma);
        expect("y", i, j, got, (value - mean) / sigma * gain + bias,
               p.has_residual() ? size * static_cast<double>(std::abs(value)) : 0,
               (std::sqrt(static_cast<double>(n)) + 8) * size *
                       static_cast<double>(std::abs(value) + std::abs(mean) + sigma) +
                   static_cast<double>(std::abs(bias)));
      } else if (action == Action::rotary) {
        bool const is_low = j % shape.head_size < half;
        long double const a = of(x, i * p.x.ld + j),
                          b = of(x, i * p.x.ld + (is_low ? j + half : j - half));
        float const* const c =
            cos_sin.data() + positions[static_cast<std::size_t>(i)] * shape.head_size + j % half;
        expect("y", i, j, got, a * c[0] + (is_low ? -b : b) * c[half], 0,
               4 * static_cast<double>(std::abs(a) + std::abs(b)));
      } else if (action == Action::embedding) {
        long double const word = of(x, rows[static_cast<std::size_t>(i)] * n + j);
        bool const has_positions = p.weights.rows > 0;
        expect("y", i, j, got,
               word + (has_positions ? of(weights, positions[static_cast<std::size_t>(i)] * n + j)
                                     : 0),
               0, 0);
      } else if (action == Action::gelu) {
        long double const g = of(x, i * n + j);
        expect("y", i, j, got, g * std::erfc(-g / std::sqrt(2.0L)) / 2, 0,
               8 * static_cast<double>(std::abs(g)));
      } else {
        long double const g = of(x, 2 * i * n + j), u = of(x, 2 * i * n + n + j);
        long double const want = g / (1 + std::exp(-g)) * u;
        expect("y", i, j, got, want, 0, static_cast<double>((std::abs(g) + 8) * std::abs(want)));
      }
    }
  }
  EXPECT_TRUE(on_y.intact() && on_sum.intact() && on_x.intact() && on_residual.intact());
  return true;
}

inline void expect_all_right(device::Device& device, device::StreamView stream,
                             Variant<Problem> const& row) {
  int taken = 0;
  for (Example const& example : kExamples) {
    taken += expect_right<float>(device, stream, row, example) ? 1 : 0;
    taken += expect_right<core::f16>(device, stream, row, example) ? 1 : 0;
    taken += expect_right<core::bf16>(device, stream, row, example) ? 1 : 0;
  }
  EXPECT_GE(taken, 20);
}

}  // namespace quadrille::kernels::rowwise
