// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config.hpp"

#include <string>
#include <vector>

namespace quadrille::commands {

/// An input that came with this program.
struct ShippedInput {
  std::string name;  ///< of its file, without folder and extension
  std::string path;
  core::About about;
};

/// Those of the repository, bundle or installation that the program is in, by name; an error where there
/// are none, or one cannot be read or has no [about].
core::Parsed<std::vector<ShippedInput>> shipped_inputs();

}  // namespace quadrille::commands
