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

Step::Step(Shape const& shape, core::Case const& spec)
    : BlockTables{shape.requests, shape.tokens, spec.parameters.as<Parameters>().lengths,
                  shape.block_size, spec.seed} {
  first_rows.push_back(0);
  for (std::int32_t const length : lengths) {
    std::int32_t const first = shape.phase == Phase::prefill ? 0 : length - 1;
    for (std::int32_t t = first; t < length; ++t) positions.push_back(t);
    first_rows.push_back(static_cast<std::int64_t>(positions.size()));
  }
}

std::int64_t Step::request_of(std::int64_t row) const {
  return std::upper_bound(first_rows.begin(), first_rows.end(), row) - first_rows.begin() - 1;
}

void Step::draw_slots(std::uint64_t seed) {
  draw_table(seed);
  slots.clear();
  for (std::int64_t row = 0; row < rows(); ++row) {
    slots.push_back(static_cast<std::int32_t>(
        slot_of(request_of(row), positions[static_cast<std::size_t>(row)])));
  }
}

}  // namespace quadrille::workloads::decoder
