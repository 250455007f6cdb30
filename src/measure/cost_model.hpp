// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config.hpp"

#include <cstdint>
#include <string>

namespace quadrille::measure {

/// Ranks that fill a node before the next one.
struct RankLayout {
  std::int64_t ranks = 1;
  std::int64_t per_node = 1;  ///< on a full node

  std::int64_t nodes() const { return (ranks + per_node - 1) / per_node; }
  double on_node() const { return static_cast<double>(std::min(ranks, per_node)); }
};

/// What a rank does in a repetition.
struct RankWork {
  double amount = 0;      ///< of all ranks, in which efficiency is counted
  double compute = 0;     ///< of the rank that has most, in any unit
  double messages = 0;    ///< one after the other
  double bytes = 0;       ///< that it receives
  double node_bytes = 0;  ///< that all ranks of its node receive from other nodes
  double exposed = 0;     ///< share of the bytes under which there is nothing to compute
};

/// What a repetition of a workload's cases takes on any number of ranks.
struct CostModel {
  /// With every extent times `scale`.
  RankWork (*work)(core::Case const& spec, RankLayout const& layout, double scale);
  bool has_legs = false;
  double growth = 0;  ///< extents grow with ranks ^ growth where each keeps its memory
  /// Why so many ranks cannot do it; empty where they can.
  std::string (*unsupported_reason)(core::Case const& spec, RankLayout const& layout) =
      [](core::Case const&, RankLayout const&) { return std::string{}; };
};

/// Rounds of a tree over so many ranks.
double tree_depth(double ranks);
/// Of the others in a group of `size` that has `here` members on a node, the share on other nodes.
double share_away(double size, double here);
/// Of neighbours in a ring of `size`, of which `here` side by side are on a node, the share on another.
double neighbours_away(double size, double here);
/// That of a case where it has as many processes as ranks, else the most nearly square one.
core::GridShape grid_on(core::Case const& spec, std::int64_t ranks);

}  // namespace quadrille::measure
