// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace quadrille::commands {

/// A word that people meet in output, files or options, and what kind of word it is.
struct Topic {
  std::string_view kind;  ///< "metric", "column", "verdict", "key", ...
  std::string name;
};
/// All that there are; a word may be of several kinds.
std::vector<Topic> topics();
/// What all things of this name are, in small or capital letters; empty where nothing has it.
std::string explanation_of(std::string_view name);

/// What the file that defines a row of an operation's table says of it; empty where no file of an
/// operation does, because a workload arranges it from others.
std::string_view header_block_of(kernels::VariantInfo const& variant);

/// Why this machine cannot run a variant, whatever the case; empty where it can.
std::string unavailable_reason(kernels::VariantInfo const& variant);

}  // namespace quadrille::commands
