// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/attention.hpp"
#include "device/host/parallel.hpp"

#include <cstring>
#include <limits>
#include <vector>

/// A tile of queries and tiles of keys and values in vectors of the host's width, after each other, with the
/// running maximum of online softmax. For files of the host's architecture alone.
namespace quadrille::kernels::attention {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
inline constexpr int kRows = 12;  // 24 accumulators, 2 vectors, 1 broadcast: 27 of 32 registers
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
inline constexpr int kRows = 6;  // 12 accumulators, 2 vectors, 1 broadcast: 15 of 16 registers
#else
inline constexpr int kVectorBytes = 16;
inline constexpr int kRows = 6;
#endif
inline constexpr int kTileVectors = 2;
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(float));
inline constexpr int kCols = kTileVectors * kLanes;
using Vector [[gnu::vector_size(kVectorBytes)]] = float;
using Integers [[gnu::vector_size(kVectorBytes)]] = std::int32_t;
inline constexpr std::int64_t kQueries = 96, kKeys = 128;  // of a tile
static_assert(kQueries % kRows == 0 && kKeys % kCols == 0 && 64 % kCols == 0);
inline constexpr float kLowest = -std::numeric_limits<float>::infinity();
/// exp(x) = 2^(kPowers x).
inline constexpr double kPowers = 1.4426950408889634;

/// A vector that memory need not be aligned for.
[[gnu::always_inline]] inline Vector load(float const* from) {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
[[gnu::always_inline]] inline void store(float* to, Vector value) {
  std::memcpy(to, &value, sizeof value);
}

/// kRows rows of A times kCols columns of B, added to C or in its place.
template <bool kAdd>
void multiply_tile(std::int64_t n, float const* a, std::int64_t lda, float const* b,
                   std::int64_t ldb, float* c, std::int64_t ldc) {
  Vector sum[kRows][kTileVectors] = {};
  for (std::int64_t t = 0; t < n; ++t) {
    Vector line[kTileVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kTileVectors; ++v) line[v] = load(b + t * ldb + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      Vector const factor = a[r * lda + t] - Vector{};
#pragma GCC unroll 2
      for (int v = 0; v < kTileVectors; ++v) sum[r][v] += factor * line[v];
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kTileVectors; ++v) {
      float* const to = c + r * ldc + v * kLanes;
      store(to, kAdd ? load(to) + sum[r][v] : sum[r][v]);
    }
  }
}

/// 2^x for x <= 0; below the normal numbers the least of them. Within two units of the last place.
[[gnu::always_inline]] inline Vector exp2_of(Vector x) {
  Vector const least = -126.0F - Vector{};
  x = x > least ? x : least;
  // Adding this power of two rounds to a whole number, which the low bits of the sum then are.
  constexpr float kRound = 0x1.8p23F;
  Vector const sum = x + kRound;
  Integers const whole = __builtin_bit_cast(Integers, sum) - __builtin_bit_cast(int, kRound);
  Vector const f = x - (sum - kRound);  // in [-1/2, 1/2]
  // Terms of exp(f log 2).
  Vector y = f * 0x1.ffcbfcp-17F + 0x1.430912p-13F;
  y = y * f + 0x1.5d87fep-10F;
  y = y * f + 0x1.3b2ab6p-7F;
  y = y * f + 0x1.c6b08ep-5F;
  y = y * f + 0x1.ebfbe0p-3F;
  y = y * f + 0x1.62e430p-1F;
  y = y * f + 1.0F;
  return __builtin_bit_cast(Vector, __builtin_bit_cast(Integers, y) + (whole << 23));
}

inline float sum_of(Vector x) {
  float sum = 0;
  for (int l = 0; l < kLanes; ++l) sum += x[l];
  return sum;
}
inline float largest_of(Vector x) {
  float largest = x[0];
  for (int l = 1; l < kLanes; ++l) largest = std::max(largest, x[l]);
  return largest;
}

/// What a thread works on: a tile of queries, one of keys and of values, scores, and sums.
struct Tiles {
  explicit Tiles(std::int64_t d)
      : q(static_cast<std::size_t>(kQueries * d)),
        k(static_cast<std::size_t>(kKeys * d)),
        v(static_cast<std::size_t>(kKeys * d)),
        o(static_cast<std::size_t>(kQueries * d)),
        s(static_cast<std::size_t>(kQueries * kKeys)) {}
  std::vector<float> q, k, v, o, s;
  float largest[kQueries], total[kQueries];  ///< of the rows so far: scores, weights
};

/// Attention of all queries; visible(i) is how many keys query i of a head sees, the first ones.
template <class T, class Visible>
class TiledAttention {
 public:
  TiledAttention(Problem const& problem, Visible const& visible)
      : p_{problem},
        visible_{visible},
        z_{problem.shape},
        d_{z_.head_size},
        rows_{z_.group() * z_.queries},
        tiles_{(rows_ + kQueries - 1) / kQueries},
        scale_{static_cast<float>(z_.scale() * kPowers)} {}

  /// Calls use(row of q, largest score, total of the weights, sums of weighted values) for each row. Scores
  /// are not scaled; weights are of the largest one.
  template <class Use>
  void run(device::StreamView stream, Use const& use) const {
    device::parallel_for(
        stream, z_.batch * z_.kv_heads * tiles_,
        [&](std::int64_t part) {
          // The last queries see the most keys.
          std::int64_t const heads = z_.batch * z_.kv_heads;
          attend(part % heads, tiles_ - 1 - part / heads, use);
        },
        device::Schedule::dynamic);
  }

 private:
  /// Rows of q and o that share a head of keys follow one another, head by head.
  std::int64_t visible(std::int64_t row) const { return visible_(row % z_.queries); }

  template <class Use>
  void attend(std::int64_t kv_head, std::int64_t tile, Use const& use) const {
    thread_local Tiles of_64{64}, of_128{128}, of_256{256};
    Tiles& t = d_ == 64 ? of_64 : d_ == 128 ? of_128 : of_256;
    std::int64_t const first = tile * kQueries, count = std::min(kQueries, rows_ - first);
    Steps const of_q = steps_of(p_, p_.q, z_.queries);
    std::fill(t.q.begin() + count * d_, t.q.end(), 0.0F);
    for (std::int64_t r = 0; r < count; ++r) {
      std::int64_t const row = kv_head * rows_ + first + r;
      T const* const q = p_.q.as<T>() + row / z_.queries * of_q.head + row % z_.queries * of_q.row;
      std::transform(q, q + d_, t.q.begin() + r * d_, [](T x) { return static_cast<float>(x); });
    }
    std::fill(t.o.begin(), t.o.end(), 0.0F);
    std::fill_n(t.largest, kQueries, kLowest);
    std::fill_n(t.total, kQueries, 0.0F);
    std::int64_t most = 0;
    for (std::int64_t r = 0; r < count; ++r) most = std::max(most, visible(first + r));
    for (std::int64_t key = 0; key < most; key += kKeys) {
      read_keys(t, kv_head, key);
      for (std::int64_t r = 0; r < count; r += kRows) add_keys(t, first, r, count, key);
    }
    for (std::int64_t r = 0; r < count; ++r) {
      use(kv_head * rows_ + first + r, t.largest[r], t.total[r], t.o.data() + r * d_);
    }
  }

  /// Keys by panels of kCols with an element of all of them together, values row by row.
  void read_keys(Tiles& t, std::int64_t kv_head, std::int64_t key) const {
    std::int64_t const count = std::min(kKeys, z_.keys - key);
    Steps const of_k = steps_of(p_, p_.k, z_.keys), of_v = steps_of(p_, p_.v, z_.keys);
    T const* const k = p_.k.as<T>() + kv_head * of_k.head + key * of_k.row;
    T const* const v = p_.v.as<T>() + kv_head * of_v.head + key * of_v.row;
    for (std::int64_t panel = 0; panel < count; panel += kCols) {
      float* const to = t.k.data() + panel * d_;
      for (std::int64_t j = 0; j < kCols; ++j) {
        T const* const from = k + (panel + j) * of_k.row;
        bool const is_there = panel + j < count;
        for (std::int64_t e = 0; e < d_; ++e) {
          to[e * kCols + j] = is_there ? static_cast<float>(from[e]) : 0;
        }
      }
    }
    for (std::int64_t j = 0; j < count; ++j) {
      T const* const from = v + j * of_v.row;
      std::transform(from, from + d_, t.v.begin() + j * d_,
                     [](T x) { return static_cast<float>(x); });
    }
  }

  /// Adds a tile of keys to kRows rows from `r` on.
  void add_keys(Tiles& t, std::int64_t first, std::int64_t r, std::int64_t count,
                std::int64_t key) const {
    std::int64_t seen[kRows];  // of this tile
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < kRows; ++i) {
      seen[i] =
          r + i < count ? std::clamp<std::int64_t>(visible(first + r + i) - key, 0, kKeys) : 0;
      most = std::max(most, seen[i]);
    }
    float* const scores = t.s.data() + r * kKeys;
    for (std::int64_t j = 0; j < most; j += kCols) {
      multiply_tile<false>(d_, t.q.data() + r * d_, d_, t.k.data() + j * d_, kCols, scores + j,
                           kKeys);
    }
    for (std::int64_t i = 0; i < kRows; ++i) {
      weigh(scores + i * kKeys, seen[i], most, t.largest[r + i], t.total[r + i],
            t.o.data() + (r + i) * d_);
    }
    for (std::int64_t e = 0; e < d_ && most > 0; e += kCols) {
      multiply_tile<true>(most, scores, kKeys, t.v.data() + e, d_, t.o.data() + r * d_ + e, d_);
    }
  }

  /// Makes weights of the first `seen` scores of a row and zeros of those behind, up to `most`, and
  /// scales down what was summed before where the maximum grows.
  void weigh(float* s, std::int64_t seen, std::int64_t most, float& largest, float& total,
             float* o) const {
    if (seen == 0) {
      std::fill_n(s, most, 0.0F);
      return;
    }
    std::int64_t const end = (seen + kLanes - 1) / kLanes * kLanes;
    std::fill(s + seen, s + end, kLowest);
    Vector tops = load(s);
    for (std::int64_t j = kLanes; j < end; j += kLanes) {
      Vector const x = load(s + j);
      tops = x > tops ? x : tops;
    }
    float const top = std::max(largest, largest_of(tops));
    Vector sums{};
    for (std::int64_t j = 0; j < end; j += kLanes) {
      Vector const weight = exp2_of((load(s + j) - top) * scale_);
      store(s + j, weight);
      sums += weight;
    }
    std::fill(s + seen, s + std::max(end, most), 0.0F);
    float const factor = std::exp2((largest - top) * scale_);  // 0 for the first keys
    if (factor != 1) {
      for (std::int64_t e = 0; e < d_; e += kLanes) store(o + e, load(o + e) * factor);
    }
    total = total * factor + sum_of(sums);
    largest = top;
  }

  Problem const& p_;
  Visible visible_;
  Shape z_;
  std::int64_t d_, rows_, tiles_;
  float scale_;  // of scores in powers of two
};

}  // namespace quadrille::kernels::attention
