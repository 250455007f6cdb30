// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention_data.hpp"
#include "ring_attention/ring_attention.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// Attention whose keys come in blocks, with known results.
namespace quadrille::kernels::ring_attention {

/// Extents as those of attention, with its mask, and in which blocks the keys come.
struct Ring {
  attention::Shape shape;
  std::vector<std::int64_t> blocks;  ///< of keys, in order; the rest is the last one
  /// The blocks of keys, the last ones first: as a ring brings those of other ranks.
  bool from_the_end = false;
};

/// One block, ones of a key and of none, queries that see nothing of a block, nothing at all, or nothing of
/// the first blocks, and blocks around tiles.
inline std::vector<Ring> const kRings{
    {attention::kShapes[0], {}, false},      {attention::kShapes[0], {1, 0, 40}, false},
    {attention::kShapes[2], {64, 1}, false}, {attention::kShapes[3], {0, 100}, true},
    {attention::kShapes[4], {5, 9}, false},  {attention::kShapes[6], {33}, true},
    {attention::kShapes[8], {}, false},      {attention::kShapes[9], {4}, false},
    {attention::kShapes[10], {4}, false},
};

inline std::string text_of(Ring const& ring) {
  std::string text = attention::text_of(ring.shape) + (ring.from_the_end ? " backwards" : "");
  for (std::int64_t const keys : ring.blocks) text += " | " + std::to_string(keys);
  return text;
}

/// A block of keys: which ones, and who sees them.
struct Block {
  std::int64_t first = 0, keys = 0;
  Seen seen{};
};

/// In the order in which they are taken in.
inline std::vector<Block> blocks_of(Ring const& ring) {
  attention::Shape const& x = ring.shape;
  std::vector<Block> blocks;
  std::int64_t first = 0;
  auto const add = [&](std::int64_t keys) {
    blocks.push_back({first, keys, {}});
    first += keys;
  };
  for (std::int64_t const keys : ring.blocks) add(std::min(keys, x.keys - first));
  add(x.keys - first);
  if (ring.from_the_end) std::reverse(blocks.begin(), blocks.end());
  for (Block& block : blocks) {
    block.seen.keys = block.keys;
    if (x.mask == attention::kFull) continue;
    // Query 0 sees the keys before x.keys - x.queries + 1.
    std::int64_t const none =
        std::clamp<std::int64_t>(block.first - (x.keys - x.queries), 0, x.queries);
    block.seen = {.first_query = &block == blocks.data() ? 0 : none,
                  .keys = x.keys - x.queries + 1 - block.first,
                  .more = 1};
  }
  return blocks;
}

/// The rows of k or v that a block has, of all heads.
template <class T>
std::vector<T> rows_of(std::vector<T> const& all, Ring const& ring, Block const& block) {
  attention::Shape const& x = ring.shape;
  std::vector<T> rows;
  for (std::int64_t head = 0; head < x.batch * x.kv_heads; ++head) {
    auto const from = all.begin() + (head * x.keys + block.first) * x.head_size;
    rows.insert(rows.end(), from, from + block.keys * x.head_size);
  }
  return rows;
}

/// A ring with its tensors, and what is right.
template <class T>
struct Known {
  attention::Tensors<T> in;
  std::vector<attention::Element> elements;
};
template <class T>
Known<T> known_of(Ring const& ring, double scores) {
  attention::Problem const whole = attention::unallocated(ring.shape, core::type_of<T>());
  Known<T> known;
  known.in = attention::random<T>(whole, {.scores = scores});
  attention::ErrorBound const bound{core::type_of<T>(),
                                    static_cast<std::int64_t>(ring.blocks.size()) + 1};
  known.elements = attention::elements_of(whole, known.in, bound);
  return known;
}

/// A block's problem, without its tensors.
inline Problem problem_of(Ring const& ring, Block const& block, core::DataType type) {
  attention::Shape shape = ring.shape;
  shape.keys = block.keys;
  shape.mask = attention::kFull;
  return unallocated(shape, block.seen, type);
}

/// Computed once for all variants and schedules.
template <class T>
Known<T> const& known(Ring const& ring, double scores) {
  static std::map<std::string, Known<T>> all;
  auto const [found, is_new] = all.try_emplace(text_of(ring) + " " + std::to_string(scores));
  if (is_new) found->second = known_of<T>(ring, scores);
  return found->second;
}

/// o, after all blocks; nothing where the variant does not take shifted tensors.
template <class T>
std::optional<std::vector<T>> attend(device::Device& device, device::StreamView stream,
                                     Variant<Problem> const& variant, Ring const& ring,
                                     attention::Tensors<T> const& in,
                                     attention::Offsets const& offsets = {}) {
  std::vector<Block> const blocks = blocks_of(ring);
  Problem const like = problem_of(ring, blocks[0], core::type_of<T>());
  test::DeviceArray<T> const q{device, stream, in.q, offsets.q};
  test::DeviceArray<T> const o{device, stream, like.o.rows * like.o.cols, offsets.o};
  test::DeviceArray<float> const state{device, stream, state_size(like.q.rows, like.q.cols)};
  for (Block const& block : blocks) {
    test::DeviceArray<T> const k{device, stream, rows_of(in.k, ring, block), offsets.k},
        v{device, stream, rows_of(in.v, ring, block), offsets.v};
    Problem problem = problem_of(ring, block, core::type_of<T>());
    problem.q.data = q.data();
    problem.k.data = k.data();
    problem.v.data = v.data();
    problem.o.data = o.data();
    problem.state = state_in(state.data(), problem.q.rows, problem.q.cols);
    problem.is_first = &block == &blocks.front();
    problem.is_last = &block == &blocks.back();
    if (!offsets.are_none() && !variant.unsupported_reason(problem).empty()) return std::nullopt;
    std::size_t const bytes = variant.scratch_bytes(problem, device.facts());
    test::DeviceArray<float> const scratch{device, stream, static_cast<std::int64_t>(bytes / 4)};
    problem.scratch = scratch.data();
    problem.scratch_bytes = bytes;
    variant.launch(problem, stream);
    stream.synchronize();
    EXPECT_TRUE(scratch.intact());
  }
  EXPECT_TRUE(o.intact() && state.intact());
  return o.download();
}

/// False where the variant does not take shifted tensors.
template <class T>
bool expect_right(device::Device& device, device::StreamView stream,
                  Variant<Problem> const& variant, Ring const& ring, double scores = 1,
                  attention::Offsets const& offsets = {}) {
  SCOPED_TRACE(testing::Message() << variant.name << " " << core::to_text(core::type_of<T>()) << " "
                                  << text_of(ring) << ", scores x " << scores << ", offsets "
                                  << offsets.q << offsets.k << offsets.v << offsets.o);
  Known<T> const& one = known<T>(ring, scores);
  auto const o = attend(device, stream, variant, ring, one.in, offsets);
  if (o) attention::expect_elements<T>(one.elements, *o);
  return o.has_value();
}

}  // namespace quadrille::kernels::ring_attention
