// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/measured_times.hpp"

#include "attention/attention.hpp"
#include "core/generator.hpp"
#include "gemm/gemm.hpp"
#include "measure/quick_time.hpp"
#include "paged_decode/paged_decode.hpp"
#include "workloads/data.hpp"
#include "workloads/tables.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::workloads::serving {
namespace {

namespace attention = kernels::attention;
namespace gemm = kernels::gemm;
namespace paged_decode = kernels::paged_decode;

constexpr std::int64_t kCopyBytes = 32 << 20;
constexpr std::int64_t kScratchBytes = 128 << 20;
// More than last-level caches have. Of K and V enough for the rate of memory.
constexpr std::int64_t kMaxBytes = 256 << 20;
constexpr double kMaxSeconds = 2;  // of one execution

/// The own variant that "best" would take; null where there is none.
template <class Problem>
kernels::Variant<Problem> const* best_of(kernels::Variants<Problem> const& table,
                                         Problem const& problem, device::Device const& device) {
  kernels::Variant<Problem> const* best = nullptr;
  for (kernels::Variant<Problem> const& row : table) {
    bool const is_candidate =
        row.role == kernels::Role::own && takes(row, problem, device.kind(), device.facts());
    if (is_candidate && (best == nullptr || row.preference > best->preference)) best = &row;
  }
  return best;
}

/// From `first` to `last`, each four times the one before.
std::vector<std::int64_t> axis(std::int64_t first, std::int64_t last) {
  constexpr std::int64_t kStep = 4;
  std::vector<std::int64_t> values;
  for (std::int64_t value = first; value < last; value *= kStep) values.push_back(value);
  values.push_back(last);
  return values;
}

/// A product of a layer: rows of k by k x n weights.
struct Weights {
  std::int64_t k, n;
};
/// Queries, keys and values; outputs; four times the width, and back.
std::array<Weights, 4> weights_of(Transformer const& model) {
  std::int64_t const width = model.width();
  return {{{width, width + 2 * model.kv_width()},
           {width, width},
           {width, 4 * width},
           {4 * width, width}}};
}
std::int64_t layer_elements(Transformer const& model) {
  std::int64_t elements = 0;
  for (auto const& [k, n] : weights_of(model)) elements += k * n;
  return elements;
}
/// Whose weights are there.
std::int64_t stored_layers(Transformer const& model) {
  std::int64_t const bytes = layer_elements(model) * model.element_bytes;
  return std::clamp<std::int64_t>(kMaxBytes / bytes, 1, model.layers);
}
/// Elements of a row of a product's result, or of its factor.
std::int64_t widest(Transformer const& model) {
  return std::max(4 * model.width(), model.width() + 2 * model.kv_width());
}
gemm::Problem product(Extent const& extent, std::int64_t rows, Weights const& weights) {
  auto const [k, n] = weights;
  gemm::Problem problem;
  problem.a = {nullptr, extent.type, rows, k, k};
  problem.b = {nullptr, extent.type, k, n, n};
  problem.c = {nullptr, extent.type, rows, n, n};
  return problem;
}

/// Tokens whose K and V of a layer are there.
std::int64_t max_tokens(Transformer const& model) {
  return std::max<std::int64_t>(1, kMaxBytes / (2 * model.kv_width() * model.element_bytes));
}
std::int64_t longest(Extent const& extent) {
  return std::min(extent.length, max_tokens(extent.model));
}
attention::Problem prefill(Extent const& extent, std::int64_t tokens, std::int64_t before) {
  Transformer const& model = extent.model;
  return attention::unallocated({.heads = model.heads,
                                 .kv_heads = model.kv_heads,
                                 .queries = tokens,
                                 .keys = before + tokens,
                                 .head_size = model.head_size,
                                 .mask = attention::Mask::causal},
                                extent.type);
}

std::int64_t max_context(Extent const& extent) {
  return std::min(extent.kv_tokens, max_tokens(extent.model));
}
std::int64_t max_sequences(Extent const& extent) {
  return std::min(extent.sequences, max_context(extent));
}
/// Blocks of the cache from which each execution takes others: of all layers, as far as they fit.
std::int64_t cache_blocks(Extent const& extent) {
  std::int64_t const tokens =
      std::max(max_context(extent),
               std::min(max_tokens(extent.model), extent.kv_tokens * extent.model.layers));
  // Each sequence has one more at most than its tokens would fill together with others'.
  return tokens / extent.block + 2 * max_sequences(extent) + 1;
}
/// Sequences with equally many tokens, or one less.
paged_decode::Problem decode(Extent const& extent, std::int64_t context, std::int64_t sequences) {
  Transformer const& model = extent.model;
  return paged_decode::unallocated({.sequences = sequences,
                                    .heads = model.heads,
                                    .kv_heads = model.kv_heads,
                                    .head_size = model.head_size,
                                    .block_size = extent.block,
                                    .blocks = cache_blocks(extent),
                                    .tokens = context,
                                    .longest = (context + sequences - 1) / sequences},
                                   extent.type);
}

template <class Problem>
struct Launch {
  kernels::Variant<Problem> const* row;
  Problem problem;
  // Without the checks of launch(), which take as long as short kernels.
  void operator()(device::StreamView stream) const { row->enqueue(problem, stream); }
};

/// Measures one layer.
class Layer {
 public:
  Layer(comm::World& world, Extent const& extent)
      : world_{world}, extent_{extent}, model_{extent.model} {}

  Points products() {
    std::int64_t const layers = stored_layers(model_), elements = layer_elements(model_);
    std::int64_t const of_rows = extent_.rows * widest(model_);
    device::Matrix const weights = filled(layers * elements), in = filled(of_rows);
    device::Matrix const out = empty(of_rows);
    Points points{.x = {}, .y = {0}, .seconds = {}};
    for (std::int64_t const rows : axis(1, extent_.rows)) {
      if (is_too_long(points, rows, 1)) break;
      std::vector<Launch<gemm::Problem>> launches;
      std::size_t scratch_bytes = 0;
      for (Weights const& shape : weights_of(model_)) {
        auto& [row, problem] =
            launches.emplace_back(launch_of(gemm::variants(), product(extent_, rows, shape)));
        problem.a.data = in.view().data;
        problem.c.data = out.view().data;
        std::size_t const bytes = row->scratch_bytes(problem, world_.device().facts());
        scratch_bytes = std::max(scratch_bytes, bytes);
      }
      device::Buffer<std::byte> const scratch = allocate_scratch(scratch_bytes, world_);
      std::int64_t layer = 0;
      points.x.push_back(static_cast<double>(rows));
      add(points, [&] {
        std::int64_t first = layer * elements;
        for (Launch<gemm::Problem>& launch : launches) {
          gemm::Problem& problem = launch.problem;
          problem.b.data = weights.view().at(0, first);
          problem.scratch = scratch.data();
          problem.scratch_bytes = scratch.bytes();
          launch(world_.stream());
          first += problem.b.rows * problem.b.cols;
        }
        layer = (layer + 1) % layers;
      });
    }
    return points;
  }

  Points chunks() {
    std::int64_t const most = longest(extent_);
    std::int64_t const of_queries = most * model_.width(), of_keys = 2 * most * model_.kv_width();
    device::Matrix const q = filled(of_queries), k = filled(of_keys), v = filled(of_keys);
    device::Matrix const o = empty(of_queries);
    std::set<std::int64_t> const before{0, most / 8, most};
    Points points{.x = {}, .y = {before.begin(), before.end()}, .seconds = {}};
    for (std::int64_t const tokens : axis(1, most)) {
      if (is_too_long(points, tokens, 2)) break;
      points.x.push_back(static_cast<double>(tokens));
      for (std::int64_t const others : before) {
        auto launch = launch_of(attention::variants(), prefill(extent_, tokens, others));
        give_memory(launch.problem, q, k, v, o);
        device::Buffer<std::byte> const scratch = scratch_for(launch);
        add(points, [&] { launch(world_.stream()); });
      }
    }
    return points;
  }

  Points singles() {
    std::int64_t const most = max_sequences(extent_), blocks = cache_blocks(extent_);
    std::int64_t const of_keys = blocks * extent_.block * model_.kv_width();
    device::Matrix const q = filled(most * model_.width()), k = filled(of_keys),
                         v = filled(of_keys);
    device::Matrix const o = empty(most * model_.width());
    device::Buffer<std::int32_t> const table = uploaded(shuffled(blocks), world_);
    std::vector<std::int64_t> const sequences = axis(1, most);
    Points points{.x = {}, .y = {sequences.begin(), sequences.end()}, .seconds = {}};
    // A sequence has a token at least, so that few of all are as many as there are sequences.
    std::int64_t const least = std::min(extent_.block, max_context(extent_));
    for (std::int64_t const context : axis(least, max_context(extent_))) {
      if (is_too_long(points, context, 1)) break;
      points.x.push_back(static_cast<double>(context));
      for (std::int64_t const count : sequences) {
        std::int64_t const tokens = std::max(context, count);
        auto launch = launch_of(paged_decode::variants(), decode(extent_, tokens, count));
        give_memory(launch.problem, q, k, v, o);
        std::vector<std::int32_t> lengths;
        for (std::int64_t s = 0; s < count; ++s) {
          lengths.push_back(static_cast<std::int32_t>(tokens / count + (s < tokens % count)));
        }
        device::Buffer<std::int32_t> const lengths_there = uploaded(lengths, world_);
        launch.problem.lengths = lengths_there.data();
        device::Buffer<std::byte> const scratch = scratch_for(launch);
        // Each execution takes the next blocks, until all had their turn.
        paged_decode::Shape const& shape = launch.problem.shape;
        std::int64_t const taken = count * shape.blocks_of(shape.longest);
        std::int64_t first = 0;
        add(points, [&] {
          launch.problem.table = table.data() + first;
          launch(world_.stream());
          first = first + 2 * taken <= blocks ? first + taken : 0;
        });
      }
    }
    return points;
  }

  std::string kernels() const { return fmt::format("{}", fmt::join(kernels_, ", ")); }

 private:
  template <class Problem>
  Launch<Problem> launch_of(kernels::Variants<Problem> const& table, Problem const& problem) {
    auto const* const row = best_of(table, problem, world_.device());
    require_consistent(problem);
    QUAD_REQUIRE(row != nullptr,
                 fmt::format("serving: no variant of {} takes the model; state its times",
                             Problem::kOperation));
    kernels_.insert(fmt::format("{} by {}", Problem::kOperation, row->name));
    return {row, problem};
  }
  template <class Problem>
  device::Buffer<std::byte> scratch_for(Launch<Problem>& launch) const {
    std::size_t const bytes = launch.row->scratch_bytes(launch.problem, world_.device().facts());
    if (bytes == 0) return {};
    device::Buffer<std::byte> scratch{world_.device(), static_cast<std::int64_t>(bytes),
                                      world_.stream()};
    launch.problem.scratch = scratch.data();
    launch.problem.scratch_bytes = bytes;
    return scratch;
  }
  template <class Problem>
  static void give_memory(Problem& problem, device::Matrix const& q, device::Matrix const& k,
                          device::Matrix const& v, device::Matrix const& o) {
    problem.q.data = q.view().data;
    problem.k.data = k.view().data;
    problem.v.data = v.view().data;
    problem.o.data = o.view().data;
  }

  void add(Points& points, std::function<void()> const& enqueue) {
    points.seconds.push_back(measure::quick_seconds(world_, enqueue));
  }
  /// Whether the next x of an axis would take too long where time grows with this power of it.
  static bool is_too_long(Points const& points, std::int64_t next, double power) {
    if (points.x.empty()) return false;
    double const last =
        *std::max_element(points.seconds.end() - std::ssize(points.y), points.seconds.end());
    return last * std::pow(static_cast<double>(next) / points.x.back(), power) > kMaxSeconds;
  }

  device::Matrix empty(std::int64_t elements) const {
    return {world_.device(), extent_.type, 1, elements, world_.stream()};
  }
  /// Of copies of what is drawn, which takes longer than all that is measured.
  device::Matrix filled(std::int64_t elements) const {
    constexpr std::int64_t kDrawn = 1 << 20;
    device::Matrix matrix = empty(elements);
    device::MatrixView const all = matrix.view();
    std::int64_t const drawn = std::min(elements, kDrawn);
    fill(all.block(0, 0, 1, drawn), whole(1, drawn), {core::DataKind::uniform, 1, 0}, world_);
    for (std::int64_t first = drawn; first < elements; first += drawn) {
      auto const count = static_cast<std::size_t>(std::min(drawn, elements - first));
      world_.stream().copy(all.at(0, first), all.data, count * core::size_of(extent_.type));
    }
    return matrix;
  }
  /// As blocks lie that were taken and given back for a while.
  static std::vector<std::int32_t> shuffled(std::int64_t blocks) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(blocks));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t b = order.size(); b > 1; --b) std::swap(order[b - 1], order[core::mix(b) % b]);
    return order;
  }

  comm::World& world_;
  Extent const& extent_;
  Transformer const& model_;
  std::set<std::string> kernels_;
};

}  // namespace

std::string shape_error(Extent const& extent) {
  std::string error = attention::shape_error(prefill(extent, 1, 0).shape);
  if (error.empty()) error = paged_decode::shape_error(decode(extent, 1, 1).shape);
  return error;
}

std::string unsupported_reason(Extent const& extent, device::Device const& device) {
  auto const reason = [&](auto const& table, auto const& problem) -> std::string {
    if (best_of(table, problem, device) != nullptr) return {};
    return fmt::format(
        "measures the model's times, but no variant of {} takes them in {} here; "
        "state them, or take another type",
        problem.kOperation, core::to_text(extent.type));
  };
  std::string found;
  auto const try_one = [&](std::string text) {
    if (found.empty()) found = std::move(text);
  };
  for (std::int64_t const rows : {std::int64_t{1}, extent.rows}) {
    for (Weights const& shape : weights_of(extent.model)) {
      try_one(reason(gemm::variants(), product(extent, rows, shape)));
    }
  }
  for (std::int64_t const tokens : {std::int64_t{1}, longest(extent)}) {
    try_one(reason(attention::variants(), prefill(extent, tokens, longest(extent))));
  }
  for (std::int64_t const sequences : {std::int64_t{1}, max_sequences(extent)}) {
    try_one(reason(paged_decode::variants(), decode(extent, max_context(extent), sequences)));
  }
  return found;
}

double memory_bytes(Extent const& extent) {
  Transformer const& model = extent.model;
  std::int64_t const products =
      stored_layers(model) * layer_elements(model) + 2 * extent.rows * widest(model);
  std::int64_t const chunks = longest(extent) * (2 * model.width() + 4 * model.kv_width());
  std::int64_t const singles = cache_blocks(extent) * extent.block * 2 * model.kv_width() +
                               2 * max_sequences(extent) * model.width();
  return static_cast<double>(model.element_bytes * std::max({products, chunks, singles}) +
                             kScratchBytes);
}

Measurement measure_times(comm::World& world, Extent const& extent) {
  Layer layer{world, extent};
  Measurement measured{.products = layer.products(),
                       .chunks = layer.chunks(),
                       .singles = layer.singles(),
                       .kernels = layer.kernels()};
  device::StreamView const stream = world.stream();
  device::Buffer<std::byte> const from{world.device(), kCopyBytes, stream};
  device::Buffer<std::byte> const to{world.device(), kCopyBytes, stream};
  device::PinnedBuffer<std::byte> const host{world.device(), kCopyBytes};
  auto const seconds_of_copy = [&](void const* source) {
    return measure::quick_seconds(world, [&] { stream.copy(to.data(), source, to.bytes()); });
  };
  measured.memory_rate = 2 * kCopyBytes / seconds_of_copy(from.data());
  measured.link_rate = kCopyBytes / seconds_of_copy(host.data());
  return measured;
}

}  // namespace quadrille::workloads::serving
