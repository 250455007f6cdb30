// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// One step of decoding straight from the blocks of the cache.
///
///   o = sum_t p_t v_t,  p_t = exp(s_t - m) / sum exp(s - m),  s_t = q . k_t / sqrt(d)
///
/// Technique    no gathering: the place of each token is looked up in the table while its tile is
///              copied to shared memory, so that keys and values cross memory once. A block of
///              threads has a sequence and a head of keys; its warps take tiles of 16 tokens in
///              turn, each with a ring of its own, and have no barrier between tiles. The heads
///              that share keys are the rows of one tile of mma, which costs as much for one as for
///              16: memory is the limit
/// Before       gather_then_attend
/// Shapes       any lengths, blocks and tables; groups of up to 16 heads; without tokens o = 0
/// Work         4 h d flop for each token; each key and value is read once
/// Launch       128 threads; 56 or 106 KiB of shared memory; a block for each sequence and head of keys
/// Accuracy     error_bound() of attention; weights are rounded to the type
#include "paged_decode/paged_decode_cuda.cuh"

namespace quadrille::kernels::paged_decode {
namespace {

#ifdef QUAD_KERNELS

template <class T, int kHead>
__global__ void __launch_bounds__(kThreads) paged_decode_paged_kernel(Operands<T> p) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  int const kv_head = static_cast<int>(blockIdx.x), sequence = static_cast<int>(blockIdx.y);
  T* const o = p.o + (static_cast<long long>(sequence) * p.heads + kv_head * p.group) * kHead;
  attend<T, kHead>(p, sequence, kv_head, paged_rows(p, sequence, kv_head), 0, p.lengths[sequence],
                   shared, [&](int row, int column, float value, float, float total) {
                     o[row * kHead + column] = from_f32<T>(total > 0 ? value / total : 0);
                   });
}

void launch(Problem const& problem, device::StreamView stream) {
  with_type(problem, [&]<class T, int kHead>() {
    auto const p = operands<T>(problem);
    dim3 const grid(static_cast<unsigned>(p.kv_heads), static_cast<unsigned>(p.sequences));
    QUAD_LAUNCH((paged_decode_paged_kernel<T, kHead>), grid, kThreads, kSharedBytes<kHead>, stream,
                p);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const paged{
    {.name = "paged",
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16},
     .needs = kNeeds,
     .preference = 10,
     .source = "after Kwon et al., PagedAttention",
     .summary = "a block for each sequence and head of keys reads them by way of the table"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported_on_gpu}};

}  // namespace quadrille::kernels::paged_decode
