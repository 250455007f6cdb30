// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/ptx/copies.cuh"
#include "kernels/ptx/copies_kernels.hpp"

namespace quadrille::test {
namespace {

constexpr unsigned kWarp = 32;

template <int kBytes, bool kL2Line, bool kThroughL1 = (kBytes < 16)>
__global__ void ptx_cp_async_kernel(unsigned char const* from, unsigned char const* invalid_from,
                                    unsigned char* to, int from_shift, int to_shift) {
  QUAD_SHARED(unsigned char, copies, [2][kWarp * kBytes + 16]);
  int const i = static_cast<int>(threadIdx.x);
  from += from_shift;
  ptx::cp_async<kBytes, kL2Line, kThroughL1>(&copies[0][to_shift + kBytes * i], from + kBytes * i);
  ptx::cp_async_commit();
  if (i % 3 == 0) {
    ptx::cp_async<kBytes, kL2Line, kThroughL1>(&copies[1][kBytes * i], invalid_from, false);
  } else {
    ptx::cp_async<kBytes, kL2Line, kThroughL1>(&copies[1][kBytes * i], from + kBytes * (32 + i),
                                               true);
  }
  ptx::cp_async_commit();
  ptx::cp_async_wait<1>();
  __syncthreads();
  // Another thread's copy.
  for (int j = 0; j < kBytes; ++j) {
    int const byte = kBytes * (31 - i) + j;
    to[byte] = copies[0][to_shift + byte];
  }
  if (kBytes == 16) {
    ptx::cp_async_wait_all();
  } else {
    ptx::cp_async_wait<0>();
  }
  __syncthreads();
  for (int j = 0; j < kBytes; ++j) {
    int const byte = kBytes * (31 - i) + j;
    to[32 * kBytes + byte] = copies[1][byte];
  }
}

template <int kBytes>
__global__ void ptx_cp_async_first_kernel(unsigned char const* from, unsigned char* to) {
  QUAD_SHARED(unsigned char, copies, [kWarp * kBytes]);
  int const i = static_cast<int>(threadIdx.x);
  int const bytes = i % (kBytes + 1);
  ptx::cp_async_first<kBytes>(&copies[kBytes * i], bytes > 0 ? from + kBytes * i : nullptr, bytes);
  ptx::cp_async_wait_all();
  for (int j = 0; j < kBytes; ++j) to[kBytes * i + j] = copies[kBytes * i + j];
}

template <class T>
__global__ void ptx_streaming_kernel(T const* from, T* to, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  ptx::prefetch_l2(from + i);
  ptx::prefetch_l1(from + i);
  T const value = i < n / 2 ? ptx::load_streaming(from + i) : ptx::load_evict_first(from + i);
  ptx::store_streaming(to + i, value);
}

}  // namespace

void launch_cp_async(CopySize size, unsigned char const* from, unsigned char const* invalid_from,
                     unsigned char* to, int from_shift, int to_shift, device::StreamView stream) {
  auto const kernel =
      size.bytes == 4   ? ptx_cp_async_kernel<4, false>
      : size.bytes == 8 ? ptx_cp_async_kernel<8, false>
      : size.through_l1
          ? (size.l2_line ? ptx_cp_async_kernel<16, true, true>
                          : ptx_cp_async_kernel<16, false, true>)
          : (size.l2_line ? ptx_cp_async_kernel<16, true> : ptx_cp_async_kernel<16, false>);
  QUAD_LAUNCH(kernel, 1, kWarp, 0, stream, from, invalid_from, to, from_shift, to_shift);
}

void launch_cp_async_first(int bytes, unsigned char const* from, unsigned char* to,
                           device::StreamView stream) {
  auto const kernel = bytes == 8 ? ptx_cp_async_first_kernel<8> : ptx_cp_async_first_kernel<16>;
  QUAD_LAUNCH(kernel, 1, kWarp, 0, stream, from, to);
}

void launch_streaming(int bytes, unsigned char const* from, unsigned char* to, int n,
                      device::StreamView stream) {
  auto const launch = [&]<class T>(T const*) {
    QUAD_LAUNCH(ptx_streaming_kernel<T>, static_cast<unsigned>((n + 63) / 64), 64, 0, stream,
                reinterpret_cast<T const*>(from), reinterpret_cast<T*>(to), n);
  };
  if (bytes == 4) {
    launch(static_cast<float const*>(nullptr));
  } else if (bytes == 8) {
    launch(static_cast<double const*>(nullptr));
  } else {
    launch(static_cast<float4 const*>(nullptr));
  }
}

}  // namespace quadrille::test
