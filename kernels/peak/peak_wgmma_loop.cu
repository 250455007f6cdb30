// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Products of tiles of ones in shared memory.
///
///   D += A B, A and B of ones; result[thread] = thread + the bits of its accumulators
///
/// Technique    two warpgroups a multiprocessor, each with 64 x 256 accumulators, start four wgmma at
///              a time: while one waits the other's are in work. Whole numbers, so that sums are exact
///              in any order. Ones switch fewer transistors than data do: a product that the power
///              limit slows down does not reach this
/// Shapes       n multiply-adds
/// Types        f16 and bf16 in f32, f32 in tf32
/// Work         n multiply-adds of 2 flop
/// Constraints  n in whole 2Mi, at most 64Gi for each worker; compute capability 9.0
/// Launch       256 threads per block, one block per multiprocessor, 10 KiB of shared memory
/// Accuracy     exact
/// Source       own
#include "common/ptx/wgmma.cuh"
#include "peak/peak_device.cuh"

namespace quadrille::kernels::peak {
namespace {

constexpr int kRows = 64, kColumns = 256;  // of a warpgroup
constexpr int kNumbers = kColumns / 2;     // of a thread
constexpr int kStepBytes = 32;             // along K
constexpr int kAtOnce = 4;                 // wgmma of a group

constexpr Loop loop_of(Types const& types) {
  return {.results = kThreads,
          .chains = kNumbers,
          .depth = kStepBytes / static_cast<int>(core::size_of(types.in)),
          .adds = true};
}

static_assert(kQuantum % (kAtOnce * loop_of(core::DataType::f16).multiply_adds()) == 0);

#ifdef QUAD_KERNELS

/// Two ones of 16 bits, or one of 32.
template <core::DataType type>
constexpr std::uint32_t kOnes = type == core::DataType::f16    ? 0x3C003C00U
                                : type == core::DataType::bf16 ? 0x3F803F80U
                                                               : 0x3F800000U;

template <core::DataType type>
__device__ void multiply(float (&d)[kNumbers], ptx::MatrixDescriptor a, ptx::MatrixDescriptor b) {
  if constexpr (type == core::DataType::f32) {
    ptx::wgmma_tf32<kColumns>(d, a, b);
  } else if constexpr (type == core::DataType::f16) {
    ptx::wgmma_f16<kColumns>(d, a, b);
  } else {
    ptx::wgmma_bf16<kColumns>(d, a, b);
  }
}

/// Of a block in a turn of the loop.
template <core::DataType type>
inline constexpr std::int64_t kMultiplyAdds = loop_of(type).multiply_adds();

template <core::DataType type>
__global__ void __launch_bounds__(kThreads, 1)
    peak_wgmma_kernel(std::int32_t const* starts, std::int64_t multiply_adds,
                      std::uint64_t* result) {
  std::int64_t const steps = steps_here<1, kMultiplyAdds<type>>(multiply_adds);
  constexpr int kWords = (kRows + kColumns) * kStepBytes / 4;
  QUAD_DYNAMIC_SHARED(std::uint32_t, ones);
  for (unsigned i = threadIdx.x; i < kWords; i += kThreads) ones[i] = kOnes<type>;
  // The tensor cores read what this thread has stored.
  ptx::fence_proxy_async();
  __syncthreads();
  // Rows of 32 bytes.
  auto const a = ptx::k_major_descriptor(ones, ptx::Swizzle::bytes_32);
  auto const b = ptx::k_major_descriptor(ones + kRows * kStepBytes / 4, ptx::Swizzle::bytes_32);

  float d[kNumbers];
#pragma unroll
  for (int i = 0; i < kNumbers; ++i) {
    d[i] = static_cast<float>(start_of<kNumbers>(starts, i));
  }
#pragma unroll 1
  for (std::int64_t i = 0; i < steps; i += kAtOnce) {
    ptx::wgmma_fence();
#pragma unroll
    for (int g = 0; g < kAtOnce; ++g) multiply<type>(d, a, b);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>(d);
  }
  write_result(result, d);
}

template <core::DataType type>
void launch_as(Problem const& p, device::StreamView stream) {
  QUAD_LAUNCH(peak_wgmma_kernel<type>, static_cast<unsigned>(p.workers), kThreads,
              (kRows + kColumns) * kStepBytes, stream, p.start, p.multiply_adds, p.result);
}

void launch(Problem const& p, device::StreamView stream) {
  switch (p.type) {
    case core::DataType::f32: return launch_as<core::DataType::f32>(p, stream);
    case core::DataType::f16: return launch_as<core::DataType::f16>(p, stream);
    default: return launch_as<core::DataType::bf16>(p, stream);
  }
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const wgmma_loop{
    {.name = "wgmma_loop",
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16,
               Types{core::DataType::f32, core::Compute::tf32}},
     .needs = {.compute_capability = 90,
               .exact_capability = true,
               .other = "whole 2Mi of multiply-adds"},
     .preference = 30,
     .source = "own",
     .summary = "products of tiles on tensor cores, by warpgroups"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = count_unsupported, .notes = {.loop = loop_of}}};

}  // namespace quadrille::kernels::peak
