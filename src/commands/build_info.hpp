// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quadrille::commands {

/// "0.1.0 (commit 1a2b3c4)".
std::string version();

/// What this binary was built from and with, and the libraries it runs with.
std::vector<std::pair<std::string, std::string>> build_facts();

/// Environment variables that may influence a run, by allow-list; never those that look secret.
std::vector<std::pair<std::string, std::string>> environment_facts();

}  // namespace quadrille::commands
