// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices on the FP16 or FP32 cores, an element of C for each thread.
///
///   C = alpha A B + beta C
///
/// Technique    a block of 16 x 16 threads computes 16 x 16 elements of C; a thread reads a row of A
///              and a column of B from global memory and adds up in the type of the accumulator,
///              which is f16 or f32: what the tensor cores are compared with
/// Shapes       row-major, B as it is or transposed, any extents and leading dimensions
/// Work         2 m n k flop
/// Launch       256 threads, nothing in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
#include "gemm/tensor_cores/gemm_half_rows.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr int kBlock = 16;  // rows and columns

#ifdef QUAD_KERNELS

__device__ inline void add_product(__half& sum, __half a, __half b) { sum = __hfma(a, b, sum); }
__device__ inline void add_product(float& sum, __half a, __half b) {
  sum += __half2float(a) * __half2float(b);
}

template <class T, class Sum, bool kTransposedB>
__global__ void __launch_bounds__(kBlock* kBlock) gemm_simt_naive_kernel(HalfOperands<T> p) {
  int const row = static_cast<int>(blockIdx.y * kBlock + threadIdx.y);
  int const col = static_cast<int>(blockIdx.x * kBlock + threadIdx.x);
  if (row >= p.m || col >= p.n) return;
  T const* const a = p.a + row * p.lda;
  T const* const b = p.b + (kTransposedB ? col * p.ldb : col);
  Vector<Sum, 1> sum{};
  for (int q = 0; q < p.k; ++q) add_product(sum.x[0], a[q], b[kTransposedB ? q : q * p.ldb]);
  if constexpr (sizeof(Sum) == 4) {
    if (p.is_c_f32) return update<float>(p, row, col, sum);
  }
  update<T>(p, row, col, sum);
}

void launch(Problem const& problem, device::StreamView stream) {
  with_types(problem, [&]<class T, class Sum, bool kTransposedB>() {
    auto const p = half_operands<T>(problem);
    dim3 const grid(static_cast<unsigned>(divide_up(p.n, kBlock)),
                    static_cast<unsigned>(divide_up(p.m, kBlock)));
    QUAD_LAUNCH((gemm_simt_naive_kernel<T, Sum, kTransposedB>), grid, dim3(kBlock, kBlock), 0,
                stream, p);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const simt_naive{
    {.name = "simt_naive",
     .where = Where::cuda,
     .types = kHalfTypes,
     .needs = {.layouts = {Layout::nn, Layout::nt},
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * kBlock},
     .source = "after cuda_hgemm 2023",
     .summary = "no tensor cores; an element of C for each thread"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::gemm
