// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "workloads/decoder/check.hpp"
#include "workloads/serving/model.hpp"
#include "workloads/serving/simulation.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::workloads::serving {

/// Tokens of a sequence that a step computes.
struct Piece {
  std::vector<BlockId> blocks{};         ///< of the sequence
  std::int64_t before = 0;               ///< tokens whose K and V are there
  std::vector<std::int32_t> tokens{};    ///< those behind them
  std::int64_t first_drawn = 0;          ///< of these: from it on a next token is drawn behind each
  std::int64_t number = 0, samples = 1;  ///< of random numbers, and how many are drawn behind each
  std::int64_t together = 1;             ///< pieces, from this one on, whose beams go on together
  std::vector<float> scores{};  ///< of the beams that end with these tokens; of a prompt none
};

/// A model on the device: layers of a GPT whose MLP is four times as wide as it, behind embeddings of words and
/// positions, whose last product is by the words. Layers have weights and a pool of blocks of their own, and share
/// all else.
class Execution final : public Executor {
 public:
  /// Takes memory, fills it and chooses kernels. With a transport all ranks share the model: each has its heads
  /// and columns of the MLP, of which two sums are made in each layer, keeps K and V of these, and goes through the
  /// same steps with the tokens and times of rank 0; then every call is collective.
  Execution(comm::World& world, Extent const& extent, std::uint64_t seed,
            comm::Transport* shared = nullptr);

  /// Weights by the seed, the same on every rank.
  void fill(std::uint64_t seed);
  /// Forgets all requests, of which outputs has room for each sample. `is_judged` says which sequences
  /// leave K and V to judge(), `times` what steps are predicted to take.
  void begin(TokenHashes const& tokens, Outputs& outputs, std::int64_t samples,
             std::function<bool(Sequence const&)> is_judged, StepTimes const* times = nullptr);

  double execute(StepWork const& work, std::span<Part const> parts,
                 std::span<BlockMove const> moves) override;
  void end(Sequence const& sequence) override;
  std::span<std::int32_t const> parents(Request const& request) const override {
    return outputs_->parents(request);
  }

  /// Computes each judged sequence once more, by itself and all its tokens at once, and holds that, part by part,
  /// against f64. Tokens, their probabilities, and K and V of all layers must be the same to the bit; of a model
  /// that is not deterministic K and V of a token and head, and logits by way of the probabilities of a sequence's
  /// tokens, may differ by what roundings grow to. Nothing of the cache is needed any more. Blocks.
  Finding judge(core::Case const& spec);

  /// How long a step of these pieces takes, filled up to so many rows, which is no more than extent.rows; or less of
  /// it: no layers, or layers without their attention. Nothing is left of it.
  double seconds_of(std::vector<Piece> const& pieces, std::int64_t rows, bool has_layers,
                    bool has_attention);

  Extent const& extent() const { return extent_; }
  std::string kernels() const;
  /// Bytes that went to the host and back, and the seconds in which they did, beside steps.
  std::pair<double, double> swapped() const { return {swapped_bytes_, swapped_s_}; }
  /// Predicted seconds of all steps since begin().
  double predicted_s() const { return predicted_s_; }

 private:
  using Product = kernels::Variant<kernels::gemm::Problem>;
  struct Moves {
    BlockMove::Kind kind;
    std::int64_t count;
    std::int32_t const *there, *here;
  };
  struct Staged {
    std::int64_t rows = 0;
    decoder::Attending attending{};
    decoder::Places places{};
    std::int32_t const *words = nullptr, *selected = nullptr, *numbers = nullptr,
                       *positions = nullptr,
                       *scores = nullptr;  ///< of tokens; of those that are drawn
    std::vector<std::int64_t> drawn{};     ///< numbers
    std::vector<Moves> moves{};
  };
  /// A token that was drawn.
  struct Drawn {
    std::int64_t number = 0;
    std::int32_t token = 0, parent = 0;
    float probability = 0;  ///< or score, of a beam
  };
  struct Kept {
    Request request{};
    std::int64_t number = 0, tokens = 0;
    std::vector<std::vector<float>> k_and_v{};  ///< of each layer k, then v: tokens x kv_width
  };

  decoder::Tensors of_layer(std::size_t layer, std::int64_t rows) const;
  decoder::Problems problems(std::size_t layer) const;
  decoder::Rows const& rows_for(std::int64_t tokens) const;
  void choose();
  void stage(std::vector<Piece> const& pieces, std::int64_t rows,
             std::span<BlockMove const> moves = {});
  void enqueue(bool has_layers, bool has_attention);
  void allocate_cache(std::int64_t tokens);
  std::int64_t tokens_that_fit();
  void run_layer(std::size_t layer, bool has_attention);
  std::size_t agreed(std::size_t choice) const;
  kernels::gemm::Problem logits_product(std::int64_t drawn) const;
  kernels::gemm::Problem make_logits(std::int64_t first);
  std::int32_t slot_of(std::vector<BlockId> const& blocks, std::int64_t token) const;
  void embed();
  void draw();
  /// Seconds of all passes that the pieces take.
  double run(std::vector<Piece> pieces, std::int64_t rows, std::span<BlockMove const> moves);
  void move_blocks();
  void collect();
  void hand_out();
  std::vector<std::vector<float>> read_cache(std::vector<BlockId> const& blocks,
                                             std::int64_t tokens);
  std::vector<BlockId> blocks_of(Sequence const& sequence) const;
  std::vector<std::int32_t> words_of(Request const& request, std::vector<std::int32_t> const& made,
                                     std::int64_t first, std::int64_t last) const;
  void judge(Kept const& kept, core::Case const& spec, Finding& finding);
  void judge_probabilities(Kept const& kept, double allowed, Finding& finding);

  comm::World& world_;
  Extent extent_;
  decoder::Shape shape_;
  std::vector<decoder::Tensors> layers_;
  Ends ends_;
  std::vector<device::Matrix> memory_, cache_;
  std::vector<device::PinnedBuffer<std::byte>> host_;  ///< of each layer k, then v
  device::Buffer<std::int32_t> there_;                 ///< what was staged, ...
  device::PinnedBuffer<std::int32_t> here_, results_;  ///< ... and where; what was drawn
  device::Buffer<std::byte> product_scratch_, other_scratch_;

  std::map<std::int64_t, decoder::Rows> rows_;  ///< of up to so many tokens
  std::map<std::int64_t, Product const*> of_logits_;
  kernels::Variant<kernels::rowwise::Problem> const* embed_ = nullptr;
  kernels::Variant<kernels::sampler::Problem> const* draw_ = nullptr;
  kernels::Variant<kernels::kv_cache::Problem> const *copy_ = nullptr, *swap_ = nullptr;
  std::unique_ptr<comm::Channel> channel_;
  device::Stream moving_;
  std::vector<device::Event> moved_;  ///< of each layer
  device::Event begin_, end_, uploaded_, moves_begin_, moves_end_;
  double swapped_bytes_ = 0, swapped_s_ = 0, predicted_s_ = 0;

  std::vector<decoder::LayerSources> sources_;
  Source words_source_{}, positions_source_{}, last_source_{};
  std::uint64_t seed_ = 0;
  Staged staged_;
  TokenHashes const* hashes_ = nullptr;
  Outputs* outputs_ = nullptr;
  StepTimes const* times_ = nullptr;
  std::int64_t samples_ = 1;
  std::vector<Drawn> drawn_;                                  ///< in all passes of a step
  std::map<std::int64_t, std::vector<float>> probabilities_;  ///< of tokens, or scores, by number
  std::function<bool(Sequence const&)> is_judged_;
  std::vector<Kept> kept_;
};

}  // namespace quadrille::workloads::serving
