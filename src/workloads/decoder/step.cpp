// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/decoder/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace quadrille::workloads::decoder {

Shape::Shape(core::Case const& spec, int ranks_of_model, int rank_of_model)
    : requests{spec.size[0]},
      tokens{spec.size[1]},
      hidden{spec.size[2]},
      head_size{hidden / spec.size[3]},
      heads{spec.size[3]},
      kv_heads{spec.size[4]},
      mlp{spec.size[5]} {
  auto const& p = spec.parameters.as<Parameters>();
  model = p.model;
  phase = p.phase;
  layers = p.layers;
  block_size = p.block_size;
  divide(ranks_of_model, rank_of_model);
}

void Shape::divide(std::int64_t ranks_of_model, std::int64_t rank_of_model) {
  parts = ranks_of_model;
  part = rank_of_model;
  for (auto const& [name, extent] :
       {std::pair{"heads", &heads}, std::pair{"kv_heads", &kv_heads}, std::pair{"mlp", &mlp}}) {
    if (*extent % parts != 0 && indivisible.empty()) {
      indivisible =
          fmt::format("{} ranks do not divide {} = {}; take a divisor", parts, name, *extent);
    }
    *extent = std::max<std::int64_t>(1, *extent / parts);
  }
}

Step::Step(Shape const& shape, Lengths drawn, std::uint64_t seed)
    : BlockTables{shape.requests, shape.tokens, drawn, shape.block_size, seed} {
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
