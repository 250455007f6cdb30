// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/ptx/clusters.cuh"
#include "common/ptx/threads.cuh"
#include "common/simt.cuh"
#include "simt/language_kernels.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace quadrille::test {
namespace {

__global__ void collectives_kernel(unsigned* out) {
  unsigned const lane = threadIdx.x;
  unsigned const value = 100 + lane;
  unsigned const odd_lanes = 0xAAAAAAAA;
  auto const keep = [&](int row, unsigned result) {
    out[static_cast<unsigned>(row) * 32 + lane] = result;
  };
  keep(0, __shfl_sync(~0U, value, 7));
  keep(1, __shfl_sync(~0U, value, static_cast<int>(lane + 3), 8));
  keep(2, __shfl_up_sync(~0U, value, 3));
  keep(3, __shfl_up_sync(~0U, value, 3, 8));
  keep(4, __shfl_down_sync(~0U, value, 5));
  keep(5, __shfl_down_sync(~0U, value, 5, 16));
  keep(6, __shfl_xor_sync(~0U, value, 9));
  keep(7, __shfl_xor_sync(~0U, value, 20, 8));
  keep(8, __ballot_sync(~0U, lane % 3 == 0));
  keep(9, static_cast<unsigned>(__any_sync(~0U, lane == 31)));
  keep(10, static_cast<unsigned>(__all_sync(~0U, lane != 31)));
  keep(11, __match_any_sync(~0U, lane / 5));
  int all = 0;
  unsigned const matching = __match_all_sync(~0U, 3.5, &all);
  keep(12, matching + static_cast<unsigned>(all));
  keep(13, __reduce_add_sync(~0U, value));
  keep(14, static_cast<unsigned>(__reduce_min_sync(~0U, 10 - static_cast<int>(lane))));
  keep(15, __reduce_xor_sync(~0U, value));
  keep(16, static_cast<unsigned>(__shfl_xor_sync(~0U, 1.5 * lane, 1) * 2));
  unsigned result = 0;
  if (lane % 2 == 1) result = __shfl_sync(odd_lanes, value, static_cast<int>(lane ^ 2));
  keep(17, result);
  keep(18, static_cast<unsigned>(__syncthreads_count(lane < 11) +
                                 100 * (__syncthreads_or(lane == 4) != 0) +
                                 1000 * __syncthreads_and(lane < 31)));
}

__global__ void reductions_kernel(unsigned const* words, unsigned* out) {
  unsigned const lane = threadIdx.x;
  unsigned const word = words[lane];
  int const number = static_cast<int>(word);
  auto const reduce = [&](unsigned mask) {
    unsigned const results[kReductions] = {
        static_cast<unsigned>(__reduce_add_sync(mask, number)),
        static_cast<unsigned>(__reduce_min_sync(mask, number)),
        static_cast<unsigned>(__reduce_max_sync(mask, number)),
        __reduce_add_sync(mask, word),
        __reduce_min_sync(mask, word),
        __reduce_max_sync(mask, word),
        __reduce_and_sync(mask, word),
        __reduce_or_sync(mask, word),
        __reduce_xor_sync(mask, word),
    };
    for (unsigned row = 0; row < kReductions; ++row) out[row * 32 + lane] = results[row];
  };
  if (lane % 2 == 1) {
    reduce(0xAAAAAAAA);
  } else {
    reduce(0x55555555);
  }
}

__global__ void atomics_kernel(Words* words) {
  int const i = static_cast<int>(threadIdx.x);
  unsigned const u = threadIdx.x;
  atomicAdd(&words->add, i);
  atomicSub(&words->sub, i);
  atomicExch(&words->exchange, 77);
  atomicMin(&words->min, 3 - i);
  atomicMax(&words->max, 3 + i);
  atomicAnd(&words->bit_and, ~u);
  atomicOr(&words->bit_or, u);
  atomicXor(&words->bit_xor, u << 1);
  atomicInc(&words->increment, 9U);
  atomicDec(&words->decrement, 9U);
  unsigned seen = atomicOr(&words->cas, 0U), before = 0;
  do {
    before = seen;
    seen = atomicCAS(&words->cas, before, before + 2);
  } while (seen != before);
  atomicAdd(&words->wide, 1ULL << 40);
  atomicAdd(&words->real, 0.5F);
  atomicAdd(&words->wide_real, 0.25);
}

__global__ void intrinsics_kernel(unsigned x, unsigned y, unsigned* out) {
  unsigned long long const wide = static_cast<unsigned long long>(x) << 32 | y;
  int i = 0;
  out[i++] = static_cast<unsigned>(__popc(x));
  out[i++] = static_cast<unsigned>(__popcll(wide));
  out[i++] = static_cast<unsigned>(__clz(static_cast<int>(x)));
  out[i++] = static_cast<unsigned>(__clz(0));
  out[i++] = static_cast<unsigned>(__clzll(static_cast<long long>(wide)));
  out[i++] = static_cast<unsigned>(__ffs(static_cast<int>(x)));
  out[i++] = static_cast<unsigned>(__ffs(0));
  out[i++] = __brev(x);
  out[i++] = static_cast<unsigned>(__brevll(wide));
  out[i++] = __umulhi(x, y);
  out[i++] = static_cast<unsigned>(__umul64hi(wide, wide));
  out[i++] = __byte_perm(x, y, 0x7A10);
  out[i++] = __funnelshift_l(x, y, 13);
  out[i++] = __funnelshift_r(x, y, 13);
  out[i++] = __float_as_uint(__fmaf_rn(1.5F, 2.0F, 0.25F));
  out[i++] = static_cast<unsigned>(__double_as_longlong(rsqrt(16.0)) >> 32);
  out[i++] = __float_as_uint(
      __half2float(__hfma(__float2half(1.5F), __float2half(3.0F), __float2half(-0.25F))));
  out[i++] = __float_as_uint(__bfloat162float(
      __hfma(__float2bfloat16(1.5F), __float2bfloat16(3.0F), __float2bfloat16(-0.25F))));
}

__global__ void trigonometry_kernel(double const* x, double* out) {
  unsigned const i = threadIdx.x;
  double sine = 0, cosine = 0;
  sincospi(x[i], &sine, &cosine);
  out[3 * i] = sine - cosine;
  out[3 * i + 1] = sinpi(x[i]);
  out[3 * i + 2] = cospi(x[i]);
}

__global__ void clusters_kernel(unsigned* out) {
  unsigned const block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  dim3 const extents = ptx::cluster_extents();
  if (threadIdx.x != 0) return;
  out[4 * block] = ptx::cluster_rank();
  out[4 * block + 1] = extents.x;
  out[4 * block + 2] = extents.y;
  out[4 * block + 3] = extents.z;
}

__global__ void increment_kernel(int const* from, int* to) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
  to[i] = from[i] + 1;
}

}  // namespace

void launch_collectives(unsigned* out, device::StreamView stream) {
  QUAD_LAUNCH((collectives_kernel), 1, 32, 0, stream, out);
}
void launch_reductions(unsigned const* words, unsigned* out, device::StreamView stream) {
  QUAD_LAUNCH((reductions_kernel), 1, 32, 0, stream, words, out);
}
void launch_atomics(Words* words, device::StreamView stream) {
  QUAD_LAUNCH((atomics_kernel), 2, 32, 0, stream, words);
}
void launch_intrinsics(unsigned x, unsigned y, unsigned* out, device::StreamView stream) {
  QUAD_LAUNCH((intrinsics_kernel), 1, 1, 0, stream, x, y, out);
}
void launch_trigonometry(double const* x, int n, double* out, device::StreamView stream) {
  QUAD_LAUNCH((trigonometry_kernel), 1, static_cast<unsigned>(n), 0, stream, x, out);
}
void launch_clusters(kernels::LaunchShape const& shape, unsigned* out, device::StreamView stream) {
  QUAD_LAUNCH(clusters_kernel, shape, stream, out);
}
void launch_increments(int* a, int* b, int n, int times, device::StreamView stream) {
  constexpr unsigned kThreads = 64;
  kernels::LaunchShape const shape{
      .grid = static_cast<unsigned>(n) / kThreads, .block = kThreads, .overlaps_previous = true};
  for (int i = 0; i < times; ++i) {
    QUAD_LAUNCH(increment_kernel, shape, stream, i % 2 == 0 ? a : b, i % 2 == 0 ? b : a);
  }
}

}  // namespace quadrille::test
