// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Element-wise operations with 16-byte accesses.
///
///   out[i] = x[i] + y[i];   out[i] = (a x[i] + b) x[i] + c
///
/// Technique    16 bytes of each vector per thread: a quarter of the instructions (f32), and a
///              warp moves 512 B with each. Loads and stores are streaming ones
/// Shapes       x, y, out: n contiguous elements; the last n % (16 / s) by the first threads
/// Work         add: n flop, 3 n s bytes; quadratic: 4 n flop, 2 n s bytes
/// Launch       256 threads per block, 4096 bytes of each vector per block
/// Accuracy     add: 1/2 ulp; quadratic: 2.5 eps (|a| x^2 + |b x| + |c|)
#include "common/ptx/copies.cuh"
#include "vector/vector_operations.cuh"

namespace quadrille::kernels::vector {
namespace {

constexpr int kThreads = 256;

#ifdef QUAD_KERNELS

/// 16 bytes.
template <class T>
struct Vector;
template <>
struct Vector<float> {
  using Type = float4;
  template <class Operator>
  static __device__ float4 apply(float4 x, float4 y, Operator f) {
    return make_float4(f(x.x, y.x), f(x.y, y.y), f(x.z, y.z), f(x.w, y.w));
  }
};
template <>
struct Vector<double> {
  using Type = double2;
  template <class Operator>
  static __device__ double2 apply(double2 x, double2 y, Operator f) {
    return make_double2(f(x.x, y.x), f(x.y, y.y));
  }
};

template <class T, class Operator>
__global__ void __launch_bounds__(kThreads)
    vector_vectorized_kernel(T const* x, T const* y, T* out, std::int64_t n, Operator operation) {
  using Wide = typename Vector<T>::Type;
  constexpr int kWide = sizeof(Wide) / sizeof(T);
  std::int64_t const v = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  std::int64_t const whole = n / kWide;

  if (v < whole) {
    Wide const first = ptx::load_streaming(reinterpret_cast<Wide const*>(x) + v);
    Wide second{};
    if constexpr (Operator::kReadsY) {
      second = ptx::load_streaming(reinterpret_cast<Wide const*>(y) + v);
    }
    ptx::store_streaming(reinterpret_cast<Wide*>(out) + v,
                         Vector<T>::apply(first, second, operation));
  }
  // What is left is less than one access.
  if (v < n - whole * kWide) compute_element(x, y, out, whole * kWide + v, operation);
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.n == 0) return;
  auto const each = static_cast<std::int64_t>(kThreads * 16 / core::size_of(problem.type));
  unsigned const blocks = blocks_for(problem.n, each);
  with_operation(problem,
                 [&]<class T, class Operator>(T const* x, T const* y, T* out, Operator operation) {
                   QUAD_LAUNCH((vector_vectorized_kernel<T, Operator>), dim3(blocks),
                               dim3(kThreads), 0, stream, x, y, out, problem.n, operation);
                 });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const vectorized{
    {.name = "vectorized",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.alignment = 16, .max_extent = kMaxBlocks * kThreads * 2},
     .preference = 20,
     .source = "own",
     .summary = "16 bytes per thread, streaming"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::vector
