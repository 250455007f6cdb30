// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/gemm_data.hpp"
#include "support/kernel_test.hpp"

#include <cmath>
#include <vector>

/// Products of weights in 8 or 4 bits with known results.
namespace quadrille::kernels::gemm {

/// All numbers of their bits, in no order that tiles have.
inline int weight(Weights weights, std::int64_t l, std::int64_t j) {
  std::int64_t const hash = (l * 7919 + j * 104729 + l * j) % 65521;
  return weights == Weights::i8 ? static_cast<int>(hash % 256) - 128
                                : static_cast<int>(hash % 16) - 8;
}
/// Those of neighbouring groups and columns differ by an eighth and more.
inline double factor(std::int64_t group, std::int64_t j) {
  return std::ldexp(1 + static_cast<double>((3 * group + j) % 8) / 8, static_cast<int>(j % 3) - 5);
}

/// Launches the row for A of T and C of Out; every element is within its bound.
template <class T, class Out>
void expect_weights(Variant<Problem> const& row, Weights weights, Case const& spec,
                    device::Device& device, device::StreamView stream) {
  auto const [m, n, k, alpha, beta, multiprocessors, yields] = spec;
  SCOPED_TRACE(testing::Message() << row.name << " " << core::to_text(weights) << " " << m << " x "
                                  << n << " x " << k);
  std::int64_t const groups = (k + kScaled - 1) / kScaled, pad = 16,
                     bytes = k / per_byte(weights) + pad;
  std::vector<T> const a = stored<T>(m, k, 1, false, pad);
  std::vector<std::int8_t> b(static_cast<std::size_t>(n * bytes), 0x55);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t l = 0; l < k; l += per_byte(weights)) {
      int byte = weight(weights, l, j);
      if (weights == Weights::i4) byte = (byte & 15) | (weight(weights, l + 1, j) & 15) << 4;
      b[static_cast<std::size_t>(j * bytes + l / per_byte(weights))] =
          static_cast<std::int8_t>(byte);
    }
  }
  std::vector<T> factors;
  for (std::int64_t e = 0; e < groups * n; ++e) factors.push_back(T(factor(e / n, e % n)));
  std::vector<Out> const c0 = stored<Out>(m, n, 3, false, 0);

  test::DeviceArray<T> const on_a{device, stream, a}, on_factors{device, stream, factors};
  test::DeviceArray<std::int8_t> const on_b{device, stream, b};
  test::DeviceArray<Out> const on_c{device, stream, c0};
  core::DataType const type = core::type_of<T>(), out = core::type_of<Out>();
  Problem const problem{.a = {on_a.data(), type, m, k, k + pad},
                        .b = {on_b.data(), core::DataType::i8, n, bytes - pad, bytes},
                        .c = {on_c.data(), out, m, n, n},
                        .alpha = alpha,
                        .beta = beta,
                        .transpose_b = true,
                        .compute = core::Compute::f32,
                        .b_scales = {on_factors.data(), type, groups, n, n},
                        .weights = weights};
  row.launch(problem, stream);
  stream.synchronize();

  std::vector<Out> const c = on_c.download();
  ErrorBound const bound{{type, core::Compute::f32, out}, k};
  int wrong = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n && wrong < 3; ++j) {
      double sum = 0, terms = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        double const term = alpha *
                            static_cast<double>(a[static_cast<std::size_t>(i * (k + pad) + l)]) *
                            factor(l / kScaled, j) * weight(weights, l, j);
        sum += term;
        terms += std::abs(term);
      }
      auto const at = static_cast<std::size_t>(i * n + j);
      double const old = beta == 0 ? 0 : beta * static_cast<double>(c0[at]);
      auto const got = static_cast<double>(c[at]);
      if (std::abs(got - sum - old) <= bound(terms, sum, old)) continue;
      ++wrong;
      ADD_FAILURE() << "C(" << i << ", " << j << ") is " << got << ", expected " << sum + old;
    }
  }
  EXPECT_TRUE(on_c.intact());
}

}  // namespace quadrille::kernels::gemm
