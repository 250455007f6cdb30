// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/ptx/threads.cuh"
#include "device/device.hpp"
#include "paged_decode/paged_decode_cuda.cuh"

/// Sequences split among blocks, and their parts joined in order: what paged_split, paged_bulk and
/// contiguous share.
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
  int each;  ///< tokens
  int most;  ///< parts of a sequence
  template <int kHead>
  __device__ float* of(long long row, int part) const {
    return sums + (row * most + part) * (kHead + 2);
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

template <class T, int kHead, bool kPaged, Copies copies>
__global__ void __launch_bounds__(kThreads) paged_decode_part_kernel(Operands<T> p, Parts parts) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  if constexpr (copies == Copies::bulk) ptx::griddepcontrol_launch_dependents();
  int const kv_head = static_cast<int>(blockIdx.x), sequence = static_cast<int>(blockIdx.y);
  int const part = static_cast<int>(blockIdx.z), begin = part * parts.each;
  int const length = p.lengths[sequence];
  if (begin >= length) return;
  long long const row = static_cast<long long>(sequence) * p.heads + kv_head * p.group;
  attend<T, kHead, copies>(p, sequence, kv_head, rows_of<kPaged>(p, sequence, kv_head), begin,
                           min(length, begin + parts.each), shared,
                           [&](int head, int column, float value, float largest, float total) {
                             float* const to = parts.of<kHead>(row + head, part);
                             to[column] = value;
                             if (column == 0) {
                               to[kHead] = largest;
                               to[kHead + 1] = total;
                             }
                           });
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

template <bool kPaged, Copies copies>
void launch_parts(Problem const& problem, device::StreamView stream) {
  with_type(problem, [&]<class T, int kHead>() {
    auto const p = operands<T>(problem);
    device::Facts const& device = stream.facts();
    Parts const parts{static_cast<float*>(problem.scratch),
                      static_cast<int>(tokens_of_part(problem.shape, device)),
                      static_cast<int>(max_parts(problem.shape, device))};
    dim3 const grid(static_cast<unsigned>(p.kv_heads), static_cast<unsigned>(p.sequences),
                    static_cast<unsigned>(parts.most));
    QUAD_LAUNCH((paged_decode_part_kernel<T, kHead, kPaged, copies>), grid, kThreads,
                kSharedBytes<kHead>, stream, p, parts);
    constexpr bool kOverlaps = copies == Copies::bulk;
    QUAD_LAUNCH((paged_decode_join_kernel<T, kHead, kOverlaps>),
                (LaunchShape{.grid = static_cast<unsigned>(problem.o.rows),
                             .block = kHead,
                             .overlaps_previous = kOverlaps}),
                stream, p, parts);
  });
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::paged_decode
