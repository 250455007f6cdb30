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
#include <limits>
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
  int multiprocessors = 0;
  bool yields = false;
};

/// Elements by which a matrix begins behind an aligned address, and by which its rows are longer than
/// pieces of 16 bytes.
struct Shift {
  int start = 0, ld = 0;
};
struct Shifts {
  Shift a{}, b{}, c{};
};
inline constexpr Shifts kUnaligned{{1, 1}, {1, 1}, {1, 1}};
/// An address or a leading dimension alone, then all.
inline std::vector<Shifts> one_at_a_time() {
  return {{.a = {1, 0}}, {.a = {0, 1}}, {.b = {1, 0}}, {.b = {0, 1}},
          {.c = {1, 0}}, {.c = {0, 1}}, kUnaligned};
}

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
  auto const& [m, n, k, alpha, beta, multiprocessors, yields] = spec;
  std::vector<Sum> const& sums = sums_of<T>(m, n, k);
  ErrorBound const error_bound{types, k};
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

/// Whether a row takes no such operand.
inline bool refuses(Requirements const& needs, device::MatrixView const& view) {
  auto const size = static_cast<std::int64_t>(core::size_of(view.type));
  auto const address = reinterpret_cast<std::uintptr_t>(view.data);
  return address % static_cast<unsigned>(needs.alignment) != 0 ||
         view.ld * size % std::max(needs.ld_bytes, needs.row_bytes) != 0 ||
         view.cols * size % needs.row_bytes != 0;
}

/// Runs the variant and compares every element with a sum in f64; or expects it to refuse what it does
/// not take. What lies behind the rows of A and B is as large as the rest, so that reading it shows;
/// that of C must stay. Returns C with what lies behind its rows.
template <class T, class Out>
std::vector<Out> expect_elements(Variant<Problem> const& variant, Types const& types,
                                 Case const& spec, Layout layout, device::Device& device,
                                 device::StreamView stream, Configuration const& configuration = {},
                                 Shifts const& shifts = {}) {
  auto const& [m, n, k, alpha, beta, multiprocessors, yields] = spec;
  bool const transpose_a = is_a_transposed(layout), transpose_b = is_b_transposed(layout);
  SCOPED_TRACE(testing::Message() << variant.name << " " << to_text(types) << " " << m << " x " << n
                                  << " x " << k << " " << core::to_text(layout) << " alpha "
                                  << alpha << " beta " << beta << " shifted " << shifts.a.start
                                  << shifts.a.ld << " " << shifts.b.start << shifts.b.ld << " "
                                  << shifts.c.start << shifts.c.ld);
  std::int64_t const a_rows = transpose_a ? k : m, a_cols = transpose_a ? m : k;
  std::int64_t const b_rows = transpose_b ? n : k, b_cols = transpose_b ? k : n;
  auto const padding = [](std::int64_t cols, std::size_t size, int more) {
    auto const piece = static_cast<std::int64_t>(16 / size);
    return piece + (piece - cols % piece) % piece + more;
  };
  std::int64_t const a_pad = padding(a_cols, sizeof(T), shifts.a.ld),
                     b_pad = padding(b_cols, sizeof(T), shifts.b.ld),
                     c_pad = padding(n, sizeof(Out), shifts.c.ld);
  std::vector<Out> c = stored<Out>(m, n, 3, false, c_pad);
  if constexpr (!std::is_integral_v<Out>) {
    if (beta == 0) c.assign(c.size(), Out{std::numeric_limits<float>::quiet_NaN()});
  }
  test::DeviceArray<T> const on_a{device, stream, stored<T>(m, k, 1, transpose_a, a_pad),
                                  shifts.a.start};
  test::DeviceArray<T> const on_b{device, stream, stored<T>(k, n, 2, transpose_b, b_pad),
                                  shifts.b.start};
  test::DeviceArray<Out> const on_c{device, stream, c, shifts.c.start};
  Problem problem{{on_a.data(), types.in, a_rows, a_cols, a_cols + a_pad},
                  {on_b.data(), types.in, b_rows, b_cols, b_cols + b_pad},
                  {on_c.data(), types.out, m, n, n + c_pad},
                  alpha,
                  beta,
                  transpose_a,
                  transpose_b,
                  types.compute,
                  configuration};
  problem.multiprocessors = multiprocessors;
  problem.yields = yields;
  bool const is_refused = refuses(variant.needs, problem.a) || refuses(variant.needs, problem.b) ||
                          refuses(variant.needs, problem.c);
  EXPECT_EQ(!variant.unsupported_reason(problem).empty(), is_refused);
  if (is_refused) return {};
  Scratch const scratch{variant, problem, device, stream};

  variant.launch(problem, stream);
  stream.synchronize();

  std::vector<Out> result = on_c.download();
  expect_sums<T>(spec, types, result, c, c_pad);
  EXPECT_TRUE(on_a.intact() && on_b.intact() && on_c.intact() && scratch.is_right());
  return result;
}

/// Of integers with whole scalars, which are as far from 0 at least.
inline void expect_product(Variant<Problem> const& variant, Types const& types, Case spec,
                           Layout layout, device::Device& device, device::StreamView stream,
                           Configuration const& configuration = {}, Shifts const& shifts = {}) {
  if (core::epsilon_of(types.out) == 0) {
    for (double* const x : {&spec.alpha, &spec.beta})
      *x = std::copysign(std::ceil(std::abs(*x)), *x);
  }
  auto const expect = [&]<class T, class Out>(T, Out) {
    expect_elements<T, Out>(variant, types, spec, layout, device, stream, configuration, shifts);
  };
  bool const is_wider = types.in != types.out;
  switch (types.in) {
    case core::DataType::f64: return expect(double{}, double{});
    case core::DataType::f32: return expect(float{}, float{});
    case core::DataType::i32: return expect(std::int32_t{}, std::int32_t{});
    case core::DataType::i8: return expect(std::int8_t{}, std::int32_t{});
    case core::DataType::e4m3:
      return types.out == core::DataType::f32 ? expect(core::e4m3{}, float{})
                                              : expect(core::e4m3{}, core::bf16{});
    case core::DataType::e5m2:
      return types.out == core::DataType::f32 ? expect(core::e5m2{}, float{})
                                              : expect(core::e5m2{}, core::bf16{});
    case core::DataType::f16:
      return is_wider ? expect(core::f16{}, float{}) : expect(core::f16{}, core::f16{});
    case core::DataType::bf16:
      return is_wider ? expect(core::bf16{}, float{}) : expect(core::bf16{}, core::bf16{});
    default: FAIL() << "no such type in this test";
  }
}

/// Of matrices whose rows are so far apart that offsets exceed 32 bits, and which have more rows than the
/// product takes.
template <class T>
void expect_far_product(Variant<Problem> const& variant, Types const& types, std::int64_t m,
                        std::int64_t n, std::int64_t k, Layout layout) {
  using Far = test::FarMatrix<T>;
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  if (!Far::fits(device, 3)) GTEST_SKIP() << "too little memory";
  SCOPED_TRACE(testing::Message() << variant.name << " " << to_text(types) << " "
                                  << core::to_text(layout));
  // op(M) is rows x cols; its elements differ by their place in it.
  auto const far = [&](std::int64_t rows, std::int64_t cols, std::uint64_t tag, bool transposed) {
    return Far{device, stream, transposed ? rows : cols,
               stored<T>(transposed ? rows : Far::kRows, transposed ? Far::kRows : cols, tag,
                         transposed, 0)};
  };
  bool const transpose_a = is_a_transposed(layout), transpose_b = is_b_transposed(layout);
  Far const on_a = far(m, k, 1, transpose_a), on_b = far(k, n, 2, transpose_b),
            on_c = far(m, n, 3, false);
  Problem problem{.a = on_a.view(types.in),
                  .b = on_b.view(types.in),
                  .c = on_c.view(types.out),
                  .transpose_a = transpose_a,
                  .transpose_b = transpose_b,
                  .compute = types.compute};
  problem.a.rows = transpose_a ? k : m;
  problem.b.rows = transpose_b ? n : k;
  problem.c.rows = m;
  Scratch const scratch{variant, problem, device, stream};

  variant.launch(problem, stream);

  std::vector<T> const c = on_c.download();
  std::vector<Sum> const& sums = sums_of<T>(m, n, k);
  ErrorBound const bound{types.out, types.compute, k};
  for (std::size_t e = 0; e < sums.size(); ++e) {
    ASSERT_LE(std::abs(static_cast<double>(c[e]) - sums[e].value),
              bound(sums[e].weight, sums[e].value, 0))
        << "element " << e;
  }
}

}  // namespace quadrille::kernels::gemm
