// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Next tokens without sorting: the boundary of the likeliest by digits of their keys.
///
///   the likeliest, or one drawn of the top_k likeliest that have top_p of the weight: sampler.hpp
///
/// Technique    a block has a request. Keys order tokens by logit and index, and no two are equal, so that
///              those that are kept are those from one key on. That key is found digit by digit: a
///              histogram of the tokens, or of their weights, tells in which of 256 bins the boundary
///              lies, and the next one is of the tokens of that bin alone. The first is by the distance
///              from the largest logit, which spreads over many bins what shares an exponent. Once a bin has
///              one token, or ends where the boundary is, the key is that of its least token. Sums are of whole
///              numbers: whatever order atomics come in, they are the same. At last each warp adds up a
///              part of the vocabulary, and the one in whose part the random number lies goes through it
/// Shapes       up to 2^24 tokens
/// Work         logits are read once for each digit, three to five times for a boundary, by way of the L2 cache
/// Launch       1024 threads for each request
/// Accuracy     as host_simd
#include "common/small_float.cuh"
#include "sampler/sampler.hpp"

namespace quadrille::kernels::sampler {
namespace {

#ifdef QUAD_KERNELS

constexpr int kThreads = 1024, kWarps = kThreads / 32;
constexpr int kBinBits = 8, kBins = 1 << kBinBits;
constexpr int kKeyBits = 32 + kIndexBits;
static_assert(kKeyBits % kBinBits == 0);
constexpr float kBinsOfLogit = 8;  // of the first histogram

struct Shared {
  unsigned long long masses[kBins];
  unsigned counts[kBins];
  unsigned long long of_warps[kWarps];
  unsigned long long key;   ///< the largest, or a boundary
  unsigned long long left;  ///< of what is needed, for the bin
  int bin;
  bool is_end;  ///< its least token is the boundary
};

template <class T>
struct Operands {
  T const* logits;
  int vocabulary;
  float inverse_temperature;  ///< 0: greedy
  int top_k;                  ///< 0: all
  std::uint64_t top_p;        ///< share_of_top_p(), or 0: all
  std::uint64_t seed;
  std::int32_t const *requests, *positions;
  std::int32_t* tokens;
  float* probabilities;
};

/// The logits of a request, of which those from `kept` on count.
template <class T>
struct Row {
  T const* logits;
  int n;
  float inverse_temperature;
  float largest = 0;
  std::uint64_t kept = 0;

  __device__ float logit(int i) const { return to_f32(logits[i]); }
  __device__ std::uint64_t weight(float logit) const {
    float const share = expf((logit - largest) * inverse_temperature);
    return static_cast<std::uint64_t>(share * static_cast<float>(kWeightOfLargest));
  }
  /// 255 for the largest; never more for a smaller logit.
  __device__ int distance_bin(float logit) const {
    float const bins = (largest - logit) * kBinsOfLogit;
    return kBins - 1 - (bins < kBins - 1 ? static_cast<int>(bins) : kBins - 1);
  }
  template <class F>
  __device__ void for_mine(F const& f) const {
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < n; i += kThreads) f(i);
  }
};

/// The inclusive sum over the lanes up to this one.
__device__ inline unsigned long long warp_scan(unsigned long long value) {
  int const lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int lanes = 1; lanes < 32; lanes *= 2) {
    unsigned long long const other = __shfl_up_sync(~0U, value, static_cast<unsigned>(lanes));
    if (lane >= lanes) value += other;
  }
  return value;
}

/// Finds the bin, from the largest on, with which the sum reaches what is needed. needed_of(total): what.
template <class Needed>
__device__ void pick_bin(Shared& shared, bool by_mass, Needed const& needed_of_total) {
  int const t = static_cast<int>(threadIdx.x), warp = t / 32, bin = kBins - 1 - t;
  unsigned long long own = 0, sum = 0;
  if (t < kBins) {
    own = by_mass ? shared.masses[bin] : shared.counts[bin];
    sum = warp_scan(own);
    if (t % 32 == 31) shared.of_warps[warp] = sum;
  }
  __syncthreads();  // the sums of eight warps are there
  if (t < kBins) {
    unsigned long long total = 0;
    for (int w = 0; w < kBins / 32; ++w) {
      if (w < warp) sum += shared.of_warps[w];
      total += shared.of_warps[w];
    }
    unsigned long long const needed = needed_of_total(total);
    if (sum >= needed && sum - own < needed) {
      shared.bin = bin;
      shared.left = needed - (sum - own);
      shared.is_end = shared.counts[bin] == 1 || (!by_mass && sum == needed);
    }
  }
  __syncthreads();  // the bin is known
}

/// The key from which on the kept tokens have what is needed.
template <class T, class Needed>
__device__ std::uint64_t boundary(Shared& shared, Row<T> const& row, bool by_mass,
                                  Needed const& needed_of_total) {
  auto const fill = [&](auto const& bin_of) {
    int const t = static_cast<int>(threadIdx.x);
    if (t < kBins) {
      shared.masses[t] = 0;
      shared.counts[t] = 0;
    }
    __syncthreads();  // bins are empty
    row.for_mine([&](int i) {
      float const logit = row.logit(i);
      std::uint64_t const key = key_of(logit, i);
      int const bin = key < row.kept ? -1 : bin_of(logit, key);
      if (bin < 0) return;
      atomicAdd(&shared.counts[bin], 1U);
      if (by_mass) atomicAdd(&shared.masses[bin], row.weight(logit));
    });
    __syncthreads();  // bins are full
  };
  fill([&](float logit, std::uint64_t) { return row.distance_bin(logit); });
  pick_bin(shared, by_mass, needed_of_total);
  int const distance = shared.bin;
  std::uint64_t prefix = 0;
  int shift = kKeyBits;
  while (!shared.is_end) {
    shift -= kBinBits;
    unsigned long long const left = shared.left;
    fill([&](float logit, std::uint64_t key) {
      bool const is_candidate =
          row.distance_bin(logit) == distance && key >> (shift + kBinBits) == prefix;
      return is_candidate ? static_cast<int>(key >> shift & (kBins - 1)) : -1;
    });
    pick_bin(shared, by_mass, [&](unsigned long long) { return left; });
    prefix = prefix << kBinBits | static_cast<unsigned>(shared.bin);
  }
  if (threadIdx.x == 0) shared.key = ~0ULL;
  __syncthreads();  // it can become less
  row.for_mine([&](int i) {
    float const logit = row.logit(i);
    std::uint64_t const key = key_of(logit, i);
    bool const is_candidate =
        key >= row.kept && row.distance_bin(logit) == distance && key >> shift == prefix;
    if (is_candidate) atomicMin(&shared.key, static_cast<unsigned long long>(key));
  });
  __syncthreads();  // it is the least
  return shared.key;
}

template <class T>
__global__ void __launch_bounds__(kThreads) sampler_radix_kernel(Operands<T> p) {
  QUAD_SHARED(Shared, shared);
  auto const request = static_cast<std::int64_t>(blockIdx.x);
  Row<T> row{p.logits + request * p.vocabulary, p.vocabulary, p.inverse_temperature};
  int const t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
  if (t == 0) shared.key = 0;
  __syncthreads();  // it can become more
  unsigned long long largest = 0;
  row.for_mine([&](int i) {
    auto const key = static_cast<unsigned long long>(key_of(row.logit(i), i));
    largest = key > largest ? key : largest;
  });
  atomicMax(&shared.key, largest);
  __syncthreads();  // it is the largest
  auto const likeliest = static_cast<int>(
      kMaxVocabulary - 1 - static_cast<std::int64_t>(shared.key & (kMaxVocabulary - 1)));
  if (p.inverse_temperature == 0) {
    if (t > 0) return;
    p.tokens[request] = likeliest;
    p.probabilities[request] = 1;
    return;
  }
  row.largest = row.logit(likeliest);
  __syncthreads();  // all know the largest
  if (p.top_k > 0) {
    auto const needed = static_cast<unsigned long long>(p.top_k);
    row.kept = boundary(shared, row, false, [&](unsigned long long) { return needed; });
    __syncthreads();  // all know the boundary
  }
  if (p.top_p > 0) {
    row.kept = boundary(shared, row, true, [&](unsigned long long total) {
      return static_cast<unsigned long long>(needed_of(p.top_p, total));
    });
    __syncthreads();  // all know the boundary
  }

  // A warp has a part of the vocabulary, by index.
  int const each = (row.n + kThreads - 1) / kThreads * 32;
  int const first = warp * each, end = min(first + each, row.n);
  auto const weight_at = [&](int i) -> unsigned long long {
    if (i >= end) return 0;
    float const logit = row.logit(i);
    return key_of(logit, i) >= row.kept ? row.weight(logit) : 0;
  };
  unsigned long long sum = 0;
#pragma unroll 4
  for (int i = first + lane; i < end; i += 32) sum += weight_at(i);
  sum = warp_scan(sum);
  if (lane == 31) shared.of_warps[warp] = sum;
  __syncthreads();  // the sums of all warps are there
  unsigned long long total = 0, before = 0;
  for (int w = 0; w < kWarps; ++w) {
    if (w < warp) before += shared.of_warps[w];
    total += shared.of_warps[w];
  }
  std::uint64_t const share = random_share(p.seed, p.requests[request], p.positions[request]);
  unsigned long long const place = share_of(share, total);
  if (place < before || place >= before + shared.of_warps[warp]) return;
  for (int step = first;; step += 32) {
    unsigned long long const own = weight_at(step + lane), up_to = before + warp_scan(own);
    unsigned const reached = __ballot_sync(~0U, up_to > place);
    if (reached != 0 && lane == __ffs(static_cast<int>(reached)) - 1) {
      p.tokens[request] = step + lane;
      p.probabilities[request] =
          static_cast<float>(static_cast<double>(own) / static_cast<double>(total));
    }
    if (reached != 0) return;
    before = __shfl_sync(~0U, up_to, 31);
  }
}

template <class T>
void launch_as(Problem const& problem, device::StreamView stream) {
  Operands<T> const p{
      .logits = static_cast<T const*>(problem.logits.data),
      .vocabulary = static_cast<int>(problem.logits.cols),
      .inverse_temperature = problem.is_greedy() ? 0 : static_cast<float>(1 / problem.temperature),
      .top_k = problem.has_top_k() ? static_cast<int>(problem.top_k) : 0,
      .top_p = problem.top_p < 1 ? std::max<std::uint64_t>(1, share_of_top_p(problem.top_p)) : 0,
      .seed = problem.seed,
      .requests = problem.requests,
      .positions = problem.positions,
      .tokens = static_cast<std::int32_t*>(problem.tokens.data),
      .probabilities = static_cast<float*>(problem.probabilities.data)};
  QUAD_LAUNCH(sampler_radix_kernel<T>, dim3(static_cast<unsigned>(problem.logits.rows)),
              dim3(kThreads), 0, stream, p);
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.logits.rows == 0) return;
  switch (problem.logits.type) {
    case core::DataType::f32: return launch_as<float>(problem, stream);
    case core::DataType::f16: return launch_as<__half>(problem, stream);
    default: return launch_as<__nv_bfloat16>(problem, stream);
  }
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const radix{
    {.name = "radix",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .preference = 10,
     .batch_invariant = true,
     .source = "own",
     .summary = "boundaries of the likeliest by digits of keys, in whole numbers"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::sampler
