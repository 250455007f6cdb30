// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config.hpp"
#include "workloads/block_tables.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::workloads::decoder {

/// What a layer is made of.
enum class Model {
  gpt,    ///< layer norms, GeLU; positions belong to the embedding
  llama,  ///< RMS norms, SwiGLU, rotary positions
};
constexpr auto enum_names(Model) {
  return core::EnumNames<Model, 2>{{{Model::gpt, "gpt"}, {Model::llama, "llama"}}};
}

enum class Phase { prefill, decode };
constexpr auto enum_names(Phase) {
  return core::EnumNames<Phase, 2>{{{Phase::prefill, "prefill"}, {Phase::decode, "decode"}}};
}

/// How ranks that share a model add up what they have of two products of each layer.
enum class Joint {
  allreduce,       ///< each gets the rows of all tokens
  reduce_scatter,  ///< each gets its share of the rows, and all gather the norms of those
};
constexpr auto enum_names(Joint) {
  return core::EnumNames<Joint, 2>{
      {{Joint::allreduce, "allreduce"}, {Joint::reduce_scatter, "reduce_scatter"}}};
}

struct Parameters {
  Model model = Model::llama;
  Phase phase = Phase::decode;
  std::int64_t layers = 2;
  std::int64_t block_size = 16;
  Lengths lengths = Lengths::equal;
  Joint joint = Joint::allreduce;
  std::int64_t pieces = 1;
  bool operator==(Parameters const&) const = default;
};

/// A model, and how much of it a case computes. Of a model that ranks share each has its part of the heads and of
/// the MLP's columns.
struct Shape {
  Shape() = default;
  explicit Shape(core::Case const& spec, int ranks_of_model = 1, int rank_of_model = 0);

  Model model = Model::llama;
  Phase phase = Phase::decode;
  std::int64_t layers = 1, block_size = 16;
  std::int64_t requests = 1, tokens = 1;  ///< of a request, at most
  std::int64_t hidden = 0, head_size = 0;
  std::int64_t parts = 1, part = 0;               ///< of the ranks that share a model
  std::int64_t heads = 1, kv_heads = 1, mlp = 0;  ///< of this part
  std::string indivisible;  ///< why there are no such parts; empty where there are

  /// Takes a part of the whole of heads and of the MLP.
  void divide(std::int64_t ranks_of_model, std::int64_t rank_of_model);

  bool is_llama() const { return model == Model::llama; }
  std::int64_t of_q() const { return heads * head_size; }
  std::int64_t of_kv() const { return kv_heads * head_size; }
  std::int64_t of_qkv() const { return of_q() + 2 * of_kv(); }
  /// Of the MLP's first product: of llama gates and factors.
  std::int64_t of_up() const { return is_llama() ? 2 * mlp : mlp; }
};

/// The tokens that a step computes, request after request, and where their keys and values lie in the cache: of
/// a prefill all tokens of each request, of a decode its last. The sequences of the tables are requests, new tokens
/// included.
struct Step : BlockTables {
  Step(Shape const& shape, Lengths drawn, std::uint64_t seed);

  std::vector<std::int64_t> first_rows;  ///< each request's new tokens, and where the last ones end
  std::vector<std::int32_t> positions;   ///< of new tokens in their requests
  std::vector<std::int32_t> slots;       ///< of new tokens, from draw_slots() on

  std::int64_t rows() const { return first_rows.back(); }
  std::int64_t request_of(std::int64_t row) const;
  void draw_slots(std::uint64_t seed);
};

}  // namespace quadrille::workloads::decoder
