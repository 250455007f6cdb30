// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Attention in three kernels, with all scores in memory.
///
///   S = q k^T / sqrt(d),  P = softmax(S) row by row,  o = P v
///
/// Technique    none: a thread for each score, a warp for each row of the softmax, a thread for
///              each element of o. S is written, in f32, and becomes P in place, so that queries x
///              keys numbers travel to memory and back, many times the size of q, k, v and o: what
///              limits it, 28 bytes for each score, 9 flop a byte at head size 64
/// Shapes       any extents and groups of heads
/// Work         4 b h q k d flop; S is written once, read twice, P written twice and read twice
/// Launch       256 threads, no shared memory; as many heads at a time as fit 1 GiB of scores
/// Accuracy     error_bound() of f32, and one rounding to the type
#include "attention/attention_cuda.cuh"

namespace quadrille::kernels::attention {
namespace {

constexpr int kBlock = 16;  // queries, and keys
constexpr int kThreads = kBlock * kBlock;
constexpr std::int64_t kScoreBytes = std::int64_t{1} << 30;

/// Heads whose scores are in memory together.
std::int64_t heads_at_once(Problem const& p) {
  auto const of_head = static_cast<std::int64_t>(sizeof(float)) * p.shape.queries * p.shape.keys;
  std::int64_t const heads = p.shape.batch * p.shape.heads;
  return of_head == 0 ? heads : std::clamp<std::int64_t>(kScoreBytes / of_head, 1, heads);
}

std::size_t scratch_bytes(Problem const& p, device::Facts const&) {
  if (p.o.rows == 0) return 0;
  return sizeof(float) *
         static_cast<std::size_t>(heads_at_once(p) * p.shape.queries * p.shape.keys);
}

#ifdef QUAD_KERNELS

/// A row of S, of a head in memory.
template <class T>
__device__ float* row_of(Operands<T> const& p, float* scores, int head, int query) {
  return scores + (static_cast<long long>(head) * p.queries + query) * p.keys;
}

template <class T, int kHead>
__global__ void __launch_bounds__(kThreads)
    attention_naive_scores_kernel(Operands<T> p, int first_head, float* scores) {
  int const key = static_cast<int>(blockIdx.x * kBlock + threadIdx.x);
  int const query = static_cast<int>(blockIdx.y * kBlock + threadIdx.y);
  int const head = static_cast<int>(blockIdx.z);
  if (key >= p.keys || query >= p.queries) return;
  T const* const q = p.q + first_query<kHead>(p, first_head + head) + query * kHead;
  T const* const k = p.k + first_key<kHead>(p, first_head + head) + key * kHead;
  float score = 0;
  for (int e = 0; e < kHead; ++e) score += to_f32(q[e]) * to_f32(k[e]);
  bool const is_seen = key < visible(p, query);
  row_of(p, scores, head, query)[key] = is_seen ? score * p.scale : lowest();
}

/// A warp for each row.
template <class T>
__global__ void __launch_bounds__(kThreads)
    attention_naive_softmax_kernel(Operands<T> p, float* scores) {
  int const query = static_cast<int>((blockIdx.x * kThreads + threadIdx.x) / 32);
  int const lane = static_cast<int>(threadIdx.x) % 32;
  if (query >= p.queries) return;
  float* const row = row_of(p, scores, static_cast<int>(blockIdx.y), query);
  float largest = lowest();
  for (int j = lane; j < p.keys; j += 32) largest = fmaxf(largest, row[j]);
  for (int step = 16; step > 0; step /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(~0U, largest, step));
  }
  // A query that sees no key has weights of 0.
  if (largest == lowest()) largest = 0;
  float total = 0;
  for (int j = lane; j < p.keys; j += 32) {
    row[j] = expf(row[j] - largest);
    total += row[j];
  }
  for (int step = 16; step > 0; step /= 2) total += __shfl_xor_sync(~0U, total, step);
  float const factor = total > 0 ? 1 / total : 0;
  for (int j = lane; j < p.keys; j += 32) row[j] *= factor;
}

template <class T, int kHead>
__global__ void __launch_bounds__(kThreads)
    attention_naive_values_kernel(Operands<T> p, int first_head, float* weights) {
  int const e = static_cast<int>(threadIdx.x);
  int const query = static_cast<int>(blockIdx.x * (kThreads / kHead) + threadIdx.y);
  int const head = static_cast<int>(blockIdx.y);
  if (query >= p.queries) return;
  float const* const row = row_of(p, weights, head, query);
  T const* const v = p.v + first_key<kHead>(p, first_head + head);
  float sum = 0;
  for (int j = 0; j < p.keys; ++j) sum += row[j] * to_f32(v[j * kHead + e]);
  p.o[first_query<kHead>(p, first_head + head) + query * kHead + e] = from_f32<T>(sum);
}

void launch(Problem const& problem, device::StreamView stream) {
  auto* const scores = static_cast<float*>(problem.scratch);
  with_type(problem, [&]<class T, int kHead>() {
    auto const p = operands<T>(problem);
    auto const at_once = static_cast<int>(heads_at_once(problem));
    for (int first = 0; first < p.heads; first += at_once) {
      auto const heads = static_cast<unsigned>(std::min(at_once, p.heads - first));
      auto const blocks = [](int n, int by) { return static_cast<unsigned>(divide_up(n, by)); };
      if (p.keys > 0) {
        dim3 const tiles(blocks(p.keys, kBlock), blocks(p.queries, kBlock), heads);
        QUAD_LAUNCH((attention_naive_scores_kernel<T, kHead>), tiles, dim3(kBlock, kBlock), 0,
                    stream, p, first, scores);
        QUAD_LAUNCH((attention_naive_softmax_kernel<T>),
                    dim3(blocks(p.queries, kThreads / 32), heads), kThreads, 0, stream, p, scores);
      }
      QUAD_LAUNCH((attention_naive_values_kernel<T, kHead>),
                  dim3(blocks(p.queries, kThreads / kHead), heads), dim3(kHead, kThreads / kHead),
                  0, stream, p, first, scores);
    }
  });
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& p) {
  constexpr std::int64_t kMaxGridRows = 65535;
  if (p.shape.queries > kMaxGridRows * kBlock) return "takes up to 1048560 queries of a head";
  return unsupported_on_gpu(p);
}

}  // namespace

extern constinit Variant<Problem> const naive{
    {.name = "naive",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .needs = {.other = "up to 65535 heads of all sequences and 1048560 queries of a head"},
     .preference = 1,
     .source = "after Dao et al., FlashAttention, algorithm 0",
     .summary = "scores and weights in memory, three kernels"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported, .scratch_bytes = scratch_bytes}};

}  // namespace quadrille::kernels::attention
