// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose by BLAS: the bar on the host.
///
///   out = in^T
///
/// Technique    the rows of the output are cut into as many parts as the stream has threads, and
///              each thread has cblas_domatcopy or cblas_somatcopy write its part; the library
///              itself uses one thread
/// Shapes       row-major, any extents and leading dimensions, not overlapping
/// Work         2 m n s bytes, and the output is read before it is written
/// Launch       one parallel loop of the stream
/// Accuracy     exact: the library multiplies by 1
#include "device/host/parallel.hpp"
#include "transpose/transpose_library.hpp"
#include "vendor/blas.hpp"
#include "vendor/cblas.hpp"

#include <fmt/format.h>

#include <type_traits>

namespace quadrille::kernels::transpose {
namespace {

/// An extension of BLAS that OpenBLAS has, and BLIS and the reference have not.
template <class T>
auto* omatcopy() {
  using Function =
      void(decltype(CblasRowMajor), decltype(CblasTrans), int, int, T, T const*, int, T*, int);
  static auto* const function =
      blas::find<Function>(std::is_same_v<T, double> ? "cblas_domatcopy" : "cblas_somatcopy");
  return function;
}

/// These columns of `in`.
template <class T>
void transpose_part(Problem const& p, core::Range cols) {
  if (p.in.rows == 0 || cols.count == 0) return;
  auto const narrow = [](std::int64_t x) { return static_cast<int>(x); };
  omatcopy<T>()(CblasRowMajor, CblasTrans, narrow(p.in.rows), narrow(cols.count), T{1},
                p.in.as<T>() + cols.first, narrow(p.in.ld), p.out.as<T>() + cols.first * p.out.ld,
                narrow(p.out.ld));
}

template <class T>
void transpose(Problem const& p, device::StreamView stream) {
  std::int64_t const parts = device::parallel_threads(stream);
  device::parallel_for(stream, parts, [=](std::int64_t part) {
    transpose_part<T>(p, core::split_evenly(p.in.cols, parts, part));
  });
}

void transpose_whole(Problem const& p, device::StreamView stream) {
  stream.run([p] {
    if (p.in.type == core::DataType::f64) {
      transpose_part<double>(p, {0, p.in.cols});
    } else {
      transpose_part<float>(p, {0, p.in.cols});
    }
  });
  stream.synchronize();
}

void launch(Problem const& problem, device::StreamView stream) {
  bool const wide = problem.in.type == core::DataType::f64;
  stream.run([problem, stream, wide] {
    if (wide) {
      transpose<double>(problem, stream);
    } else {
      transpose<float>(problem, stream);
    }
  });
}

std::string unsupported(Problem const&) {
  bool const is_there = omatcopy<double>() != nullptr && omatcopy<float>() != nullptr;
  return is_there ? "" : fmt::format("needs cblas_domatcopy, which {} lacks", blas::library());
}

}  // namespace

extern constinit Variant<Problem> const vendor_host{
    {.name = "vendor",
     .role = Role::vendor,
     .where = Where::host,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.max_extent = kMaxInt, .max_ld = kMaxInt, .other = "a BLAS that has omatcopy"},
     .source = QUADRILLE_BLAS,
     .summary = "cblas_domatcopy, cblas_somatcopy"},
    launch,
    {.unsupported = unsupported}};

extern constinit Library<Problem> const blas_library{.plain = transpose_whole};

}  // namespace quadrille::kernels::transpose
