// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product by BLAS: the bar on the host.
///
///   C = alpha op(A) op(B) + beta C
///
/// Technique    C is cut into as many parts as the stream has threads, and each thread has
///              cblas_dgemm or cblas_sgemm compute its part. The pool of OpenBLAS is no faster, but
///              its threads spin for 0.1 s after each call, beside whatever runs next.
///              Distributions build it without cblas_sbgemm, its product of bf16
/// Shapes       row-major, any extents and leading dimensions
/// Work         2 m n k flop
/// Launch       one parallel loop of the stream; the library is set to one thread
/// Accuracy     that of the library; eps (sqrt(k) + 2) w for random data
#include "device/host/parallel.hpp"
#include "gemm/gemm_parts.hpp"
#include "gemm/vendor/gemm_library.hpp"
#include "vendor/blas.hpp"
#include "vendor/cblas.hpp"

namespace quadrille::kernels::gemm {
namespace {

/// Rows i and columns j of the result.
template <class T, class Function>
void multiply_part(Function* function, Problem const& p, core::Range i, core::Range j) {
  if (i.count == 0 || j.count == 0) return;
  auto const narrow = [](std::int64_t x) { return static_cast<int>(x); };
  // To BLAS a leading dimension of 0 is an error, also where a matrix is empty.
  auto const ld = [&](device::MatrixView const& x) { return narrow(x.ld > 0 ? x.ld : 1); };
  function(CblasRowMajor, p.transpose_a ? CblasTrans : CblasNoTrans,
           p.transpose_b ? CblasTrans : CblasNoTrans, narrow(i.count), narrow(j.count),
           narrow(p.k()), static_cast<T>(p.alpha),
           p.a.as<T>() + (p.transpose_a ? i.first : i.first * p.a.ld), ld(p.a),
           p.b.as<T>() + (p.transpose_b ? j.first * p.b.ld : j.first), ld(p.b),
           static_cast<T>(p.beta), p.c.as<T>() + i.first * p.c.ld + j.first, ld(p.c));
}

template <class T, class Function>
void multiply(Function* function, Problem const& p, device::StreamView stream) {
  // BLAS blocks its rows and columns by powers of two.
  Parts const parts = cut(p.m(), p.n(), device::parallel_threads(stream), 16, 16);
  blas::use_threads(1);
  device::parallel_for(stream, parts.count(), [=](std::int64_t part) {
    multiply_part<T>(function, p, parts.rows_of(part), parts.cols_of(part));
  });
}

void multiply_whole(Problem const& p, device::StreamView stream) {
  stream.run([p] {
    core::Range const rows{0, p.m()}, cols{0, p.n()};
    if (p.c.type == core::DataType::f64) {
      multiply_part<double>(cblas_dgemm, p, rows, cols);
    } else {
      multiply_part<float>(cblas_sgemm, p, rows, cols);
    }
  });
  stream.synchronize();
}

void launch(Problem const& problem, device::StreamView stream) {
  bool const wide = problem.c.type == core::DataType::f64;
  stream.run([problem, stream, wide] {
    if (wide) {
      multiply<double>(cblas_dgemm, problem, stream);
    } else {
      multiply<float>(cblas_sgemm, problem, stream);
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const vendor_host{
    {.name = "vendor",
     .role = Role::vendor,
     .where = Where::host,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.max_extent = kMaxInt, .max_ld = kMaxInt},
     .source = QUADRILLE_BLAS,
     .summary = "cblas_dgemm and cblas_sgemm, a part of C for each thread"},
    launch};

extern constinit Library<Problem> const blas_library{.plain = multiply_whole};

}  // namespace quadrille::kernels::gemm
