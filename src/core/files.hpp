// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/units.hpp"

#include <cstddef>
#include <string>

namespace quadrille::core {

/// The bytes of a regular file, or why they cannot be had: there is none, or it has more than `max_bytes`.
Parsed<std::string> read_file(std::string const& path, std::size_t max_bytes);

}  // namespace quadrille::core
