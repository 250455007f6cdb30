// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reduction by CUB, and its products by cuBLAS too: the bar on a GPU, whichever is faster.
///
///   s = sum x[i], sum x[i] y[i], sum x[i]^2, min x[i] or max x[i]
///
/// Technique    vendor: cub::DeviceReduce for every operation, its minimum and maximum with operators
///              that keep a NaN. vendor_blas: cublasDdot, Sdot, Dnrm2, Snrm2; results in f32 and roots
///              a second, tiny kernel turns into the value of the operation
/// Shapes       x, y: n contiguous elements
/// Work         n s bytes read (2 n s for dot)
/// Launch       the library's; one cuBLAS handle per stream, made by its first launch, which takes
///              long and allocates: the runner's warm-up. Never destroyed. nvcc alone compiles
///              them: the interpreter does not know them
/// Accuracy     that of the libraries, within 4 eps sqrt(n) sum|x y| for uniform data
#include "reduction/reduction_device.cuh"

#ifdef __CUDACC__
#include "vendor/cublas.hpp"

#include <cub/device/device_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
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

// CUB's own minimum and maximum lose a NaN.
struct Minimum {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return b < a || b != b ? b : a;
  }
};
struct Maximum {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return b > a || b != b ? b : a;
  }
};

template <class T, class Acc>
struct Product {
  T const* x;
  T const* y;
  __host__ __device__ Acc operator()(std::int64_t i) const {
    return static_cast<Acc>(x[i]) * static_cast<Acc>(y[i]);
  }
};

template <class Acc>
struct Square {
  template <class T>
  __host__ __device__ Acc operator()(T x) const {
    return static_cast<Acc>(x) * static_cast<Acc>(x);
  }
};

template <class Input, class Join, class Transform, class Acc>
void reduce(Problem const& p, Input input, Join join_two, Transform transform, Acc start_value,
            device::StreamView stream) {
  // CUB fails where that is too little; a query first would take as long as the launch.
  std::size_t bytes = p.scratch_bytes - kCounterBytes;
  QUAD_CUDA(cub::DeviceReduce::TransformReduce(partials_of<void>(p), bytes, input, p.result, p.n,
                                               join_two, transform, start_value,
                                               device::cuda_stream(stream)));
}

template <class T, class Acc>
void reduce(Problem const& p, device::StreamView stream) {
  using Same = ::cuda::std::identity;
  using Plus = ::cuda::std::plus<>;
  auto const* x = first_of<T>(p);
  switch (p.operation) {
    case Operation::sum: return reduce(p, x, Plus{}, Same{}, Acc{0}, stream);
    case Operation::min: return reduce(p, x, Minimum{}, Same{}, start<Operation::min, T>(), stream);
    case Operation::max: return reduce(p, x, Maximum{}, Same{}, start<Operation::max, T>(), stream);
    case Operation::norm2: return reduce(p, x, Plus{}, Square<Acc>{}, Acc{0}, stream);
    case Operation::dot:
      return reduce(p, thrust::counting_iterator<std::int64_t>{0}, Plus{},
                    Product<T, Acc>{x, static_cast<T const*>(p.y)}, Acc{0}, stream);
  }
}

void launch_cub(Problem const& problem, device::StreamView stream) {
  require_scratch(problem);
  if (problem.type == core::DataType::f64) return reduce<double, double>(problem, stream);
  if (problem.accumulator == core::DataType::f64) return reduce<float, double>(problem, stream);
  reduce<float, float>(problem, stream);
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
void reduce_by_blas(Problem const& p, device::StreamView stream) {
  static Blas const blas;
  cublasHandle_t const handle = blas.library.handle(stream);
  bool const dot = p.operation == Operation::dot;
  T* value = partials_of<T>(p);
  if constexpr (std::is_same_v<T, double>) {
    if (dot) value = p.result;
  }
  // Other operations share the handle and have their scalars on the host.
  blas.library.check(blas.set_pointer_mode(handle, CUBLAS_POINTER_MODE_DEVICE), "cuBLAS");
  blas.library.check(call_blas<T>(blas, handle, p, value), "cublas dot or nrm2");
  blas.library.check(blas.set_pointer_mode(handle, CUBLAS_POINTER_MODE_HOST), "cuBLAS");
  if (dot && std::is_same_v<T, double>) return;
  if (dot) {
    QUAD_LAUNCH((reduction_vendor_result_kernel<false, T>), dim3(1), dim3(1), 0, stream, value,
                p.result);
  } else {
    QUAD_LAUNCH((reduction_vendor_result_kernel<true, T>), dim3(1), dim3(1), 0, stream, value,
                p.result);
  }
}

void launch_blas(Problem const& problem, device::StreamView stream) {
  require_scratch(problem);
  bool const wide = problem.type == core::DataType::f64;
  wide ? reduce_by_blas<double>(problem, stream) : reduce_by_blas<float>(problem, stream);
}

#endif

std::string products_only(Problem const& problem) {
  bool const is_blas = problem.operation == Operation::dot || problem.operation == Operation::norm2;
  return is_blas ? plain_only(problem) : "has dot and norm2 only";
}

}  // namespace

extern constinit Variant<Problem> const vendor_cuda{
    {.name = "vendor",
     .role = Role::vendor,
     .where = Where::cuda,
     .types = kFloatReductionTypes,
     .needs = {.other = "not reproducible"},
     .source = "CUB",
     .summary = "DeviceReduce; minimum and maximum with operators that keep a NaN"},
    QUAD_TOOLKIT_LAUNCH(launch_cub),
    {.unsupported = plain_only, .notes = {.chain = chain_of_grid<128>}}};

extern constinit Variant<Problem> const vendor_blas_cuda{
    {.name = "vendor_blas",
     .role = Role::vendor,
     .where = Where::cuda,
     .types = {{core::DataType::f64, core::Compute::f64, core::DataType::f64},
               {core::DataType::f32, core::Compute::f32, core::DataType::f64}},
     .needs = {.other = "dot or norm2, not reproducible"},
     .source = "cuBLAS",
     .summary = "cublasDdot, cublasDnrm2 and those of f32"},
    QUAD_TOOLKIT_LAUNCH(launch_blas),
    {.unsupported = products_only, .notes = {.chain = chain_of_grid<128>, .squares_root = true}}};

}  // namespace quadrille::kernels::reduction
