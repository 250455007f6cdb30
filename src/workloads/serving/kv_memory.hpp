// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/serving/blocks.hpp"
#include "workloads/serving/buddy.hpp"
#include "workloads/serving/requests.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace quadrille::workloads::serving {

/// One sample of a request on its way. Its next token is due when K and V of all before it are
/// there.
struct Sequence {
  Request const* request = nullptr;
  std::int64_t index = 0;  ///< of the request among those of this server
  std::int64_t sample = 0;
  std::int64_t cached = 0;     ///< tokens whose K and V are in memory
  std::int64_t delivered = 0;  ///< tokens of the output
  double joined_s = 0;         ///< when it got its reservation
  double last_token_s = 0;
  std::uint64_t output = 0;  ///< the sum of the hashes of tokens that were delivered

  // Of paged memory.
  BlockTable table{};
  // Of contiguous memory.
  std::int64_t first_slot = -1;
  std::uint64_t sum = 0;  ///< of the hashes of its tokens

  /// Tokens of which the next step needs K and V: a prompt, one token, or all that was dropped.
  std::int64_t missing() const { return request->prompt + delivered - cached; }
  bool is_done() const { return delivered == request->output; }
  /// Tokens that K and V will yet be of.
  std::int64_t to_come() const { return request->max_cached() - cached; }
};

/// What the slots of a KV memory are, each in one of five.
struct KvUse {
  double used = 0;
  double reserved = 0;  ///< taken, for tokens to come
  double internal = 0;  ///< taken, and never used
  double external = 0;  ///< free, enough for the next request and in no piece that is large enough
  double free = 0;

  double waste() const { return reserved + internal + external; }
  double all() const { return used + waste() + free; }
};

/// Where K and V of sequences lie.
class KvMemory {
 public:
  virtual ~KvMemory() = default;
  /// Takes a sequence in, whose first step writes at least one token, and sets `cached` to the
  /// tokens that are there already. False, with nothing changed, where there is no room.
  virtual bool admit(Sequence& sequence, TokenHashes const& tokens) = 0;
  /// How many of `wanted` tokens there is room for.
  virtual std::int64_t room_for(Sequence const& sequence, std::int64_t wanted) const = 0;
  /// Whether each of them has room for one.
  virtual bool has_room(std::span<Sequence* const> sequences) const = 0;
  /// Writes the next token, for which there is room.
  virtual void write(Sequence& sequence, std::uint64_t token) = 0;
  virtual void release(Sequence& sequence) = 0;
  virtual std::uint64_t sum_of(Sequence const& sequence) const = 0;
  /// Of all sequences that are in.
  virtual KvUse use(std::span<Sequence* const> sequences) const = 0;
  virtual std::int64_t capacity() const = 0;  ///< slots
  virtual std::int64_t free() const = 0;      ///< slots that nobody has taken
};

/// A piece for each sequence, as long as its limit.
class ContiguousKv final : public KvMemory {
 public:
  /// Pieces are whole blocks, as those who read paged memory take them.
  ContiguousKv(std::int64_t slots, std::int64_t block_tokens)
      : memory_{slots / block_tokens * block_tokens}, block_tokens_{block_tokens} {}
  /// Slots of a request.
  static std::int64_t piece_of(Request const& request, std::int64_t block_tokens) {
    return BuddyAllocator::piece_for(std::max<std::int64_t>(request.limit, block_tokens));
  }

  bool admit(Sequence& sequence, TokenHashes const& tokens) override;
  std::int64_t room_for(Sequence const& sequence, std::int64_t wanted) const override;
  bool has_room(std::span<Sequence* const> sequences) const override;
  void write(Sequence& sequence, std::uint64_t token) override;
  void release(Sequence& sequence) override;
  std::uint64_t sum_of(Sequence const& sequence) const override { return sequence.sum; }
  KvUse use(std::span<Sequence* const> sequences) const override;
  std::int64_t capacity() const override { return memory_.capacity(); }
  std::int64_t free() const override { return memory_.free(); }

 private:
  BuddyAllocator memory_;
  std::int64_t block_tokens_;
  std::int64_t refused_ = 0;  ///< slots of the request that waits for a piece; 0: none does
};

/// Blocks, taken as tokens come, and swapped to memory of the host where there are too few.
class PagedKv final : public KvMemory {
 public:
  PagedKv(std::int64_t slots, std::int64_t host_slots, std::int64_t block_tokens,
          bool keeps_prefixes)
      : device_{slots / block_tokens, block_tokens, keeps_prefixes, &moves_},
        host_{host_slots / block_tokens, block_tokens, keeps_prefixes, &moves_},
        keeps_prefixes_{keeps_prefixes} {}

  bool admit(Sequence& sequence, TokenHashes const& tokens) override;
  std::int64_t room_for(Sequence const& sequence, std::int64_t wanted) const override;
  bool has_room(std::span<Sequence* const> sequences) const override;
  void write(Sequence& sequence, std::uint64_t token) override;
  void release(Sequence& sequence) override;
  std::uint64_t sum_of(Sequence const& sequence) const override {
    return device_.sum_of(sequence.table);
  }
  KvUse use(std::span<Sequence* const> sequences) const override;
  std::int64_t capacity() const override { return device_.count() * device_.block_tokens(); }
  std::int64_t free() const override { return device_.free() * device_.block_tokens(); }

  /// Whether so many more tokens fit and leave some blocks to those who run, if there are any.
  bool has_spare(Sequence const& sequence, std::int64_t tokens, bool is_alone) const;
  /// A further sample of the same prompt.
  void fork(Sequence const& from, Sequence& to) { to.table = device_.fork(from.table); }
  /// Beams of a request get the blocks of those that they go on from.
  void follow(std::span<Sequence* const> beams, std::span<std::int32_t const> parents);
  // All of them. The tokens that are copied; nothing, with nothing changed, where there is no room.
  std::optional<std::int64_t> swap_out(std::span<Sequence* const> sequences);
  /// Where there is room for the next token of each, too.
  std::optional<std::int64_t> swap_in(std::span<Sequence* const> sequences, bool is_alone);
  /// Blocks that were moved since the last call, in this order.
  std::vector<BlockMove> take_moves() { return std::exchange(moves_, {}); }
  BlockPool const& device() const { return device_; }
  BlockPool const& host() const { return host_; }

 private:
  static std::int64_t blocks_to_move(std::span<Sequence* const> sequences, BlockPool const& from,
                                     BlockPool const& to);
  /// Blocks that newcomers leave free.
  std::int64_t spare(bool is_alone) const { return is_alone ? 0 : device_.count() / 100; }

  std::vector<BlockMove> moves_;
  BlockPool device_, host_;
  bool keeps_prefixes_;
};

}  // namespace quadrille::workloads::serving
