// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/gemm_data.hpp"
#include "support/kernel_test.hpp"

#include <cmath>
#include <vector>

/// Products of groups with known results.
namespace quadrille::kernels::gemm {

/// Elements behind each row of A and B, and of C.
struct Pads {
  std::int64_t in = 3, out = 3;
};

/// Launches the row for groups of so many rows; every element is within its bound, and what lies behind
/// rows of C stays. by_pointers: B of the last group is the first.
template <class T, class Out = T>
void expect_groups(Variant<Problem> const& row, std::vector<std::int64_t> const& group_rows,
                   Case const& spec, Layout layout, device::Device& device,
                   device::StreamView stream, Pads const& pads = {}, bool by_pointers = false) {
  auto const [unused, n, k, alpha, beta, multiprocessors, yields] = spec;
  auto const count = static_cast<std::int64_t>(group_rows.size());
  bool const ta = is_a_transposed(layout), tb = is_b_transposed(layout);
  std::vector<std::int64_t> first{0};
  for (std::int64_t const rows : group_rows) first.push_back(first.back() + rows);
  std::int64_t const m = first.back(), lda = (ta ? m : k) + pads.in, ldb = (tb ? k : n) + pads.in,
                     ldc = n + pads.out;
  SCOPED_TRACE(testing::Message() << row.name << " " << count << " groups, " << m << " x " << n
                                  << " x " << k << " " << core::to_text(layout));
  std::vector<T> const a = stored<T>(m, k, 1, ta, pads.in),
                       b = tb ? stored<T>(k, count * n, 2, true, pads.in)
                              : stored<T>(count * k, n, 2, false, pads.in);
  std::vector<Out> const c0 = stored<Out>(m, n, 3, false, pads.out);
  test::DeviceArray<T> const on_a{device, stream, a}, on_b{device, stream, b};
  test::DeviceArray<Out> const on_c{device, stream, c0};
  test::DeviceArray<std::int64_t> const on_first{device, stream, first};
  core::DataType const type = core::type_of<T>(), out = core::type_of<Out>();
  Problem problem{.a = {on_a.data(), type, ta ? k : m, ta ? m : k, lda},
                  .b = {on_b.data(), type, count * (tb ? n : k), tb ? k : n, ldb},
                  .c = {on_c.data(), out, m, n, ldc},
                  .alpha = alpha,
                  .beta = beta,
                  .transpose_a = ta,
                  .transpose_b = tb,
                  .groups = {count, first.data(), on_first.data()}};
  std::vector<std::int64_t> places;
  for (std::int64_t g = 0; g < count; ++g) places.push_back(by_pointers ? count - 1 - g : g);
  if (by_pointers) problem.groups.b_blocks = places.data();
  test::DeviceArray<void*> const on_pointers{device, stream, group_pointers(problem)};
  problem.groups.pointers = on_pointers.data();
  row.launch(problem, stream);
  stream.synchronize();

  std::vector<Out> const c = on_c.download();
  ErrorBound const bound{{type, core::compute_for(type, core::Compute::automatic), out}, k};
  int wrong = 0;
  std::int64_t group = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    while (i >= first[static_cast<std::size_t>(group) + 1]) ++group;
    for (std::int64_t j = 0; j < ldc && wrong < 3; ++j) {
      auto const at = static_cast<std::size_t>(i * ldc + j);
      double sum = 0, terms = 0;
      for (std::int64_t l = 0; l < k && j < n; ++l) {
        std::int64_t const place = places[static_cast<std::size_t>(group)];
        std::int64_t const of_b = tb ? (place * n + j) * ldb + l : (place * k + l) * ldb + j;
        double const term =
            alpha *
            static_cast<double>(a[static_cast<std::size_t>(ta ? l * lda + i : i * lda + l)]) *
            static_cast<double>(b[static_cast<std::size_t>(of_b)]);
        sum += term;
        terms += std::abs(term);
      }
      auto const before = static_cast<double>(c0[at]), got = static_cast<double>(c[at]);
      double const old = j >= n ? before : beta == 0 ? 0 : beta * before;
      if (j < n ? std::abs(got - sum - old) <= bound(terms, sum, old) : got == before) continue;
      ++wrong;
      ADD_FAILURE() << "C(" << i << ", " << j << ") of group " << group << " is " << got
                    << ", expected " << sum + old;
    }
  }
  EXPECT_TRUE(on_c.intact());
}

}  // namespace quadrille::kernels::gemm
