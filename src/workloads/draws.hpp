// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/enum_names.hpp"
#include "core/generator.hpp"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace quadrille::workloads {

/// Of sequences, or groups of rows; all but `equal` by the seed of the case.
enum class Lengths { equal, uniform, long_tail };
constexpr auto enum_names(Lengths) {
  return core::EnumNames<Lengths, 3>{{{Lengths::equal, "equal"},
                                      {Lengths::uniform, "uniform"},
                                      {Lengths::long_tail, "long_tail"}}};
}

/// In [0, 1): a function of the seed, what is drawn, and its number.
inline double draw(std::uint64_t seed, std::uint64_t tag, std::int64_t i) {
  return static_cast<double>(core::element_hash(core::row_key(seed, tag, 0), i) >> 11) * 0x1p-53;
}

/// From 1 to `most`, for a number that was drawn. Of a long tail as many are between n and 2 n for every n.
inline double length_of(Lengths lengths, double drawn, double most) {
  switch (lengths) {
    case Lengths::equal: return most;
    case Lengths::uniform: return 1 + std::floor(drawn * most);
    case Lengths::long_tail: return std::ceil(std::exp(drawn * std::log(most)));
  }
  return most;
}

/// The numbers below `count` in an order that is drawn.
inline std::vector<std::int32_t> shuffled(std::int64_t count, std::uint64_t seed,
                                          std::uint64_t tag) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t b = order.size(); b > 1; --b) {
    double const x = draw(seed, tag, static_cast<std::int64_t>(b));
    std::swap(order[b - 1], order[static_cast<std::size_t>(x * static_cast<double>(b))]);
  }
  return order;
}

}  // namespace quadrille::workloads
