// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/units.hpp"

#include <string>
#include <vector>

namespace quadrille::commands {

/// What a multiprocessor offers to blocks: of each device that is known and of the GPU here, of the one
/// that is named, or for each kernel of a result how many blocks each resource has room for. An error
/// says that it is neither.
core::Parsed<std::string> explain_occupancy(std::string const& device_or_result);

/// The ids of all threads of launches, warp by warp: of grid and block as "2x2" and "32x4", without them
/// of a launch in one dimension and of one in two.
core::Parsed<std::string> explain_indices(std::vector<std::string> const& grid_and_block);

}  // namespace quadrille::commands
