// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm.hpp"
#include "workloads/data.hpp"

#include <optional>

namespace quadrille::workloads {

/// C = alpha A B + beta C0 with A (m x k), B (k x n), C0 from the generator.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  core::DataType type = core::DataType::f64;   ///< of A, and of B without weights
  core::DataType out = core::DataType::f64;    ///< of C and C0
  core::Compute compute = core::Compute::f64;  ///< what products are multiplied and added in
  int moduli = 0;                              ///< of an emulated one that somebody chose
  std::int64_t parts = 1;                      ///< of k, after each of which C is rounded to `out`
  double alpha = 1;
  double beta = 0;
  Source a, b, c0;
  /// Factors of A(i, l), at (i, l / 128), and of B(l, j), at (l / 128, j / 128), in f32; of weights in
  /// `type`, at (l / 128, j).
  std::optional<Source> a_scales{}, b_scales{};
  /// B(l, j) is the source's i8 at (l, j), or of 4 bits a half of that at (l / 2, j).
  kernels::gemm::Weights weights = kernels::gemm::Weights::none;
};

/// Which parts this rank holds. `shared` is false when every rank has a product of its own.
struct ProductLayout {
  Layout a, b, c;
  bool shared = false;
};

/// How far a check of a product goes at a time: what it keeps of all rows, columns and k at once
/// must not grow with the product. Smaller ones repeat more of B.
struct CheckTiles {
  std::int64_t rows = 1 << 18;   ///< of C; 96 bytes each
  std::int64_t depth = 1 << 17;  ///< of k; 56 bytes each
  std::int64_t cols = 1 << 17;   ///< of C; 24 bytes each
  std::int64_t chunk = 1 << 13;  ///< of a row; 16 bytes each for every thread
};

/// Judges C without gathering anything, from values that are generated again: sampled entries, each
/// against gemm::ErrorBound, and for a full check Freivalds for all rows with two vectors of whole
/// numbers +-64 to +-127: r = C x - alpha A (B x) - beta C0 x. The errors of a row's elements are
/// independent, so r_i is compared with ErrorBound::of_sum of their bounds times x, plus the rounding of
/// the check's own sums; of constant data all are the same, so their bound times the sum of x is
/// added. Rows that fail are recomputed to name the column. The error of the verdict is the largest of
/// all of these over its bound. On whole numbers that fit their type everything is exact and the
/// bound is 0; sums of i8 that leave i32 are judged modulo 2^32. Where the bound is as large as the
/// values, or the type of C ends before them, nothing is judged: the verdict says so. Collective. Costs
/// O(m k + k n + m n).
measure::Verdict check_product(Product const& product, ProductLayout const& layout,
                               device::MatrixView const& c, comm::World const& world,
                               core::Check check, CheckTiles const& tiles = {});

/// Entry j of one of these vectors, 0 or 1, where A has this seed; those of check_convolution, of x.
double freivalds_entry(std::uint64_t seed, int vector, std::int64_t j);

/// The key `sms` of a workload of products: a GPU's multiprocessors that they may take; 0: all.
core::Option sms_option(core::options::Place<std::int64_t> place);
/// Why no product takes so many; empty where some do.
std::string sms_conflict(std::int64_t sms);
/// The most thread blocks that exchanges may take beside products on so many multiprocessors of this
/// device, each on another: as many as asked for, else as the products leave; 0: no limit.
std::int64_t ctas_beside_products(std::int64_t asked, std::int64_t sms,
                                  device::Facts const& device);
/// Why a variant cannot leave the others of this device to other work; empty where it can.
std::string sms_unsupported(kernels::Variant<kernels::gemm::Problem> const& row, std::int64_t sms,
                            device::Facts const& device);

}  // namespace quadrille::workloads
