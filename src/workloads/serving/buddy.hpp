// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <vector>

namespace quadrille::workloads::serving {

/// Contiguous slots by a buddy allocator: pieces are powers of two, which are halved, and put
/// together with the other half again. A capacity that is no power of two is several largest
/// pieces.
class BuddyAllocator {
 public:
  explicit BuddyAllocator(std::int64_t capacity);

  /// The piece for so many slots: the next power of two.
  static std::int64_t piece_for(std::int64_t slots);

  std::int64_t capacity() const { return capacity_; }
  std::int64_t free() const { return free_; }
  /// The first slot of a piece, or -1 where none is free that is large enough.
  std::int64_t reserve(std::int64_t slots);
  /// What reserve() gave for so many slots.
  void release(std::int64_t first, std::int64_t slots);

 private:
  std::int64_t capacity_;
  std::int64_t free_ = 0;
  std::vector<std::set<std::int64_t>> pieces_;  ///< free ones of 2^i slots, by their first slot
};

}  // namespace quadrille::workloads::serving
