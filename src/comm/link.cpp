// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/link.hpp"

#include "comm/world.hpp"

namespace quadrille::comm {

using device::Link;

Link link_between(Placement const& from, Placement const& to, device::Device const& device) {
  if (from.node != to.node) return Link::network;
  if (device.kind() == device::Kind::host) return Link::memory;
  if (from.uuid.empty() || to.uuid.empty()) return Link::unknown;
  return from.uuid == to.uuid ? Link::same_gpu : device.link_to(to.uuid);
}

std::vector<Link> links_between_ranks(World const& world) {
  auto const ranks = static_cast<std::size_t>(world.size());
  std::vector<std::int64_t> found(ranks * ranks, 0);
  for (std::size_t to = 0; to < ranks; ++to) {
    Link const link = link_between(world.placement(), world.placements()[to], world.device());
    found[static_cast<std::size_t>(world.rank()) * ranks + to] = static_cast<std::int64_t>(link);
  }
  world.group().sum(std::span{found});
  std::vector<Link> links;
  for (std::int64_t const link : found) links.push_back(static_cast<Link>(link));
  return links;
}

}  // namespace quadrille::comm
