// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Orbits of a quadratic map, in registers.
///
///   x -> x^2 + c, rounded once; result[thread] = thread + the bits of its chains' last x
///
/// Technique    eight registers a thread and 32 warps a multiprocessor: multiply-adds enough that
///              none waits for another. The map reads one register, its values never settle, so that
///              no step can be left out, and f16 takes two of them in each instruction
/// Shapes       n multiply-adds
/// Work         n multiply-adds of 2 flop
/// Launch       256 threads per block, four blocks per multiprocessor, no shared memory
/// Accuracy     exact: a fused multiply-add has one result
#include "peak/peak_device.cuh"

#ifdef QUAD_KERNELS
#include <cuda_fp16.h>

#include <type_traits>
#endif

namespace quadrille::kernels::peak {
namespace {

constexpr int kBlocks = 4;  // of a multiprocessor
constexpr int kRegisters = 8;

constexpr Loop loop_of(Types const& types) {
  bool const is_packed = types.in == core::DataType::f16;
  return {.results = kBlocks * kThreads, .chains = is_packed ? 2 * kRegisters : kRegisters};
}

#ifdef QUAD_KERNELS

/// Two chains in a register.
struct Halves {
  __half2 x;
};
__device__ inline std::uint64_t bits_of(Halves h) {
  return std::uint64_t{__half_as_ushort(__low2half(h.x))} + __half_as_ushort(__high2half(h.x));
}

__device__ inline double map(double x) { return ::fma(x, x, kMapConstant); }
__device__ inline float map(float x) { return fmaf(x, x, static_cast<float>(kMapConstant)); }
__device__ inline Halves map(Halves h) {
  return {__hfma2(h.x, h.x, __float2half2_rn(static_cast<float>(kMapConstant)))};
}
__device__ inline std::uint32_t map(std::uint32_t x) { return x * x + kMapConstantOfIntegers; }

template <class T>
__device__ T first_of(std::int32_t const* starts, int r) {
  if constexpr (std::is_same_v<T, Halves>) {
    return {
        __floats2half2_rn(static_cast<float>(start_of<2 * kRegisters>(starts, 2 * r)) / 128,
                          static_cast<float>(start_of<2 * kRegisters>(starts, 2 * r + 1)) / 128)};
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(start_of<kRegisters>(starts, r)) / 128;
  } else {
    return static_cast<T>(start_of<kRegisters>(starts, r));
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads, kBlocks)
    peak_fma_kernel(std::int32_t const* starts, std::int64_t multiply_adds, Results results) {
  constexpr int kChains = std::is_same_v<T, Halves> ? 2 * kRegisters : kRegisters;
  std::int64_t const steps = steps_here<kBlocks, kBlocks * kThreads * kChains>(multiply_adds);
  T x[kRegisters];
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) x[r] = first_of<T>(starts, r);
#pragma unroll 16  // so that the loop costs little
  for (std::int64_t i = 0; i < steps; ++i) {
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) x[r] = map(x[r]);
  }
  write_result(results, x);
}

template <class T>
void launch_as(Problem const& p, device::StreamView stream) {
  QUAD_LAUNCH(peak_fma_kernel<T>, static_cast<unsigned>(p.workers * kBlocks), kThreads, 0, stream,
              p.start, p.multiply_adds, results_of(p));
}

void launch(Problem const& p, device::StreamView stream) {
  switch (p.type) {
    case core::DataType::f64: return launch_as<double>(p, stream);
    case core::DataType::f32: return launch_as<float>(p, stream);
    case core::DataType::f16: return launch_as<Halves>(p, stream);
    default: return launch_as<std::uint32_t>(p, stream);
  }
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const fma_loop{
    {.name = "fma_loop",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32,
               Types{core::DataType::f16, core::Compute::f16}, core::DataType::i32},
     .needs = {.other = "whole 2Mi of multiply-adds, up to 64Gi for each worker"},
     .preference = 10,
     .source = "own",
     .summary = "multiply-adds of registers on CUDA cores"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = count_unsupported, .notes = {.loop = loop_of}}};

}  // namespace quadrille::kernels::peak
