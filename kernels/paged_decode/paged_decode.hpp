// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/attention.hpp"
#include "common/variant.hpp"

#include <cmath>
#include <string>
#include <string_view>

namespace quadrille::kernels::paged_decode {

/// Elements of a latent key, and how many of them, the first ones, are its value.
inline constexpr std::int64_t kLatentKey = 576, kLatentValue = 512;

/// One new token for each sequence, whose query meets the keys and values of all tokens before it.
/// Heads of queries share heads of keys and values in groups: head h uses h / group().
struct Shape {
  std::int64_t sequences = 1, heads = 1, kv_heads = 1, head_size = 64;
  std::int64_t block_size = 16;  ///< tokens of a block of the cache
  std::int64_t blocks = 0;       ///< of the cache
  std::int64_t tokens = 0;       ///< of all sequences
  std::int64_t longest = 0;      ///< of them, in tokens
  /// Multi-head latent attention (DeepSeek-V2): one head of keys, each of which has its value in it.
  bool latent = false;

  std::int64_t value_size() const { return latent ? kLatentValue : head_size; }
  std::int64_t group() const { return heads / kv_heads; }
  /// Blocks of a sequence of so many tokens.
  std::int64_t blocks_of(std::int64_t length) const {
    return (length + block_size - 1) / block_size;
  }
  /// What scores are multiplied by: 1 / sqrt(head_size).
  double scale() const { return 1 / std::sqrt(static_cast<double>(head_size)); }
};

/// o(s, h) = attention of q(s, h) to the first lengths[s] tokens of sequence s (attention.hpp). Keys and
/// values lie in blocks of a pool that all sequences take theirs from: token t of sequence s and head h'
/// is row (table[s, t / block_size] kv_heads + h') block_size + t % block_size of k and of v. A block may
/// belong to several sequences; what lies behind the last token is never used, whatever it is.
struct Problem {
  static constexpr std::string_view kOperation = "paged_decode";
  static constexpr bool kNeedsScratch = true;

  Shape shape{};
  device::MatrixView q;  ///< sequences x heads rows of head_size, without gaps
  device::MatrixView k;  ///< blocks x kv_heads x block_size rows, without gaps
  device::MatrixView v;  ///< like k; latent: columns of k
  device::MatrixView o;  ///< like q, of value_size() columns
  /// Elements from the queries of a sequence to those of the next, whole 16 bytes, where there is more between
  /// than the queries themselves, as in a product that has keys and values, too; else 0.
  std::int64_t q_apart = 0;
  std::int32_t const* lengths = nullptr;  ///< of the sequences
  std::int32_t const* table = nullptr;    ///< sequences x blocks_of(longest)
  /// Blocks of the sequences before each: where its tokens begin in a pool without a table. Null where
  /// sequences share blocks.
  std::int32_t const* first_blocks = nullptr;
  /// On a GPU: as much as the variant's scratch_bytes() says, aligned to 256 bytes.
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;

  std::int64_t between_queries() const {
    return q_apart > 0 ? q_apart : shape.heads * shape.head_size;
  }
};

/// A problem whose tensors have no memory yet.
Problem unallocated(Shape const& shape, core::DataType type);

/// Ends the job unless shape, extents and types fit together.
void require_consistent(Problem const& problem);
/// Why there is no such decoding, with the way out; empty where there is one.
std::string shape_error(Shape const& shape);

/// 2 (head_size + value_size) for each token and head of queries.
double flop(Shape const& shape);
/// Keys and values of every token of every sequence, q and o, of elements of so many bytes, and the table.
/// A latent value is not read beside its key.
double compulsory_bytes(Shape const& shape, double element_bytes);

/// The row of k and v of token t of a sequence of so many tokens in a pool without a table, where a
/// sequence's blocks are one array kv_heads x (block_size blocks_of(length)) rows: what the variants
/// `contiguous` and `vendor` read.
inline std::int64_t contiguous_row(Shape const& shape, std::int64_t first_block,
                                   std::int64_t length, std::int64_t kv_head, std::int64_t t) {
  return (first_block * shape.kv_heads + kv_head * shape.blocks_of(length)) * shape.block_size + t;
}

/// Whether a variant reads the tokens of the table; the others read a pool without one.
inline bool reads_table(VariantInfo const& variant) {
  return variant.role != Role::ceiling && variant.role != Role::vendor;
}

Variants<Problem> variants();
ProblemFacts facts_of(Problem const& problem);

/// For Specifics::unsupported: of variants that take no latent keys.
std::string unsupported_latent(Problem const& problem);
/// Of most kernels.
std::string unsupported_on_gpu(Problem const& problem);

}  // namespace quadrille::kernels::paged_decode
