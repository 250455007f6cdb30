// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/measured_times.hpp"

#include "measure/quick_time.hpp"
#include "workloads/draws.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace quadrille::workloads::serving {
namespace {

constexpr std::int64_t kCopyBytes = 32 << 20;
// More than last-level caches have. Of K and V enough for the rate of memory.
constexpr std::int64_t kMaxBytes = 256 << 20;
constexpr double kMaxSeconds = 2;  // of one execution

/// From `first` to `last`, each four times the one before.
std::vector<std::int64_t> axis(std::int64_t first, std::int64_t last) {
  constexpr std::int64_t kStep = 4;
  std::vector<std::int64_t> values;
  for (std::int64_t value = first; value < last; value *= kStep) values.push_back(value);
  values.push_back(last);
  return values;
}

class Times {
 public:
  Times(comm::World& world, Execution& execution)
      : group_{world.group()},
        execution_{execution},
        extent_{execution.extent()},
        order_{shuffled(extent_.kv_tokens / extent_.block, 1, 0x6f7264)} {}

  /// Of layers, and of what is before and behind them, by the tokens that are drawn.
  void add_rows(Points& layers, Points& ends) {
    std::vector<std::int64_t> drawn = axis(1, extent_.sequences);
    drawn.insert(drawn.begin(), 0);
    layers.y = {0};
    ends.y = {drawn.begin(), drawn.end()};
    std::vector<std::int64_t> const even = axis(1, extent_.rows);
    std::set<std::int64_t> all{even.begin(), even.end()};
    // Behind the last of a class there are other kernels.
    for (std::int64_t const last : classes_of(extent_))
      all.insert(std::min(last + 1, extent_.rows));
    for (std::int64_t const rows : all) {
      if (is_too_long(layers, rows, 1)) break;
      layers.x.push_back(static_cast<double>(rows));
      ends.x.push_back(static_cast<double>(rows));
      std::vector<Piece> pieces;
      for (std::size_t j = 0; j < drawn.size(); ++j) {
        if (j > 0 && drawn[j - 1] >= rows) {  // no more are drawn than there are rows
          ends.seconds.push_back(ends.seconds.back());
          continue;
        }
        pieces.clear();
        for (std::int64_t i = 0; i < rows; ++i) pieces.push_back(piece(1, 0, i < drawn[j]));
        ends.seconds.push_back(middle_of([&] { return seconds(pieces, rows, false, false); }));
      }
      layers.seconds.push_back(added(pieces, rows, false));
    }
  }

  /// Attention.
  Points chunks() {
    std::int64_t const most = std::max<std::int64_t>(1, std::min(extent_.length / 2, extent_.rows));
    std::set<std::int64_t> const before{0, most / 8, extent_.length - most};
    Points points{.x = {}, .y = {before.begin(), before.end()}, .seconds = {}};
    for (std::int64_t const tokens : axis(1, most)) {
      if (is_too_long(points, tokens, 2)) break;
      points.x.push_back(static_cast<double>(tokens));
      // Short ones come several in a step, behind each other on the device, and the host has to keep up with them.
      constexpr std::int64_t kSeveral = 8;
      std::int64_t const count = std::clamp<std::int64_t>(extent_.rows / (4 * tokens), 1,
                                                          std::min(kSeveral, extent_.sequences));
      for (std::int64_t const others : before) {
        std::vector<Piece> pieces;
        for (std::int64_t i = 0; i < count; ++i) pieces.push_back(piece(tokens, others, false));
        points.seconds.push_back(added(pieces, count * tokens, true) / static_cast<double>(count));
      }
    }
    return points;
  }

  Points singles() {
    std::int64_t const most = std::min(extent_.sequences, extent_.rows);
    std::vector<std::int64_t> const sequences = axis(1, most);
    Points points{.x = {}, .y = {sequences.begin(), sequences.end()}, .seconds = {}};
    // A sequence has a token at least, so that few of all are as many as there are sequences.
    for (std::int64_t const context : axis(extent_.block, extent_.kv_tokens)) {
      if (is_too_long(points, context, 1)) break;
      points.x.push_back(static_cast<double>(context));
      for (std::int64_t const count : sequences) {
        // Nor more than a sequence may have.
        std::int64_t const tokens = std::clamp(context, count, count * extent_.length);
        std::vector<Piece> pieces;
        for (std::int64_t s = 0; s < count; ++s) {
          pieces.push_back(piece(1, core::split_evenly(tokens, count, s).count - 1, false));
        }
        points.seconds.push_back(added(pieces, count, true));
      }
    }
    return points;
  }

 private:
  /// Blocks as they lie that were taken and given back for a while; sequences may share them. Words that differ:
  /// products of equal rows draw less power, and are faster than those of a server.
  Piece piece(std::int64_t tokens, std::int64_t before, bool is_drawn) {
    Piece made{.before = before, .first_drawn = is_drawn ? tokens - 1 : tokens};
    for (std::int64_t t = 0; t < tokens; ++t) {
      constexpr std::uint64_t kWordTag = 0x776f7264;
      double const share = draw(1, kWordTag, next_word_++);
      made.tokens.push_back(
          static_cast<std::int32_t>(share * static_cast<double>(extent_.vocabulary)));
    }
    for (std::int64_t t = 0; t < before + tokens; t += extent_.block) {
      made.blocks.push_back(order_[next_]);
      next_ = (next_ + 1) % order_.size();
    }
    return made;
  }

  /// Of a step, or less of it, with all that the host has to do in it; on the slowest rank.
  double seconds(std::vector<Piece> const& pieces, std::int64_t rows, bool has_layers,
                 bool has_attention) {
    double const slowest_s =
        group_.max(execution_.seconds_of(pieces, rows, has_layers, has_attention));
    spent_s_ += slowest_s;
    return slowest_s;
  }
  /// The middle of several rounds, and of more where these are short.
  double middle_of(auto const& round) {
    constexpr std::size_t kFew = 3, kMany = 25;
    constexpr double kEnoughSeconds = 0.01, kLongSeconds = 0.25;
    std::vector<double> rounds;
    spent_s_ = 0;
    do {
      rounds.push_back(round());
    } while (rounds.size() < kMany &&
             spent_s_ < (rounds.size() < kFew ? kLongSeconds : kEnoughSeconds));
    auto const middle = rounds.begin() + std::ssize(rounds) / 2;
    std::ranges::nth_element(rounds, middle);
    return *middle;
  }
  /// What each layer adds to a step, or its attention to the layer, which is nothing at least. With and without it
  /// alternate: a machine that becomes slower meanwhile is so for both.
  double added(std::vector<Piece> const& pieces, std::int64_t rows, bool is_attention) {
    double const all = middle_of([&] {
      double const with_s = seconds(pieces, rows, true, is_attention);
      return with_s - seconds(pieces, rows, is_attention, false);
    });
    return std::max(0.0, all) / static_cast<double>(extent_.model.layers);
  }

  /// Whether the next x of an axis would take too long where time grows with this power of it.
  bool is_too_long(Points const& points, std::int64_t next, double power) const {
    if (points.x.empty()) return false;
    double const last =
        *std::max_element(points.seconds.end() - std::ssize(points.y), points.seconds.end());
    return last * static_cast<double>(extent_.model.layers) *
               std::pow(static_cast<double>(next) / points.x.back(), power) >
           kMaxSeconds;
  }

  comm::Group const& group_;
  Execution& execution_;
  Extent const& extent_;
  std::vector<std::int32_t> order_;
  std::size_t next_ = 0;
  std::int64_t next_word_ = 0;
  double spent_s_ = 0;  ///< on the rounds of a point
};

}  // namespace

Extent measured_part(Extent extent) {
  Transformer const& model = extent.model;
  auto const of_layer = static_cast<std::int64_t>(
      model.products() * static_cast<double>(model.width() * model.width() * model.element_bytes));
  extent.kv_tokens = std::min(extent.kv_tokens,
                              std::max(extent.length + extent.block,
                                       kMaxBytes / (2 * model.kv_width() * model.element_bytes)));
  extent.host_tokens = 0;
  extent.model.layers = std::clamp<std::int64_t>(kMaxBytes / of_layer, 1, model.layers);
  return extent;
}

Measurement measure_times(comm::World& world, Execution& execution) {
  Times times{world, execution};
  Measurement measured{.kernels = execution.kernels()};
  times.add_rows(measured.products, measured.ends);
  measured.chunks = times.chunks();
  measured.singles = times.singles();
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
