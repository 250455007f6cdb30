// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// One step of decoding from a copy of the cache that is in order.
///
///   k', v' = the tokens of each sequence side by side;  o = attention of q to k' and v'
///
/// Technique    what one does with a kernel that knows no tables: a first one copies the blocks of every
///              sequence to where they lie in order, a second one attends. Keys and values are read,
///              written and read again: three times the bytes, and memory for a second cache
/// Shapes       any lengths, blocks and tables; groups of up to 16 heads; without tokens o = 0
/// Work         4 h d flop for each token; keys and values cross memory three times
/// Launch       128 threads, 16 bytes each; then 128 threads, 56 or 106 KiB of shared memory, a block for
///              each sequence and head of keys
/// Accuracy     error_bound() of attention; weights are rounded to the type
#include "paged_decode/paged_decode_cuda.cuh"

namespace quadrille::kernels::paged_decode {
namespace {

constexpr std::int64_t kMaxGatherBlocks = 65535;  // of a grid, along tokens

/// Of keys and values: every sequence has room for the longest.
std::size_t scratch_bytes(Problem const& p, device::Facts const&) {
  Shape const& x = p.shape;
  return 2 * core::size_of(p.q.type) *
         static_cast<std::size_t>(x.sequences * x.kv_heads * x.longest * x.head_size);
}

#ifdef QUAD_KERNELS

/// The first row of a sequence and head in the copies.
template <class T>
__device__ long long first_row(Operands<T> const& p, int sequence, int kv_head, int longest) {
  return (static_cast<long long>(sequence) * p.kv_heads + kv_head) * longest;
}

template <class T, int kHead>
__global__ void __launch_bounds__(kThreads)
    paged_decode_gather_kernel(Operands<T> p, int longest, T* k, T* v) {
  constexpr int kPieces = attention::Tile<kHead>::kPieces, kRowsAtOnce = kThreads / kPieces;
  int const kv_head = static_cast<int>(blockIdx.x), sequence = static_cast<int>(blockIdx.y);
  PagedRows const rows = paged_rows(p, sequence, kv_head);
  int const thread = static_cast<int>(threadIdx.x), column = thread % kPieces * 8;
  long long const to = first_row(p, sequence, kv_head, longest);
  int const step = static_cast<int>(gridDim.z) * kRowsAtOnce;
  for (int t = static_cast<int>(blockIdx.z) * kRowsAtOnce + thread / kPieces;
       t < p.lengths[sequence]; t += step) {
    long long const from = rows(t) * kHead + column, at = (to + t) * kHead + column;
    *reinterpret_cast<uint4*>(k + at) = *reinterpret_cast<uint4 const*>(p.k + from);
    *reinterpret_cast<uint4*>(v + at) = *reinterpret_cast<uint4 const*>(p.v + from);
  }
}

template <class T, int kHead>
__global__ void __launch_bounds__(kThreads) paged_decode_attend_kernel(Operands<T> p, int longest) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  int const kv_head = static_cast<int>(blockIdx.x), sequence = static_cast<int>(blockIdx.y);
  T* const o = p.o + (static_cast<long long>(sequence) * p.heads + kv_head * p.group) * kHead;
  ContiguousRows const rows{first_row(p, sequence, kv_head, longest)};
  attend<T, kHead>(p, sequence, kv_head, rows, 0, p.lengths[sequence], shared,
                   [&](int row, int column, float value, float, float total) {
                     o[row * kHead + column] = from_f32<T>(total > 0 ? value / total : 0);
                   });
}

void launch(Problem const& problem, device::StreamView stream) {
  with_type(problem, [&]<class T, int kHead>() {
    auto p = operands<T>(problem);
    auto const longest = static_cast<int>(problem.shape.longest);
    auto const heads = static_cast<unsigned>(p.kv_heads);
    auto const sequences = static_cast<unsigned>(p.sequences);
    T* const k = static_cast<T*>(problem.scratch);
    T* const v = k + problem.shape.sequences * problem.shape.kv_heads * longest * kHead;
    constexpr int kTokensOfBlock = 512;
    auto const parts = static_cast<unsigned>(
        std::clamp<std::int64_t>(divide_up(longest, kTokensOfBlock), 1, kMaxGatherBlocks));
    QUAD_LAUNCH((paged_decode_gather_kernel<T, kHead>), dim3(heads, sequences, parts), kThreads, 0,
                stream, p, longest, k, v);
    p.k = k;
    p.v = v;
    QUAD_LAUNCH((paged_decode_attend_kernel<T, kHead>), dim3(heads, sequences), kThreads,
                kSharedBytes<kHead>, stream, p, longest);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const gather_then_attend{
    {.name = "gather_then_attend",
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16},
     .needs = kNeeds,
     .preference = 1,
     .source = "own",
     .summary = "a kernel puts the blocks in order, another one attends"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported_on_gpu, .scratch_bytes = scratch_bytes}};

}  // namespace quadrille::kernels::paged_decode
