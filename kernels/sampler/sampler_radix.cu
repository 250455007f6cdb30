// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Next tokens without sorting: the boundary of the likeliest by digits of their keys.
///
///   the likeliest, one drawn of the top_k likeliest that have top_p of the weight, or beams: sampler.hpp
///
/// Technique    a block has a request. Keys order tokens by logit and index, and no two are equal, so that
///              those that are kept are those from one key on. That key is found digit by digit: a
///              histogram of the tokens, or of their weights, tells in which of 256 bins the boundary
///              lies, and the next one is of the tokens of that bin alone. The first is by the distance
///              from the largest logit, which spreads over many bins what shares an exponent. Once a bin has
///              few tokens, each is compared with all; where it ends at the boundary, the key is that of its
///              least token. Sums are of whole
///              numbers: whatever order atomics come in, they are the same. At last each warp adds up a
///              part of the vocabulary, and the one in whose part the random number lies goes through it.
///              Of beams the likeliest tokens of each row, from the boundary on, are put in order, and a
///              second kernel puts those of all rows of a request in order: each counts who comes before it
/// Shapes       up to 2^24 tokens
/// Work         logits are read once for each digit, two to five times for a boundary, by way of the L2 cache
/// Launch       1024 threads for each row; of beams then up to 1024 for each request
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
constexpr unsigned kFew = 512;     // tokens of which each is compared with all

struct Shared {
  unsigned masses[kBins], high_masses[kBins];  ///< the upper half of a sum in the latter
  unsigned counts[kBins];
  unsigned long long of_warps[kWarps];
  unsigned long long key;   ///< the largest, or a boundary
  unsigned long long left;  ///< of what is needed, for the bin
  unsigned long long keys[kFew], weights[kFew];
  unsigned keys_count;
  int bin;
  unsigned in_bin;  ///< its tokens
  bool is_end;      ///< its least token is the boundary

  /// In halves: of 64 bits at once there is no addition to shared memory, but attempts until nobody is between.
  __device__ void add_mass(int at, std::uint64_t mass) {
    auto const low = static_cast<unsigned>(mass);
    unsigned high = static_cast<unsigned>(mass >> 32);
    if (atomicAdd(&masses[at], low) + low < low) ++high;
    if (high > 0) atomicAdd(&high_masses[at], high);
  }
  __device__ unsigned long long mass(int at) const {
    return static_cast<unsigned long long>(high_masses[at]) << 32 | masses[at];
  }
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
  int beams;
  float const* scores;
  float* candidate_scores;  ///< rows x beams
  std::int32_t* candidates;
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
    own = by_mass ? shared.mass(bin) : shared.counts[bin];
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
      shared.in_bin = shared.counts[bin];
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
      shared.masses[t] = shared.high_masses[t] = 0;
      shared.counts[t] = 0;
    }
    __syncthreads();  // bins are empty
    row.for_mine([&](int i) {
      float const logit = row.logit(i);
      std::uint64_t const key = key_of(logit, i);
      int const bin = key < row.kept ? -1 : bin_of(logit, key);
      if (bin < 0) return;
      atomicAdd(&shared.counts[bin], 1U);
      if (by_mass) shared.add_mass(bin, row.weight(logit));
    });
    __syncthreads();  // bins are full
  };
  fill([&](float logit, std::uint64_t) { return row.distance_bin(logit); });
  pick_bin(shared, by_mass, needed_of_total);
  int const distance = shared.bin;
  std::uint64_t prefix = 0;
  int shift = kKeyBits;
  while (!shared.is_end && shared.in_bin > kFew) {
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
  bool const are_few = shared.in_bin <= kFew;
  if (threadIdx.x == 0) {
    shared.key = ~0ULL;
    shared.keys_count = 0;
  }
  __syncthreads();  // it can become less, and keys can come
  row.for_mine([&](int i) {
    float const logit = row.logit(i);
    std::uint64_t const key = key_of(logit, i);
    bool const is_candidate =
        key >= row.kept && row.distance_bin(logit) == distance && key >> shift == prefix;
    if (!is_candidate) return;
    if (!are_few) {
      atomicMin(&shared.key, static_cast<unsigned long long>(key));
      return;
    }
    unsigned const at = atomicAdd(&shared.keys_count, 1U);
    shared.keys[at] = key;
    shared.weights[at] = by_mass ? row.weight(logit) : 1;
  });
  __syncthreads();  // the key is the least, or all keys are there
  if (are_few && threadIdx.x < shared.keys_count) {
    unsigned long long const key = shared.keys[threadIdx.x];
    unsigned long long larger = 0;
    for (unsigned other = 0; other < shared.keys_count; ++other) {
      if (shared.keys[other] > key) larger += shared.weights[other];
    }
    bool const reaches = larger + shared.weights[threadIdx.x] >= shared.left;
    if (larger < shared.left && reaches) shared.key = key;
  }
  __syncthreads();  // the boundary is known
  return shared.key;
}

__device__ inline int index_of(unsigned long long key) {
  return static_cast<int>(kMaxVocabulary - 1 -
                          static_cast<std::int64_t>(key & (kMaxVocabulary - 1)));
}

/// The likeliest tokens of a row and the scores of beams that go on with them, the likeliest first.
template <class T>
__device__ void find_candidates(Shared& shared, Row<T>& row, Operands<T> const& p,
                                std::int64_t request) {
  int const t = static_cast<int>(threadIdx.x);
  float const score = p.scores[request];
  if (score == -INFINITY) {
    if (t < p.beams) p.candidate_scores[request * p.beams + t] = score;
    return;
  }
  unsigned long long sum = 0, total = 0;
  row.for_mine([&](int i) { sum += row.weight(row.logit(i)); });
  sum = warp_scan(sum);
  if (t % 32 == 31) shared.of_warps[t / 32] = sum;
  __syncthreads();  // the sums of all warps are there
  for (int w = 0; w < kWarps; ++w) total += shared.of_warps[w];
  auto const needed = static_cast<unsigned long long>(p.beams);
  row.kept = boundary(shared, row, false, [&](unsigned long long) { return needed; });
  if (t == 0) shared.keys_count = 0;
  __syncthreads();  // keys can come
  row.for_mine([&](int i) {
    std::uint64_t const key = key_of(row.logit(i), i);
    if (key >= row.kept) shared.keys[atomicAdd(&shared.keys_count, 1U)] = key;
  });
  __syncthreads();  // the likeliest are there
  if (t >= p.beams) return;
  unsigned long long const key = shared.keys[t];
  int place = 0;
  for (int other = 0; other < p.beams; ++other) place += shared.keys[other] > key ? 1 : 0;
  int const token = index_of(key);
  float const logarithm = logf(static_cast<float>(total) / static_cast<float>(kWeightOfLargest));
  p.candidates[request * p.beams + place] = token;
  p.candidate_scores[request * p.beams + place] =
      score + ((row.logit(token) - row.largest) * row.inverse_temperature - logarithm);
}

struct Beams {
  float const* candidate_scores;  ///< requests x beams x beams
  std::int32_t const* candidates;
  int beams;
  std::int32_t *tokens, *parents;
  float* scores;
};

/// The best of a request's candidates, of whom each thread has one.
__global__ void __launch_bounds__(kMaxBeams* kMaxBeams) sampler_join_kernel(Beams p) {
  QUAD_SHARED(float, scores, [kMaxBeams * kMaxBeams]);
  int const i = static_cast<int>(threadIdx.x), n = p.beams * p.beams;
  auto const request = static_cast<std::int64_t>(blockIdx.x);
  float const score = i < n ? p.candidate_scores[request * n + i] : 0;
  if (i < n) scores[i] = score;
  __syncthreads();  // all scores are there
  if (i >= n) return;
  int place = 0;
  for (int other = 0; other < n; ++other) {
    place += scores[other] > score || (scores[other] == score && other < i) ? 1 : 0;
  }
  if (place >= p.beams) return;
  std::int64_t const at = request * p.beams + place;
  p.tokens[at] = p.candidates[request * n + i];
  p.parents[at] = i / p.beams;
  p.scores[at] = score;
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
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    unsigned long long const other = __shfl_xor_sync(~0U, largest, lanes);
    largest = other > largest ? other : largest;
  }
  if (lane == 0) atomicMax(&shared.key, largest);
  __syncthreads();  // it is the largest
  int const likeliest = index_of(shared.key);
  if (p.inverse_temperature == 0) {
    if (t > 0) return;
    p.tokens[request] = likeliest;
    p.probabilities[request] = 1;
    return;
  }
  row.largest = row.logit(likeliest);
  __syncthreads();  // all know the largest
  if (p.beams > 0) {
    find_candidates(shared, row, p, request);
    return;
  }
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
      .probabilities = static_cast<float*>(problem.probabilities.data),
      .beams = static_cast<int>(problem.beams),
      .scores = problem.scores,
      .candidate_scores = static_cast<float*>(problem.scratch),
      .candidates =
          static_cast<std::int32_t*>(problem.scratch) + problem.logits.rows * problem.beams};
  QUAD_LAUNCH(sampler_radix_kernel<T>, dim3(static_cast<unsigned>(problem.logits.rows)),
              dim3(kThreads), 0, stream, p);
  if (problem.beams == 0) return;
  Beams const beams{.candidate_scores = p.candidate_scores,
                    .candidates = p.candidates,
                    .beams = p.beams,
                    .tokens = p.tokens,
                    .parents = static_cast<std::int32_t*>(problem.parents.data),
                    .scores = static_cast<float*>(problem.new_scores.data)};
  auto const threads = static_cast<unsigned>((problem.beams * problem.beams + 31) / 32 * 32);
  QUAD_LAUNCH(sampler_join_kernel, dim3(static_cast<unsigned>(problem.requests_count())),
              dim3(threads), 0, stream, beams);
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

/// The likeliest tokens of each beam, and their scores.
std::size_t scratch_bytes(Problem const& p, device::Facts const&) {
  return static_cast<std::size_t>(p.logits.rows * p.beams) * (sizeof(float) + sizeof(std::int32_t));
}

}  // namespace

extern constinit Variant<Problem> const radix{
    {.name = "radix",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .preference = 10,
     .batch_invariant = true,
     .source = "own",
     .summary = "boundaries of the likeliest by digits of keys, in whole numbers"},
    QUAD_KERNEL_LAUNCH(launch),
    {.scratch_bytes = scratch_bytes}};

}  // namespace quadrille::kernels::sampler
