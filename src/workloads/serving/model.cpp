// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace quadrille::workloads::serving {

namespace gemm = kernels::gemm;
namespace kv_cache = kernels::kv_cache;
namespace rowwise = kernels::rowwise;
namespace sampler = kernels::sampler;
using decoder::part;
using kernels::Role;

namespace {

device::MatrixView matrix(core::DataType type, std::int64_t rows, std::int64_t cols) {
  return {nullptr, type, rows, cols, cols};
}

decoder::Problems problems_of(Extent const& x, std::int64_t rows) {
  decoder::Places places;
  Ends const ends{x};
  places.chunk_k = ends.chunk_k;
  places.chunk_v = ends.chunk_v;
  return decoder::problems_of(shape_of(x), any_attention(x, rows), of_tokens(layer_of(x), rows),
                              nullptr, places);
}

/// Numbers of tokens, each four times the one before.
std::vector<std::int64_t> sizes_of(Extent const& x) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t rows = 16; rows < x.rows; rows *= 4) sizes.push_back(rows);
  sizes.push_back(x.rows);
  return sizes;
}

/// A token behind each of a step, or of samples that begin in it; of a judged sequence all its beams.
std::int64_t max_drawn(Extent const& x) { return std::max(x.rows, x.sequences) * x.together(); }

device::Kind kind_of(device::Facts const& facts) {
  return facts.compute_capability > 0 ? device::Kind::cuda : device::Kind::host;
}

}  // namespace

decoder::Shape shape_of(Extent const& extent, std::int64_t part) {
  decoder::Shape shape;
  shape.model = decoder::Model::gpt;
  shape.phase = decoder::Phase::prefill;
  shape.layers = extent.model.layers;
  shape.block_size = extent.block;
  shape.hidden = extent.model.width();
  shape.head_size = extent.model.head_size;
  shape.heads = extent.model.heads;
  shape.kv_heads = extent.model.kv_heads;
  shape.mlp = 4 * shape.hidden;
  shape.divide(extent.parts, part);
  return shape;
}

std::int64_t needed_tokens(Extent const& extent) {
  return extent.together() * (extent.length + extent.block);
}

std::int64_t drawn_at_once(Extent const& extent) {
  return std::min(extent.rows, extent.sequences) / extent.together() * extent.together();
}

Ends::Ends(Extent const& x) {
  std::int64_t const width = x.model.width(), at_once = drawn_at_once(x);
  words = matrix(x.type, x.vocabulary, width);
  positions = matrix(x.type, x.length, width);
  last_norm = matrix(x.type, 2, width);
  selected = matrix(x.type, at_once, width);
  logits = matrix(x.type, at_once, x.vocabulary);
  drawn = matrix(core::DataType::i32, 1, max_drawn(x));
  probabilities = matrix(core::DataType::f32, 1, drawn.cols);
  parents = matrix(core::DataType::i32, x.beams > 0 ? 1 : 0, drawn.cols);
  chunk_k = chunk_v = matrix(x.type, x.length, shape_of(x).of_kv());
}

std::vector<device::MatrixView*> Ends::all() {
  std::vector<device::MatrixView*> all{&words, &positions,     &last_norm, &selected, &logits,
                                       &drawn, &probabilities, &parents,   &chunk_k,  &chunk_v};
  std::erase_if(all, [](device::MatrixView const* view) { return view->rows == 0; });
  return all;
}

decoder::Tensors layer_of(Extent const& x) {
  return decoder::unallocated(shape_of(x), x.rows, x.kv_tokens / x.block, x.type);
}

decoder::Tensors of_tokens(decoder::Tensors layer, std::int64_t rows) {
  for (device::MatrixView* view : layer.written(false)) view->rows = std::min(view->rows, rows);
  return layer;
}

decoder::Attending any_attention(Extent const& x, std::int64_t rows) {
  if (x.token_by_token || rows < 3) {
    return {.singles = rows, .tokens = rows * x.length, .longest = x.length};
  }
  std::int64_t const tokens = std::min(rows - 1, x.length - 1);
  return {.singles = 1,
          .tokens = x.length,
          .longest = x.length,
          .chunks = {{.first_row = 1, .tokens = tokens, .before = x.length - tokens}}};
}

gemm::Problem logits_of(device::MatrixView const& selected, device::MatrixView const& words,
                        device::MatrixView const& logits) {
  return {.a = selected,
          .b = words,
          .c = logits,
          .alpha = decoder::alpha_of(words.cols),
          .transpose_b = true,
          .has_early_b = true};
}

rowwise::Problem rows_of_table(device::MatrixView const& table, device::MatrixView const& to,
                               std::int32_t const* rows) {
  return {.action = rowwise::Action::embedding,
          .x = table,
          .y = to,
          .weights = matrix(table.type, 0, table.cols),
          .rows = rows};
}

sampler::Problem drawing(Extent const& x, device::MatrixView const& logits) {
  sampler::Problem problem =
      sampler::unallocated(logits.rows / x.together(), logits.cols, logits.type, x.beams);
  problem.logits = logits;
  problem.temperature = x.temperature;
  return problem;
}

kv_cache::Problem moving(Extent const& x, kv_cache::Action action, std::int64_t count) {
  kv_cache::Problem problem = kv_cache::unallocated({.kv_heads = shape_of(x).kv_heads,
                                                     .head_size = x.model.head_size,
                                                     .block_size = x.block,
                                                     .blocks = x.kv_tokens / x.block},
                                                    action, count, x.type);
  if (kv_cache::is_swap(action)) {
    problem.host_k.rows = problem.host_v.rows =
        x.host_tokens / x.block * problem.shape.rows_of_block();
  }
  return problem;
}

RowsOfEnds::RowsOfEnds(Extent const& x, std::int64_t rows, device::Kind kind,
                       device::Facts const& facts) {
  Ends const ends{x};
  std::int64_t const width = x.model.width(), drawn = std::min(rows, drawn_at_once(x));
  auto const find = [&](auto const& table, auto const& problem) {
    return rows_taking(table, problem, Role::own, kind, facts, x.deterministic);
  };
  device::MatrixView const selected = part(ends.selected, 0, 0, drawn, width),
                           logits_there = part(ends.logits, 0, 0, drawn, x.vocabulary);
  logits = find(gemm::variants(), logits_of(selected, ends.words, logits_there));
  embed = find(rowwise::variants(), rows_of_table(ends.words, selected, nullptr));
  draw = find(sampler::variants(), drawing(x, logits_there));
  copy = find(kv_cache::variants(), moving(x, kv_cache::Action::copy, 1));
  swap = find(kv_cache::variants(), moving(x, kv_cache::Action::swap_out, 1));
}

std::vector<std::int64_t> classes_of(Extent const& x) {
  return x.deterministic ? std::vector{x.rows} : sizes_of(x);
}

Extent resolved(Extent x, device::Kind kind, device::Facts const& facts) {
  x.token_by_token =
      x.deterministic ||
      !decoder::rows_of(problems_of(x, x.rows), Role::own, kind, facts).missing.empty();
  return x;
}

Scratch scratch_of(Extent const& extent, device::Facts const& facts) {
  Extent const x = resolved(extent, kind_of(facts), facts);
  Scratch most;
  std::set<std::int64_t> counts{1};
  for (std::int64_t const rows : sizes_of(x)) {
    counts.insert(rows);
    counts.insert(std::min(rows + 1, x.rows));
  }
  for (std::int64_t const rows : counts) {
    decoder::Problems const problems = problems_of(x, rows);
    decoder::Rows const chosen =
        decoder::rows_of(problems, Role::own, kind_of(facts), facts, x.deterministic);
    auto const add = [&](std::size_t& bytes, auto const& candidates, auto const& problem) {
      for (auto const* row : candidates)
        bytes = std::max(bytes, row->scratch_bytes(problem, facts));
    };
    for (std::size_t i = 0; i < decoder::kProducts; ++i) {
      add(most.of_products, chosen.products[i], problems.products[i]);
    }
    RowsOfEnds const ends{x, rows, kind_of(facts), facts};
    Ends const views{x};
    std::int64_t const drawn = std::min(rows, drawn_at_once(x));
    add(most.of_products, ends.logits,
        logits_of(part(views.selected, 0, 0, drawn, x.model.width()), views.words,
                  part(views.logits, 0, 0, drawn, x.vocabulary)));
    add(most.of_others, ends.draw, drawing(x, part(views.logits, 0, 0, drawn, x.vocabulary)));
    for (auto const& chunk : problems.chunks) {
      add(most.of_others, chosen.chunks, chunk.attention);
    }
    // Most parts are those of few tokens, which are divided the finest.
    auto decode = problems.decode;
    std::int64_t const sequences = x.token_by_token ? rows : std::min(rows, x.sequences);
    decode.shape.sequences = decode.shape.tokens = sequences;
    decode.shape.longest = x.length;
    decode.q.rows = decode.o.rows = sequences * decode.shape.heads;
    add(most.of_others, chosen.decode, decode);
  }
  return most;
}

std::int64_t staged_size(Extent const& x) {
  std::int64_t const blocks = (x.length + x.block - 1) / x.block, drawn = max_drawn(x);
  std::int64_t const chunks = x.token_by_token ? 0 : std::min(x.sequences, x.rows / 2) * x.length;
  std::int64_t const moves = 8 * (x.kv_tokens + x.host_tokens) / x.block;
  return 4 * x.rows + x.rows * blocks + chunks + 4 * drawn + moves + 64 * 64;
}

std::string shape_error(Extent const& x) {
  std::string error = shape_of(x).indivisible;
  if (!error.empty()) return error;
  error = kernels::attention::shape_error(
      {.heads = x.model.heads, .kv_heads = x.model.kv_heads, .head_size = x.model.head_size});
  if (error.empty()) {
    error = kernels::paged_decode::shape_error({.heads = x.model.heads,
                                                .kv_heads = x.model.kv_heads,
                                                .head_size = x.model.head_size,
                                                .block_size = x.block});
  }
  if (error.empty()) error = sampler::error_of(drawing(x, matrix(x.type, 1, x.vocabulary)));
  return error;
}

std::string unsupported_reason(Extent const& extent, device::Device const& device) {
  Extent const x = resolved(extent, device.kind(), device.facts());
  for (std::int64_t const rows : classes_of(x)) {
    std::string const missing = decoder::rows_of(problems_of(x, rows), Role::own, device.kind(),
                                                 device.facts(), x.deterministic)
                                    .missing;
    if (!missing.empty()) return missing;
    if (!RowsOfEnds{x, rows, device.kind(), device.facts()}.has_all()) {
      return fmt::format("has no row for {} words in {}; take a vocabulary of whole 16 bytes",
                         x.vocabulary, core::to_text(x.type));
    }
  }
  return {};
}

double memory_bytes(Extent const& extent) {
  Extent x = extent;
  if (x.kv_share > 0) x.kv_tokens = std::min(x.kv_tokens, needed_tokens(x));
  Ends ends{x};
  double bytes = sizeof(std::int32_t) * static_cast<double>(staged_size(x));
  for (device::MatrixView const* view : ends.all()) bytes += bytes_of(*view);
  decoder::Tensors layer = layer_of(x);
  double of_layer = bytes_of(layer.k_pool) + bytes_of(layer.v_pool);
  for (device::MatrixView const& weights : layer.weights) of_layer += bytes_of(weights);
  bytes += of_layer * static_cast<double>(x.model.layers);
  for (device::MatrixView const* view : layer.written(false)) bytes += bytes_of(*view);
  return bytes;
}

double scratch_bytes(Extent const& x, device::Facts const& facts) {
  Scratch const scratch = scratch_of(x, facts);
  return static_cast<double>(scratch.of_products + scratch.of_others);
}

}  // namespace quadrille::workloads::serving
