// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/checks/rowwise.hpp"
#include "workloads/serving/execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

/// Sequences that were served, computed once more by themselves.
namespace quadrille::workloads::serving {

namespace kv_cache = kernels::kv_cache;

/// Of each layer k, then v: tokens x kv_width.
std::vector<std::vector<float>> Execution::read_cache(std::vector<BlockId> const& blocks,
                                                      std::int64_t tokens) {
  std::int32_t* const slots = here_.data();
  for (std::int64_t t = 0; t < tokens; ++t) slots[t] = slot_of(blocks, t);
  world_.stream().copy(there_.data(), slots,
                       static_cast<std::size_t>(tokens) * sizeof(std::int32_t));
  kv_cache::Problem problem = moving(extent_, kv_cache::Action::read, tokens);
  problem.token_k = ends_.chunk_k.block(0, 0, tokens, ends_.chunk_k.cols);
  problem.token_v = ends_.chunk_v.block(0, 0, tokens, ends_.chunk_v.cols);
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

/// The logits of a token and those of the same one by itself, whose step has just run, are off each other by a
/// share of what they are, and so are logarithms of probabilities: on average over tokens, for one word of many may
/// be off by more. Another token's logits are off by more than what they are.
void Execution::judge_probabilities(Kept const& kept, double allowed, Finding& finding) {
  std::vector<std::int32_t> const& tokens = outputs_->of(kept.number);
  std::vector<float> const& had = probabilities_[kept.number];
  std::int64_t const apart = extent_.together();
  double const inverse = extent_.temperature > 0 ? 1 / extent_.temperature : 1;
  double off = 0, spread = 0;
  for (std::int64_t first = 0; first < std::ssize(staged_.drawn); first += ends_.selected.rows) {
    device::MatrixView const logits = make_logits(first).c;
    core::visit_type(logits.type, [&](auto zero) {
      auto const values = download<decltype(zero)>(logits, world_.stream());
      for (std::int64_t row = 0; row < logits.rows; row += apart) {
        auto const of_row = std::span{values}.subspan(static_cast<std::size_t>(row * logits.cols),
                                                      static_cast<std::size_t>(logits.cols));
        auto const token = static_cast<std::size_t>((first + row) / apart);
        auto const z = [&](std::size_t word) {
          return inverse * static_cast<double>(of_row[word]);
        };
        double largest = -std::numeric_limits<double>::infinity(), sum = 0, squares = 0;
        for (std::size_t word = 0; word < of_row.size(); ++word)
          largest = std::max(largest, z(word));
        for (std::size_t word = 0; word < of_row.size(); ++word) {
          sum += std::exp(z(word) - largest);
          squares += z(word) * z(word);
        }
        double was = std::log(double{had[token]});
        if (extent_.beams > 0) was = double{had[token]} - (token > 0 ? double{had[token - 1]} : 0);
        // The likeliest has no probability, but may be another word that is about as likely.
        double const is = z(static_cast<std::size_t>(tokens[token])) - largest -
                          (extent_.temperature > 0 ? std::log(sum) : 0);
        off += (was - is) * (was - is);
        spread += squares / static_cast<double>(logits.cols);
      }
    });
  }
  double const share = std::sqrt(off / spread);
  finding.check(share / (2 * allowed), 1, [&] {
    return fmt::format(
        "logarithms of probabilities of the output of request {} on rank {}: expected up to {:.3g} "
        "of the logits off what they are by itself, got {:.3g}",
        kept.number, world_.rank(), 2 * allowed, share);
  });
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
  std::vector<float> const probabilities = probabilities_[kept.number];
  std::int64_t const prompt = kept.request.prompt;
  std::vector<std::int32_t> const words = words_of(kept.request, tokens, 0, kept.tokens);
  Piece piece{
      .blocks = step.table, .tokens = words, .first_drawn = prompt - 1, .number = kept.number};
  if (extent_.beams > 0) {
    // The likeliest tokens behind each of the sequence's, among which its next one is.
    piece.samples = extent_.beams;
    piece.scores.push_back(0);
    piece.scores.insert(piece.scores.end(), probabilities.begin(), probabilities.end() - 1);
  }
  drawn_.clear();
  auto const named = [&](std::string_view what) {
    return fmt::format("{} of request {} by itself on rank {}", what, kept.number, world_.rank());
  };
  // A layer rounds some eight times, and each may have grown fourfold where K and V are made.
  double const allowed = extent_.deterministic
                             ? 0
                             : 16 * core::epsilon_of(extent_.type) *
                                   std::sqrt(static_cast<double>(extent_.model.layers));
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
    // Those that were made last are there; of beams a row for each, which are alike.
    std::int64_t const drawn = std::ssize(staged_.drawn),
                       first = (drawn - 1) / ends_.selected.rows * ends_.selected.rows;
    device::MatrixView logits = ends_.logits;
    logits.rows = (drawn - first) / piece.samples;
    logits.ld *= piece.samples;
    check.judge_logits(last.normed, prompt - 1 + first / piece.samples, words_source_, logits);
    collect();
    if (!extent_.deterministic) judge_probabilities(kept, allowed, finding);
    Finding found = check.finding();
    if (found.wrong > 0) found.first_wrong = named(found.first_wrong);
    finding.add(found);
  } else {
    run({piece}, kept.tokens, {});
  }
  std::vector<std::vector<float>> const want = read_cache(step.table, kept.tokens);
  for (std::size_t i = 0; i < tokens.size() && extent_.deterministic; ++i) {
    auto const of_token = std::span{drawn_}.subspan(i * static_cast<std::size_t>(piece.samples),
                                                    static_cast<std::size_t>(piece.samples));
    auto const found = std::ranges::find(of_token, tokens[i], &Drawn::token);
    Drawn const& right = found == of_token.end() ? of_token.front() : *found;
    bool const is_same = right.token == tokens[i] && right.probability == probabilities[i];
    finding.check(is_same ? 0 : 2, 1, [&] {
      return fmt::format(
          "token {} of the output of request {} on rank {}: expected {} of {} "
          "{:.9g}, as by itself, got {} of {:.9g}",
          i, kept.number, world_.rank(), right.token, extent_.beams > 0 ? "score" : "probability",
          right.probability, tokens[i], probabilities[i]);
    });
  }
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
            "{} of token {} of request {}, layer {}, head {} on rank {}: expected up to {:.3g} of "
            "it off what it is by itself, got {:.3g}",
            tensor % 2 == 0 ? "k" : "v", first / width, kept.number, tensor / 2, first % width / d,
            world_.rank(), allowed, std::sqrt(off / all));
      });
    }
  }
}

}  // namespace quadrille::workloads::serving
