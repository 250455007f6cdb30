// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/data.hpp"
#include "workloads/decoder/layer.hpp"

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace quadrille::workloads::decoder {

/// What was generated: of a layer.
struct LayerSources {
  std::array<Source, kWeights> weights;
  std::optional<Source> k_pool{}, v_pool{};  ///< none where nothing is known of the other blocks
};

/// Judges a step part by part: each part's results against what is right for the operands that the part before
/// left in memory, with the bound of that part alone. Bounds that went through all layers would allow
/// anything; so each is as narrow as that of a single operation, and a wrong part is named. Tokens are sampled,
/// and columns of products; a full check takes all of them, up to 256 tokens. Collective where ranks share a model.
class StepCheck {
 public:
  /// `owners`: of each token the rank that has its sums; where there are none each has all.
  StepCheck(Shape const& shape, Step const& step, core::Case const& spec, comm::World const& world,
            std::vector<float> const& cos_sin, std::vector<int> owners = {});

  // In the order of the step; a layer may reuse the tensors of those that have been judged. All block.
  void judge_input(device::MatrixView const& sum,
                   std::function<std::vector<Expected>(std::int64_t token)> const& wanted);
  void judge_layer(Tensors const& tensors, LayerSources const& sources);
  void judge_last_norm(Source const& weights, device::MatrixView const& sum,
                       device::MatrixView const& normed);
  /// The scores of all words for some tokens, whose rows are the last norm's. `words`: vocabulary x hidden.
  void judge_logits(device::MatrixView const& normed, std::int64_t first_row, Source const& words,
                    device::MatrixView const& logits);
  Finding const& finding() const { return finding_; }

 private:
  /// Judged rows of a tensor, empty where this rank has none.
  using Values = std::vector<std::vector<float>>;

  Values read(device::MatrixView const& tensor) const;
  Values read_sums(device::MatrixView const& tensor) const;
  std::vector<float> weights_of(Source const& source) const;
  template <class Wanted>
  void judge_rows(std::string const& name, Values const& got, Wanted const& wanted);
  void judge_sum(std::string const& name, Values const& x, Values const& residual,
                 Values const& sum);
  void judge_norm(std::string const& name, Values const& own_sum, Source const& weights,
                  Values const& normed);
  Values of_all_ranks(Values const& own) const;
  std::vector<WeightRows> rows_behind(Weight weight) const;
  void judge_product(std::string const& name, Values const& a, Source const& source, Weight weight,
                     Values const& c);
  void judge_product(std::string const& name, std::span<std::int64_t const> tokens, Values const& a,
                     Source const& source, std::vector<WeightRows> const& weights,
                     std::int64_t parts, Values const& c);
  void judge_cache(std::string const& name, device::MatrixView const& pool, Values const& tokens,
                   std::optional<Source> const& before);
  void judge_attention(std::string const& name, Tensors const& tensors, LayerSources const& sources,
                       Values const& q, Values const& o);

  Shape shape_;
  Step const& step_;
  core::Case const& case_;
  comm::World const& world_;
  std::span<float const> cos_sin_;
  std::vector<int> owners_;
  std::vector<std::int64_t> rows_;  ///< judged
  std::int64_t layer_ = 0;
  Values second_sum_{}, down_{};  ///< of the layer before
  Finding finding_;
};

}  // namespace quadrille::workloads::decoder
