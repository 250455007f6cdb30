// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Products of fragments of ones, in registers.
///
///   D += A B, A and B of ones; result[thread] = thread + the bits of its accumulators
///   in f16 B of 1/16, and each 256th time of -255/16: D goes back to where it began
///
/// Technique    mma.sync (of sm_90 for m16n8k16 in f64) on eight accumulators of a warp in turn, 16
///              warps a multiprocessor, with fragments that never leave their registers. Whole
///              numbers, so that sums are exact in any order. Ones switch fewer transistors than
///              data do: a product that the power limit slows down does not reach this
/// Shapes       n multiply-adds
/// Work         n multiply-adds of 2 flop
/// Launch       256 threads per block, two blocks per multiprocessor, no shared memory
/// Accuracy     exact
#include "common/ptx/matrix.cuh"
#include "peak/peak_device.cuh"

#include <type_traits>

namespace quadrille::kernels::peak {
namespace {

constexpr int kBlocks = 2;  // of a multiprocessor
constexpr int kTiles = 8;   // of a warp, 16 x 8

/// Of a fragment: 32 bytes along k, and 128 of f64.
constexpr int depth_of(core::DataType type) {
  return type == core::DataType::f32 ? 8 : type == core::DataType::i8 ? 32 : 16;
}

constexpr Loop loop_of(Types const& types) {
  return {.results = kBlocks * kThreads,
          .chains = 4 * kTiles,
          .depth = depth_of(types.in),
          .adds = true,
          .period = types.compute == core::Compute::f16 ? kHalfPeriod : 0};
}

#ifdef QUAD_KERNELS

/// The registers of a type, and its instruction.
template <core::DataType type, core::Compute compute>
struct Fragments {
  using Sum = std::conditional_t<type == core::DataType::i8, std::int32_t, float>;
  using Register = std::uint32_t;
  static constexpr int kD = 4;
  static constexpr int kA = 4, kB = 2;
  static constexpr Register kFill = kOnes<type>;
};
template <>
struct Fragments<core::DataType::f64, core::Compute::f64> {
  using Sum = double;
  using Register = double;
  static constexpr int kD = 4, kA = 8, kB = 4;
  static constexpr Register kFill = 1;
};
/// Two f16 in each register, also of the sums.
template <>
struct Fragments<core::DataType::f16, core::Compute::f16> {
  using Sum = std::uint32_t;
  using Register = std::uint32_t;
  static constexpr int kD = 2, kA = 4, kB = 2;
  static constexpr Register kFill = kOnes<core::DataType::f16>;
  static constexpr Register kSixteenths = 0x2C002C00U, kBack = 0xCBF8CBF8U;  // 1/16, -255/16
  static_assert(kHalfPeriod == 256);
};

/// Sums in f16 or f32 differ by the type of d.
template <core::DataType type, class D, class A, class B>
__device__ void multiply(D& d, A const& a, B const& b) {
  if constexpr (type == core::DataType::f64) {
    ptx::mma_m16n8k16_f64(d, a, b);
  } else if constexpr (type == core::DataType::f32) {
    ptx::mma_m16n8k8_tf32(d, a, b);
  } else if constexpr (type == core::DataType::i8) {
    ptx::mma_m16n8k32_s8(d, a, b);
  } else if constexpr (type == core::DataType::f16) {
    ptx::mma_m16n8k16_f16(d, a, b);
  } else {
    ptx::mma_m16n8k16_bf16(d, a, b);
  }
}

/// Of a block in a turn of the loop.
template <core::DataType type, core::Compute compute>
inline constexpr std::int64_t kMultiplyAdds = loop_of(Types{type, compute}).multiply_adds();

template <core::DataType type, core::Compute compute>
__global__ void __launch_bounds__(kThreads, kBlocks)
    peak_mma_kernel(std::int32_t const* starts, std::int64_t multiply_adds, Results results) {
  std::int64_t const steps = steps_here<kBlocks, kMultiplyAdds<type, compute>>(multiply_adds);
  constexpr bool kHalfSums = compute == core::Compute::f16;
  constexpr int kNumbers = 4 * kTiles;
  using Of = Fragments<type, compute>;
  typename Of::Register a[Of::kA], b[Of::kB];
#pragma unroll
  for (int i = 0; i < Of::kA; ++i) a[i] = Of::kFill;
#pragma unroll
  for (int i = 0; i < Of::kB; ++i) b[i] = Of::kFill;
  typename Of::Sum d[kTiles][Of::kD];
  constexpr int kRegisters = kTiles * Of::kD;
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) {
    auto& sum = d[i / Of::kD][i % Of::kD];
    if constexpr (kHalfSums) {
      sum = packed_starts_of<kNumbers>(starts, 2 * i);
    } else {
      sum = static_cast<typename Of::Sum>(start_of<kNumbers>(starts, i));
    }
  }
#pragma unroll 4
  for (std::int64_t i = 0; i < steps; ++i) {
    if constexpr (kHalfSums) {
      bool const is_last = i % kHalfPeriod == kHalfPeriod - 1;
#pragma unroll
      for (auto& ones : b) ones = is_last ? Of::kBack : Of::kSixteenths;
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) multiply<type>(d[tile], a, b);
  }
  typename Of::Sum accumulators[kRegisters];
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) {
    accumulators[i] = d[i / Of::kD][i % Of::kD];
    if constexpr (kHalfSums) accumulators[i] = added_halves(accumulators[i]);
  }
  write_result(results, accumulators);
}

template <core::DataType type, core::Compute compute>
void launch_as(Problem const& p, device::StreamView stream) {
  QUAD_LAUNCH((peak_mma_kernel<type, compute>), static_cast<unsigned>(p.workers * kBlocks),
              kThreads, 0, stream, p.start, p.multiply_adds, results_of(p));
}

void launch(Problem const& p, device::StreamView stream) {
  using core::Compute, core::DataType;
  Compute const compute = facts_of(p).types.compute;
  switch (p.type) {
    case DataType::f64: return launch_as<DataType::f64, Compute::f64>(p, stream);
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

extern constinit Variant<Problem> const mma_loop{
    {.name = "mma_loop",
     .where = Where::cuda,
     .types = {Types{core::DataType::f16, core::Compute::f16}, core::DataType::f16,
               core::DataType::bf16, Types{core::DataType::f32, core::Compute::tf32},
               core::DataType::f64, core::DataType::i8},
     .needs = {.compute_capability = 90,
               .other = "whole 2Mi of multiply-adds, up to 64Gi for each worker"},
     .preference = 20,
     .source = "own",
     .summary = "products of fragments on tensor cores, by warps"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = count_unsupported, .notes = {.loop = loop_of}}};

}  // namespace quadrille::kernels::peak
