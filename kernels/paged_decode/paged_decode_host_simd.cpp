// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// One step of decoding over a paged cache on the threads of a host.
///
///   o = sum_t p_t v_t,  p_t = exp(s_t - m) / sum exp(s - m),  s_t = q . k_t / sqrt(d)
///
/// Technique    block by block (PagedAttention, Kwon et al. 2023): keys and values of a block are
///              widened once for all heads that share them, their scores and weights stay in the
///              first-level cache, and the maximum is that of the tokens so far (online softmax).
///              Long sequences are split among threads, and the parts joined in order
/// Shapes       any lengths, blocks, tables and groups of heads; a sequence without tokens has o = 0
/// Work         2 h (d + d of values) flop for each token; each key and value is read once
/// Launch       sequences x heads of keys x parts of 1024 tokens in one parallel loop of the stream, then
///              one over the rows of o
/// Accuracy     error_bound() of f32, and one rounding to the type
#include "device/host/parallel.hpp"
#include "paged_decode/paged_decode.hpp"

#include <limits>
#include <vector>

namespace quadrille::kernels::paged_decode {
namespace {

constexpr std::int64_t kPart = 1024;  // tokens, a multiple of every block
constexpr std::int64_t kMaxBlock = 128;
constexpr float kLowest = -std::numeric_limits<float>::infinity();

/// Of a head and a part of the tokens: the largest score, the weights' sum, then d sums.
struct Partial {
  float* largest;
  float* total;
  float* sums;
};

/// kHead elements of a key, kValue of a value.
template <class T, int kHead, int kValue>
class Decoding {
 public:
  explicit Decoding(Problem const& problem)
      : p_{problem},
        x_{problem.shape},
        parts_{std::max<std::int64_t>(1, (x_.longest + kPart - 1) / kPart)} {
    // Of the stream's own thread, which waits for those of the loops.
    thread_local std::vector<float> memory;
    memory.resize(static_cast<std::size_t>(p_.o.rows * parts_ * (kValue + 2)));
    partials_ = memory.data();
  }

  void run(device::StreamView stream) {
    device::parallel_for(
        stream, x_.sequences * x_.kv_heads * parts_,
        [this](std::int64_t item) {
          std::int64_t const head = item / parts_;
          attend(head / x_.kv_heads, head % x_.kv_heads, item % parts_);
        },
        device::Schedule::dynamic);
    device::parallel_for(stream, p_.o.rows, [this](std::int64_t row) { join(row); });
  }

 private:
  Partial partial(std::int64_t row, std::int64_t part) {
    float* const at = partials_ + (row * parts_ + part) * (kValue + 2);
    return {at, at + 1, at + 2};
  }

  void attend(std::int64_t s, std::int64_t kv_head, std::int64_t part) {
    thread_local std::vector<float> keys(kMaxBlock * kHead), values(kMaxBlock * kValue);
    std::int64_t const first_row = s * x_.heads + kv_head * x_.group();
    for (std::int64_t g = 0; g < x_.group(); ++g) {
      Partial const to = partial(first_row + g, part);
      *to.largest = kLowest;
      *to.total = 0;
      std::fill_n(to.sums, kValue, 0.0F);
    }
    std::int64_t const end = std::min<std::int64_t>(p_.lengths[s], (part + 1) * kPart);
    for (std::int64_t t = part * kPart; t < end; t += x_.block_size) {
      std::int64_t const block = p_.table[s * x_.blocks_of(x_.longest) + t / x_.block_size];
      std::int64_t const row = (block * x_.kv_heads + kv_head) * x_.block_size;
      std::int64_t const count = std::min(x_.block_size, end - t);
      widen<kHead>(p_.k, row, count, keys.data());
      widen<kValue>(p_.v, row, count, values.data());
      for (std::int64_t g = 0; g < x_.group(); ++g) {
        add_block(first_row + g, keys.data(), values.data(), count, partial(first_row + g, part));
      }
    }
  }

  template <int kColumns>
  static void widen(device::MatrixView const& from, std::int64_t row, std::int64_t rows,
                    float* to) {
    for (std::int64_t t = 0; t < rows; ++t, to += kColumns) {
      T const* const line = from.as<T>() + (row + t) * from.ld;
      for (int e = 0; e < kColumns; ++e) to[e] = static_cast<float>(line[e]);
    }
  }

  void add_block(std::int64_t row, float const* keys, float const* values, std::int64_t count,
                 Partial const& to) const {
    constexpr int kLanes = 16;  // partial sums of a score, which the compiler keeps in vectors
    T const* const q =
        p_.q.as<T>() + row / x_.heads * p_.between_queries() + row % x_.heads * kHead;
    float query[kHead];
    for (int e = 0; e < kHead; ++e) {
      query[e] = static_cast<float>(q[e]) * static_cast<float>(x_.scale());
    }
    float scores[kMaxBlock];
    float top = *to.largest;
    for (std::int64_t t = 0; t < count; ++t) {
      float part[kLanes] = {};
      for (int e = 0; e < kHead; e += kLanes) {
        for (int l = 0; l < kLanes; ++l) part[l] += query[e + l] * keys[t * kHead + e + l];
      }
      for (int width = kLanes / 2; width > 0; width /= 2) {
        for (int l = 0; l < width; ++l) part[l] += part[l + width];
      }
      scores[t] = part[0];
      top = std::max(top, part[0]);
    }
    float const factor = std::exp(*to.largest - top);  // 0 for the first tokens
    float sums[kValue];
    for (int e = 0; e < kValue; ++e) sums[e] = to.sums[e] * factor;
    float total = *to.total * factor;
    for (std::int64_t t = 0; t < count; ++t) {
      float const weight = std::exp(scores[t] - top);
      total += weight;
      for (int e = 0; e < kValue; ++e) sums[e] += weight * values[t * kValue + e];
    }
    *to.largest = top;
    *to.total = total;
    std::copy_n(sums, kValue, to.sums);
  }

  void join(std::int64_t row) {
    float top = kLowest;
    for (std::int64_t part = 0; part < parts_; ++part) {
      top = std::max(top, *partial(row, part).largest);
    }
    float sums[kValue] = {}, total = 0;
    for (std::int64_t part = 0; part < parts_ && top > kLowest; ++part) {
      Partial const from = partial(row, part);
      float const factor = std::exp(*from.largest - top);
      total += *from.total * factor;
      for (int e = 0; e < kValue; ++e) sums[e] += from.sums[e] * factor;
    }
    T* const o = p_.o.as<T>() + row * kValue;
    for (int e = 0; e < kValue; ++e) o[e] = static_cast<T>(total > 0 ? sums[e] / total : 0);
  }

  Problem const& p_;
  Shape x_;
  std::int64_t parts_;
  float* partials_;
};

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem, stream] {
    auto const with_type = [&]<class T>(T) {
      if (problem.shape.latent) {
        return Decoding<T, kLatentKey, kLatentValue>{problem}.run(stream);
      }
      problem.shape.head_size == 64 ? Decoding<T, 64, 64>{problem}.run(stream)
                                    : Decoding<T, 128, 128>{problem}.run(stream);
    };
    switch (problem.q.type) {
      case core::DataType::f32: return with_type(float{});
      case core::DataType::f16: return with_type(core::f16{});
      default: return with_type(core::bf16{});
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const host_simd{
    {.name = "host_simd",
     .where = Where::host,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .preference = 20,
     .batch_invariant = true,
     .source = "own",
     .summary = "block by block in cache, online softmax, parts joined in order"},
    launch};

}  // namespace quadrille::kernels::paged_decode
