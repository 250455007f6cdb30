// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "rowwise/rowwise.hpp"

#include "common/like.hpp"

#include <fmt/format.h>

#include <cmath>

namespace quadrille::kernels::rowwise {

// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  by_element,
  by_vector
);
// clang-format on

Variants<Problem> variants() { return kTable; }

Problem unallocated(Action action, Shape const& x, core::DataType type) {
  auto const tensor = [](core::DataType of, std::int64_t rows, std::int64_t cols) {
    return device::MatrixView{nullptr, of, rows, cols, cols};
  };
  device::MatrixView const rows = tensor(type, x.tokens, x.features);
  Problem p{.action = action, .x = rows, .y = rows};
  if (action == Action::swiglu) p.x = tensor(type, x.tokens, 2 * x.features);
  if (is_norm(action)) {
    p.weights = tensor(type, action == Action::layer_norm ? 2 : 1, x.features);
    p.residual = p.sum = tensor(type, x.has_residual ? x.tokens : 0, x.features);
  }
  if (action == Action::embedding) {
    p.x = tensor(type, x.table_rows, x.features);
    p.weights = tensor(type, x.max_positions, x.features);
  }
  if (action == Action::rotary) {
    p.head_size = x.head_size;
    p.cos_sin = tensor(core::DataType::f32, x.max_positions, x.head_size);
  }
  return p;
}

std::string shape_error(Action action, Shape const& x) {
  if (x.tokens < 0 || x.features < 1) return "features must be positive, and tokens not negative";
  if (x.has_residual && !is_norm(action)) return "a residual belongs to norms; take it out";
  if (action != Action::rotary) return {};
  if (x.head_size < 2 || x.head_size % 2 != 0) {
    return fmt::format("head_size is {}; take an even number", x.head_size);
  }
  if (x.features % x.head_size != 0) {
    return fmt::format("{} features are no whole heads of {}; take a multiple", x.features,
                       x.head_size);
  }
  return {};
}

std::vector<float> cos_sin_of(std::int64_t head_size, std::int64_t positions) {
  std::vector<double> wavelengths;
  for (std::int64_t j = 0; j < head_size / 2; ++j) {
    wavelengths.push_back(
        std::pow(10000, 2 * static_cast<double>(j) / static_cast<double>(head_size)));
  }
  std::vector<float> table;
  for (std::int64_t position = 0; position < positions; ++position) {
    auto const p = static_cast<double>(position);
    for (double const w : wavelengths) table.push_back(static_cast<float>(std::cos(p / w)));
    for (double const w : wavelengths) table.push_back(static_cast<float>(std::sin(p / w)));
  }
  return table;
}

void require_consistent(Problem const& p) {
  Shape const shape{.tokens = p.tokens(),
                    .features = p.features(),
                    .has_residual = p.residual.rows > 0,
                    .head_size = p.head_size,
                    .max_positions = p.action == Action::rotary ? p.cos_sin.rows : p.weights.rows,
                    .table_rows = p.x.rows};
  std::string const error = shape_error(p.action, shape);
  QUAD_REQUIRE(error.empty(), "rowwise: " + error);
  Problem const like = unallocated(p.action, shape, p.y.type);
  device::MatrixView const like_x = p.action == Action::rotary ? with_gaps(like.x, p.x) : like.x;
  QUAD_REQUIRE(is_like(p.x, like_x) && is_like(p.y, like.y),
               "rowwise: x or y has other extents, or gaps");
  QUAD_REQUIRE(
      !is_norm(p.action) || (is_like(p.weights, like.weights) && is_like(p.sum, like.sum) &&
                             is_like(p.residual, like.residual)),
      "rowwise: weights, sum or residual is not like y");
  QUAD_REQUIRE(p.action != Action::embedding || is_like(p.weights, like.weights),
               "rowwise: weights of positions are not like y");
  QUAD_REQUIRE(p.action != Action::rotary || is_like(p.cos_sin, like.cos_sin),
               "rowwise: cos_sin are not positions x head_size in f32");
}

ProblemFacts facts_of(Problem const& p) {
  ProblemFacts facts{.types = p.y.type, .result = {"y", p.y}, .inputs = {{{"x", p.x}}}};
  if (p.action == Action::embedding) {
    facts.inputs = {{{"x", p.x}, {"weights", p.weights}}};
  }
  if (is_norm(p.action)) {
    facts.inputs = {{{"x", p.x}, {"weights", p.weights}, {"residual", p.residual}, {"sum", p.sum}}};
  }
  return facts;
}

double bytes_moved(Problem const& p) {
  auto const bytes = [](device::MatrixView const& view) {
    return static_cast<double>(view.rows * view.cols) *
           static_cast<double>(core::size_of(view.type));
  };
  if (p.action == Action::embedding) {
    // Rows of tables once for each token.
    bool const has_positions = p.weights.rows > 0;
    return (has_positions ? 3 : 2) * bytes(p.y) +
           static_cast<double>(p.tokens()) * (has_positions ? 2 : 1) * sizeof(std::int32_t);
  }
  double const all = bytes(p.x) + bytes(p.y) + bytes(p.residual) + bytes(p.sum) + bytes(p.weights);
  if (p.action != Action::rotary) return all;
  // Cosines and sines of each token once, however many heads it has.
  return all + static_cast<double>(p.tokens()) *
                   (4 * static_cast<double>(p.head_size) + sizeof(std::int32_t));
}

}  // namespace quadrille::kernels::rowwise
