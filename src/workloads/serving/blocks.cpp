// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/blocks.hpp"

#include "core/error.hpp"
#include "core/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace quadrille::workloads::serving {

BlockPool::BlockPool(std::int64_t blocks, std::int64_t block_tokens, bool keeps_prefixes,
                     std::vector<BlockMove>* moves)
    : block_tokens_{block_tokens},
      keeps_prefixes_{keeps_prefixes},
      moves_{moves},
      blocks_(static_cast<std::size_t>(blocks) + 1) {
  QUAD_REQUIRE(blocks < INT32_MAX && block_tokens > 0 && block_tokens < INT32_MAX,
               fmt::format("{} blocks of {} tokens; take fewer", blocks, block_tokens));
  at(end()).before = at(end()).after = end();
  for (BlockId block = 0; block < end(); ++block) link(block, end());
}

void BlockPool::link(BlockId block, BlockId before) {
  Block& b = at(block);
  b.after = before;
  b.before = at(before).before;
  at(b.before).after = block;
  at(before).before = block;
  ++free_;
}

void BlockPool::unlink(BlockId block) {
  Block const& b = at(block);
  at(b.before).after = b.after;
  at(b.after).before = b.before;
  --free_;
}

/// The least recently released one.
BlockId BlockPool::allocate() {
  BlockId const block = at(end()).after;
  if (block == end()) return kNoBlock;
  unlink(block);
  Block& b = at(block);
  if (b.key != 0) by_key_.erase(b.key);
  b.sum = b.key = 0;
  b.filled = 0;
  b.references = 1;
  return block;
}

void BlockPool::refer_to(BlockId block) {
  Block& b = at(block);
  if (b.references == 0) {
    unlink(block);
    filled_ += b.filled;
  }
  ++b.references;
}

void BlockPool::release(BlockId block) {
  Block& b = at(block);
  QUAD_REQUIRE(b.references > 0, fmt::format("block {} is released once too often", block));
  if (--b.references > 0) return;
  filled_ -= b.filled;
  // What nobody can find is overwritten first.
  link(block, b.key == 0 ? at(end()).after : end());
}

std::int64_t BlockPool::blocks_for(BlockTable const& table, std::int64_t tokens) const {
  if (tokens == 0) return 0;
  bool const has_room = table.tokens % block_tokens_ != 0;
  bool const copies = has_room && at(table.blocks.back()).references > 1;
  std::int64_t const all = (table.tokens + tokens + block_tokens_ - 1) / block_tokens_;
  return all - static_cast<std::int64_t>(table.blocks.size()) + (copies ? 1 : 0);
}

bool BlockPool::append(BlockTable& table, std::uint64_t token) {
  if (table.tokens % block_tokens_ == 0) {
    BlockId const block = allocate();
    if (block == kNoBlock) return false;
    table.blocks.push_back(block);
  } else if (at(table.blocks.back()).references > 1) {
    BlockId const copy = allocate();
    if (copy == kNoBlock) return false;
    Block const& shared = at(table.blocks.back());
    at(copy).sum = shared.sum;
    at(copy).filled = shared.filled;
    filled_ += shared.filled;
    ++copied_;
    note({BlockMove::Kind::copy, table.blocks.back(), copy});
    release(table.blocks.back());
    table.blocks.back() = copy;
  }
  Block& last = at(table.blocks.back());
  last.sum += token;
  ++last.filled;
  ++filled_;
  ++table.tokens;
  if (!keeps_prefixes_ || table.tokens % block_tokens_ != 0) return true;
  table.key = next_key(table.key, last.sum);
  make_known(table.blocks.back(), table.key);
  return true;
}

BlockId BlockPool::known(std::uint64_t key) const {
  auto const found = by_key_.find(key);
  return found == by_key_.end() ? kNoBlock : found->second;
}

void BlockPool::make_known(BlockId block, std::uint64_t key) {
  // Of two blocks with the same tokens the first is found.
  if (keeps_prefixes_ && by_key_.emplace(key, block).second) at(block).key = key;
}

BlockTable BlockPool::fork(BlockTable const& table) {
  for (BlockId const block : table.blocks) refer_to(block);
  return table;
}

bool BlockPool::extend_by_known(BlockTable& table, std::uint64_t sum_of_tokens) {
  std::uint64_t const key = next_key(table.key, sum_of_tokens);
  BlockId const block = known(key);
  if (block == kNoBlock) return false;
  refer_to(block);
  table.blocks.push_back(block);
  table.tokens += block_tokens_;
  table.key = key;
  return true;
}

void BlockPool::release_all(BlockTable const& table) {
  // The last blocks of a sequence are of use to fewer others than its first: they are overwritten
  // before.
  for (auto block = table.blocks.rbegin(); block != table.blocks.rend(); ++block) release(*block);
}

void BlockPool::release(BlockTable& table) {
  release_all(table);
  table.blocks.clear();
  table.tokens = 0;
  table.key = 0;
}

std::int64_t BlockPool::blocks_to_move(BlockTable const& table, BlockPool const& to,
                                       std::set<BlockId>* shared) const {
  std::int64_t needed = 0;
  std::uint64_t key = 0;
  for (BlockId const block : table.blocks) {
    key = next_key(key, at(block).sum);
    bool const is_full = at(block).filled == block_tokens_;
    if (shared != nullptr && is_full && keeps_prefixes_ && !shared->insert(block).second) continue;
    BlockId const there = is_full ? to.known(key) : kNoBlock;
    needed += there == kNoBlock || to.references(there) == 0 ? 1 : 0;
  }
  return needed;
}

std::optional<std::int64_t> BlockPool::move(BlockTable& table, BlockPool& to,
                                            BlockMove::Kind kind) {
  if (to.free() < blocks_to_move(table, to)) return {};
  // Before others are overwritten.
  std::vector<BlockId> there;
  std::uint64_t key = 0;
  for (BlockId const block : table.blocks) {
    key = next_key(key, at(block).sum);
    there.push_back(at(block).filled == block_tokens_ ? to.known(key) : kNoBlock);
    if (there.back() != kNoBlock) to.refer_to(there.back());
  }
  std::int64_t copied = 0;
  key = 0;
  for (std::size_t i = 0; i < there.size(); ++i) {
    Block const& from = at(table.blocks[i]);
    key = next_key(key, from.sum);
    if (there[i] != kNoBlock) continue;
    there[i] = to.allocate();
    to.at(there[i]).sum = from.sum;
    to.at(there[i]).filled = from.filled;
    to.filled_ += from.filled;
    copied += from.filled;
    note({kind, table.blocks[i], there[i]});
    if (from.filled == block_tokens_) to.make_known(there[i], key);
  }
  release_all(table);
  table.blocks = std::move(there);
  return copied;
}

std::uint64_t BlockPool::sum_of(BlockTable const& table) const {
  std::uint64_t sum = 0;
  for (BlockId const block : table.blocks) sum += at(block).sum;
  return sum;
}

std::uint64_t BlockPool::next_key(std::uint64_t key, std::uint64_t sum_of_tokens) {
  return core::mix(key + sum_of_tokens) | 1;
}

std::string BlockPool::violation(std::vector<BlockTable const*> const& tables) const {
  std::vector<std::int32_t> references(blocks_.size());
  for (BlockTable const* table : tables) {
    for (BlockId const block : table->blocks) ++references[static_cast<std::size_t>(block)];
  }
  std::int64_t free = 0, filled = 0;
  for (BlockId block = 0; block < end(); ++block) {
    std::int32_t const want = references[static_cast<std::size_t>(block)];
    if (at(block).references != want) {
      return fmt::format("block {}: expected {} references, got {}", block, want,
                         at(block).references);
    }
    free += want == 0 ? 1 : 0;
    filled += want == 0 ? 0 : at(block).filled;
  }
  std::int64_t listed = 0;
  for (BlockId block = at(end()).after; block != end(); block = at(block).after) ++listed;
  if (listed != free || free_ != free) {
    return fmt::format("expected {} free blocks, got {} in the ring of {}", free, listed, free_);
  }
  if (filled != filled_) return fmt::format("expected {} tokens, got {}", filled, filled_);
  return {};
}

}  // namespace quadrille::workloads::serving
