// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sampler/sampler.hpp"
#include "workloads/decoder/layer.hpp"
#include "workloads/serving/times.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

/// What a model that serves is made of: tensors without memory, problems, and the rows that take them.
namespace quadrille::workloads::serving {

/// What a server's steps are made of.
struct Extent {
  Transformer model{};
  core::DataType type = core::DataType::f16;
  std::int64_t rows = 1;    ///< tokens that are computed at once; of larger steps part after part
  std::int64_t length = 1;  ///< tokens of a sequence, at most
  std::int64_t sequences = 1;  ///< in a step, at most
  std::int64_t kv_tokens = 1;  ///< slots of KV memory
  double kv_share = 0;  ///< of what the device has left for it, where that is less; 0: all of it
  std::int64_t host_tokens = 0;
  std::int64_t block = 16;  ///< tokens of a block of both
  std::int64_t vocabulary = 1024;
  double temperature = 1;
  std::int64_t beams =
      0;  ///< of a request, which make their next tokens together; 0: tokens are drawn
  /// The bits of a token's results do not depend on the others of its step: every kernel promises that, and each
  /// token reads the cache by itself.
  bool deterministic = true;
  std::int64_t parts = 1;  ///< ranks that share the model
  bool token_by_token =
      false;  ///< attention reads the cache for each token of a prompt, as for single ones

  /// Outputs of a request that make their next tokens together.
  std::int64_t together() const { return std::max<std::int64_t>(1, beams); }
};

/// Why no kernels take the model; empty where some may.
std::string shape_error(Extent const& extent);
/// Why this device has none for it; empty where it has.
std::string unsupported_reason(Extent const& extent, device::Device const& device);
/// Device memory of an Execution, scratch apart, and what a share of the rest takes beyond one sequence.
double memory_bytes(Extent const& extent);
double scratch_bytes(Extent const& extent, device::Facts const& device);

decoder::Shape shape_of(Extent const& extent, std::int64_t part = 0);
/// With attention of chunks where a device has it.
Extent resolved(Extent extent, device::Kind kind, device::Facts const& facts);
/// Tokens of the cache that the longest request may need by itself, whose beams are there together.
std::int64_t needed_tokens(Extent const& extent);
/// Tokens that are drawn at once.
std::int64_t drawn_at_once(Extent const& extent);
/// Numbers of tokens for each of which kernels are chosen: of steps up to so many.
std::vector<std::int64_t> classes_of(Extent const& extent);
/// Largest arrays of a step, in numbers of 32 bits.
std::int64_t staged_size(Extent const& extent);

/// What is on the device besides layers.
struct Ends {
  device::MatrixView words{}, positions{};  ///< vocabulary, or length, x width
  device::MatrixView last_norm{};
  device::MatrixView selected{},
      logits{};                        ///< of those behind which tokens are drawn, drawn_at_once()
  device::MatrixView drawn{};          ///< 1 x tokens that a step may draw
  device::MatrixView probabilities{};  ///< likewise, or scores of beams
  device::MatrixView parents{};        ///< of beams
  device::MatrixView chunk_k{}, chunk_v{};  ///< of one sequence: length x kv_heads head_size

  /// Without memory.
  explicit Ends(Extent const& extent);
  std::vector<device::MatrixView*> all();
};
decoder::Tensors layer_of(Extent const& extent);
/// The first so many tokens.
decoder::Tensors of_tokens(decoder::Tensors layer, std::int64_t rows);
/// A step that has whatever a step may have, of so many tokens.
decoder::Attending any_attention(Extent const& extent, std::int64_t rows);

kernels::gemm::Problem logits_of(device::MatrixView const& selected,
                                 device::MatrixView const& words, device::MatrixView const& logits);
kernels::rowwise::Problem rows_of_table(device::MatrixView const& table,
                                        device::MatrixView const& to, std::int32_t const* rows);
kernels::sampler::Problem drawing(Extent const& extent, device::MatrixView const& logits);
kernels::kv_cache::Problem moving(Extent const& extent, kernels::kv_cache::Action action,
                                  std::int64_t count);

/// The rows of a step beside those of its layers.
struct RowsOfEnds {
  Candidates<kernels::gemm::Problem> logits;
  Candidates<kernels::rowwise::Problem> embed;
  Candidates<kernels::sampler::Problem> draw;
  Candidates<kernels::kv_cache::Problem> copy, swap;

  RowsOfEnds(Extent const& extent, std::int64_t rows, device::Kind kind,
             device::Facts const& facts);
  bool has_all() const {
    return !logits.empty() && !embed.empty() && !draw.empty() && !copy.empty() && !swap.empty();
  }
};

/// What any part of a step may take: products, whose counters are zero before and after, and all else.
struct Scratch {
  std::size_t of_products = 0, of_others = 0;
};
Scratch scratch_of(Extent const& extent, device::Facts const& facts);

}  // namespace quadrille::workloads::serving
