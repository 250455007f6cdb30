// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/draws.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace quadrille::workloads {

/// Sequences whose tokens lie in blocks of a pool, which belong to them in random order.
struct BlockTables {
  std::int64_t block_size = 16;                      ///< tokens
  std::int64_t blocks = 0, tokens = 0, longest = 0;  ///< of the pool; of all sequences, of one
  std::vector<std::int32_t> lengths;                 ///< tokens of each sequence
  std::vector<std::int32_t> first_blocks;            ///< blocks of the sequences before each
  std::vector<std::int32_t> table;                   ///< sequences x width(), from draw_table() on

  /// Lengths by the seed, up to `most`.
  BlockTables(std::int64_t sequences, std::int64_t most, Lengths drawn, std::int64_t size,
              std::uint64_t seed)
      : block_size{size} {
    constexpr std::uint64_t kLengthTag = 0x6c656e;
    auto const limit = static_cast<double>(most);
    for (std::int64_t s = 0; s < sequences; ++s) {
      double const length = length_of(drawn, draw(seed, kLengthTag, s), limit);
      lengths.push_back(static_cast<std::int32_t>(std::clamp(length, 1.0, limit)));
      first_blocks.push_back(static_cast<std::int32_t>(blocks));
      blocks += blocks_of(lengths.back());
      tokens += lengths.back();
      longest = std::max<std::int64_t>(longest, lengths.back());
    }
  }

  std::int64_t blocks_of(std::int64_t length) const {
    return (length + block_size - 1) / block_size;
  }
  /// Blocks of a sequence in the table, of which short ones leave some unused.
  std::int64_t width() const { return blocks_of(longest); }

  void draw_table(std::uint64_t seed) {
    constexpr std::uint64_t kTableTag = 0x746162;
    std::vector<std::int32_t> const order = shuffled(blocks, seed, kTableTag);
    table.assign(lengths.size() * static_cast<std::size_t>(width()), 0);
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      std::copy_n(order.begin() + first_blocks[s], blocks_of(lengths[s]),
                  table.begin() + static_cast<std::ptrdiff_t>(s) * width());
    }
  }

  /// Of a token of a sequence in the pool.
  std::int64_t slot_of(std::int64_t sequence, std::int64_t token) const {
    std::int64_t const at = sequence * width() + token / block_size;
    return table[static_cast<std::size_t>(at)] * block_size + token % block_size;
  }
};

}  // namespace quadrille::workloads
