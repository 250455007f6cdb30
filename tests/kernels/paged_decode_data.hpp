// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention_data.hpp"
#include "paged_decode/paged_decode.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

/// Steps of decoding with known results.
namespace quadrille::kernels::paged_decode {

/// Which blocks sequences have.
enum class Pool { shuffled, shared_prefix, in_order };

/// Heads, blocks, and the tokens of each sequence.
struct Cache {
  std::int64_t heads = 1, kv_heads = 1, head_size = 64, block_size = 16;
  Pool pool = Pool::shuffled;
  std::vector<std::int32_t> lengths{};
  bool latent = false;
};

/// Nothing, a token, blocks that are full and partly filled, parts of sequences, groups of 1 to 16 heads,
/// whole blocks of equal sequences, large and small parts.
inline std::vector<Cache> const kCaches{
    {.heads = 4, .kv_heads = 2, .block_size = 8, .lengths = {0, 1, 7, 8, 53}},
    {.heads = 8, .kv_heads = 1, .head_size = 128, .block_size = 16, .lengths = {70, 300}},
    {.heads = 3,
     .kv_heads = 3,
     .block_size = 32,
     .pool = Pool::shared_prefix,
     .lengths = {65, 40, 33}},
    {.heads = 16, .kv_heads = 1, .head_size = 128, .block_size = 128, .lengths = {257}},
    {.heads = 2, .kv_heads = 2, .block_size = 64, .pool = Pool::in_order, .lengths = {128, 140}},
    {.heads = 2, .kv_heads = 1, .lengths = {}},
    {.heads = 4, .kv_heads = 2, .head_size = 128, .lengths = {96, 96, 96}},
    {.heads = 8, .kv_heads = 8, .lengths = {2200, 2100, 200}},
};

/// Latent keys: tiles that are not full, blocks smaller and larger than a tile, more heads than a tile has, one
/// tile alone, nothing, more tiles than blocks, and a block that begins with the end of one sequence and
/// has the beginning of another.
inline std::vector<Cache> const kLatentCaches{
    {.heads = 20,
     .head_size = kLatentKey,
     .block_size = 16,
     .lengths = {70, 0, 300, 1},
     .latent = true},
    {.heads = 66,
     .head_size = kLatentKey,
     .block_size = 128,
     .pool = Pool::shared_prefix,
     .lengths = {130, 257},
     .latent = true},
    {.heads = 3, .head_size = kLatentKey, .block_size = 8, .lengths = {0}, .latent = true},
    {.heads = 1,
     .head_size = kLatentKey,
     .block_size = 64,
     .lengths = {128, 64, 900, 31},
     .latent = true},
    {.heads = 2, .head_size = kLatentKey, .lengths = {70, 400, 600}, .latent = true},
};

inline std::string text_of(Cache const& cache) {
  std::string text = std::to_string(cache.heads) + "/" + std::to_string(cache.kv_heads) +
                     " heads of " + std::to_string(cache.head_size) + ", blocks of " +
                     std::to_string(cache.block_size) + ", pool " +
                     std::to_string(static_cast<int>(cache.pool)) + ", tokens";
  for (std::int32_t const length : cache.lengths) text += " " + std::to_string(length);
  return text;
}

/// A problem with its arrays on the host, and what is right.
template <class T>
struct Known {
  Problem problem;
  std::vector<T> q, k, v;
  std::vector<std::int32_t> lengths, table, first_blocks;
  std::vector<attention::Element> elements;
};

/// Where what a variant is to read lies: by way of the table, or side by side.
enum class Rows { by_table, contiguous };

template <class T>
Known<T> known_of(Cache const& cache, Rows rows) {
  Known<T> known;
  Shape x{.sequences = static_cast<std::int64_t>(cache.lengths.size()),
          .heads = cache.heads,
          .kv_heads = cache.kv_heads,
          .head_size = cache.head_size,
          .block_size = cache.block_size,
          .latent = cache.latent};
  std::vector<std::int32_t> blocks;  // of all sequences, one after the other
  for (std::int32_t const length : cache.lengths) {
    x.tokens += length;
    x.longest = std::max<std::int64_t>(x.longest, length);
    known.first_blocks.push_back(static_cast<std::int32_t>(x.blocks));
    for (std::int64_t b = 0; b < x.blocks_of(length); ++b) {
      bool const is_shared = cache.pool == Pool::shared_prefix && b == 0 && x.blocks > 0;
      blocks.push_back(is_shared ? 0 : static_cast<std::int32_t>(x.blocks++));
    }
  }
  if (cache.pool != Pool::in_order) {
    // A step that has no divisor in common with their number visits all of them.
    auto const n = static_cast<std::int32_t>(x.blocks);
    for (std::int32_t& block : blocks) block = static_cast<std::int32_t>((block * 7 + 3) % n);
  }
  std::int64_t const width = x.blocks_of(x.longest);
  known.lengths = cache.lengths;
  known.table.assign(static_cast<std::size_t>(x.sequences * width), -1);
  std::size_t next = 0;
  for (std::int64_t s = 0; s < x.sequences; ++s) {
    std::int64_t const count = x.blocks_of(cache.lengths[static_cast<std::size_t>(s)]);
    for (std::int64_t b = 0; b < count; ++b) {
      known.table[static_cast<std::size_t>(s * width + b)] = blocks[next++];
    }
  }

  known.problem = unallocated(x, core::type_of<T>());
  known.q = attention::random<T>(known.problem.q, 1, 1);
  known.k = attention::random<T>(known.problem.k, 2, 1);
  known.v = x.latent ? known.k : attention::random<T>(known.problem.v, 3, 1);
  auto const d = static_cast<std::size_t>(x.head_size);
  std::vector<bool> is_read(static_cast<std::size_t>(known.problem.k.rows));
  for (std::int64_t s = 0; s < x.sequences; ++s) {
    std::int64_t const length = cache.lengths[static_cast<std::size_t>(s)];
    attention::Shape const alone{
        .heads = x.heads, .kv_heads = x.kv_heads, .keys = length, .head_size = x.head_size};
    attention::Tensors<T> in;
    auto const q = known.q.begin() + s * x.heads * x.head_size;
    in.q.assign(q, q + x.heads * x.head_size);
    for (std::int64_t h = 0; h < x.kv_heads; ++h) {
      for (std::int64_t t = 0; t < length; ++t) {
        std::int64_t row =
            contiguous_row(x, known.first_blocks[static_cast<std::size_t>(s)], length, h, t);
        if (rows == Rows::by_table) {
          std::int32_t const block =
              known.table[static_cast<std::size_t>(s * width + t / x.block_size)];
          row = (block * x.kv_heads + h) * x.block_size + t % x.block_size;
        }
        is_read[static_cast<std::size_t>(row)] = true;
        auto const at = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * d);
        auto const end = at + static_cast<std::ptrdiff_t>(d);
        in.k.insert(in.k.end(), known.k.begin() + at, known.k.begin() + end);
        in.v.insert(in.v.end(), known.v.begin() + at, known.v.begin() + end);
      }
    }
    auto const right =
        attention::elements_of(attention::unallocated(alone, core::type_of<T>()), in);
    // A latent key is more than its value.
    for (std::size_t e = 0; e < right.size(); ++e) {
      if (static_cast<std::int64_t>(e % d) < x.value_size()) known.elements.push_back(right[e]);
    }
  }
  // What nobody may read.
  for (std::size_t row = 0; row < is_read.size(); ++row) {
    if (is_read[row]) continue;
    std::fill_n(known.k.begin() + static_cast<std::ptrdiff_t>(row * d), d, T(NAN));
    std::fill_n(known.v.begin() + static_cast<std::ptrdiff_t>(row * d), d, T(NAN));
  }
  return known;
}

/// Computed once for all variants and schedules.
template <class T>
Known<T> const& known(Cache const& cache, Rows rows) {
  static std::map<std::string, Known<T>> all;
  std::string const key = text_of(cache) + (rows == Rows::by_table ? " by table" : "");
  auto const found = all.find(key);
  if (found != all.end()) return found->second;
  return all.emplace(key, known_of<T>(cache, rows)).first->second;
}

/// False where the variant does not take the problem. `gap`: elements that are no queries, between those of two
/// sequences.
template <class T>
bool expect_right(device::Device& device, device::StreamView stream,
                  Variant<Problem> const& variant, Cache const& cache,
                  attention::Offsets const& offsets = {}, std::int64_t gap = 0) {
  SCOPED_TRACE(testing::Message() << variant.name << " " << core::to_text(core::type_of<T>()) << " "
                                  << text_of(cache) << ", offsets " << offsets.q << offsets.k
                                  << offsets.v << offsets.o << ", gap " << gap);
  bool const by_table = reads_table(variant);
  Known<T> const& one = known<T>(cache, by_table ? Rows::by_table : Rows::contiguous);
  Problem problem = one.problem;
  std::vector<T> queries = one.q;
  if (gap > 0) {
    std::int64_t const of_sequence = problem.shape.heads * problem.shape.head_size;
    problem.q_apart = of_sequence + gap;
    for (std::int64_t s = problem.shape.sequences; s > 0; --s) {
      queries.insert(queries.begin() + s * of_sequence, static_cast<std::size_t>(gap), T(9));
    }
  }
  test::DeviceArray<T> const q{device, stream, queries, offsets.q},
      k{device, stream, one.k, offsets.k}, v{device, stream, one.v, offsets.v};
  test::DeviceArray<T> const o{device, stream, static_cast<std::int64_t>(one.elements.size()),
                               offsets.o};
  test::DeviceArray<std::int32_t> const lengths{device, stream, one.lengths},
      table{device, stream, one.table}, first_blocks{device, stream, one.first_blocks};
  problem.q.data = q.data();
  problem.k.data = k.data();
  problem.v.data = cache.latent ? k.data() : v.data();
  problem.o.data = o.data();
  problem.lengths = lengths.data();
  problem.table = table.data();
  if (cache.pool != Pool::shared_prefix) problem.first_blocks = first_blocks.data();
  if (!by_table && cache.pool == Pool::shared_prefix) {
    EXPECT_NE(variant.unsupported_reason(problem).find("share"), std::string::npos);
    return false;
  }
  bool const may_refuse = variant.role == Role::vendor || !offsets.are_none();
  if (may_refuse && !variant.unsupported_reason(problem).empty()) return false;
  std::size_t const bytes = variant.scratch_bytes(problem, device.facts());
  test::DeviceArray<float> const scratch{device, stream, static_cast<std::int64_t>(bytes / 4)};
  problem.scratch = scratch.data();
  problem.scratch_bytes = bytes;

  variant.launch(problem, stream);
  stream.synchronize();

  attention::expect_elements<T>(one.elements, o.download());
  EXPECT_TRUE(o.intact() && scratch.intact());
  return true;
}

}  // namespace quadrille::kernels::paged_decode
