// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/overlap.cuh"
#include "core/small_float.hpp"
#include "device/device.hpp"
#include "paged_decode/paged_decode_cuda.cuh"

/// Parts of sequences, and the kernel that joins them in order: what paged_split, paged_bulk and contiguous
/// share.
namespace quadrille::kernels::paged_decode {

/// Where the parts of a sequence begin: large ones first, then small ones. Layers of the grid are launched one
/// after the other, so that small parts fill the multiprocessors while the last large ones end.
struct Division {
  int large = 128, small = 128;  ///< tokens
  int large_parts = 0;

  QUAD_HD constexpr int begin(int part) const {
    return min_of(part, large_parts) * large + max_of(part - large_parts, 0) * small;
  }
  QUAD_HD constexpr int count(int tokens) const {
    int const boundary = large_parts * large;
    return parts_in(min_of(tokens, boundary), large) +
           parts_in(max_of(tokens - boundary, 0), small);
  }

 private:
  /// divide_up(), which hosts without kernels do not have.
  QUAD_HD static constexpr int parts_in(int n, int by) { return n / by + (n % by != 0); }
  QUAD_HD static constexpr int min_of(int a, int b) { return a < b ? a : b; }
  QUAD_HD static constexpr int max_of(int a, int b) { return a > b ? a : b; }
};

/// Powers of two. Large parts are some two for each multiprocessor, and no more than three quarters of a sequence.
inline Division division_of(Shape const& x, device::Facts const& device) {
  constexpr std::uint64_t kMin = 128, kMax = 4096, kSmall = 512, kParts = 2;
  auto const longest = static_cast<std::uint64_t>(x.longest);
  std::uint64_t const parts =
      kParts * static_cast<std::uint64_t>(std::max(1, device.multiprocessors));
  std::uint64_t const even = static_cast<std::uint64_t>(x.tokens * x.kv_heads) / parts;
  std::uint64_t const large =
      std::clamp(std::min(std::bit_ceil(even + 1), std::bit_floor(longest / 2)), kMin, kMax);
  return {.large = static_cast<int>(large),
          .small = static_cast<int>(std::min(large, std::max(kSmall, large / 8))),
          .large_parts = static_cast<int>(longest * 3 / 4 / large)};
}
inline std::int64_t max_parts(Shape const& x, device::Facts const& device) {
  return std::max(1, division_of(x, device).count(static_cast<int>(x.longest)));
}

/// Sums of a head and a part: head_size of them, then the largest score and the sum of the weights.
inline std::size_t parts_bytes(Problem const& p, device::Facts const& device) {
  return sizeof(float) *
         static_cast<std::size_t>(p.o.rows * max_parts(p.shape, device) * (p.shape.head_size + 2));
}

/// Of the variants that split sequences.
constexpr Requirements split_needs(
    int compute_capability = kNeeds.compute_capability,
    std::string_view other =
        "groups of up to 16 heads, up to 65535 sequences of up to 8388480 tokens") {
  Requirements needs = kNeeds;
  needs.compute_capability = compute_capability;
  needs.other = other;
  return needs;
}

/// For Specifics::unsupported.
inline std::string unsupported_split(Problem const& p) {
  // A part of the least size for each of a grid's layers.
  bool const fits = p.shape.longest <= std::int64_t{128} * 65535;
  return fits ? unsupported_on_gpu(p) : "takes sequences of up to 8388480 tokens";
}

#ifdef QUAD_KERNELS

/// What parts have come to, in memory.
struct Parts {
  float* sums;
  Division division;
  int of_sequence;  ///< at the most
  template <int kHead>
  __device__ float* of(long long row, int part) const {
    return sums + (row * of_sequence + part) * (kHead + 2);
  }
  /// Of an element of a part: combine_warps() calls it.
  template <int kHead>
  __device__ void store(long long row, int part, int column, float value, float largest,
                        float total) const {
    float* const to = of<kHead>(row, part);
    to[column] = value;
    if (column == 0) {
      to[kHead] = largest;
      to[kHead + 1] = total;
    }
  }
};

/// Rows of a sequence in a pool without a table, or by way of it.
template <bool kPaged, class T>
__device__ auto rows_of(Operands<T> const& p, int sequence, int kv_head) {
  if constexpr (kPaged) {
    return paged_rows(p, sequence, kv_head);
  } else {
    long long const blocks = (p.lengths[sequence] + (1 << p.shift) - 1) >> p.shift;
    long long const first = p.first_blocks[sequence];
    return ContiguousRows{(first * p.kv_heads + kv_head * blocks) << p.shift};
  }
}

/// A block for each row of o, a thread for each of its elements. All parts' largest scores and factors are there
/// after two waits for memory, however many parts there are. The same bits every time.
template <class T, int kHead, bool kOverlaps>
__global__ void __launch_bounds__(kHead) paged_decode_join_kernel(Operands<T> p, Parts parts) {
  QUAD_SHARED(float, tops, [kHead]);
  QUAD_SHARED(float, factors, [kHead]);
  QUAD_SHARED(float, totals, [kHead]);
  if constexpr (kOverlaps) begin_behind();  // the parts are there
  int const column = static_cast<int>(threadIdx.x), row = static_cast<int>(blockIdx.x);
  int const count = parts.division.count(p.lengths[row / p.heads]);
  float top = attention::lowest();
  for (int part = column; part < count; part += kHead) {
    top = fmaxf(top, parts.of<kHead>(row, part)[kHead]);
  }
  tops[column] = top;
  __syncthreads();  // the largest scores of all threads are there
  for (int i = 0; i < min(count, kHead); ++i) top = fmaxf(top, tops[i]);
  float value = 0, total = 0;
  for (int first = 0; first < count; first += kHead) {
    int const together = min(kHead, count - first);
    __syncthreads();  // nobody reads the factors before
    if (column < together) {
      float const* const from = parts.of<kHead>(row, first + column);
      factors[column] = expf(from[kHead] - top);
      totals[column] = from[kHead + 1] * factors[column];
    }
    __syncthreads();  // the factors are there
#pragma unroll 8
    for (int i = 0; i < together; ++i) {
      value += parts.of<kHead>(row, first + i)[column] * factors[i];
      total += totals[i];
    }
  }
  p.o[static_cast<long long>(row) * kHead + column] = from_f32<T>(total > 0 ? value / total : 0);
}

/// Calls launch.operator()<T, head size>(grid, p, parts) for the kernel of the parts, then launches the one
/// that joins them; with kOverlaps while the last parts run.
template <bool kOverlaps, class Launch>
void launch_split(Problem const& problem, device::StreamView stream, Launch const& launch) {
  with_type(problem, [&]<class T, int kHead>() {
    auto const p = operands<T>(problem);
    device::Facts const& device = stream.facts();
    Parts const parts{static_cast<float*>(problem.scratch), division_of(problem.shape, device),
                      static_cast<int>(max_parts(problem.shape, device))};
    dim3 const grid(static_cast<unsigned>(p.kv_heads), static_cast<unsigned>(p.sequences),
                    static_cast<unsigned>(parts.of_sequence));
    launch.template operator()<T, kHead>(grid, p, parts);
    QUAD_LAUNCH((paged_decode_join_kernel<T, kHead, kOverlaps>),
                (LaunchShape{.grid = static_cast<unsigned>(problem.o.rows),
                             .block = kHead,
                             .overlaps_previous = kOverlaps}),
                stream, p, parts);
  });
}

/// paged_split over tokens side by side: contiguous before Hopper.
void launch_contiguous_split(Problem const& problem, device::StreamView stream);

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::paged_decode
