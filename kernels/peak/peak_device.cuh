// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/ptx/threads.cuh"
#include "common/simt.cuh"
#include "peak/peak.hpp"

#ifdef QUAD_KERNELS
#include <cuda_fp16.h>
#endif

/// What the loops on a GPU share: a worker is a multiprocessor, each thread has a result.
namespace quadrille::kernels::peak {

inline constexpr int kThreads = 256;

#ifdef QUAD_KERNELS

/// Four ones of 8 bits, two of 16, or one of 32.
template <core::DataType type>
inline constexpr std::uint32_t kOnes = type == core::DataType::i8     ? 0x01010101U
                                       : type == core::DataType::f16  ? 0x3C003C00U
                                       : type == core::DataType::bf16 ? 0x3F803F80U
                                                                      : 0x3F800000U;

/// Number of this thread's result.
__device__ inline std::int64_t result_index() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}

/// Steps of this thread's chains, where a worker has so many blocks and multiply-adds of a step.
template <int kBlocks, std::int64_t kOfStep>
__device__ inline std::int64_t steps_here(std::int64_t multiply_adds) {
  static_assert(kQuantum % kOfStep == 0);
  return steps_of(blockIdx.x / kBlocks, gridDim.x / kBlocks, multiply_adds, kOfStep);
}

/// The start of chain c of a thread with so many chains.
template <int kChains>
__device__ inline std::int32_t start_of(std::int32_t const* starts, int c) {
  return starts[(result_index() * kChains + c) % kStarts];
}

__device__ inline std::uint64_t bits_of(double x) {
  return static_cast<std::uint64_t>(__double_as_longlong(x));
}
__device__ inline std::uint64_t bits_of(float x) { return __float_as_uint(x); }
__device__ inline std::uint64_t bits_of(std::uint32_t x) { return x; }
__device__ inline std::uint64_t bits_of(std::int32_t x) { return static_cast<std::uint32_t>(x); }

/// The starts of the chains c and c + 1 in f16, in a register.
template <int kChains>
__device__ inline std::uint32_t packed_starts_of(std::int32_t const* starts, int c) {
  auto const bits = [&](int chain) {
    auto const start = static_cast<float>(start_of<kChains>(starts, chain));
    return std::uint32_t{__half_as_ushort(__float2half_rn(start))};
  };
  return bits(c) | bits(c + 1) << 16;
}
/// The bits of both f16 of a register, added.
__device__ inline std::uint32_t added_halves(std::uint32_t x) { return (x & 0xFFFFU) + (x >> 16); }

/// What a thread leaves, both by its number.
struct Results {
  std::uint64_t* result;
  std::uint32_t* processor;  ///< may be missing
};
inline Results results_of(Problem const& p) { return {p.result, p.processor}; }

/// Writes what a thread's numbers ended with.
template <class T, int kNumbers>
__device__ inline void write_result(Results const& to, T const (&x)[kNumbers]) {
  std::int64_t const at = result_index();
  auto sum = static_cast<std::uint64_t>(at);
#pragma unroll
  for (int i = 0; i < kNumbers; ++i) sum += bits_of(x[i]);
  to.result[at] = sum;
  if (to.processor != nullptr) to.processor[at] = ptx::smid();
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::peak
