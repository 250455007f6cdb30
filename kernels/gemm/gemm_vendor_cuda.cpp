// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product by cuBLAS: the bar on a GPU.
///
///   C = alpha op(A) op(B) + beta C
///
/// Technique    cublasSgemm and cublasDgemm on the transposed product C' = op(B)' op(A)', since
///              cuBLAS stores by columns. CUBLAS_PEDANTIC_MATH keeps f32 on the FP32 units: no
///              TF32, nothing emulated
/// Shapes       row-major, any extents and leading dimensions
/// Types        f64, f32
/// Work         2 m n k flop
/// Constraints  extents and leading dimensions below 2^31
/// Launch       one handle per stream, made by its first launch, which takes long and allocates:
///              the runner's warm-up. Never destroyed
/// Accuracy     that of the library; eps (sqrt(k) + 2) w for random data
/// Source       cuBLAS
#include "gemm/gemm.hpp"

#ifdef QUADRILLE_CUDA_TOOLKIT
#include "common/cublas.hpp"

#include <algorithm>
#endif

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUADRILLE_CUDA_TOOLKIT

template <class T, class Function>
void multiply(Function* function, Problem const& p, device::StreamView stream) {
  Cublas& cublas = Cublas::instance();
  auto const narrow = [](std::int64_t x) { return static_cast<int>(x); };
  // To BLAS a leading dimension of 0 is an error, also where a matrix is empty.
  auto const ld = [&](device::MatrixView const& x) {
    return narrow(std::max<std::int64_t>(x.ld, 1));
  };
  auto const op = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  T const alpha = static_cast<T>(p.alpha);
  T const beta = static_cast<T>(p.beta);
  cublas.check(function(cublas.handle(stream), op(p.transpose_b), op(p.transpose_a), narrow(p.n()),
                        narrow(p.m()), narrow(p.k()), &alpha, p.b.as<T>(), ld(p.b), p.a.as<T>(),
                        ld(p.a), &beta, p.c.as<T>(), ld(p.c)),
               "gemm/vendor: gemm");
}

void launch(Problem const& problem, device::StreamView stream) {
  Cublas const& cublas = Cublas::instance();
  switch (problem.c.type) {
    case core::DataType::f64:
      return multiply<double>(cublas.get<decltype(cublasDgemm_v2)>("cublasDgemm_v2"), problem,
                              stream);
    case core::DataType::f32:
      return multiply<float>(cublas.get<decltype(cublasSgemm_v2)>("cublasSgemm_v2"), problem,
                             stream);
    default: core::fail("gemm/vendor: takes f64 and f32 only");
  }
}

#endif

}  // namespace

extern constinit Variant<Problem> const vendor_cuda{
    {.name = "vendor",
     .role = Role::vendor,
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.most_extent = kMostInt, .most_ld = kMostInt},
     .source = "cuBLAS",
     .summary = "cublasDgemm and cublasSgemm"},
    QUAD_TOOLKIT_LAUNCH(launch)};

}  // namespace quadrille::kernels::gemm
