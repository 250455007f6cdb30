// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/ptx/threads.cuh"
#include "device/device.hpp"
#include "paged_decode/paged_decode_cuda.cuh"

/// Parts of sequences, and the kernel that joins them in order: what paged_split, paged_bulk and contiguous
/// share.
namespace quadrille::kernels::paged_decode {

/// Tokens of a part: a power of two by which each multiprocessor has some eight parts.
inline std::int64_t tokens_of_part(Shape const& x, device::Facts const& device) {
  constexpr std::int64_t kMin = 128, kMax = 4096, kParts = 8;
  std::int64_t const parts = kParts * std::max(1, device.multiprocessors);
  std::int64_t const each = (x.tokens * x.kv_heads + parts - 1) / parts;
  return std::clamp(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(each))),
                    kMin, kMax);
}
inline std::int64_t max_parts(Shape const& x, device::Facts const& device) {
  std::int64_t const each = tokens_of_part(x, device);
  return std::max<std::int64_t>(1, (x.longest + each - 1) / each);
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
  int each;         ///< tokens
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

/// A block for each row of o, a thread for each of its elements. Parts in order: the same bits every time.
template <class T, int kHead, bool kOverlaps>
__global__ void __launch_bounds__(kHead) paged_decode_join_kernel(Operands<T> p, Parts parts) {
  if constexpr (kOverlaps) ptx::griddepcontrol_wait();  // the parts are there
  int const column = static_cast<int>(threadIdx.x), row = static_cast<int>(blockIdx.x);
  int const count = divide_up(p.lengths[row / p.heads], parts.each);
  float top = attention::lowest();
  for (int part = 0; part < count; ++part) top = fmaxf(top, parts.of<kHead>(row, part)[kHead]);
  float value = 0, total = 0;
  for (int part = 0; part < count; ++part) {
    float const* const from = parts.of<kHead>(row, part);
    float const factor = expf(from[kHead] - top);
    value += from[column] * factor;
    total += from[kHead + 1] * factor;
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
    Parts const parts{static_cast<float*>(problem.scratch),
                      static_cast<int>(tokens_of_part(problem.shape, device)),
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
