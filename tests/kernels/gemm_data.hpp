// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/generator.hpp"
#include "gemm/gemm.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

/// Operands of products with known results.
namespace quadrille::kernels::gemm {

inline constexpr Layout kLayouts[] = {Layout::nn, Layout::nt, Layout::tn, Layout::tt};
inline bool is_a_transposed(Layout layout) { return layout == Layout::tn || layout == Layout::tt; }
inline bool is_b_transposed(Layout layout) { return layout == Layout::nt || layout == Layout::tt; }

struct Case {
  std::int64_t m, n, k;
  double alpha = 1;
  double beta = 0;
};

/// Elements (i, j) of a matrix of rows x cols that `tag` tells from others, stored as it is or
/// transposed, with `pad` elements behind each row that are as large as the rest.
template <class T>
std::vector<T> stored(std::int64_t rows, std::int64_t cols, std::uint64_t tag, bool transposed,
                      std::int64_t pad) {
  if (transposed) std::swap(rows, cols);
  std::int64_t const ld = cols + pad;
  std::vector<T> values(static_cast<std::size_t>(rows * ld));
  for (std::int64_t e = 0; e < rows * ld; ++e) {
    std::int64_t const i = e / ld, j = e % ld;
    values[static_cast<std::size_t>(e)] =
        core::generate<T>(core::DataKind::uniform, 1, tag, transposed ? j : i, transposed ? i : j);
  }
  return values;
}

/// One element of A B, and of |A| |B|.
struct Sum {
  double value = 0, weight = 0;
};

/// All elements, computed once for all variants and layouts.
template <class T>
std::vector<Sum> const& sums_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  static std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<Sum>> known;
  auto const [found, is_new] = known.try_emplace({m, n, k});
  std::vector<Sum>& sums = found->second;
  if (!is_new) return sums;
  std::vector<T> const a = stored<T>(m, k, 1, false, 0), b = stored<T>(k, n, 2, false, 0);
  std::vector<double> const wide_b(b.begin(), b.end());
  sums.resize(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t q = 0; q < k; ++q) {
      auto const x = static_cast<double>(a[static_cast<std::size_t>(i * k + q)]);
      for (std::int64_t j = 0; j < n; ++j) {
        double const product = x * wide_b[static_cast<std::size_t>(q * n + j)];
        Sum& sum = sums[static_cast<std::size_t>(i * n + j)];
        sum.value += product;
        sum.weight += std::abs(product);
      }
    }
  }
  return sums;
}

/// What the variant asks for a problem, which takes it.
class Scratch {
 public:
  Scratch(Variant<Problem> const& variant, Problem& problem, device::Device& device,
          device::StreamView stream)
      : words_{device, stream,
               static_cast<std::int64_t>(variant.scratch_bytes(problem, device.facts()) / 4)} {
    stream.fill(words_.data(), 0, counters() * 4);
    problem.scratch = words_.data();
    problem.scratch_bytes = static_cast<std::size_t>(words_.size()) * 4;
  }

  bool is_right() const {
    std::vector<std::uint32_t> const words = words_.download();
    auto const used = words.begin() + static_cast<std::ptrdiff_t>(counters());
    return words_.intact() && std::count(words.begin(), used, 0U) == used - words.begin();
  }

 private:
  std::size_t counters() const {
    return static_cast<std::size_t>(std::min(words_.size(), kScratchCounters));
  }

  test::DeviceArray<std::uint32_t> words_;
};

/// Compares every element of C with a sum in f64. What lies behind its rows, `c_pad` elements each,
/// must be what it was in `c`.
template <class T, class Out>
void expect_sums(Case const& spec, Types const& types, std::vector<Out> const& result,
                 std::vector<Out> const& c, std::int64_t c_pad) {
  auto const [m, n, k, alpha, beta] = spec;
  std::vector<Sum> const& sums = sums_of<T>(m, n, k);
  ErrorBound const error_bound{types.out, types.compute, k};
  int wrong = 0;
  for (std::int64_t i = 0; i < m && wrong < 3; ++i) {
    for (std::int64_t j = 0; j < n + c_pad && wrong < 3; ++j) {
      auto const at = static_cast<std::size_t>(i * (n + c_pad) + j);
      auto const got = static_cast<double>(result[at]), before = static_cast<double>(c[at]);
      if (j >= n) {
        if (got == before || (std::isnan(got) && std::isnan(before))) continue;
        ++wrong;
        ADD_FAILURE() << "behind row " << i << " of C: " << got;
        continue;
      }
      auto const [sum, weight] = sums[static_cast<std::size_t>(i * n + j)];
      double const old = beta == 0 ? 0 : beta * before;
      double const bound = error_bound(std::abs(alpha) * weight, alpha * sum, old);
      if (!(std::abs(got - (alpha * sum + old)) <= bound)) {
        ++wrong;
        ADD_FAILURE() << "C(" << i << ", " << j << ") is " << got << ", expected "
                      << alpha * sum + old << ", allowed " << bound;
      }
    }
  }
}

}  // namespace quadrille::kernels::gemm
