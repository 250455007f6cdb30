// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/checks/rowwise.hpp"
#include "workloads/serving/execution.hpp"

#include <fmt/format.h>

#include <cmath>

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
  std::vector<std::int32_t> const words = words_of(kept.request, tokens, 0, kept.tokens);
  Piece const piece{
      .blocks = step.table, .tokens = words, .first_drawn = prompt - 1, .number = kept.number};
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
    if (std::ssize(staged_.drawn) <= ends_.selected.rows) {
      check.judge_logits(last.normed, prompt - 1, words_source_,
                         ends_.logits.block(0, 0, std::ssize(staged_.drawn), ends_.logits.cols));
    }
    collect();
    Finding found = check.finding();
    if (found.wrong > 0) found.first_wrong = named(found.first_wrong);
    finding.add(found);
  } else {
    run({piece}, kept.tokens, {});
  }
  std::vector<std::vector<float>> const want = read_cache(step.table, kept.tokens);
  for (std::size_t i = 0; i < tokens.size() && extent_.deterministic; ++i) {
    std::int32_t const token = outputs_->of(kept.number)[i];
    float const probability = drawn_probabilities_[kept.number][i];
    bool const is_same = token == tokens[i] && probability == probabilities[i];
    finding.check(is_same ? 0 : 2, 1, [&] {
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
