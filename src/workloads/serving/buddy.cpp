// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/buddy.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace quadrille::workloads::serving {
namespace {

std::size_t order_of(std::int64_t piece) {
  return static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(piece)));
}

}  // namespace

BuddyAllocator::BuddyAllocator(std::int64_t capacity) : capacity_{capacity}, pieces_(63) {
  // The largest pieces come first, so that each begins at a multiple of its size.
  for (std::int64_t first = 0; first < capacity;) {
    auto const rest = static_cast<std::uint64_t>(capacity - first);
    auto const piece = static_cast<std::int64_t>(std::bit_floor(rest));
    pieces_[order_of(piece)].insert(first);
    first += piece;
  }
  free_ = capacity;
}

std::int64_t BuddyAllocator::piece_for(std::int64_t slots) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(slots)));
}

std::int64_t BuddyAllocator::reserve(std::int64_t slots) {
  std::int64_t const piece = piece_for(slots);
  std::size_t const order = order_of(piece);
  std::size_t from = order;
  while (from < pieces_.size() && pieces_[from].empty()) ++from;
  if (from == pieces_.size()) return -1;
  std::int64_t const first = *pieces_[from].begin();
  pieces_[from].erase(pieces_[from].begin());
  while (from > order) {
    --from;
    pieces_[from].insert(first + (std::int64_t{1} << from));
  }
  free_ -= piece;
  return first;
}

void BuddyAllocator::release(std::int64_t first, std::int64_t slots) {
  std::int64_t piece = piece_for(slots);
  free_ += piece;
  QUAD_REQUIRE(free_ <= capacity_, fmt::format("slot {} is released once too often", first));
  for (std::size_t order = order_of(piece);; ++order, piece *= 2) {
    auto const buddy = pieces_[order].find(first ^ piece);
    // A largest piece has none: what would be its buddy is larger, smaller, or behind the end.
    if (buddy == pieces_[order].end()) {
      pieces_[order].insert(first);
      return;
    }
    first = std::min(first, *buddy);
    pieces_[order].erase(buddy);
  }
}

}  // namespace quadrille::workloads::serving
