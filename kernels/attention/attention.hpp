// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

namespace quadrille::kernels::attention {

/// Which keys a query sees: all, or none of later tokens.
enum class Mask { full, causal };
constexpr auto enum_names(Mask) {
  return core::EnumNames<Mask, 2>{{{Mask::full, "full"}, {Mask::causal, "causal"}}};
}

/// Heads of queries share heads of keys and values in groups (GQA): head h uses h / group().
struct Shape {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, head_size = 64;
  Mask mask = Mask::full;

  /// Heads of queries that share one of keys.
  std::int64_t group() const { return heads / kv_heads; }
  /// Keys that query i sees, the first ones. Queries are the last tokens: under the causal mask the
  /// last of them sees every key.
  std::int64_t visible(std::int64_t i) const {
    if (mask == Mask::full) return keys;
    return std::clamp<std::int64_t>(keys - queries + 1 + i, 0, keys);
  }
  /// Pairs of a query and a key that it sees, of one head.
  double pairs() const;
  /// What scores are multiplied by: 1 / sqrt(head_size).
  double scale() const { return 1 / std::sqrt(static_cast<double>(head_size)); }
};

/// o(b, h, i) = sum over the keys j that i sees of p_j v(b, h', j), with the weights
/// p_j = exp(s_j - m) / sum of exp(s - m), the scores s_j = scale q(b, h, i) . k(b, h', j) and their
/// maximum m; h' = h / group(). A query that sees no key has o = 0.
struct Problem {
  static constexpr std::string_view kOperation = "attention";
  static constexpr bool kNeedsScratch = true;

  Shape shape{};
  device::MatrixView q;  ///< batch x heads x queries rows of head_size, without gaps
  device::MatrixView k;  ///< batch x kv_heads x keys rows, without gaps
  device::MatrixView v;  ///< like k
  device::MatrixView o;  ///< like q; of e4m3 bf16, for 8 bits would round more than the sums do
  /// Of one sequence, for variants that take it: instead the heads of a token lie side by side, as a product
  /// leaves them. q and o are queries x (heads head_size), k and v keys x (kv_heads head_size), with gaps
  /// between rows where they are columns of more.
  bool by_tokens = false;
  /// On a GPU: as much as the variant's scratch_bytes() says, aligned to 256 bytes.
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
};

/// The type of o, of tensors of a type.
constexpr core::DataType result_type(core::DataType type) {
  return type == core::DataType::e4m3 ? core::DataType::bf16 : type;
}
/// A problem whose tensors have no memory yet.
Problem unallocated(Shape const& shape, core::DataType type, bool by_tokens = false);

/// Elements of one of the tensors: from its beginning to a head of one of the sequences, and to the next row of
/// that head.
struct Steps {
  std::int64_t head = 0, row = 0;
};
/// Of q and o, which have `rows` = queries of a head, or k and v, which have keys.
inline Steps steps_of(Problem const& problem, device::MatrixView const& tensor, std::int64_t rows) {
  std::int64_t const d = problem.shape.head_size;
  return problem.by_tokens ? Steps{d, tensor.ld} : Steps{rows * d, d};
}

/// Ends the job unless shape, extents and types fit together. batch, queries and keys may be 0.
void require_consistent(Problem const& problem);
/// Why there is no such attention, with the way out; empty where there is one.
std::string shape_error(Shape const& shape);

/// 4 head_size for each pair of a query and a key that it sees: two products. Exponentials do not
/// count.
double flop(Shape const& shape);
/// Each of the four tensors once; an element of q, k and v and one of o have so many bytes.
double compulsory_bytes(Shape const& shape, double element_bytes, double result_bytes);
/// Traffic where scores and weights, f32, lie in memory: each is written and read, and the four tensors
/// are moved once. After Dao et al., FlashAttention, theorem 2: of the order of queries x keys.
double stored_scores_bytes(Shape const& shape, double element_bytes);
/// Traffic where scores stay on the chip: every `tile_queries` queries of a head read the keys and
/// values that one of them sees. Of the order of queries x keys x head_size / tile_queries.
double tiled_bytes(Shape const& shape, double element_bytes, std::int64_t tile_queries);

/// What a right element of o may be off by. It is compared with exact arithmetic on the stored q, k
/// and v, with u = eps / 2 of the type, eps_32 that of f32, s the deviation sqrt(sum p_j (v_j - o)^2)
/// of the values that it is the mean of, and z = scale |q| max |k_j|, which no score exceeds.
///
///   eps_32 (4 z + 8) s           a score is a sum rounded in f32, and so is its exponential: weights are
///                                off by that, which shifts the mean by as much of its deviation
///   eps_32 (sqrt(n) |o| + 4 sqrt(s^2 + o^2))     sums of n weights and of n products
///   16-bit types: u (|o| + 4 sqrt(p_max) s)      weights are rounded to the type before they meet the
///                                values: all alike where all scores are, else at random
///   16-bit types: least n p_max max |v| / 2      and those below the least number of it are lost
///   u |o|, least                 storing
///   e4m3 instead: u = 2^-4 + 2^-9 z + min(n, 128) 2^-14, in which the tensor cores' sums of 13 bits are: of
///                                the 32 products of an instruction and of those before, for scores and for
///                                values, of which up to 128 are summed so; and n / 32 2^-13 p_max max |v|
///                                more. Weights are rounded 2^8 times as large
///
/// Where keys come in b > 1 blocks, whose sums are merged (ring_attention.hpp), also
///
///   eps_32 (4 z s + 4 b sqrt(s^2 + o^2))    weights of a block are off together: by arguments of factors,
///                                which add up to 2 z at most, and by two roundings for each block
class ErrorBound {
 public:
  /// `type` of q, k and v.
  explicit ErrorBound(core::DataType type, std::int64_t blocks = 1);
  /// What is known of a row of o.
  struct Row {
    double score = 0;    ///< z
    double weight = 0;   ///< p_max: the largest weight
    double value = 0;    ///< the largest |v|
    std::int64_t n = 0;  ///< keys that the query sees
  };
  double operator()(Row const& row, double o, double deviation) const;

 private:
  double weight_, least_weight_, storing_, least_;
  bool is_8_bit_;
  std::int64_t blocks_;
};

Variants<Problem> variants();
ProblemFacts facts_of(Problem const& problem);

/// For Specifics::unsupported: of variants that have no head size of 256, and no tokens whose heads are side by
/// side.
std::string unsupported_head(Problem const& problem);
/// Of kernels that count the elements of a head in 32 bits.
std::string unsupported_extent(Problem const& problem);
/// Of kernels that have no head size of 256 either, which most are.
std::string unsupported_on_gpu(Problem const& problem);

}  // namespace quadrille::kernels::attention
