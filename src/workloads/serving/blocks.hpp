// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace quadrille::workloads::serving {

using BlockId = std::int32_t;
inline constexpr BlockId kNoBlock = -1;

/// A block whose contents go elsewhere, to another block of the device or to or from the host.
struct BlockMove {
  enum class Kind { copy, out, in } kind = Kind::copy;
  BlockId from = kNoBlock, to = kNoBlock;
};

/// Where K and V of one sequence lie: token t in slot t % block_tokens of blocks[t / block_tokens].
struct BlockTable {
  std::vector<BlockId> blocks;
  std::int64_t tokens = 0;
  std::uint64_t key = 0;  ///< of all tokens in full blocks
};

/// Blocks of one memory, which sequences share by reference counts and copy when they write. In
/// place of K and V a block has the sum of the hashes of its tokens: what went astray is seen.
///
/// A full block can be found by the tokens up to its end until its memory is needed for others,
/// also when nobody refers to it any more.
class BlockPool {
 public:
  /// `keeps_prefixes`: full blocks can be found again. Moves of blocks are appended to `moves`, where that is
  /// given.
  BlockPool(std::int64_t blocks, std::int64_t block_tokens, bool keeps_prefixes,
            std::vector<BlockMove>* moves = nullptr);

  std::int64_t block_tokens() const { return block_tokens_; }
  std::int64_t count() const { return static_cast<std::int64_t>(blocks_.size()) - 1; }
  std::int64_t free() const { return free_; }
  /// Tokens in blocks that somebody refers to, each once.
  std::int64_t filled() const { return filled_; }
  /// Blocks copied since the start because somebody else refers to them.
  std::int64_t copied() const { return copied_; }
  std::int32_t references(BlockId block) const { return at(block).references; }

  /// Blocks that must be free for so many more tokens, that of a copy included.
  std::int64_t blocks_for(BlockTable const& table, std::int64_t tokens) const;
  /// Writes the next token of a sequence; false, with nothing changed, where no block is free for
  /// it.
  bool append(BlockTable& table, std::uint64_t token);
  /// A second sequence with the same tokens, in the same blocks.
  BlockTable fork(BlockTable const& table);
  /// Refers to the block behind those of the table whose tokens have this sum, if there is one. For
  /// tables of full blocks.
  bool extend_by_known(BlockTable& table, std::uint64_t sum_of_tokens);
  void release(BlockTable& table);
  /// Free blocks of another memory that a sequence takes there: of full ones that it finds there by
  /// their tokens those that nobody else refers to, and all others. `shared`: full blocks of those that move
  /// before it, which will be there; its own are added.
  std::int64_t blocks_to_move(BlockTable const& table, BlockPool const& to,
                              std::set<BlockId>* shared = nullptr) const;
  /// Moves a sequence into another memory, as swapping does: all of its blocks leave this one, and of
  /// full ones that are still there it shares those. The tokens that are copied; nothing, with nothing
  /// changed, where too few blocks are free.
  std::optional<std::int64_t> move(BlockTable& table, BlockPool& to,
                                   BlockMove::Kind kind = BlockMove::Kind::out);
  /// The sum of the hashes of a sequence's tokens, as the blocks have it.
  std::uint64_t sum_of(BlockTable const& table) const;

  /// What is wrong with the reference counts if these are all tables; empty where nothing is.
  std::string violation(std::vector<BlockTable const*> const& tables) const;

 private:
  struct Block {
    std::uint64_t sum = 0;
    std::uint64_t key = 0;  ///< 0: cannot be found
    std::int32_t references = 0;
    std::int32_t filled = 0;
    BlockId before = kNoBlock, after = kNoBlock;  ///< in the ring of free blocks
  };
  Block& at(BlockId block) { return blocks_[static_cast<std::size_t>(block)]; }
  Block const& at(BlockId block) const { return blocks_[static_cast<std::size_t>(block)]; }
  /// The ring of free blocks begins and ends here.
  BlockId end() const { return static_cast<BlockId>(count()); }

  BlockId allocate();
  /// The block that can be found by this key, or none.
  BlockId known(std::uint64_t key) const;
  /// Lets a full block be found.
  void make_known(BlockId block, std::uint64_t key);
  void refer_to(BlockId block);
  void note(BlockMove const& move) {
    if (moves_ != nullptr) moves_->push_back(move);
  }
  void release(BlockId block);
  void release_all(BlockTable const& table);
  void link(BlockId block, BlockId before);
  void unlink(BlockId block);
  static std::uint64_t next_key(std::uint64_t key, std::uint64_t sum_of_tokens);

  std::int64_t block_tokens_;
  bool keeps_prefixes_;
  std::vector<BlockMove>* moves_;
  std::vector<Block> blocks_;  ///< and the ring's end
  std::unordered_map<std::uint64_t, BlockId> by_key_;
  std::int64_t free_ = 0, filled_ = 0, copied_ = 0;
};

}  // namespace quadrille::workloads::serving
