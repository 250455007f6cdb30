// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/execution.hpp"

#include "workloads/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace quadrille::workloads::serving {

namespace gemm = kernels::gemm;
namespace kv_cache = kernels::kv_cache;
namespace rowwise = kernels::rowwise;
namespace sampler = kernels::sampler;
using kernels::Role;

Execution::Execution(comm::World& world, Extent const& extent, std::uint64_t seed,
                     comm::Transport* shared)
    : world_{world},
      extent_{resolved(extent, world.device().kind(), world.device().facts())},
      shape_{shape_of(extent, shared == nullptr ? 0 : world.rank())},
      layers_(static_cast<std::size_t>(extent.model.layers), layer_of(extent)),
      ends_{extent},
      moving_{world.device(), "swaps"},
      begin_{world.device()},
      end_{world.device()},
      uploaded_{world.device()},
      moves_begin_{world.device()},
      moves_end_{world.device()} {
  auto const allocate = [&](device::MatrixView& view) {
    memory_.push_back(allocate_matrix(view, world));
  };
  for (device::MatrixView* view : ends_.all()) allocate(*view);
  for (device::MatrixView* view : layers_.front().written(false)) allocate(*view);
  decoder::Tensors const first = layers_.front();
  for (decoder::Tensors& layer : layers_) {
    auto const weights = layer.weights;
    layer = first;
    layer.weights = weights;
    for (device::MatrixView& view : layer.weights) allocate(view);
    moved_.emplace_back(world.device());
  }
  if (shared != nullptr) {
    channel_ = shared->connect(world.group(), comm::Order::on_caller_stream);
  }
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
  results_ = {world_.device(), 3 * ends_.drawn.cols};
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
  enqueue(true, true);
  world_.stream().synchronize();
  cache_.clear();
  double const left = -world_.group().max(-static_cast<double>(world_.device().free_memory()));
  double const of_block = 2 * static_cast<double>(layers_.size()) *
                          bytes_of(layers_.front().k_pool) / static_cast<double>(blocks);
  auto const fit = static_cast<std::int64_t>(extent_.kv_share * left / of_block) * extent_.block;
  // At least what one request needs, or nobody is served.
  std::int64_t const blocks_needed = (needed_tokens(extent_) - 1) / extent_.block + 1;
  return std::min(most, std::max(fit, blocks_needed * extent_.block));
}

void Execution::fill(std::uint64_t seed) {
  seed_ = seed;
  std::uint64_t tag = 0;
  auto const draw_all = [&](device::MatrixView const& view) {
    Source const source{core::DataKind::uniform, seed, tag++};
    workloads::fill(view, whole(view.rows, view.cols), source, world_);
    return source;
  };
  words_source_ = draw_all(ends_.words);
  positions_source_ = draw_all(ends_.positions);
  last_source_ = draw_all(ends_.last_norm);
  sources_.resize(layers_.size());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    for (std::size_t w = 0; w < decoder::kWeights; ++w) {
      device::MatrixView const& view = layers_[l].weights[w];
      sources_[l].weights[w] = {core::DataKind::uniform, seed, tag++};
      decoder::fill_weight(view, static_cast<decoder::Weight>(w), shape_, sources_[l].weights[w],
                           world_);
    }
  }
}

void Execution::choose() {
  device::Facts const& facts = world_.device().facts();
  device::Kind const kind = world_.device().kind();
  Scratch const scratch = scratch_of(extent_, facts);
  product_scratch_ = allocate_scratch(scratch.of_products, world_);
  other_scratch_ = allocate_scratch(scratch.of_others, world_);
  // Times of products are those of numbers: what multiplies NaN draws less power.
  for (device::MatrixView const* view : layers_.front().written(false)) {
    workloads::fill(*view, whole(view->rows, view->cols), {core::DataKind::uniform, seed_, 1},
                    world_);
  }
  workloads::fill(ends_.selected, whole(ends_.selected.rows, ends_.selected.cols),
                  {core::DataKind::uniform, seed_, 1}, world_);
  auto const put_fastest_first = [&](auto& candidates, gemm::Problem const& problem) {
    std::size_t const fastest = agreed(decoder::fastest_of(candidates, problem, world_.stream()));
    std::swap(candidates.front(), candidates[fastest]);
  };
  for (std::int64_t const tokens : classes_of(extent_)) {
    // A kernel for steps of all sizes is chosen for what most steps have: a token of each sequence.
    std::int64_t const usual = extent_.deterministic ? drawn_at_once(extent_) : tokens;
    staged_ = {.rows = usual, .attending = any_attention(extent_, usual)};
    staged_.places.chunk_k = ends_.chunk_k;
    staged_.places.chunk_v = ends_.chunk_v;
    decoder::Problems const all = problems(0);
    decoder::Rows rows = decoder::rows_of(all, Role::own, kind, facts, extent_.deterministic);
    QUAD_REQUIRE(rows.missing.empty(), "serving: " + rows.missing);
    for (std::size_t i = 0; i < decoder::kProducts; ++i) {
      put_fastest_first(rows.products[i], all.products[i]);
    }
    rows_[tokens] = std::move(rows);
    RowsOfEnds ends{extent_, usual, kind, facts};
    QUAD_REQUIRE(ends.has_all(), "serving: a part of a step has no row");
    std::int64_t const drawn = std::min(usual, drawn_at_once(extent_));
    put_fastest_first(ends.logits, logits_product(drawn));
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
  decoder::give_scratch(all, product_scratch_, other_scratch_);
  return all;
}

/// Of so many tokens that are drawn.
gemm::Problem Execution::logits_product(std::int64_t drawn) const {
  gemm::Problem problem =
      logits_of(ends_.selected.block(0, 0, drawn, ends_.selected.cols), ends_.words,
                ends_.logits.block(0, 0, drawn, ends_.logits.cols));
  give_scratch(problem, product_scratch_);
  return problem;
}

std::int32_t Execution::slot_of(std::vector<BlockId> const& blocks, std::int64_t token) const {
  std::int64_t const block = blocks[static_cast<std::size_t>(token / extent_.block)];
  return static_cast<std::int32_t>(block * extent_.block + token % extent_.block);
}

/// Uploads what a step needs.
void Execution::stage(std::vector<Piece> const& pieces, std::int64_t rows,
                      std::span<BlockMove const> moves) {
  std::vector<std::int32_t> words, positions, slots, lengths, slots_of_chunks, selected, numbers,
      drawn_positions;
  std::vector<float> scores;
  std::vector<std::size_t> piece_of_row;
  Staged staged;
  decoder::Attending& attending = staged.attending;
  auto const add = [&](std::size_t index, std::int64_t t) {
    Piece const& piece = pieces[index];
    std::int64_t const position = piece.before + t;
    std::int64_t const drawn = t - piece.first_drawn;
    for (std::int64_t s = 0; s < piece.samples && drawn >= 0; ++s) {
      selected.push_back(static_cast<std::int32_t>(words.size()));
      numbers.push_back(static_cast<std::int32_t>(piece.number + s));
      drawn_positions.push_back(static_cast<std::int32_t>(position + 1));
      staged.drawn.push_back(piece.number + s);
      if (extent_.beams == 0) continue;
      float const score = piece.scores.empty() ? 0 : piece.scores[static_cast<std::size_t>(drawn)];
      scores.push_back(s == 0 ? score : -std::numeric_limits<float>::infinity());
    }
    words.push_back(piece.tokens[static_cast<std::size_t>(t)]);
    positions.push_back(static_cast<std::int32_t>(position));
    slots.push_back(slot_of(piece.blocks, position));
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
      slots_of_chunks.push_back(slot_of(piece.blocks, t));
    }
    std::size_t const first = slots.size();
    for (std::int64_t t = 0; t < std::ssize(piece.tokens); ++t) add(i, t);
    if (piece.before > 0) {
      slots_of_chunks.insert(slots_of_chunks.end(),
                             slots.begin() + static_cast<std::ptrdiff_t>(first), slots.end());
    }
  }
  // Where steps are measured there are tokens of no request.
  while (extent_.beams > 0 && std::ssize(selected) % extent_.beams != 0) {
    selected.push_back(selected.back());
    staged.drawn.push_back(staged.drawn.back());
    scores.push_back(0);
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
  staged.places.chunk_k = ends_.chunk_k;
  staged.places.chunk_v = ends_.chunk_v;
  staged.selected = put(selected);
  staged.numbers = put(numbers);
  staged.positions = put(drawn_positions);
  staged.scores = put({reinterpret_cast<std::int32_t const*>(scores.data()),
                       reinterpret_cast<std::int32_t const*>(scores.data()) + scores.size()});
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
  rowwise::Problem problem = rows_of_table(ends_.words, first.sum, staged_.words);
  problem.weights = ends_.positions;
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
        decoder::add_up(*channel_, all.products[product].c, world_.stream())
            .wait_on(world_.stream());
      },
      [&] {
        if (has_attention) decoder::attend(all, rows, world_.stream());
      });
}

/// Logits of some of those behind which tokens are drawn, as many as have room.
gemm::Problem Execution::make_logits(std::int64_t first) {
  std::int64_t const count = std::min(ends_.selected.rows, std::ssize(staged_.drawn) - first);
  gemm::Problem const product = logits_product(count);
  decoder::Tensors const last = of_layer(layers_.size() - 1, staged_.rows);
  embed_->launch(rows_of_table(last.normed, product.a, staged_.selected + first), world_.stream());
  of_logits_.lower_bound(count)->second->launch(product, world_.stream());
  return product;
}

/// The last norm, and a token behind each that is selected.
void Execution::draw() {
  decoder::Tensors const last = of_layer(layers_.size() - 1, staged_.rows);
  decoder::Rows const& rows = rows_for(staged_.rows);
  rows.first_norm.front()->launch(
      decoder::last_norm_of(shape_, last, ends_.last_norm, last.sum, last.normed), world_.stream());
  auto const all = std::ssize(staged_.drawn);
  for (std::int64_t first = 0; first < all; first += ends_.selected.rows) {
    gemm::Problem const product = make_logits(first);
    std::int64_t const count = product.m();
    sampler::Problem problem = drawing(extent_, product.c);
    problem.seed = seed_;
    problem.requests = staged_.numbers + first;
    problem.positions = staged_.positions + first;
    auto const results = [&](device::MatrixView const& view) {
      device::MatrixView part = view.block(0, first, 1, count);
      part.ld = count;
      return part;
    };
    problem.tokens = results(ends_.drawn);
    if (extent_.beams == 0) {
      problem.probabilities = results(ends_.probabilities);
    } else {
      problem.scores = reinterpret_cast<float const*>(staged_.scores) + first;
      problem.parents = results(ends_.parents);
      problem.new_scores = results(ends_.probabilities);
    }
    give_scratch(problem, other_scratch_);
    draw_->launch(problem, world_.stream());
  }
  std::size_t const bytes = staged_.drawn.size() * sizeof(std::int32_t);
  std::int32_t* to = results_.data();
  for (device::MatrixView const* view : {&ends_.drawn, &ends_.probabilities, &ends_.parents}) {
    if (view->rows > 0) world_.stream().copy(to, view->data, bytes);
    to += view->cols;
  }
}

/// The step that was staged, or less of it.
void Execution::enqueue(bool has_layers, bool has_attention) {
  embed();
  for (std::size_t layer = 0; layer < layers_.size() && has_layers; ++layer) {
    if (!staged_.moves.empty()) world_.stream().wait(moved_[layer]);
    run_layer(layer, has_attention);
  }
  draw();
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

/// What a pass has drawn: on ranks that share a model what rank 0 has.
void Execution::collect() {
  world_.stream().synchronize();
  std::vector<Drawn> drawn;
  for (std::size_t i = 0; i < staged_.drawn.size(); ++i) {
    std::int32_t const* const result = results_.data() + i;
    drawn.push_back({.number = staged_.drawn[i],
                     .token = result[0],
                     .parent = result[2 * ends_.drawn.cols],
                     .probability = std::bit_cast<float>(result[ends_.drawn.cols])});
  }
  if (channel_ != nullptr && !drawn.empty()) {
    std::string bytes(reinterpret_cast<char const*>(drawn.data()), drawn.size() * sizeof(Drawn));
    world_.group().broadcast(bytes);
    std::memcpy(drawn.data(), bytes.data(), bytes.size());
  }
  drawn_.insert(drawn_.end(), drawn.begin(), drawn.end());
}

/// Gives samples their tokens.
void Execution::hand_out() {
  if (extent_.beams == 0) {
    for (Drawn const& one : drawn_) {
      outputs_->of(one.number).push_back(one.token);
      probabilities_[one.number].push_back(one.probability);
    }
    return;
  }
  for (auto first = drawn_.begin(); first != drawn_.end(); first += extent_.beams) {
    std::vector<std::int32_t> parents, tokens;
    std::vector<std::vector<float>> scores;
    for (auto one = first; one != first + extent_.beams; ++one) {
      parents.push_back(one->parent);
      tokens.push_back(one->token);
      scores.push_back(probabilities_[first->number + one->parent]);
      scores.back().push_back(one->probability);
    }
    for (std::size_t beam = 0; beam < scores.size(); ++beam) {
      probabilities_[first->number + static_cast<std::int64_t>(beam)] = std::move(scores[beam]);
    }
    outputs_->extend(first->number, std::move(parents), tokens);
  }
}

double Execution::run(std::vector<Piece> pieces, std::int64_t rows,
                      std::span<BlockMove const> moves) {
  device::StreamView const stream = world_.stream();
  stream.record(begin_);
  drawn_.clear();
  auto next = pieces.begin();
  for (bool is_first = true; is_first || rows > 0 || next != pieces.end(); is_first = false) {
    std::vector<Piece> taken;
    std::int64_t count = 0;
    while (next != pieces.end() && count < extent_.rows) {
      auto const left = std::ssize(next->tokens), room = extent_.rows - count;
      if (next->together > room) break;
      if (left <= room) {
        count += left;
        taken.push_back(std::move(*next++));
        continue;
      }
      Piece& first = taken.emplace_back(*next);
      first.tokens.resize(static_cast<std::size_t>(room));
      next->tokens.erase(next->tokens.begin(), next->tokens.begin() + room);
      if (std::int64_t const drawn = room - next->first_drawn; drawn > 0 && !next->scores.empty()) {
        next->scores.erase(next->scores.begin(), next->scores.begin() + drawn);
      }
      next->before += room;
      next->first_drawn = std::max<std::int64_t>(0, next->first_drawn - room);
      count += room;
    }
    // Of a batch that is filled up, the last has what is left.
    std::int64_t const here = next == pieces.end() ? std::min(rows, extent_.rows) : count;
    stage(taken, here, is_first ? moves : std::span<BlockMove const>{});
    rows -= here;
    if (!staged_.moves.empty()) move_blocks();
    enqueue(true, true);
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

double Execution::seconds_of(std::vector<Piece> const& pieces, std::int64_t rows, bool has_layers,
                             bool has_attention) {
  device::StreamView const stream = world_.stream();
  stream.record(begin_);
  stage(pieces, rows);
  enqueue(has_layers, has_attention);
  collect();
  stream.record(end_);
  end_.synchronize();
  drawn_.clear();
  return end_.seconds_since(begin_);
}

void Execution::begin(TokenHashes const& tokens, Outputs& outputs, std::int64_t samples,
                      std::function<bool(Sequence const&)> is_judged, StepTimes const* times) {
  hashes_ = &tokens;
  outputs_ = &outputs;
  times_ = times;
  samples_ = samples;
  is_judged_ = std::move(is_judged);
  probabilities_.clear();
  kept_.clear();
  swapped_bytes_ = swapped_s_ = predicted_s_ = 0;
}

std::vector<BlockId> Execution::blocks_of(Sequence const& sequence) const {
  if (sequence.first_slot < 0) return sequence.table.blocks;
  std::vector<BlockId> blocks;
  for (std::int64_t t = 0; t < sequence.cached; t += extent_.block) {
    blocks.push_back(static_cast<BlockId>((sequence.first_slot + t) / extent_.block));
  }
  return blocks;
}

/// Tokens [first, last) of a request and what was made of it.
std::vector<std::int32_t> Execution::words_of(Request const& request,
                                              std::vector<std::int32_t> const& made,
                                              std::int64_t first, std::int64_t last) const {
  std::vector<std::int32_t> words;
  for (std::int64_t t = first; t < last; ++t) {
    words.push_back(t < request.prompt ? hashes_->word(request, t, extent_.vocabulary)
                                       : made[static_cast<std::size_t>(t - request.prompt)]);
  }
  return words;
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
    piece.tokens = words_of(request, outputs_->of(piece.number), piece.before, sequence->cached);
    bool const is_beam = extent_.beams > 0 && !has_samples && is_complete;
    if (is_beam) piece.scores = {probabilities_[piece.number].back()};
    if (is_beam && sequence->sample == 0) piece.together = samples_;
  }
  if (times_ != nullptr) predicted_s_ += times_->of(work);
  double const seconds = run(std::move(pieces), work.rows, moves);
  hand_out();
  return seconds;
}

}  // namespace quadrille::workloads::serving
