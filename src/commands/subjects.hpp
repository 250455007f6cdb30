// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace quadrille::commands {

/// What concerns no single word of the output.
struct Subject {
  std::string_view name, summary, text;
};
/// In reading order: from how to read a table to how to change what is measured.
std::span<Subject const> subjects();

}  // namespace quadrille::commands
