// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/kv_memory.hpp"

#include "core/error.hpp"

#include <algorithm>

namespace quadrille::workloads::serving {

bool ContiguousKv::admit(Sequence& sequence, TokenHashes const&) {
  std::int64_t const piece = piece_of(*sequence.request, block_tokens_);
  sequence.first_slot = memory_.reserve(piece);
  refused_ = sequence.first_slot < 0 ? piece : 0;
  return sequence.first_slot >= 0;
}

std::int64_t ContiguousKv::room_for(Sequence const&, std::int64_t wanted) const { return wanted; }

bool ContiguousKv::has_room(std::span<Sequence* const>) const { return true; }

void ContiguousKv::write(Sequence& sequence, std::uint64_t token) {
  QUAD_REQUIRE(sequence.cached < sequence.request->limit, "a sequence grew beyond its limit");
  sequence.sum += token;
  ++sequence.cached;
}

void ContiguousKv::release(Sequence& sequence) {
  memory_.release(sequence.first_slot, piece_of(*sequence.request, block_tokens_));
  sequence.first_slot = -1;
  sequence.cached = 0;
}

KvUse ContiguousKv::use(std::span<Sequence* const> sequences) const {
  KvUse use;
  for (Sequence const* sequence : sequences) {
    std::int64_t const piece = piece_of(*sequence->request, block_tokens_);
    use.used += static_cast<double>(sequence->cached);
    use.reserved += static_cast<double>(sequence->to_come());
    use.internal += static_cast<double>(piece - sequence->request->max_cached());
  }
  bool const is_split = refused_ > 0 && refused_ <= memory_.free();
  (is_split ? use.external : use.free) = static_cast<double>(memory_.free());
  return use;
}

bool PagedKv::admit(Sequence& sequence, TokenHashes const& tokens) {
  if (!keeps_prefixes_) return true;
  // The last token is computed in any case: it makes the next one.
  std::int64_t const step = device_.block_tokens();
  for (std::int64_t end = step; end < sequence.missing() + sequence.cached; end += step) {
    std::uint64_t const sum = tokens.sum(*sequence.request, sequence.sample, end - step, end);
    if (!device_.extend_by_known(sequence.table, sum)) break;
  }
  sequence.cached = sequence.table.tokens;
  return true;
}

std::int64_t PagedKv::room_for(Sequence const& sequence, std::int64_t wanted) const {
  std::int64_t const needed = device_.blocks_for(sequence.table, wanted);
  if (needed <= device_.free()) return wanted;
  if (device_.blocks_for(sequence.table, 1) > device_.free()) return 0;
  // To the end of the last block that can be taken.
  std::int64_t const step = device_.block_tokens();
  std::int64_t const lacking = needed - device_.free();
  std::int64_t const end = (sequence.table.tokens + wanted + step - 1) / step - lacking;
  return end * step - sequence.table.tokens;
}

bool PagedKv::has_room(std::span<Sequence* const> sequences) const {
  std::int64_t needed = 0;
  for (Sequence const* sequence : sequences) needed += device_.blocks_for(sequence->table, 1);
  return needed <= device_.free();
}

bool PagedKv::has_spare(Sequence const& sequence, std::int64_t tokens, bool is_alone) const {
  return device_.blocks_for(sequence.table, tokens) + spare(is_alone) <= device_.free();
}

void PagedKv::write(Sequence& sequence, std::uint64_t token) {
  QUAD_REQUIRE(device_.append(sequence.table, token), "a token was written without a free block");
  ++sequence.cached;
}

void PagedKv::release(Sequence& sequence) {
  device_.release(sequence.table);
  sequence.cached = 0;
}

void PagedKv::follow(std::span<Sequence* const> beams, std::span<std::int32_t const> parents) {
  std::vector<BlockTable> before;
  for (Sequence const* beam : beams) before.push_back(beam->table);
  for (std::size_t i = 0; i < beams.size(); ++i) {
    beams[i]->table = device_.fork(before[static_cast<std::size_t>(parents[i])]);
  }
  for (BlockTable& table : before) device_.release(table);
}

std::int64_t PagedKv::blocks_to_move(std::span<Sequence* const> sequences, BlockPool const& from,
                                     BlockPool const& to) {
  std::int64_t needed = 0;
  std::set<BlockId> shared;
  for (Sequence const* sequence : sequences) {
    needed += from.blocks_to_move(sequence->table, to, &shared);
  }
  return needed;
}

std::optional<std::int64_t> PagedKv::swap_out(std::span<Sequence* const> sequences) {
  if (blocks_to_move(sequences, device_, host_) > host_.free()) return {};
  std::int64_t copied = 0;
  for (Sequence* sequence : sequences) {
    copied += device_.move(sequence->table, host_, BlockMove::Kind::out).value();
  }
  return copied;
}

std::optional<std::int64_t> PagedKv::swap_in(std::span<Sequence* const> sequences, bool is_alone) {
  std::int64_t needed = blocks_to_move(sequences, host_, device_) + spare(is_alone);
  for (Sequence const* sequence : sequences) {
    needed += sequence->table.tokens % device_.block_tokens() == 0 ? 1 : 0;
  }
  if (needed > device_.free()) return {};
  std::int64_t copied = 0;
  for (Sequence* sequence : sequences) {
    copied += host_.move(sequence->table, device_, BlockMove::Kind::in).value();
  }
  return copied;
}

KvUse PagedKv::use(std::span<Sequence* const> sequences) const {
  KvUse use;
  use.used = static_cast<double>(device_.filled());
  use.free = static_cast<double>(free());
  for (Sequence const* sequence : sequences) {
    std::int64_t const left =
        static_cast<std::int64_t>(sequence->table.blocks.size()) * device_.block_tokens() -
        sequence->table.tokens;
    if (left == 0) continue;
    // Samples that have not written yet share their last block.
    double const share = 1.0 / device_.references(sequence->table.blocks.back());
    std::int64_t const reserved = std::min(left, sequence->to_come());
    use.reserved += share * static_cast<double>(reserved);
    use.internal += share * static_cast<double>(left - reserved);
  }
  return use;
}

}  // namespace quadrille::workloads::serving
