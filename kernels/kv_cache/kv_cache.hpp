// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"
#include "core/small_float.hpp"

#include <string>
#include <string_view>

namespace quadrille::kernels::kv_cache {

/// A pool of blocks that hold keys and values of tokens: token `t` of block `b` and head `h` has row
/// (b kv_heads + h) block_size + t of k and of v, as paged_decode reads them.
struct Shape {
  std::int64_t kv_heads = 1, head_size = 64;
  std::int64_t block_size = 16;  ///< tokens of a block
  std::int64_t blocks = 0;       ///< of the pool

  QUAD_HD constexpr std::int64_t row_of(std::int64_t slot, std::int64_t head) const {
    return (slot / block_size * kv_heads + head) * block_size + slot % block_size;
  }
  std::int64_t rows_of_block() const { return kv_heads * block_size; }
};

/// write: keys and values of new tokens, as a product leaves them, to the slots that the scheduler gave
/// them. read: those of a sequence side by side, as attention of several of its tokens takes them. copy: blocks
/// that sequences shared and that one of them is about to write to. swap_out, swap_in: blocks of sequences
/// that wait, to page-locked memory of the host and back.
enum class Action { write, read, copy, swap_out, swap_in };
constexpr auto enum_names(Action) {
  return core::EnumNames<Action, 5>{{{Action::write, "write"},
                                     {Action::read, "read"},
                                     {Action::copy, "copy"},
                                     {Action::swap_out, "swap_out"},
                                     {Action::swap_in, "swap_in"}}};
}
/// Tokens go to slots, or come from there; else blocks are moved.
constexpr bool is_of_tokens(Action action) {
  return action == Action::write || action == Action::read;
}
constexpr bool is_swap(Action action) {
  return action == Action::swap_out || action == Action::swap_in;
}

/// write  for each token i and head h, row i of token_k and token_v, elements [h head_size, (h + 1) head_size),
///        to row_of(places[i], h) of k and v
/// read   from there to the rows of tokens
/// copy   for each pair i, the rows of block places[2 i] of k and v to those of block places[2 i + 1]
/// swaps  likewise from the pool to that of the host, or from there to the pool
/// No row is written twice, and none that is read.
struct Problem {
  static constexpr std::string_view kOperation = "kv_cache";

  Shape shape{};
  Action action = Action::write;
  std::int64_t count = 0;               ///< of tokens, or pairs
  device::MatrixView token_k, token_v;  ///< write, read: count x (kv_heads head_size)
  device::MatrixView k, v;  ///< blocks x kv_heads x block_size rows of head_size, without gaps
  device::MatrixView host_k, host_v;  ///< swaps: like k and v, any blocks, which the device reaches
  std::int32_t const* places = nullptr;          ///< slots of tokens, or pairs of blocks
  std::int32_t const* places_of_host = nullptr;  ///< the same where the host reaches them
};

/// Between which arrays blocks, or new rows, go.
struct Ends {
  device::MatrixView from_k, from_v, to_k, to_v;
};
Ends ends_of(Problem const& problem);

/// A problem whose tensors have no memory yet.
Problem unallocated(Shape const& shape, Action action, std::int64_t count, core::DataType type);

/// Ends the job unless shape, extents and types fit together.
void require_consistent(Problem const& problem);
/// Why there is no such pool, with the way out; empty where there is one.
std::string shape_error(Shape const& shape);

/// What is read and what is written, places included; of swaps what goes over the link, once.
double bytes_moved(Problem const& problem);

Variants<Problem> variants();
ProblemFacts facts_of(Problem const& problem);

}  // namespace quadrille::kernels::kv_cache
