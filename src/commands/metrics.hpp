// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace quadrille::commands {

/// A number that tables and files show.
struct Metric {
  std::string_view name;
  std::string_view unit;
  std::string_view meaning;
};
std::span<Metric const> metrics();

}  // namespace quadrille::commands
