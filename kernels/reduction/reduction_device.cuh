// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/ptx/atomics.cuh"
#include "common/simt.cuh"
#include "reduction/reduction_lanes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

/// What the CUDA kernels of the reduction share: accumulators, the steps inside warp and block, and
/// the scratch memory.
namespace quadrille::kernels::reduction {

/// Threads of a block of a tree.
inline constexpr unsigned kTreeThreads = 256;

/// Problem::Notes::chain of variants whose blocks add `each` elements up by a tree, of one
/// accumulator a thread, and whose partial results reduction_finish_kernel joins.
template <int each>
double chain_of_tree(double n, device::Facts const&) {
  return std::log2(each) + n / each / 1024 + 10;
}
/// Of variants with `per_multiprocessor` accumulators on each multiprocessor, which then join.
template <int per_multiprocessor>
double chain_of_grid(double n, device::Facts const& device) {
  return n / (per_multiprocessor * std::max(1.0, static_cast<double>(device.multiprocessors))) + 64;
}

#ifdef QUAD_KERNELS

inline constexpr unsigned kAllLanes = 0xffffffffU;

template <class Acc>
inline constexpr Acc kMax = std::numeric_limits<Acc>::max();
template <class Acc>
inline constexpr Acc kMin = std::numeric_limits<Acc>::lowest();

/// The identity of the operation, integers included.
template <Operation op, class Acc>
__device__ inline constexpr Acc identity() {
  if constexpr (std::is_integral_v<Acc>) {
    return op == Operation::min ? kMax<Acc> : op == Operation::max ? kMin<Acc> : Acc{0};
  } else {
    return start<op, Acc>();
  }
}

/// The lanes of a warp, joined in lane 0 in a fixed order.
template <Operation op, class Acc>
__device__ inline Acc warp_reduce(Acc value) {
  for (unsigned half = 16; half > 0; half /= 2) {
    value = combine<op>(value, __shfl_down_sync(kAllLanes, value, half));
  }
  return value;
}

/// The threads of a block, joined in thread 0 in a fixed order. A block that calls it twice needs a
/// barrier in between: the shared words are the same.
template <Operation op, int kThreads, class Acc>
__device__ inline Acc block_reduce(Acc value) {
  static_assert(kThreads % 32 == 0 && kThreads <= 1024, "whole warps, one shared word for each");
  constexpr unsigned kWarps = kThreads / 32;
  QUAD_SHARED(Acc, of_warp, [kWarps]);
  unsigned const lane = threadIdx.x % 32;
  value = warp_reduce<op>(value);
  if (lane == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();  // before the first warp reads what the others wrote
  if (threadIdx.x < 32)
    value = warp_reduce<op>(lane < kWarps ? of_warp[lane] : identity<op, Acc>());
  return value;
}

/// Element i of x, and of y for dot, the only operation that reads y.
template <Operation op, class Acc, class T>
__device__ inline Acc accumulate_at(Acc sum, T const* x, [[maybe_unused]] T const* y,
                                    std::int64_t i) {
  T const value = x[i];
  if constexpr (op == Operation::dot) {
    return accumulate<op>(sum, value, y[i]);
  } else {
    return accumulate<op>(sum, value, value);
  }
}

/// 16 bytes of elements, moved by one instruction.
template <class T>
struct alignas(16) Wide {
  T item[16 / sizeof(T)];
};

/// 16 bytes at p, which is aligned to an element only unless kAligned.
template <bool kAligned, class T>
__device__ inline Wide<T> load_wide(T const* p) {
  if constexpr (kAligned) {
    return *reinterpret_cast<Wide<T> const*>(p);
  } else {
    Wide<T> wide;
#pragma unroll
    for (unsigned j = 0; j < 16 / sizeof(T); ++j) wide.item[j] = p[j];
    return wide;
  }
}

/// Elements before the first 16-byte boundary.
template <class T>
__device__ inline std::int64_t unaligned_head(T const* x, std::int64_t n) {
  std::uintptr_t const bytes = -reinterpret_cast<std::uintptr_t>(x) % 16;
  std::int64_t const head = static_cast<std::int64_t>(bytes / sizeof(T));
  return head < n ? head : n;
}

/// 16-byte groups that a block of kThreads takes at once.
template <int kThreads, int kFlight>
inline constexpr std::int64_t kTileGroups = std::int64_t{kThreads} * kFlight;

// Scratch: counters and bins in the first page, partial results after it.
inline unsigned* counter_of(Problem const& p) { return static_cast<unsigned*>(p.scratch); }
template <class Acc>
Acc* partials_of(Problem const& p) {
  return reinterpret_cast<Acc*>(static_cast<char*>(p.scratch) + kCounterBytes);
}

/// The result of a problem, from the joined accumulator.
template <Operation op, class Acc>
__device__ inline double result_of(Acc sum, std::int64_t n) {
  // The accumulator of integers has no infinity.
  if constexpr (std::is_integral_v<Acc> && (op == Operation::min || op == Operation::max)) {
    if (n == 0) return start<op, double>();
  }
  return static_cast<double>(sum);
}

/// Stores the block's value, which thread 0 has, and makes the last block to do so join all values
/// in the order of the blocks: one launch, and the same bits every time. Leaves `finished` at zero.
template <Operation op, int kThreads, class Acc>
__device__ inline void finish_in_last_block(Acc sum, Acc* partials, unsigned* finished,
                                            std::int64_t n, double* result) {
  QUAD_SHARED(bool, is_last);
  if (gridDim.x == 1) {
    if (threadIdx.x == 0) *result = result_of<op>(sum, n);
    return;
  }
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = sum;
    // Releases the value just stored; the last one acquires all values.
    is_last = ptx::atomic_add_acq_rel_gpu(finished, 1U) == gridDim.x - 1;
  }
  __syncthreads();  // is_last is written, and the words of the first block_reduce are read
  if (!is_last) return;
  sum = identity<op, Acc>();
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kThreads) sum = combine<op>(sum, partials[i]);
  sum = block_reduce<op, kThreads>(sum);
  if (threadIdx.x == 0) {
    *result = result_of<op>(sum, n);
    *finished = 0;
  }
}

/// Second kernel of the variants that need one: joins the partial results of all blocks.
template <Operation op, class Acc, class Part>
__global__ void __launch_bounds__(1024)
    reduction_finish_kernel(Part const* partials, unsigned count, std::int64_t n, double* result) {
  Acc sum = identity<op, Acc>();
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < count; i += 1024) {
    sum = combine<op>(sum, static_cast<Acc>(partials[i]));
  }
  sum = block_reduce<op, 1024>(sum);
  if (threadIdx.x == 0) *result = result_of<op>(sum, n);
}

template <Operation op, class Part>
void launch_finish(Problem const& p, unsigned count, device::StreamView stream) {
  // Sums of a block may fit 32 bits where their sum does not.
  constexpr bool kWiden = op == Operation::sum && std::is_integral_v<Part>;
  using Acc = std::conditional_t<kWiden, std::int64_t, Part>;
  QUAD_LAUNCH((reduction_finish_kernel<op, Acc, Part>), dim3(1), dim3(1024), 0, stream,
              partials_of<Part>(p), count, p.n, p.result);
}

/// Blocks of `each` elements that cover n; at least one, which writes the identity.
inline unsigned blocks_for(std::int64_t n, std::int64_t each) {
  return static_cast<unsigned>(std::max<std::int64_t>(1, (n + each - 1) / each));
}

/// The same for variants with as many blocks as that takes, each of which leaves a partial result.
template <unsigned kEach>
unsigned tree_blocks(std::int64_t n) {
  static_assert(kEach >= kMinOfBlock, "more partial results than scratch_bytes(n) has room for");
  return blocks_for(n, kEach);
}

/// Ends the job unless the problem brings memory for partial results.
inline void require_scratch(Problem const& p) {
  QUAD_REQUIRE(p.scratch != nullptr && p.scratch_bytes >= scratch_bytes(p.n),
               "reduction: scratch is missing or smaller than scratch_bytes(n)");
}

/// The accumulator: i64 for integers; minimum and maximum in the type itself.
template <Operation op, class T, class Wanted>
using Accumulator =
    std::conditional_t<op == Operation::min || op == Operation::max, T,
                       std::conditional_t<std::is_integral_v<T>, std::int64_t, Wanted>>;

/// Calls f.operator()<T, Acc>() for sums of the problem's type and accumulator.
template <Operation op = Operation::sum, class F>
void visit_types(Problem const& p, F const& f) {
  bool const single = p.accumulator == core::DataType::f32;
  switch (p.type) {
    case core::DataType::f64:
      return f.template operator()<double, Accumulator<op, double, double>>();
    case core::DataType::f32:
      if (single) return f.template operator()<float, Accumulator<op, float, float>>();
      return f.template operator()<float, Accumulator<op, float, double>>();
    default: return f.template operator()<std::int32_t, Accumulator<op, std::int32_t, double>>();
  }
}

/// The same for the trees, which also take integers in integers of their size.
template <class F>
void visit_tree_types(Problem const& p, F const& f) {
  if (p.accumulator == core::DataType::i32) {
    return f.template operator()<std::int32_t, std::int32_t>();
  }
  visit_types(p, f);
}

/// The second kernel of a tree whose blocks take kEach elements.
template <unsigned kEach>
void finish_tree(Problem const& p, device::StreamView stream) {
  visit_tree_types(p, [&]<class, class Acc>() {
    launch_finish<Operation::sum, Acc>(p, tree_blocks<kEach>(p.n), stream);
  });
}

/// Calls f.operator()<op, T, Acc>() for the problem.
template <class F>
void visit_all(Problem const& p, F const& f) {
  auto const with = [&]<Operation op>() {
    visit_types<op>(p, [&]<class T, class Acc>() { f.template operator()<op, T, Acc>(); });
  };
  switch (p.operation) {
    case Operation::sum: return with.template operator()<Operation::sum>();
    case Operation::min: return with.template operator()<Operation::min>();
    case Operation::max: return with.template operator()<Operation::max>();
    case Operation::dot: return with.template operator()<Operation::dot>();
    case Operation::norm2: return with.template operator()<Operation::norm2>();
  }
}

#else

// That a row has it tells plans that it leaves partial results.
template <unsigned kEach>
void finish_tree(Problem const&, device::StreamView) {
  core::fail("reduction: this program was built without CUDA");
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::reduction
