// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config.hpp"
#include "core/units.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::core {

/// What the source of a technique says that it launched for its figure: key `published_launch`.
struct PublishedLaunch {
  /// A number, or an extent of the problem divided by one, rounded up.
  struct Extent {
    std::size_t of = kNone;  ///< index of the extent
    std::int64_t number = 1;
    static constexpr std::size_t kNone = SIZE_MAX;
  };
  std::string variant;
  /// Each by its one to three extents, or by their product alone. Of no grid: not compared.
  std::vector<Extent> grid, block;
  std::string why_none;  ///< where there is nothing to compare with

  /// Whether a kernel that a case of this size launches has that shape.
  bool is(Extents const& size, std::array<std::int64_t, 3> const& grid_here,
          std::array<std::int64_t, 3> const& block_here) const;
};

/// "VARIANT: 512x512 blocks, 8x8 threads", "VARIANT: m/8 x n/8 blocks, 64 threads", "VARIANT: 256
/// threads", "VARIANT: none, WHY"; m, n and k are the first, second and third extent.
Parsed<PublishedLaunch> parse_published_launch(std::string_view text);

}  // namespace quadrille::core
