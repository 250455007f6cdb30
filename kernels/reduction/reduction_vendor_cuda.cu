// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reduction by CUB and cuBLAS: the baseline on a GPU.
///
///   s = sum x[i], sum x[i] y[i], sum x[i]^2, min x[i] or max x[i]
///
/// Technique    cub::DeviceReduce for sum, minimum and maximum, and for products of f32 in f64;
///              cublasDdot, Sdot, Dnrm2, Snrm2 for the rest, whose results and roots a second, tiny
///              kernel turns into the value of the operation
/// Shapes       x, y: n contiguous elements
/// Types        f64 in f64; f32 in f32 or f64
/// Work         n s bytes read (2 n s for dot)
/// Constraints  no i32; not reproducible; nvcc only (simt: no)
/// Launch       the library's; one cuBLAS handle per stream, made by its first launch, which takes
///              long and allocates: the runner's warm-up. Never destroyed
/// Accuracy     that of the libraries, within 4 eps sqrt(n) sum|x y| for uniform data
/// Source       CUB, cuBLAS
#include "reduction/reduction_device.cuh"

#ifdef __CUDACC__
#include "common/cublas.hpp"

#include <cub/device/device_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#endif

namespace quadrille::kernels::reduction {
namespace {

#ifdef __CUDACC__

/// The functions of cuBLAS that write their result to device memory here.
struct Blas {
  Cublas& library = Cublas::instance();
  decltype(cublasSetPointerMode_v2)* set_pointer_mode =
      library.get<decltype(cublasSetPointerMode_v2)>("cublasSetPointerMode_v2");
  decltype(cublasDdot_v2_64)* ddot = library.get<decltype(cublasDdot_v2_64)>("cublasDdot_v2_64");
  decltype(cublasSdot_v2_64)* sdot = library.get<decltype(cublasSdot_v2_64)>("cublasSdot_v2_64");
  decltype(cublasDnrm2_v2_64)* dnrm2 =
      library.get<decltype(cublasDnrm2_v2_64)>("cublasDnrm2_v2_64");
  decltype(cublasSnrm2_v2_64)* snrm2 =
      library.get<decltype(cublasSnrm2_v2_64)>("cublasSnrm2_v2_64");
};

template <bool kSquare, class T>
__global__ void reduction_vendor_result_kernel(T const* value, double* result) {
  auto const wide = static_cast<double>(*value);
  *result = kSquare ? wide * wide : wide;
}

struct Product {
  float const* x;
  float const* y;
  __host__ __device__ double operator()(std::int64_t i) const {
    return static_cast<double>(x[i]) * static_cast<double>(y[i]);
  }
};

template <class Input, class Join, class Acc>
void launch_cub(Problem const& p, Input input, Join join_two, Acc start_value,
                device::StreamView stream) {
  // CUB fails where that is too little; a query first would take as long as the launch.
  std::size_t bytes = p.scratch_bytes - kCounterBytes;
  QUAD_CUDA(cub::DeviceReduce::Reduce(partials_of<void>(p), bytes, input, p.result, p.n, join_two,
                                      start_value, device::cuda_stream(stream)));
}

template <class T, class Acc>
void launch_plain(Problem const& p, device::StreamView stream) {
  auto const* x = first_of<T>(p);
  switch (p.operation) {
    case Operation::min:
      return launch_cub(p, x, ::cuda::minimum<>{}, start<Operation::min, T>(), stream);
    case Operation::max:
      return launch_cub(p, x, ::cuda::maximum<>{}, start<Operation::max, T>(), stream);
    default: return launch_cub(p, x, ::cuda::std::plus<>{}, Acc{0}, stream);
  }
}

template <class T>
cublasStatus_t call_blas(Blas const& blas, cublasHandle_t handle, Problem const& p, T* value) {
  auto const* x = first_of<T>(p);
  auto const* y = static_cast<T const*>(p.y);
  bool const dot = p.operation == Operation::dot;
  if constexpr (std::is_same_v<T, double>) {
    return dot ? blas.ddot(handle, p.n, x, 1, y, 1, value) : blas.dnrm2(handle, p.n, x, 1, value);
  } else {
    return dot ? blas.sdot(handle, p.n, x, 1, y, 1, value) : blas.snrm2(handle, p.n, x, 1, value);
  }
}

template <class T>
void launch_blas(Problem const& p, device::StreamView stream) {
  static Blas const blas;
  cublasHandle_t const handle = blas.library.handle(stream);
  T* const value = partials_of<T>(p);
  // Other operations share the handle and have their scalars on the host.
  blas.library.check(blas.set_pointer_mode(handle, CUBLAS_POINTER_MODE_DEVICE), "cuBLAS");
  blas.library.check(call_blas<T>(blas, handle, p, value), "cublas dot or nrm2");
  blas.library.check(blas.set_pointer_mode(handle, CUBLAS_POINTER_MODE_HOST), "cuBLAS");
  if (p.operation == Operation::dot) {
    QUAD_LAUNCH((reduction_vendor_result_kernel<false, T>), dim3(1), dim3(1), 0, stream, value,
                p.result);
  } else {
    QUAD_LAUNCH((reduction_vendor_result_kernel<true, T>), dim3(1), dim3(1), 0, stream, value,
                p.result);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  require_scratch(problem);
  bool const products =
      problem.operation == Operation::dot || problem.operation == Operation::norm2;
  bool const wide = problem.accumulator == core::DataType::f64;
  if (problem.type == core::DataType::f64) {
    return products ? launch_blas<double>(problem, stream)
                    : launch_plain<double, double>(problem, stream);
  }
  if (products && wide) {
    auto const* x = first_of<float>(problem);
    Product const product{
        x, problem.operation == Operation::dot ? static_cast<float const*>(problem.y) : x};
    return launch_cub(
        problem,
        thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>{0}, product),
        ::cuda::std::plus<>{}, 0.0, stream);
  }
  if (products) return launch_blas<float>(problem, stream);
  wide ? launch_plain<float, double>(problem, stream) : launch_plain<float, float>(problem, stream);
}

#endif

}  // namespace

extern constinit Variant<Problem> const vendor_cuda{
    {.name = "vendor",
     .role = Role::vendor,
     .where = Where::cuda,
     .types = kFloatReductionTypes,
     .needs = {.other = "not reproducible"},
     .source = "CUB, cuBLAS",
     .summary = "DeviceReduce; cublasDdot, cublasDnrm2"},
    QUAD_TOOLKIT_LAUNCH(launch),
    {.unsupported = plain_only, .notes = {.chain = chain_of_grid<128>}}};

}  // namespace quadrille::kernels::reduction
