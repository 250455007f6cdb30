// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/decoder/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace quadrille::workloads::decoder {

Shape::Shape(core::Case const& spec, int ranks_of_model, int rank_of_model)
    : requests{spec.size[0]},
      tokens{spec.size[1]},
      hidden{spec.size[2]},
      head_size{hidden / spec.size[3]},
      parts{ranks_of_model},
      part{rank_of_model} {
  for (auto const& [name, extent, own] :
       {std::tuple{"heads", spec.size[3], &heads}, std::tuple{"kv_heads", spec.size[4], &kv_heads},
        std::tuple{"mlp", spec.size[5], &mlp}}) {
    *own = std::max<std::int64_t>(1, extent / parts);
    if (extent % parts != 0) {
      indivisible =
          fmt::format("{} ranks do not divide {} = {}; take a divisor", parts, name, extent);
    }
  }
  auto const& p = spec.parameters.as<Parameters>();
  model = p.model;
  phase = p.phase;
  layers = p.layers;
  block_size = p.block_size;
}

Step::Step(Shape const& shape, core::Case const& spec) : block_size{shape.block_size} {
  constexpr std::uint64_t kLengthTag = 0x6c656e;
  auto const most = static_cast<double>(shape.tokens);
  first_rows.push_back(0);
  for (std::int64_t r = 0; r < shape.requests; ++r) {
    double const length =
        length_of(spec.parameters.as<Parameters>().lengths, draw(spec.seed, kLengthTag, r), most);
    auto const tokens = static_cast<std::int32_t>(std::clamp(length, 1.0, most));
    std::int32_t const first = shape.phase == Phase::prefill ? 0 : tokens - 1;
    for (std::int32_t t = first; t < tokens; ++t) positions.push_back(t);
    lengths.push_back(tokens);
    first_rows.push_back(static_cast<std::int64_t>(positions.size()));
    longest = std::max<std::int64_t>(longest, tokens);
    cached += tokens;
    blocks += blocks_of(tokens);
  }
}

std::int64_t Step::request_of(std::int64_t row) const {
  return std::upper_bound(first_rows.begin(), first_rows.end(), row) - first_rows.begin() - 1;
}

std::int64_t Step::slot_of(std::int64_t request, std::int64_t token) const {
  std::int64_t const at = request * blocks_of(longest) + token / block_size;
  return table[static_cast<std::size_t>(at)] * block_size + token % block_size;
}

void Step::draw_blocks(std::uint64_t seed) {
  constexpr std::uint64_t kTableTag = 0x746162;
  std::vector<std::int32_t> const order = shuffled(blocks, seed, kTableTag);
  table.assign(static_cast<std::size_t>(requests() * blocks_of(longest)), 0);
  auto next = order.begin();
  for (std::int64_t r = 0; r < requests(); ++r) {
    std::int64_t const count = blocks_of(lengths[static_cast<std::size_t>(r)]);
    std::copy_n(next, count, table.begin() + r * blocks_of(longest));
    next += count;
  }
  slots.clear();
  for (std::int64_t row = 0; row < rows(); ++row) {
    slots.push_back(static_cast<std::int32_t>(
        slot_of(request_of(row), positions[static_cast<std::size_t>(row)])));
  }
}

}  // namespace quadrille::workloads::decoder
