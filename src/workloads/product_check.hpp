// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm.hpp"
#include "workloads/data.hpp"

namespace quadrille::workloads {

/// C = alpha A B + beta C0 with A (m x k), B (k x n), C0 from the generator.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  core::DataType type = core::DataType::f64;
  double alpha = 1;
  double beta = 0;
  Source a, b, c0;
};

/// Which parts this rank holds. `shared` is false when every rank has a product of its own.
struct ProductLayout {
  Layout a, b, c;
  bool shared = false;
};

/// Judges C without gathering anything, from values that are generated again:
/// sampled entries, each against eps (sqrt(k) + 2) (|alpha| |A| |B| + |beta| |C0|)_ij, and for a
/// full check Freivalds for all rows: r = C x - alpha A (B x) - beta C0 x with x in {-1, 1}.
/// The rounding errors of a row add with random signs, so r_i is compared with 4 eps (sqrt(k) + 2)
/// w_i / sqrt(n) with w = |alpha| |A| (|B| 1) + |beta| |C0| 1 (generated rows are even, so w_i /
/// sqrt(n) is the 2-norm of the element-wise bounds), plus the rounding of the check's own sums.
/// Rows that fail are recomputed to name the column. On integer data everything is exact and the
/// bound is 0. Collective when shared. Costs O(m k + k n + m n).
measure::Verdict check_product(Product const& product, ProductLayout const& layout,
                               device::MatrixView const& c, comm::World const& world,
                               core::Check check);

/// Scratch memory that any of these variants needs for the product, in bytes.
std::size_t scratch_bytes(kernels::gemm::Problem const& problem, measure::Selection const& selected,
                          device::Facts const& device);
/// As much of it, with its counters zero; empty for 0.
device::Buffer<std::byte> product_scratch(std::size_t bytes, comm::World& world);

}  // namespace quadrille::workloads
