// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Attention tile by tile, the tiles of keys in the outer loop.
///
///   for each tile of keys j, for each tile of queries i:  o_i, m_i, l_i take in tile j
///
/// Technique    scores, in f32, never leave registers: a block takes a tile of keys and values to
///              shared memory and walks all tiles of queries, a thread for each row. Softmax needs
///              the maximum of a whole row, of which only a part has been seen: it is carried along
///              (online softmax; CUDATutorial leaves it out), and with it the sum of the weights;
///              where a tile raises it, sum and o are scaled down. In this loop order o, m and l
///              travel to memory and back for every tile of keys, and only heads run side by side:
///              what `flash_v2` turns round. Per row and tile:
///                  before     m = max of all scores s seen,  l = sum exp(s - m),  o = sum exp(s - m) v
///                  tile j     s_0 ... s_31,                  m' = max(m, s_0, ..., s_31)
///                  weights    p_c = exp(s_c - m')            never above 1
///                  rescale    f = exp(m - m')                1 where the tile raises no maximum
///                  after      m = m',  l = f l + sum_c p_c,  o = f o + sum_c p_c v_c
///                  at the end o / l
/// Before       naive
/// Shapes       any extents and groups of heads; pairs of tiles that the mask hides are left out
/// Work         4 b h q k d flop, half of it under a causal mask; o is read and written k / 32 times
/// Launch       a block of 128 threads for each head; tiles of 128 queries x 32 keys; 25 to 97 KiB of
///              shared memory; o of all rows in f32 in scratch
/// Accuracy     error_bound() of f32, and one rounding to the type
#include "attention/attention_cuda.cuh"

namespace quadrille::kernels::attention {
namespace {

constexpr int kQueries = 128;  // of a tile, a thread each
constexpr int kKeys = 32;      // of a tile
constexpr int kLargestBytes = 4;

/// Elements of a query in shared memory: rows of all threads of a warp begin in different banks.
template <int kHead, int kBytes>
constexpr int kPitch = kHead + 4 / kBytes;
template <int kHead, int kBytes>
constexpr std::size_t kSharedBytes = std::size_t{kBytes} *
                                     (kQueries * kPitch<kHead, kBytes> + 2 * kKeys * kHead);

/// o of all rows before it is rounded, a column of a head after the other so that neighbouring threads
/// access neighbouring words; then the maximum and the sum of the weights of each row.
std::size_t scratch_bytes(Problem const& p, device::Facts const&) {
  return sizeof(float) * static_cast<std::size_t>(p.o.rows * (p.shape.head_size + 2));
}

#ifdef QUAD_KERNELS

/// What a head's rows have come to.
struct Sums {
  float* o;
  float* largest;
  float* total;
};

/// Copies rows of kHead elements; behind the last one there are zeros.
template <int kHead, class T>
__device__ void copy_rows(T const* from, int count, T* to, int rows, int pitch) {
  for (int e = static_cast<int>(threadIdx.x); e < rows * kHead; e += kQueries) {
    to[e / kHead * pitch + e % kHead] = e < count * kHead ? from[e] : from_f32<T>(0);
  }
}

/// Takes the first `seen` keys of a tile into the row of a thread.
template <int kHead, class T>
__device__ void add_keys(T const* q, T const* k, T const* v, int seen, float scale,
                         Sums const& sums, int row, int rows) {
  float weight[kKeys] = {};
  for (int e = 0; e < kHead; ++e) {
    float const factor = to_f32(q[e]) * scale;
#pragma unroll
    for (int c = 0; c < kKeys; ++c) weight[c] += factor * to_f32(k[c * kHead + e]);
  }
  float const before = sums.largest[row];
  float largest = before;
#pragma unroll
  for (int c = 0; c < kKeys; ++c) {
    if (c < seen) largest = fmaxf(largest, weight[c]);
  }
  float const factor = expf(before - largest);  // 0 for the first keys
  float total = sums.total[row] * factor;
#pragma unroll
  for (int c = 0; c < kKeys; ++c) {
    weight[c] = c < seen ? expf(weight[c] - largest) : 0;
    total += weight[c];
  }
  sums.largest[row] = largest;
  sums.total[row] = total;
  for (int e = 0; e < kHead; ++e) {
    float* const o = sums.o + static_cast<long long>(e) * rows + row;
    float sum = *o * factor;
#pragma unroll
    for (int c = 0; c < kKeys; ++c) sum += weight[c] * to_f32(v[c * kHead + e]);
    *o = sum;
  }
}

template <class T, int kHead>
__global__ void __launch_bounds__(kQueries)
    attention_flash_v1_kernel(Operands<T> p, float* scratch) {
  constexpr int kRow = kPitch<kHead, sizeof(T)>;
  QUAD_DYNAMIC_SHARED(T, shared);
  T* const q_tile = shared;
  T* const k_tile = q_tile + kQueries * kRow;
  T* const v_tile = k_tile + kKeys * kHead;
  int const head = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  T const* const q = p.q + first_query<kHead>(p, head);
  T const* const k = p.k + first_key<kHead>(p, head);
  T const* const v = p.v + first_key<kHead>(p, head);
  long long const rows_before = static_cast<long long>(head) * p.queries;
  long long const rows = static_cast<long long>(p.heads) * p.queries;
  Sums const sums{scratch + rows_before * kHead, scratch + rows * kHead + rows_before,
                  scratch + rows * (kHead + 1) + rows_before};

  // A thread meets the same rows in every pass: what it leaves in memory nobody else reads.
  for (int row = thread; row < p.queries; row += kQueries) {
    sums.largest[row] = lowest();
    sums.total[row] = 0;
    for (int e = 0; e < kHead; ++e) sums.o[static_cast<long long>(e) * p.queries + row] = 0;
  }
  for (int key = 0; key < p.keys; key += kKeys) {
    int const keys = min(kKeys, p.keys - key);
    copy_rows<kHead>(k + key * kHead, keys, k_tile, kKeys, kHead);
    copy_rows<kHead>(v + key * kHead, keys, v_tile, kKeys, kHead);
    for (int first = 0; first < p.queries; first += kQueries) {
      int const queries = min(kQueries, p.queries - first);
      // The last query sees the most keys.
      if (visible(p, first + queries - 1) <= key) continue;
      copy_rows<kHead>(q + first * kHead, queries, q_tile, kQueries, kRow);
      __syncthreads();  // the tiles are there
      int const seen = thread < queries ? visible(p, first + thread) - key : 0;
      if (seen > 0) {
        add_keys<kHead>(q_tile + thread * kRow, k_tile, v_tile, seen, p.scale, sums, first + thread,
                        p.queries);
      }
      __syncthreads();  // nobody reads them any more
    }
  }
  for (int row = thread; row < p.queries; row += kQueries) {
    float const total = sums.total[row];
    float const factor = total > 0 ? 1 / total : 0;
    T* const o = p.o + first_query<kHead>(p, head) + row * kHead;
    for (int e = 0; e < kHead; ++e) {
      o[e] = from_f32<T>(sums.o[static_cast<long long>(e) * p.queries + row] * factor);
    }
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  with_type(problem, [&]<class T, int kHead>() {
    auto const p = operands<T>(problem);
    QUAD_LAUNCH((attention_flash_v1_kernel<T, kHead>), static_cast<unsigned>(p.heads), kQueries,
                (kSharedBytes<kHead, sizeof(T)>), stream, p, static_cast<float*>(problem.scratch));
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const flash_v1{
    {.name = "flash_v1",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .needs = {.shared_bytes = kSharedBytes<128, kLargestBytes>,
               .other = "up to 65535 heads of all sequences"},
     .preference = 2,
     .source = "after CUDATutorial, chapter 17; FlashAttention, algorithm 1",
     .summary = "scores in registers, tiles of keys in the outer loop, online softmax"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported_on_gpu, .scratch_bytes = scratch_bytes}};

}  // namespace quadrille::kernels::attention
