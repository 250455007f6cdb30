// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// The phases around an element-wise operation: the start values and the check.
///
///   x[i] = value;   wrong = number of i with out[i] != value
///
/// Technique    one element per thread, as the operation between them, so that data never leave the
///              device; the check writes for wrong elements alone, where the DCU programming
///              tutorial, quadFunc, has the host check
/// Shapes       x, out: n contiguous elements of f64 or f32, n <= 256 (2^31 - 1)
/// Work         n s bytes written; n s bytes read
/// Launch       256 threads per block, n / 256 blocks
/// Accuracy     exact; NaN is wrong
#include "vector/vector_operations.cuh"

namespace quadrille::kernels::vector {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads) vector_init_kernel(T* x, std::int64_t n, T value) {
  std::int64_t const i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) x[i] = value;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    vector_validate_kernel(T const* out, std::int64_t n, T value, unsigned long long* wrong) {
  std::int64_t const i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  // Written so that NaN is wrong.
  if (i < n && !(out[i] == value)) atomicAdd(wrong, 1ULL);
}

void require_type(core::DataType type) {
  QUAD_REQUIRE(type == core::DataType::f64 || type == core::DataType::f32,
               "vector: takes f64 and f32 only");
}

}  // namespace

void launch_init(core::DataType type, void* x, std::int64_t n, double value,
                 device::StreamView stream) {
  require_type(type);
  if (n == 0) return;
  dim3 const blocks{blocks_for(n, kThreads)};
  if (type == core::DataType::f64) {
    QUAD_LAUNCH((vector_init_kernel<double>), blocks, dim3(kThreads), 0, stream,
                static_cast<double*>(x), n, value);
  } else {
    QUAD_LAUNCH((vector_init_kernel<float>), blocks, dim3(kThreads), 0, stream,
                static_cast<float*>(x), n, value);
  }
}

void launch_validate(core::DataType type, void const* out, std::int64_t n, double value,
                     std::uint64_t* wrong, device::StreamView stream) {
  require_type(type);
  if (n == 0) return;
  dim3 const blocks{blocks_for(n, kThreads)};
  auto* const count = reinterpret_cast<unsigned long long*>(wrong);
  if (type == core::DataType::f64) {
    QUAD_LAUNCH((vector_validate_kernel<double>), blocks, dim3(kThreads), 0, stream,
                static_cast<double const*>(out), n, value, count);
  } else {
    QUAD_LAUNCH((vector_validate_kernel<float>), blocks, dim3(kThreads), 0, stream,
                static_cast<float const*>(out), n, value, count);
  }
}

}  // namespace quadrille::kernels::vector
