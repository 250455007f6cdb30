// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Dot product and sum of squares by OpenBLAS: the bar.
///
///   s = sum x[i] y[i] or sum x[i]^2
///
/// Technique    cblas_ddot, sdot; cblas_dnrm2, snrm2, squared. f32 in f64: pieces are converted in
///              the first-level cache for ddot, since dsdot adds up in f32
/// Shapes       x, y: n contiguous elements
/// Types        f64 in f64; f32 in f32 or f64
/// Work         n s bytes read (2 n s for dot)
/// Constraints  dot and norm2 only; not reproducible
/// Launch       OpenBLAS's own pool, which all streams share, 2^30 elements per call; f32 in f64:
/// one
///              thread, 2048 elements per call
/// Accuracy     that of the library, within 4 eps sqrt(n) sum|x y| for uniform data
/// Source       OpenBLAS
#include "common/blas.hpp"
#include "reduction/reduction.hpp"

#include <algorithm>

namespace quadrille::kernels::reduction {
namespace {

/// term(first, count) over pieces; BLAS counts in 32 bits.
template <class Term>
double sum_pieces(std::int64_t n, std::int64_t piece, Term term) {
  double sum = 0;
  for (std::int64_t first = 0; first < n; first += piece) {
    sum += term(first, static_cast<blasint>(std::min(piece, n - first)));
  }
  return sum;
}
constexpr std::int64_t kLongest = 1 << 30;

double square(double x) { return x * x; }

double reduce_f64(Problem const& p) {
  auto const* x = static_cast<double const*>(p.x);
  auto const* y = static_cast<double const*>(p.y);
  bool const dot = p.operation == Operation::dot;
  return sum_pieces(p.n, kLongest, [=](std::int64_t i, blasint n) {
    return dot ? cblas_ddot(n, x + i, 1, y + i, 1) : square(cblas_dnrm2(n, x + i, 1));
  });
}

double reduce_f32(Problem const& p) {
  auto const* x = static_cast<float const*>(p.x);
  auto const* y = static_cast<float const*>(p.y);
  bool const dot = p.operation == Operation::dot;
  return sum_pieces(p.n, kLongest, [=](std::int64_t i, blasint n) {
    return dot ? static_cast<double>(cblas_sdot(n, x + i, 1, y + i, 1))
               : square(static_cast<double>(cblas_snrm2(n, x + i, 1)));
  });
}

double reduce_f32_in_f64(Problem const& p) {
  constexpr std::int64_t kPiece = 2048;
  auto const* x = static_cast<float const*>(p.x);
  auto const* y = static_cast<float const*>(p.operation == Operation::dot ? p.y : p.x);
  double wide_x[kPiece];
  double wide_y[kPiece];
  return sum_pieces(p.n, kPiece, [&](std::int64_t i, blasint n) {
    std::copy_n(x + i, n, wide_x);
    std::copy_n(y + i, n, wide_y);
    return cblas_ddot(n, wide_x, 1, wide_y, 1);
  });
}

}  // namespace

void launch_vendor(Problem const& problem, device::StreamView stream) {
  require_consistent(problem);
  QUAD_REQUIRE(
      problem.operation == Operation::dot || problem.operation == Operation::norm2,
      "reduction/vendor: BLAS has dot and norm2 only; use variant 'kokkos' for sum, min and max");
  QUAD_REQUIRE(!problem.reproducible,
               "reduction/vendor: BLAS is not reproducible; use variant 'kokkos'");
  QUAD_REQUIRE(problem.type != core::DataType::i32,
               "reduction/vendor: BLAS has no integers; use variant 'kokkos'");
  stream.run([p = problem, stream] {
    use_blas_threads(stream.device().facts().units);
    bool const wide = p.accumulator == core::DataType::f64;
    *p.result = p.type == core::DataType::f64 ? reduce_f64(p)
                : wide                        ? reduce_f32_in_f64(p)
                                              : reduce_f32(p);
  });
}

}  // namespace quadrille::kernels::reduction
