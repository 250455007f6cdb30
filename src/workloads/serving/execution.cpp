// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/execution.hpp"

#include "measure/best_rows.hpp"
#include "workloads/checks/rowwise.hpp"
#include "workloads/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace quadrille::workloads::serving {

namespace gemm = kernels::gemm;
namespace kv_cache = kernels::kv_cache;
namespace rowwise = kernels::rowwise;
namespace sampler = kernels::sampler;
using decoder::part;
using kernels::Role;

namespace {

decoder::Shape shape_of(Extent const& extent, std::int64_t part = 0) {
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

device::MatrixView matrix(core::DataType type, std::int64_t rows, std::int64_t cols) {
  return {nullptr, type, rows, cols, cols};
}

/// Tokens that are drawn at once.
std::int64_t drawn_at_once(Extent const& extent) { return std::min(extent.rows, extent.sequences); }

/// What is on the device besides layers.
struct Ends {
  device::MatrixView words, positions, last_norm, selected, logits, drawn, probabilities, chunk_k,
      chunk_v;

  explicit Ends(Extent const& x) {
    std::int64_t const width = x.model.width(), at_once = drawn_at_once(x);
    words = matrix(x.type, x.vocabulary, width);
    positions = matrix(x.type, x.length, width);
    last_norm = matrix(x.type, 2, width);
    selected = matrix(x.type, at_once, width);
    logits = matrix(x.type, at_once, x.vocabulary);
    drawn = matrix(core::DataType::i32, 1, std::max(x.rows, x.sequences));
    probabilities = matrix(core::DataType::f32, 1, drawn.cols);
    chunk_k = chunk_v = matrix(x.type, x.length, shape_of(x).of_kv());
  }
  std::vector<device::MatrixView*> all() {
    return {&words, &positions,     &last_norm, &selected, &logits,
            &drawn, &probabilities, &chunk_k,   &chunk_v};
  }
};

std::vector<decoder::Tensors> layers_of(Extent const& x) {
  return std::vector(
      static_cast<std::size_t>(x.model.layers),
      decoder::unallocated(shape_of(x), x.rows, x.kv_tokens / x.block, true, x.type));
}

/// What layers do not share.
std::vector<device::MatrixView*> own_of(decoder::Tensors& layer) {
  std::vector<device::MatrixView*> own{&layer.k_pool, &layer.v_pool};
  for (device::MatrixView& weights : layer.weights) own.push_back(&weights);
  return own;
}

/// The first so many tokens.
decoder::Tensors of_tokens(decoder::Tensors layer, std::int64_t rows) {
  for (device::MatrixView* view : layer.written(false)) view->rows = std::min(view->rows, rows);
  return layer;
}

/// A step that has whatever a step may have, of so many tokens.
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

decoder::Problems problems_of(Extent const& x, std::int64_t rows) {
  decoder::Places places;
  Ends const ends{x};
  places.chunk_k = ends.chunk_k;
  places.chunk_v = ends.chunk_v;
  return decoder::problems_of(shape_of(x), any_attention(x, rows),
                              of_tokens(layers_of(x).front(), rows), nullptr, places);
}

gemm::Problem logits_of(device::MatrixView const& selected, device::MatrixView const& words,
                        device::MatrixView const& logits) {
  return {.a = selected,
          .b = words,
          .c = logits,
          .alpha = decoder::alpha_of(words.cols),
          .transpose_b = true};
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
  sampler::Problem problem = sampler::unallocated(logits.rows, logits.cols, logits.type);
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

/// The rows of a step beside those of its layers.
struct RowsOfEnds {
  Candidates<gemm::Problem> logits;
  Candidates<rowwise::Problem> embed;
  Candidates<sampler::Problem> draw;
  Candidates<kv_cache::Problem> copy, swap;

  RowsOfEnds(Extent const& x, std::int64_t rows, device::Kind kind, device::Facts const& facts) {
    Ends const ends{x};
    std::int64_t const width = x.model.width(), drawn = std::min(rows, drawn_at_once(x));
    auto const find = [&](auto const& table, auto const& problem, bool invariant) {
      return rows_taking(table, problem, Role::own, kind, facts, invariant);
    };
    device::MatrixView const selected = part(ends.selected, 0, 0, drawn, width),
                             logits_there = part(ends.logits, 0, 0, drawn, x.vocabulary);
    logits = find(gemm::variants(), logits_of(selected, ends.words, logits_there), x.deterministic);
    embed =
        find(rowwise::variants(), rows_of_table(ends.words, selected, nullptr), x.deterministic);
    draw = find(sampler::variants(), drawing(x, logits_there), false);
    copy = find(kv_cache::variants(), moving(x, kv_cache::Action::copy, 1), false);
    swap = find(kv_cache::variants(), moving(x, kv_cache::Action::swap_out, 1), false);
  }
  bool has_all() const {
    return !logits.empty() && !embed.empty() && !draw.empty() && !copy.empty() && !swap.empty();
  }
};

/// Numbers of tokens for each of which kernels are chosen: of steps up to so many.
std::vector<std::int64_t> classes_of(Extent const& x) {
  if (x.deterministic) return {x.rows};
  std::vector<std::int64_t> classes;
  for (std::int64_t rows = 16; rows < x.rows; rows *= 4) classes.push_back(rows);
  classes.push_back(x.rows);
  return classes;
}

device::Kind kind_of(device::Facts const& facts) {
  return facts.compute_capability > 0 ? device::Kind::cuda : device::Kind::host;
}

/// With attention of chunks where it may be had.
Extent resolved(Extent x, device::Kind kind, device::Facts const& facts) {
  x.token_by_token =
      x.deterministic ||
      !decoder::rows_of(problems_of(x, x.rows), Role::own, kind, facts).missing.empty();
  return x;
}

struct Scratch {
  std::size_t of_products = 0, of_attention = 0;
};
/// What any part of a step may take.
Scratch scratch_of(Extent const& extent, device::Facts const& facts) {
  Extent const x = resolved(extent, kind_of(facts), facts);
  Scratch most;
  std::set<std::int64_t> counts{1};
  for (std::int64_t rows : classes_of(x)) {
    counts.insert(rows);
    counts.insert(std::min(rows + 1, x.rows));
  }
  for (std::int64_t rows = 16; rows < x.rows; rows *= 4) counts.insert(rows);
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
    for (auto const& chunk : problems.chunks) {
      add(most.of_attention, chosen.chunks, chunk.attention);
    }
    // Most parts are those of few tokens, which are divided the finest.
    auto decode = problems.decode;
    std::int64_t const sequences = x.token_by_token ? rows : std::min(rows, x.sequences);
    decode.shape.sequences = decode.shape.tokens = sequences;
    decode.shape.longest = x.length;
    decode.q.rows = decode.o.rows = sequences * decode.shape.heads;
    add(most.of_attention, chosen.decode, decode);
  }
  return most;
}

/// Largest arrays of a step, in numbers of 32 bits.
std::int64_t staged_size(Extent const& x) {
  std::int64_t const blocks = (x.length + x.block - 1) / x.block,
                     drawn = std::max(x.rows, x.sequences);
  std::int64_t const chunks = x.token_by_token ? 0 : std::min(x.sequences, x.rows / 2) * x.length;
  std::int64_t const moves = 8 * (x.kv_tokens + x.host_tokens) / x.block;
  return 4 * x.rows + x.rows * blocks + chunks + 3 * drawn + moves + 64 * 64;
}

}  // namespace

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
      return fmt::format("has no row for words, tokens or blocks in {}", core::to_text(x.type));
    }
  }
  return {};
}

double memory_bytes(Extent const& extent) {
  Extent x = extent;
  if (x.kv_share > 0) x.kv_tokens = std::min(x.kv_tokens, x.length + x.block);
  Ends ends{x};
  double bytes = sizeof(std::int32_t) * static_cast<double>(staged_size(x));
  for (device::MatrixView const* view : ends.all()) bytes += bytes_of(*view);
  std::vector<decoder::Tensors> layers = layers_of(x);
  for (device::MatrixView const* view : own_of(layers.front())) {
    bytes += bytes_of(*view) * static_cast<double>(x.model.layers);
  }
  for (device::MatrixView const* view : layers.front().written(false)) bytes += bytes_of(*view);
  return bytes;
}

double scratch_bytes(Extent const& x, device::Facts const& facts) {
  Scratch const scratch = scratch_of(x, facts);
  return static_cast<double>(scratch.of_products + scratch.of_attention);
}

Execution::Execution(comm::World& world, Extent const& extent, std::uint64_t seed,
                     comm::Transport* shared)
    : world_{world},
      extent_{resolved(extent, world.device().kind(), world.device().facts())},
      shape_{shape_of(extent, shared == nullptr ? 0 : world.rank())},
      layers_{layers_of(extent)},
      moving_{world.device(), "swaps"},
      begin_{world.device()},
      end_{world.device()},
      uploaded_{world.device()},
      moves_begin_{world.device()},
      moves_end_{world.device()} {
  Ends ends{extent};
  auto const allocate = [&](device::MatrixView& view) {
    memory_.push_back(allocate_matrix(view, world));
  };
  for (device::MatrixView* view : ends.all()) allocate(*view);
  words_ = ends.words;
  positions_ = ends.positions;
  last_norm_ = ends.last_norm;
  selected_ = ends.selected;
  logits_ = ends.logits;
  drawn_ = ends.drawn;
  probabilities_ = ends.probabilities;
  chunk_k_ = ends.chunk_k;
  chunk_v_ = ends.chunk_v;
  for (device::MatrixView* view : layers_.front().written(false)) allocate(*view);
  decoder::Tensors const first = layers_.front();
  for (decoder::Tensors& layer : layers_) {
    auto const weights = layer.weights;
    layer = first;
    layer.weights = weights;
    for (device::MatrixView& view : layer.weights) allocate(view);
    moved_.emplace_back(world.device());
  }
  if (shared != nullptr) channel_ = shared->connect(world.group());
  fill(seed);
  choose();
  allocate_cache(extent_.kv_share > 0 ? tokens_that_fit() : extent_.kv_tokens);
}

/// Pools of so many tokens, and what is as large as they may need.
void Execution::allocate_cache(std::int64_t tokens) {
  extent_.kv_tokens = tokens;
  cache_.clear();
  host_.clear();
  kv_cache::Problem const both = moving(extent_, kv_cache::Action::swap_out, 0);
  for (decoder::Tensors& layer : layers_) {
    for (device::MatrixView* pool : {&layer.k_pool, &layer.v_pool}) {
      *pool = both.k;
      cache_.push_back(allocate_matrix(*pool, world_));
      host_.emplace_back(world_.device(), static_cast<std::int64_t>(bytes_of(both.host_k)));
    }
  }
  there_ = {world_.device(), staged_size(extent_), world_.stream()};
  here_ = {world_.device(), staged_size(extent_)};
  results_ = {world_.device(), 2 * drawn_.cols};
}

/// As many tokens as a share of what is left holds, once all has run.
std::int64_t Execution::tokens_that_fit() {
  std::int64_t const most = extent_.kv_tokens, blocks = (extent_.length - 1) / extent_.block + 1;
  allocate_cache(blocks * extent_.block);
  std::int64_t const tokens = std::min(extent_.rows, extent_.length);
  Piece piece{.tokens = std::vector<std::int32_t>(static_cast<std::size_t>(tokens)),
              .first_drawn = tokens - 1};
  for (BlockId block = 0; block < blocks; ++block) piece.blocks.push_back(block);
  stage({piece}, extent_.rows);
  embed();
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) run_layer(layer, true);
  draw();
  world_.stream().synchronize();
  cache_.clear();
  double const left = -world_.group().max(-static_cast<double>(world_.device().free_memory()));
  double const of_block = 2 * static_cast<double>(layers_.size()) *
                          bytes_of(layers_.front().k_pool) / static_cast<double>(blocks);
  std::int64_t const fit =
      static_cast<std::int64_t>(extent_.kv_share * left / of_block) * extent_.block;
  if (fit < extent_.length) {
    core::fail(
        fmt::format("serving: what is left of memory holds {} tokens, and a sequence has up "
                    "to {}; raise kv_share, or lower max_length or budget",
                    fit, extent_.length));
  }
  return std::min(most, fit);
}

void Execution::fill(std::uint64_t seed) {
  seed_ = seed;
  std::uint64_t tag = 0;
  auto const draw_all = [&](device::MatrixView const& view) {
    Source const source{core::DataKind::uniform, seed, tag++};
    workloads::fill(view, whole(view.rows, view.cols), source, world_);
    return source;
  };
  words_source_ = draw_all(words_);
  positions_source_ = draw_all(positions_);
  last_source_ = draw_all(last_norm_);
  sources_.resize(layers_.size());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    for (std::size_t w = 0; w < decoder::kWeights; ++w) {
      device::MatrixView const& view = layers_[l].weights[w];
      sources_[l].weights[w] = {core::DataKind::uniform, seed, tag++};
      for (decoder::WeightRows const& rows :
           decoder::rows_of(static_cast<decoder::Weight>(w), shape_)) {
        workloads::fill(view.block(rows.first, 0, rows.count, view.cols),
                        block_from(rows.global_row, rows.global_column), sources_[l].weights[w],
                        world_);
      }
    }
  }
}

void Execution::choose() {
  device::Facts const& facts = world_.device().facts();
  device::Kind const kind = world_.device().kind();
  Scratch const scratch = scratch_of(extent_, facts);
  product_scratch_ = allocate_scratch(scratch.of_products, world_);
  attention_scratch_ = allocate_scratch(scratch.of_attention, world_);
  // Times of products are those of numbers: what multiplies NaN draws less power.
  for (device::MatrixView const* view : layers_.front().written(false)) {
    workloads::fill(*view, whole(view->rows, view->cols), {core::DataKind::uniform, seed_, 1},
                    world_);
  }
  workloads::fill(selected_, whole(selected_.rows, selected_.cols),
                  {core::DataKind::uniform, seed_, 1}, world_);
  auto const fastest = [&](auto& candidates, gemm::Problem problem) {
    problem.scratch = product_scratch_.data();
    problem.scratch_bytes = product_scratch_.bytes();
    if (candidates.size() < 2) return;
    std::vector<kernels::Ranked> const ranked = kernels::rank(
        candidates.size(),
        [&](std::size_t i) {
          candidates[i]->launch(problem, world_.stream());
          return true;
        },
        world_.stream(), measure::BestRows::kEffort);
    std::swap(candidates.front(), candidates[agreed(ranked.front().candidate)]);
  };
  for (std::int64_t const tokens : classes_of(extent_)) {
    // A kernel for steps of all sizes is chosen for what most steps have: a token of each sequence.
    std::int64_t const usual = extent_.deterministic ? drawn_at_once(extent_) : tokens;
    staged_ = {.rows = usual, .attending = any_attention(extent_, usual)};
    staged_.places.chunk_k = chunk_k_;
    staged_.places.chunk_v = chunk_v_;
    decoder::Problems const all = problems(0);
    decoder::Rows rows = decoder::rows_of(all, Role::own, kind, facts, extent_.deterministic);
    QUAD_REQUIRE(rows.missing.empty(), "serving: " + rows.missing);
    for (std::size_t i = 0; i < decoder::kProducts; ++i) fastest(rows.products[i], all.products[i]);
    rows_[tokens] = std::move(rows);
    RowsOfEnds ends{extent_, usual, kind, facts};
    QUAD_REQUIRE(ends.has_all(), "serving: a part of a step has no row");
    std::int64_t const drawn = std::min(usual, drawn_at_once(extent_));
    fastest(ends.logits, logits_of(selected_.block(0, 0, drawn, selected_.cols), words_,
                                   logits_.block(0, 0, drawn, logits_.cols)));
    of_logits_[tokens] = ends.logits.front();
    embed_ = ends.embed.front();
    draw_ = ends.draw.front();
    copy_ = ends.copy.front();
    swap_ = ends.swap.front();
  }
}

/// What rank 0 has chosen, where ranks must do the same.
std::size_t Execution::agreed(std::size_t choice) const {
  if (channel_ == nullptr) return choice;
  std::string text = fmt::to_string(choice);
  world_.group().broadcast(text);
  return std::stoul(text);
}

std::string Execution::kernels() const {
  decoder::Rows const& rows = rows_for(drawn_at_once(extent_));
  std::string text;
  for (std::size_t i = 0; i < decoder::kProducts; ++i) {
    text += fmt::format("{}: {}, ", decoder::kProductNames[i], rows.products[i].front()->name);
  }
  text += fmt::format("paged_decode: {}", rows.decode.front()->name);
  if (!rows.chunks.empty()) text += fmt::format(", attention: {}", rows.chunks.front()->name);
  return text;
}

decoder::Rows const& Execution::rows_for(std::int64_t tokens) const {
  return rows_.lower_bound(tokens)->second;
}

decoder::Tensors Execution::of_layer(std::size_t layer, std::int64_t rows) const {
  return of_tokens(layers_[layer], rows);
}

decoder::Problems Execution::problems(std::size_t layer) const {
  decoder::Tensors const tensors = of_layer(layer, staged_.rows);
  decoder::Tensors before;
  if (layer > 0) before = of_layer(layer - 1, staged_.rows);
  decoder::Problems all = decoder::problems_of(shape_, staged_.attending, tensors,
                                               layer > 0 ? &before : nullptr, staged_.places);
  auto const give = [](auto& problem, device::Buffer<std::byte> const& scratch) {
    problem.scratch = scratch.data();
    problem.scratch_bytes = scratch.bytes();
  };
  for (gemm::Problem& product : all.products) give(product, product_scratch_);
  for (auto& chunk : all.chunks) give(chunk.attention, attention_scratch_);
  give(all.decode, attention_scratch_);
  return all;
}

void Execution::stage(std::vector<Piece> const& pieces, std::int64_t rows,
                      std::span<BlockMove const> moves) {
  std::vector<std::int32_t> words, positions, slots, lengths, slots_of_chunks, selected, numbers,
      drawn_positions;
  std::vector<std::size_t> piece_of_row;
  Staged staged;
  decoder::Attending& attending = staged.attending;
  auto const add = [&](std::size_t index, std::int64_t t) {
    Piece const& piece = pieces[index];
    std::int64_t const position = piece.before + t;
    if (t >= piece.first_drawn) {
      for (std::int64_t s = 0; s < piece.samples; ++s) {
        selected.push_back(static_cast<std::int32_t>(words.size()));
        numbers.push_back(static_cast<std::int32_t>(piece.number + s));
        drawn_positions.push_back(static_cast<std::int32_t>(position + 1));
        staged.drawn.push_back(piece.number + s);
      }
    }
    words.push_back(piece.tokens[static_cast<std::size_t>(t)]);
    positions.push_back(static_cast<std::int32_t>(position));
    slots.push_back(static_cast<std::int32_t>(
        piece.blocks[static_cast<std::size_t>(position / extent_.block)] * extent_.block +
        position % extent_.block));
    piece_of_row.push_back(index);
  };
  auto const is_single = [&](Piece const& piece) {
    return extent_.token_by_token || piece.tokens.size() == 1;
  };
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!is_single(pieces[i])) continue;
    for (std::int64_t t = 0; t < std::ssize(pieces[i].tokens); ++t) {
      add(i, t);
      lengths.push_back(positions.back() + 1);
      attending.tokens += lengths.back();
      attending.longest = std::max<std::int64_t>(attending.longest, lengths.back());
    }
  }
  attending.singles = std::ssize(lengths);
  std::int64_t const width = (attending.longest + extent_.block - 1) / extent_.block;
  std::vector<std::int32_t> table(static_cast<std::size_t>(attending.singles * width));
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    std::vector<BlockId> const& blocks = pieces[piece_of_row[row]].blocks;
    std::int64_t const count = (lengths[row] + extent_.block - 1) / extent_.block;
    std::copy_n(blocks.begin(), count, table.begin() + static_cast<std::ptrdiff_t>(row) * width);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Piece const& piece = pieces[i];
    if (is_single(piece)) continue;
    attending.chunks.push_back({.first_row = std::ssize(words),
                                .tokens = std::ssize(piece.tokens),
                                .before = piece.before,
                                .first_slot = std::ssize(slots_of_chunks)});
    for (std::int64_t t = 0; t < piece.before; ++t) {
      slots_of_chunks.push_back(static_cast<std::int32_t>(
          piece.blocks[static_cast<std::size_t>(t / extent_.block)] * extent_.block +
          t % extent_.block));
    }
    std::size_t const first = slots.size();
    for (std::int64_t t = 0; t < std::ssize(piece.tokens); ++t) add(i, t);
    if (piece.before > 0) {
      slots_of_chunks.insert(slots_of_chunks.end(),
                             slots.begin() + static_cast<std::ptrdiff_t>(first), slots.end());
    }
  }
  staged.rows = std::max(rows, std::ssize(words));
  words.resize(static_cast<std::size_t>(staged.rows));
  positions.resize(static_cast<std::size_t>(staged.rows));

  std::int64_t end = 0;
  auto const put = [&](std::vector<std::int32_t> const& values) {
    std::int64_t const at = end;
    QUAD_REQUIRE(at + std::ssize(values) <= here_.size(), "serving: a step has too many blocks");
    std::ranges::copy(values, here_.data() + at);
    constexpr std::int64_t kAligned = 64;
    end = (at + std::ssize(values) + kAligned - 1) / kAligned * kAligned;
    return there_.data() + at;
  };
  staged.words = put(words);
  staged.places.positions = put(positions);
  staged.places.slots = put(slots);
  staged.places.slots_of_host = here_.data() + (staged.places.slots - there_.data());
  staged.places.lengths = put(lengths);
  staged.places.table = put(table);
  staged.places.slots_of_chunks = put(slots_of_chunks);
  staged.places.chunk_k = chunk_k_;
  staged.places.chunk_v = chunk_v_;
  staged.selected = put(selected);
  staged.numbers = put(numbers);
  staged.positions = put(drawn_positions);
  for (std::size_t first = 0; first < moves.size();) {
    std::vector<std::int32_t> pairs;
    std::size_t i = first;
    for (; i < moves.size() && moves[i].kind == moves[first].kind; ++i) {
      pairs.push_back(moves[i].from);
      pairs.push_back(moves[i].to);
    }
    std::int32_t const* const there = put(pairs);
    staged.moves.push_back({moves[first].kind, static_cast<std::int64_t>(i - first), there,
                            here_.data() + (there - there_.data())});
    first = i;
  }
  staged_ = std::move(staged);
  world_.stream().copy(
      there_.data(), here_.data(),
      static_cast<std::size_t>(std::min(end, here_.size())) * sizeof(std::int32_t));
  world_.stream().record(uploaded_);
}

void Execution::embed() {
  decoder::Tensors const first = of_layer(0, staged_.rows);
  rowwise::Problem problem = rows_of_table(words_, first.sum, staged_.words);
  problem.weights = positions_;
  problem.positions = staged_.places.positions;
  embed_->launch(problem, world_.stream());
}

void Execution::run_layer(std::size_t layer, bool has_attention) {
  decoder::Problems const all = problems(layer);
  decoder::Rows const& rows = rows_for(staged_.rows);
  decoder::run(
      all, rows, world_.stream(),
      [&](decoder::Product product) {
        rows.products[product].front()->launch(all.products[product], world_.stream());
        if (channel_ == nullptr) return;
        device::MatrixView const& c = all.products[product].c;
        comm::Piece const sum{c.data, static_cast<std::size_t>(bytes_of(c))};
        channel_
            ->allreduce({sum.data, sum.bytes}, sum, c.type, comm::ReduceOp::sum, world_.stream())
            .wait_on(world_.stream());
      },
      [&] {
        if (has_attention) decoder::attend(all, rows, world_.stream());
      });
}

/// The last norm, and a token behind each that is selected.
void Execution::draw() {
  decoder::Tensors const last = of_layer(layers_.size() - 1, staged_.rows);
  decoder::Rows const& rows = rows_for(staged_.rows);
  rows.first_norm.front()->launch(
      decoder::last_norm_of(shape_, last, last_norm_, last.sum, last.normed), world_.stream());
  auto const all = std::ssize(staged_.drawn);
  for (std::int64_t first = 0; first < all; first += selected_.rows) {
    std::int64_t const count = std::min(selected_.rows, all - first);
    device::MatrixView const selected = selected_.block(0, 0, count, selected_.cols),
                             logits = logits_.block(0, 0, count, logits_.cols);
    embed_->launch(rows_of_table(last.normed, selected, staged_.selected + first), world_.stream());
    gemm::Problem product = logits_of(selected, words_, logits);
    product.scratch = product_scratch_.data();
    product.scratch_bytes = product_scratch_.bytes();
    of_logits_.lower_bound(count)->second->launch(product, world_.stream());
    sampler::Problem problem = drawing(extent_, logits);
    problem.seed = seed_;
    problem.requests = staged_.numbers + first;
    problem.positions = staged_.positions + first;
    auto const results = [&](device::MatrixView const& view) {
      device::MatrixView part = view.block(0, first, 1, count);
      part.ld = count;
      return part;
    };
    problem.tokens = results(drawn_);
    problem.probabilities = results(probabilities_);
    draw_->launch(problem, world_.stream());
  }
  std::size_t const bytes = staged_.drawn.size() * sizeof(std::int32_t);
  world_.stream().copy(results_.data(), drawn_.data, bytes);
  world_.stream().copy(results_.data() + drawn_.cols, probabilities_.data, bytes);
}

void Execution::enqueue(Scope scope) {
  if (scope == Scope::ends) {
    embed();
    draw();
    return;
  }
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    if (scope == Scope::layers) {
      run_layer(layer, false);
    } else {
      decoder::attend(problems(layer), rows_for(staged_.rows), world_.stream());
    }
  }
}

/// Layer by layer on a stream of their own, so that each may run under the layers before it.
void Execution::move_blocks() {
  device::StreamView const stream = moving_.view();
  stream.wait(uploaded_);
  stream.record(moves_begin_);
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    for (Moves const& moves : staged_.moves) {
      using Kind = BlockMove::Kind;
      bool const is_copy = moves.kind == Kind::copy;
      kv_cache::Problem problem = moving(extent_,
                                         is_copy                   ? kv_cache::Action::copy
                                         : moves.kind == Kind::out ? kv_cache::Action::swap_out
                                                                   : kv_cache::Action::swap_in,
                                         moves.count);
      problem.k = layers_[layer].k_pool;
      problem.v = layers_[layer].v_pool;
      problem.host_k.data = host_[2 * layer].data();
      problem.host_v.data = host_[2 * layer + 1].data();
      problem.places = moves.there;
      problem.places_of_host = moves.here;
      (is_copy ? copy_ : swap_)->launch(problem, stream);
      if (!is_copy) {
        swapped_bytes_ += 2 * static_cast<double>(moves.count * problem.shape.rows_of_block()) *
                          bytes_of(problem.k) / static_cast<double>(problem.k.rows);
      }
    }
    stream.record(moved_[layer]);
  }
  stream.record(moves_end_);
}

void Execution::collect() {
  world_.stream().synchronize();
  if (channel_ != nullptr) {
    std::string tokens(reinterpret_cast<char const*>(results_.data()),
                       staged_.drawn.size() * sizeof(std::int32_t));
    world_.group().broadcast(tokens);
    std::memcpy(results_.data(), tokens.data(), tokens.size());
  }
  std::int32_t const* const probabilities = results_.data() + drawn_.cols;
  for (std::size_t i = 0; i < staged_.drawn.size(); ++i) {
    std::int64_t const number = staged_.drawn[i];
    float probability = 0;
    std::memcpy(&probability, probabilities + i, sizeof probability);
    outputs_->of(number).push_back(results_.data()[i]);
    drawn_probabilities_[number].push_back(probability);
  }
}

double Execution::run(std::vector<Piece> pieces, std::int64_t rows,
                      std::span<BlockMove const> moves) {
  device::StreamView const stream = world_.stream();
  stream.record(begin_);
  auto next = pieces.begin();
  for (bool is_first = true; is_first || rows > 0; is_first = false) {
    std::vector<Piece> taken;
    std::int64_t count = 0;
    while (next != pieces.end() && count < extent_.rows) {
      auto const left = std::ssize(next->tokens), room = extent_.rows - count;
      if (left <= room) {
        count += left;
        taken.push_back(std::move(*next++));
        continue;
      }
      Piece& first = taken.emplace_back(*next);
      first.tokens.resize(static_cast<std::size_t>(room));
      next->tokens.erase(next->tokens.begin(), next->tokens.begin() + room);
      next->before += room;
      next->first_drawn = std::max<std::int64_t>(0, next->first_drawn - room);
      count += room;
    }
    std::int64_t const here = std::min(rows, extent_.rows);
    stage(taken, here, is_first ? moves : std::span<BlockMove const>{});
    rows -= here;
    bool const has_moves = !staged_.moves.empty();
    if (has_moves) move_blocks();
    embed();
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      if (has_moves) stream.wait(moved_[layer]);
      run_layer(layer, true);
    }
    draw();
    collect();
    bool const is_swap = std::ranges::any_of(
        staged_.moves, [](Moves const& group) { return group.kind != BlockMove::Kind::copy; });
    if (is_swap) {
      moves_end_.synchronize();
      swapped_s_ += moves_end_.seconds_since(moves_begin_);
    }
  }
  stream.record(end_);
  end_.synchronize();
  double const seconds = end_.seconds_since(begin_);
  return channel_ == nullptr ? seconds : world_.group().max(seconds);
}

void Execution::begin(TokenHashes const& tokens, Outputs& outputs, std::int64_t samples,
                      std::function<bool(Sequence const&)> is_judged) {
  hashes_ = &tokens;
  outputs_ = &outputs;
  samples_ = samples;
  is_judged_ = std::move(is_judged);
  drawn_probabilities_.clear();
  kept_.clear();
  swapped_bytes_ = swapped_s_ = 0;
}

std::vector<BlockId> Execution::blocks_of(Sequence const& sequence) const {
  if (sequence.first_slot < 0) return sequence.table.blocks;
  std::vector<BlockId> blocks;
  for (std::int64_t t = 0; t < sequence.cached; t += extent_.block) {
    blocks.push_back(static_cast<BlockId>((sequence.first_slot + t) / extent_.block));
  }
  return blocks;
}

double Execution::execute(StepWork const& work, std::span<Part const> parts,
                          std::span<BlockMove const> moves) {
  std::vector<Piece> pieces;
  for (auto const& [sequence, tokens] : parts) {
    Request const& request = *sequence->request;
    bool const is_complete = sequence->missing() == 0;
    // Samples of a prompt that share its blocks all begin behind it.
    bool const has_samples =
        sequence->first_slot < 0 && sequence->sample == 0 && sequence->delivered == 0;
    Piece& piece = pieces.emplace_back(Piece{.blocks = blocks_of(*sequence),
                                             .before = sequence->cached - tokens,
                                             .first_drawn = is_complete ? tokens - 1 : tokens,
                                             .number = outputs_->number(request, sequence->sample),
                                             .samples = has_samples ? samples_ : 1});
    std::vector<std::int32_t> const& made = outputs_->of(piece.number);
    for (std::int64_t t = piece.before; t < sequence->cached; ++t) {
      piece.tokens.push_back(t < request.prompt
                                 ? hashes_->word(request, t, extent_.vocabulary)
                                 : made[static_cast<std::size_t>(t - request.prompt)]);
    }
  }
  return run(std::move(pieces), work.rows, moves);
}

/// Of each layer k, then v: tokens x kv_width.
std::vector<std::vector<float>> Execution::read_cache(std::vector<BlockId> const& blocks,
                                                      std::int64_t tokens) {
  std::vector<std::int32_t> slots;
  for (std::int64_t t = 0; t < tokens; ++t) {
    slots.push_back(static_cast<std::int32_t>(
        blocks[static_cast<std::size_t>(t / extent_.block)] * extent_.block + t % extent_.block));
  }
  std::ranges::copy(slots, here_.data());
  world_.stream().copy(there_.data(), here_.data(), slots.size() * sizeof(std::int32_t));
  kv_cache::Problem problem = moving(extent_, kv_cache::Action::read, tokens);
  problem.token_k = chunk_k_.block(0, 0, tokens, chunk_k_.cols);
  problem.token_v = chunk_v_.block(0, 0, tokens, chunk_v_.cols);
  problem.places = there_.data();
  std::vector<std::vector<float>> all;
  for (decoder::Tensors const& layer : layers_) {
    problem.k = layer.k_pool;
    problem.v = layer.v_pool;
    copy_->launch(problem, world_.stream());
    for (device::MatrixView const& view : {problem.token_k, problem.token_v}) {
      core::visit_type(view.type, [&](auto zero) {
        auto const values = download<decltype(zero)>(view, world_.stream());
        std::vector<float>& to = all.emplace_back();
        for (auto const value : values) to.push_back(static_cast<float>(value));
      });
    }
  }
  return all;
}

void Execution::end(Sequence const& sequence) {
  if (!is_judged_(sequence)) return;
  kept_.push_back({.request = *sequence.request,
                   .number = outputs_->number(*sequence.request, sequence.sample),
                   .tokens = sequence.cached,
                   .k_and_v = read_cache(blocks_of(sequence), sequence.cached)});
}

Finding Execution::judge(core::Case const& spec) {
  Finding finding;
  finding.allowed = 1;
  for (Kept const& kept : kept_) judge(kept, spec, finding);
  return finding;
}

void Execution::judge(Kept const& kept, core::Case const& spec, Finding& finding) {
  decoder::Shape shape = shape_;
  shape.requests = 1;
  shape.tokens = kept.tokens;
  decoder::Step step{shape, workloads::Lengths::equal, seed_};
  step.draw_slots(seed_);
  std::vector<std::int32_t> const tokens = outputs_->of(kept.number);
  std::vector<float> const probabilities = drawn_probabilities_[kept.number];
  std::int64_t const prompt = kept.request.prompt;
  Piece piece{.blocks = step.table, .first_drawn = prompt - 1, .number = kept.number};
  for (std::int64_t t = 0; t < kept.tokens; ++t) {
    piece.tokens.push_back(t < prompt ? hashes_->word(kept.request, t, extent_.vocabulary)
                                      : tokens[static_cast<std::size_t>(t - prompt)]);
  }
  std::vector<std::int32_t> const words = piece.tokens;
  outputs_->of(kept.number).clear();
  drawn_probabilities_[kept.number].clear();
  auto const named = [&](std::string_view what) {
    return fmt::format("{} of request {} by itself on rank {}", what, kept.number, world_.rank());
  };
  if (kept.tokens <= extent_.rows) {
    decoder::StepCheck check{shape, step, spec, world_, {}};
    stage({piece}, kept.tokens);
    embed();
    check.judge_input(of_layer(0, kept.tokens).sum, [&](std::int64_t t) {
      std::vector<float> word(static_cast<std::size_t>(shape.hidden)), position(word.size());
      read_row(words_source_, extent_.type, words[static_cast<std::size_t>(t)], word);
      read_row(positions_source_, extent_.type, t, position);
      return expected_sum(word, position, extent_.type);
    });
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      run_layer(layer, true);
      check.judge_layer(of_layer(layer, kept.tokens), sources_[layer]);
    }
    draw();
    decoder::Tensors const last = of_layer(layers_.size() - 1, kept.tokens);
    check.judge_last_norm(last_source_, last.sum, last.normed);
    if (std::ssize(staged_.drawn) <= selected_.rows) {
      check.judge_logits(last.normed, prompt - 1, words_source_,
                         logits_.block(0, 0, std::ssize(staged_.drawn), logits_.cols));
    }
    collect();
    Finding found = check.finding();
    if (found.wrong > 0) found.first_wrong = named(found.first_wrong);
    finding.add(found);
  } else {
    run({piece}, kept.tokens, {});
  }
  std::vector<std::vector<float>> const want = read_cache(step.table, kept.tokens);
  auto const differs = [&](bool is_wrong, auto const& describe) {
    finding.check(is_wrong ? 2 : 0, 1, describe);
  };
  for (std::size_t i = 0; i < tokens.size() && extent_.deterministic; ++i) {
    std::int32_t const token = outputs_->of(kept.number)[i];
    float const probability = drawn_probabilities_[kept.number][i];
    differs(token != tokens[i] || probability != probabilities[i], [&] {
      return fmt::format(
          "token {} of the output of request {} on rank {}: expected {} of "
          "probability {:.9g}, as by itself, got {} of {:.9g}",
          i, kept.number, world_.rank(), token, probability, tokens[i], probabilities[i]);
    });
  }
  // A layer rounds some eight times, and each may have grown fourfold where K and V are made.
  double const allowed = extent_.deterministic
                             ? 0
                             : 16 * core::epsilon_of(extent_.type) *
                                   std::sqrt(static_cast<double>(extent_.model.layers));
  auto const d = static_cast<std::size_t>(extent_.model.head_size);
  auto const width = static_cast<std::size_t>(shape_.of_kv());
  for (std::size_t tensor = 0; tensor < want.size(); ++tensor) {
    std::vector<float> const &right = want[tensor], &got = kept.k_and_v[tensor];
    for (std::size_t first = 0; first < right.size(); first += d) {
      double off = 0, all = 0;
      for (std::size_t e = first; e < first + d; ++e) {
        off += (double{got[e]} - double{right[e]}) * (double{got[e]} - double{right[e]});
        all += double{right[e]} * double{right[e]};
      }
      double const share = off == 0 ? 0 : std::sqrt(off / all) / allowed;
      finding.check(share, 1, [&] {
        return fmt::format(
            "{} of token {} of request {}, layer {}, head {} on rank {}: {:.3g} of it off what it "
            "is by itself",
            tensor % 2 == 0 ? "k" : "v", first / width, kept.number, tensor / 2, first % width / d,
            world_.rank(), std::sqrt(off / all));
      });
    }
  }
  outputs_->of(kept.number) = tokens;
  drawn_probabilities_[kept.number] = probabilities;
}

}  // namespace quadrille::workloads::serving
