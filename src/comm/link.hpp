// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement.hpp"
#include "device/device.hpp"

#include <vector>

namespace quadrille::comm {

class World;

/// What joins the devices of two ranks; `device` is that of `from`. Not collective.
device::Link link_between(Placement const& from, Placement const& to, device::Device const& device);

/// That of each rank to each, [from * ranks + to], as the rank `from` sees it. Collective.
std::vector<device::Link> links_between_ranks(World const& world);

}  // namespace quadrille::comm
