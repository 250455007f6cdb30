// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/published_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

namespace quadrille::core {
namespace {

using Extent = PublishedLaunch::Extent;

constexpr std::string_view kExtents = "mnk";

std::optional<Extent> parse_extent(std::string_view text) {
  Extent extent;
  if (!text.empty() && kExtents.find(text[0]) != kExtents.npos) {
    extent.of = kExtents.find(text[0]);
    text.remove_prefix(1);
    if (text.empty()) return extent;
    if (text[0] != '/') return {};
    text.remove_prefix(1);
  }
  auto const number = parse_count(text);
  if (!number || *number == 0) return {};
  extent.number = *number;
  return extent;
}

/// "512x512", "m/8 x n/8"; empty where it is neither.
std::vector<Extent> parse_extents(std::string_view text) {
  std::string plain{text};
  std::erase(plain, ' ');
  std::vector<Extent> extents;
  for (std::size_t from = 0; from <= plain.size();) {
    std::size_t const to = std::min(plain.find('x', from), plain.size());
    auto const extent = parse_extent(std::string_view{plain}.substr(from, to - from));
    if (!extent || extents.size() == 3) return {};
    extents.push_back(*extent);
    from = to + 1;
  }
  return extents;
}

bool agree(std::vector<Extent> const& published, Extents const& size,
           std::array<std::int64_t, 3> const& here) {
  std::array<std::int64_t, 3> there{1, 1, 1};
  std::ranges::transform(published, there.begin(), [&](Extent const& extent) {
    if (extent.of == Extent::kNone) return extent.number;
    return (size[extent.of] + extent.number - 1) / extent.number;
  });
  auto const product = [](std::array<std::int64_t, 3> const& x) {
    return std::reduce(x.begin(), x.end(), std::int64_t{1}, std::multiplies{});
  };
  return published.size() == 1 ? there[0] == product(here) : there == here;
}

}  // namespace

bool PublishedLaunch::is(Extents const& size, std::array<std::int64_t, 3> const& grid_here,
                         std::array<std::int64_t, 3> const& block_here) const {
  return (grid.empty() || agree(grid, size, grid_here)) && agree(block, size, block_here);
}

Parsed<PublishedLaunch> parse_published_launch(std::string_view text) {
  auto const refused = [&] {
    return Parsed<PublishedLaunch>::error(fmt::format(
        "\"{}\": write \"VARIANT: 512x512 blocks, 8x8 threads\", with m/8 for an extent "
        "divided by 8, or \"VARIANT: none, WHY\"",
        text));
  };
  constexpr std::string_view kNone = "none, ", kBlocks = " blocks, ", kThreads = " threads";
  std::size_t const colon = text.find(": ");
  if (colon == text.npos || colon == 0) return refused();
  PublishedLaunch launch;
  launch.variant = text.substr(0, colon);
  std::string_view rest = text.substr(colon + 2);
  if (rest.starts_with(kNone) && rest.size() > kNone.size()) {
    launch.why_none = rest.substr(kNone.size());
    return launch;
  }
  if (std::size_t const blocks = rest.find(kBlocks); blocks != rest.npos) {
    launch.grid = parse_extents(rest.substr(0, blocks));
    if (launch.grid.empty()) return refused();
    rest.remove_prefix(blocks + kBlocks.size());
  }
  if (!rest.ends_with(kThreads)) return refused();
  rest.remove_suffix(kThreads.size());
  launch.block = parse_extents(rest);
  if (launch.block.empty()) return refused();
  return launch;
}

}  // namespace quadrille::core
