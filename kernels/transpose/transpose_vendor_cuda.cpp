// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose by cuBLAS: the bar on a GPU.
///
///   out = in^T
///
/// Technique    cublasDgeam and cublasSgeam, 1 in^T + 0 out, which does not read out. cuBLAS stores
///              by columns, so that a row-major m x n matrix is an n x m one to it
/// Shapes       row-major, any extents and leading dimensions, not overlapping
/// Work         2 m n s bytes
/// Launch       one handle per stream, made by its first launch, which takes long and allocates:
///              the runner's warm-up
/// Accuracy     exact: the library multiplies by 1
#include "transpose/transpose_library.hpp"

#ifdef QUADRILLE_CUDA_TOOLKIT
#include "vendor/cublas.hpp"

#include <algorithm>
#endif

namespace quadrille::kernels::transpose {
namespace {

#ifdef QUADRILLE_CUDA_TOOLKIT

template <class T, class Function>
void transpose(Function* geam, Problem const& p, cublasHandle_t handle) {
  if (p.in.rows == 0 || p.in.cols == 0) return;
  auto const narrow = [](std::int64_t x) { return static_cast<int>(x); };
  T const one = 1;
  T const zero = 0;
  Cublas::instance().check(geam(handle, CUBLAS_OP_T, CUBLAS_OP_N, narrow(p.in.rows),
                                narrow(p.in.cols), &one, p.in.as<T>(), narrow(p.in.ld), &zero,
                                p.out.as<T>(), narrow(p.out.ld), p.out.as<T>(), narrow(p.out.ld)),
                           "transpose/vendor: geam");
}

void transpose_by_type(Problem const& problem, cublasHandle_t handle) {
  Cublas const& cublas = Cublas::instance();
  if (problem.in.type == core::DataType::f64) {
    return transpose<double>(cublas.get<decltype(cublasDgeam)>("cublasDgeam"), problem, handle);
  }
  transpose<float>(cublas.get<decltype(cublasSgeam)>("cublasSgeam"), problem, handle);
}

void launch(Problem const& problem, device::StreamView stream) {
  transpose_by_type(problem, Cublas::instance().handle(stream));
}

void transpose_afresh(Problem const& problem, device::StreamView stream) {
  Cublas::instance().with_fresh_handle(
      stream, [&](cublasHandle_t handle) { transpose_by_type(problem, handle); });
}

#endif

}  // namespace

extern constinit Variant<Problem> const vendor_cuda{
    {.name = "vendor",
     .role = Role::vendor,
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.max_extent = kMaxInt, .max_ld = kMaxInt},
     .source = "cuBLAS",
     .summary = "cublasDgeam, cublasSgeam"},
    QUAD_TOOLKIT_LAUNCH(launch)};

extern constinit Library<Problem> const cublas{.plain = QUAD_TOOLKIT_LAUNCH(transpose_afresh)};

}  // namespace quadrille::kernels::transpose
