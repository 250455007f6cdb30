// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Products of tiles of ones in shared memory.
///
///   D += A B, A and B of ones; result[thread] = thread + the bits of its accumulators
///   in f16 B of 1/16, and each 256th time A of -255: D goes back to where it began
///
/// Technique    two warpgroups a multiprocessor, each with 64 x 256 accumulators, start four wgmma at
///              a time, two of i8: while one waits the other's are in flight. Whole numbers, so that
///              sums are exact in any order. Ones switch fewer transistors than data do: a product
///              that the power limit slows down does not reach this
/// Shapes       n multiply-adds
/// Work         n multiply-adds of 2 flop
/// Launch       256 threads per block, one block per multiprocessor, 10 KiB of shared memory,
///              12 KiB in f16
/// Accuracy     exact
#include "common/ptx/wgmma.cuh"
#include "peak/peak_device.cuh"

#include <type_traits>

namespace quadrille::kernels::peak {
namespace {

constexpr int kRows = 64, kColumns = 256;  // of a warpgroup
constexpr int kNumbers = kColumns / 2;     // of a thread
constexpr int kStepBytes = 32;             // along K

/// wgmma of a group: whole groups make a quantum.
template <core::DataType type>
inline constexpr int kAtOnceOf = type == core::DataType::i8 ? 2 : 4;

constexpr Loop loop_of(Types const& types) {
  return {.results = kThreads,
          .chains = kNumbers,
          .depth = kStepBytes / static_cast<int>(core::size_of(types.in)),
          .adds = true,
          .period = types.compute == core::Compute::f16 ? kHalfPeriod : 0};
}

static_assert(kHalfPeriod % kAtOnceOf<core::DataType::f16> == 0);

#ifdef QUAD_KERNELS

/// Two sixteenths, and two of -255, in f16.
constexpr std::uint32_t kSixteenths = 0x2C002C00U, kBack = 0xDBF8DBF8U;

/// Sums in f16 or f32 differ by the type of d.
template <core::DataType type, class D>
__device__ void multiply(D& d, ptx::MatrixDescriptor a, ptx::MatrixDescriptor b) {
  if constexpr (type == core::DataType::f32) {
    ptx::wgmma_tf32<kColumns>(d, a, b);
  } else if constexpr (type == core::DataType::i8) {
    ptx::wgmma_s8<kColumns>(d, a, b);
  } else if constexpr (type == core::DataType::f16) {
    ptx::wgmma_f16<kColumns>(d, a, b);
  } else {
    ptx::wgmma_bf16<kColumns>(d, a, b);
  }
}

/// Of a block in a turn of the loop.
template <core::DataType type, core::Compute compute>
inline constexpr std::int64_t kMultiplyAdds = loop_of(Types{type, compute}).multiply_adds();

/// 32-bit words of tiles.
constexpr int kWordsOfA = kRows * kStepBytes / 4, kWordsOfB = kColumns * kStepBytes / 4;

template <core::Compute compute>
inline constexpr int kSharedWords = (compute == core::Compute::f16 ? 2 : 1) * kWordsOfA + kWordsOfB;

template <core::DataType type, core::Compute compute>
__global__ void __launch_bounds__(kThreads, 1)
    peak_wgmma_kernel(std::int32_t const* starts, std::int64_t multiply_adds, Results results) {
  constexpr int kAtOnce = kAtOnceOf<type>;
  std::int64_t const steps = steps_here<1, kMultiplyAdds<type, compute>>(multiply_adds);
  static_assert(kQuantum % (kAtOnce * kMultiplyAdds<type, compute>) == 0);
  constexpr bool kHalfSums = compute == core::Compute::f16;
  QUAD_DYNAMIC_SHARED(std::uint32_t, tiles);  // A, B, and in f16 the A that goes back
  for (unsigned i = threadIdx.x; i < kSharedWords<compute>; i += kThreads) {
    tiles[i] = kOnes<type>;
    if constexpr (kHalfSums) {
      static_assert(kHalfPeriod == 256);
      if (i >= kWordsOfA) tiles[i] = i < kWordsOfA + kWordsOfB ? kSixteenths : kBack;
    }
  }
  // The tensor cores read what this thread has stored.
  ptx::fence_proxy_async();
  __syncthreads();
  // Rows of 32 bytes.
  auto const a = ptx::k_major_descriptor(tiles, ptx::Swizzle::bytes_32);
  auto const b = ptx::k_major_descriptor(tiles + kWordsOfA, ptx::Swizzle::bytes_32);

  using Sum =
      std::conditional_t<kHalfSums, unsigned,
                         std::conditional_t<type == core::DataType::i8, std::int32_t, float>>;
  constexpr int kRegisters = kHalfSums ? kNumbers / 2 : kNumbers;
  Sum d[kRegisters];
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) {
    if constexpr (kHalfSums) {
      d[i] = packed_starts_of<kNumbers>(starts, 2 * i);
    } else {
      d[i] = static_cast<Sum>(start_of<kNumbers>(starts, i));
    }
  }
#pragma unroll 1
  for (std::int64_t i = 0; i < steps; i += kAtOnce) {
    auto a_last = a;
    if constexpr (kHalfSums) {
      bool const is_last = (i + kAtOnce) % kHalfPeriod == 0;
      auto const back =
          ptx::k_major_descriptor(tiles + kWordsOfA + kWordsOfB, ptx::Swizzle::bytes_32);
      if (is_last) a_last = back;
    }
    ptx::wgmma_fence();
#pragma unroll
    for (int g = 0; g < kAtOnce; ++g) multiply<type>(d, g == kAtOnce - 1 ? a_last : a, b);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>(d);
  }
  if constexpr (kHalfSums) {
#pragma unroll
    for (auto& accumulators : d) accumulators = added_halves(accumulators);
  }
  write_result(results, d);
}

template <core::DataType type, core::Compute compute>
void launch_as(Problem const& p, device::StreamView stream) {
  QUAD_LAUNCH((peak_wgmma_kernel<type, compute>), static_cast<unsigned>(p.workers), kThreads,
              4 * kSharedWords<compute>, stream, p.start, p.multiply_adds, results_of(p));
}

void launch(Problem const& p, device::StreamView stream) {
  using core::Compute, core::DataType;
  Compute const compute = facts_of(p).types.compute;
  switch (p.type) {
    case DataType::f32: return launch_as<DataType::f32, Compute::tf32>(p, stream);
    case DataType::i8: return launch_as<DataType::i8, Compute::i32>(p, stream);
    case DataType::f16:
      return compute == Compute::f16 ? launch_as<DataType::f16, Compute::f16>(p, stream)
                                     : launch_as<DataType::f16, Compute::f32>(p, stream);
    default: return launch_as<DataType::bf16, Compute::f32>(p, stream);
  }
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const wgmma_loop{
    {.name = "wgmma_loop",
     .where = Where::cuda,
     .types = {Types{core::DataType::f16, core::Compute::f16}, core::DataType::f16,
               core::DataType::bf16, Types{core::DataType::f32, core::Compute::tf32},
               core::DataType::i8},
     .needs = {.compute_capability = 90,
               .exact_capability = true,
               .other = "whole 2Mi of multiply-adds, up to 64Gi for each worker"},
     .preference = 30,
     .source = "own",
     .summary = "products of tiles on tensor cores, by warpgroups"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = count_unsupported, .notes = {.loop = loop_of}}};

}  // namespace quadrille::kernels::peak
