// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Dot product and sum of squares by BLAS: the bar.
///
///   s = sum x[i] y[i] or sum x[i]^2
///
/// Technique    each thread has cblas_ddot, sdot, dnrm2 or snrm2 (squared) reduce its piece:
///              a pool of the library's own would go on spinning beside whatever runs next. f32 in f64:
///              short pieces are converted in the first-level cache for ddot, since dsdot adds up
///              in f32
/// Shapes       x, y: n contiguous elements
/// Work         n s bytes read (2 n s for dot)
/// Launch       one parallel loop of the stream, a piece per thread (512 elements where
///              converted); the library is set to one thread
/// Accuracy     that of the library, within 4 eps sqrt(n) sum|x y| for uniform data
#include "device/host/parallel.hpp"
#include "reduction/reduction.hpp"
#include "vendor/blas.hpp"
#include "vendor/cblas.hpp"

#include <algorithm>
#include <functional>

namespace quadrille::kernels::reduction {
namespace {

/// term(first, count) over pieces, in parallel.
template <class Term>
double sum_pieces(device::StreamView stream, std::int64_t n, std::int64_t piece, Term term) {
  blas::use_threads(1);
  return device::parallel_reduce(
      stream, (n + piece - 1) / piece, 0.0,
      [&](std::int64_t i) {
        std::int64_t const first = i * piece;
        return term(first, static_cast<int>(std::min(piece, n - first)));
      },
      std::plus<>{});
}

/// A piece per thread, as long as BLAS can count it in 32 bits.
std::int64_t piece_per_thread(device::StreamView stream, std::int64_t n) {
  std::int64_t const threads = device::parallel_threads(stream);
  return std::clamp<std::int64_t>((n + threads - 1) / threads, 1, 1 << 30);
}

double square(double x) { return x * x; }

double reduce_f64(Problem const& p, device::StreamView stream) {
  auto const* x = static_cast<double const*>(p.x);
  auto const* y = static_cast<double const*>(p.y);
  bool const dot = p.operation == Operation::dot;
  return sum_pieces(stream, p.n, piece_per_thread(stream, p.n), [=](std::int64_t i, int n) {
    return dot ? cblas_ddot(n, x + i, 1, y + i, 1) : square(cblas_dnrm2(n, x + i, 1));
  });
}

double reduce_f32(Problem const& p, device::StreamView stream) {
  auto const* x = static_cast<float const*>(p.x);
  auto const* y = static_cast<float const*>(p.y);
  bool const dot = p.operation == Operation::dot;
  return sum_pieces(stream, p.n, piece_per_thread(stream, p.n), [=](std::int64_t i, int n) {
    return dot ? static_cast<double>(cblas_sdot(n, x + i, 1, y + i, 1))
               : square(static_cast<double>(cblas_snrm2(n, x + i, 1)));
  });
}

double reduce_f32_in_f64(Problem const& p, device::StreamView stream) {
  constexpr std::int64_t kPiece = 512;
  auto const* x = static_cast<float const*>(p.x);
  auto const* y = static_cast<float const*>(p.operation == Operation::dot ? p.y : p.x);
  return sum_pieces(stream, p.n, kPiece, [=](std::int64_t i, int n) {
    double wide_x[kPiece];
    double wide_y[kPiece];
    std::copy_n(x + i, n, wide_x);
    std::copy_n(y + i, n, wide_y);
    return cblas_ddot(n, wide_x, 1, wide_y, 1);
  });
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([p = problem, stream] {
    bool const wide = p.accumulator == core::DataType::f64;
    *p.result = p.type == core::DataType::f64 ? reduce_f64(p, stream)
                : wide                        ? reduce_f32_in_f64(p, stream)
                                              : reduce_f32(p, stream);
  });
}

std::string unsupported(Problem const& problem) {
  bool const is_blas = problem.operation == Operation::dot || problem.operation == Operation::norm2;
  return is_blas ? plain_only(problem) : "has dot and norm2 only";
}

}  // namespace

extern constinit Variant<Problem> const vendor_host{
    {.name = "vendor",
     .role = Role::vendor,
     .where = Where::host,
     .types = kFloatReductionTypes,
     .needs = {.other = "dot or norm2, not reproducible"},
     .source = QUADRILLE_BLAS,
     .summary = "cblas_ddot and cblas_dnrm2, a part for each thread"},
    launch,
    {.unsupported = unsupported,
     .notes = {.chain =
                   [](double n, device::Facts const& device) {
                     // Lanes of the widest vectors.
                     return n / (16.0 * std::max(1, device.multiprocessors)) + 64;
                   },
               .squares_root = true}}};

}  // namespace quadrille::kernels::reduction
