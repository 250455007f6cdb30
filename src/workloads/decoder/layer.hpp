// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/attention.hpp"
#include "gemm/gemm.hpp"
#include "kv_cache/kv_cache.hpp"
#include "paged_decode/paged_decode.hpp"
#include "rowwise/rowwise.hpp"
#include "workloads/data.hpp"
#include "workloads/decoder/step.hpp"
#include "workloads/tables.hpp"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// A layer of a decoder as the problems of its parts, in the order of their launches.
namespace quadrille::workloads::decoder {

/// A part of a tensor that may have no memory yet.
device::MatrixView part(device::MatrixView const& whole, std::int64_t row, std::int64_t col,
                        std::int64_t rows, std::int64_t cols);

/// What a layer learned. Products have theirs as columns x k.
enum Weight : std::size_t { kFirstNorm, kQkv, kOut, kSecondNorm, kUp, kDown, kWeights };

/// Rows of a weight that follow one another in the whole model's, too.
struct WeightRows {
  std::int64_t first = 0, count = 0;               ///< of this part's
  std::int64_t global_row = 0, global_column = 0;  ///< of the first element in the whole model's
};
std::vector<WeightRows> rows_of(Weight weight, Shape const& shape);

/// The tensors of a layer. Each token is a row. All stay until the step has been checked.
struct Tensors {
  std::array<device::MatrixView, kWeights> weights{};
  device::MatrixView k_pool{}, v_pool{};
  device::MatrixView sum{};     ///< what the layer begins with; of the first it is the step's input
  device::MatrixView normed{};  ///< of that
  device::MatrixView qkv{};     ///< side by side
  device::MatrixView turned{};  ///< q and k by their positions, side by side; of gpt none
  device::MatrixView o{};       ///< of all heads
  device::MatrixView attended{};  ///< o by its product
  device::MatrixView second_sum{}, second_normed{};
  device::MatrixView up{}, active{}, down{};

  /// Those that a step writes; `is_first` says whether the sum is its input.
  std::vector<device::MatrixView*> written(bool is_first);
};

/// Whose attention a step computes. Its first rows are single tokens, each of which has the keys and values of
/// all that it sees read from the cache; behind them are chunks, several tokens of a sequence each.
struct Attending {
  std::int64_t singles = 0;
  std::int64_t tokens = 0, longest = 0;  ///< that singles see, all of them and one
  struct Chunk {
    std::int64_t first_row = 0, tokens = 0;
    std::int64_t before = 0;  ///< tokens of the sequence in the cache
    std::int64_t first_slot =
        0;  ///< where there are such, in Places::slots_of_chunks: of those and these
  };
  std::vector<Chunk> chunks{};

  /// Tokens; rows behind them fill a batch up, and have no place in the cache.
  std::int64_t rows() const;
};
Attending attending(Shape const& shape, Step const& step);

// As attention and the cache have them.
device::MatrixView q_of(Shape const& shape, Tensors const& tensors);
device::MatrixView k_of(Shape const& shape, Tensors const& tensors);
device::MatrixView v_of(Shape const& shape, Tensors const& tensors);

/// Without memory: of so many tokens, and a cache of so many blocks.
Tensors unallocated(Shape const& shape, std::int64_t rows, std::int64_t blocks,
                    core::DataType type);

/// What kernels find in memory of the device, the same for all layers.
struct Places {
  std::int32_t const *positions = nullptr, *slots = nullptr, *slots_of_host = nullptr,
                     *lengths = nullptr, *table = nullptr, *slots_of_chunks = nullptr;
  device::MatrixView cos_sin{};
  device::MatrixView chunk_k{},
      chunk_v{};  ///< for keys and values of a chunk and of those before it
};

enum Product : std::size_t { kQkvProduct, kOutProduct, kUpProduct, kDownProduct, kProducts };
constexpr std::array<char const*, kProducts> kProductNames{"qkv", "out", "up", "down"};
/// What sums of k terms are multiplied by, so that results are about as large as what they are made of. A power
/// of two.
double alpha_of(std::int64_t k);

struct Problems {
  kernels::rowwise::Problem first_norm, second_norm, activation;
  std::optional<kernels::rowwise::Problem> rotary{};  ///< of q and k
  std::array<kernels::gemm::Problem, kProducts> products{};
  kernels::kv_cache::Problem write{};
  kernels::paged_decode::Problem decode{};  ///< of single tokens
  struct Chunk {
    kernels::kv_cache::Problem read{};  ///< where tokens are before it
    kernels::attention::Problem attention{};
  };
  std::vector<Chunk> chunks{};
};
/// `before`: the layer before; nullptr of the first.
Problems problems_of(Shape const& shape, Attending const& attending, Tensors const& tensors,
                     Tensors const* before, Places const& places);
/// The norm behind the last layer, with that layer's results as they lie in memory.
kernels::rowwise::Problem last_norm_of(Shape const& shape, Tensors const& last,
                                       device::MatrixView const& weights,
                                       device::MatrixView const& sum,
                                       device::MatrixView const& normed);

/// Weights of a layer by the generator, of which a part has its rows.
void fill_weight(device::MatrixView const& view, Weight weight, Shape const& shape,
                 Source const& source, comm::World const& world);
/// Of the products, and of attention.
void give_scratch(Problems& problems, device::Buffer<std::byte> const& of_products,
                  device::Buffer<std::byte> const& of_attention);
/// The sum of what ranks that share a model have of a product.
comm::Request add_up(comm::Channel& channel, device::MatrixView const& part_of_sum,
                     device::StreamView stream);
/// Which of the rows is the fastest, in a search.
std::size_t fastest_of(Candidates<kernels::gemm::Problem> const& candidates,
                       kernels::gemm::Problem const& problem, device::StreamView stream);

/// Which row computes each part; where there are several, the first, or one that was timed.
struct Rows {
  std::array<Candidates<kernels::gemm::Problem>, kProducts> products;
  Candidates<kernels::rowwise::Problem> first_norm, second_norm, activation, rotary;
  Candidates<kernels::kv_cache::Problem> write, read;
  Candidates<kernels::attention::Problem> chunks;
  Candidates<kernels::paged_decode::Problem> decode;
  std::string missing;  ///< why a part has no row; empty where all have
};
/// Those of a role on a device; in place of a part that a vendor's library does not have, own ones. `invariant`:
/// those alone whose results for a token do not depend on the others.
Rows rows_of(Problems const& problems, kernels::Role role, device::Kind kind,
             device::Facts const& facts, bool invariant = false);

/// Enqueues the attention of a layer, whose new keys and values are in the cache.
void attend(Problems const& problems, Rows const& rows, device::StreamView stream);
/// Enqueues a layer, from the norm of its sum to the last product. multiply_joint() enqueues the products that
/// have a part of their k alone where ranks share a model, attend() what is between keys and values of all tokens
/// and the product of o, multiply_normed() a norm and the product behind it, by default of all rows at once.
void run(Problems const& problems, Rows const& rows, device::StreamView stream,
         std::function<void(Product)> const& multiply_joint, std::function<void()> const& attend,
         std::function<void(Product)> const& multiply_normed = {});

}  // namespace quadrille::workloads::decoder
