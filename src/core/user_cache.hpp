// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quadrille::core {

/// The folder where the program keeps what it can find again: $XDG_CACHE_HOME/quadrille, else
/// $HOME/.cache/quadrille; "" where neither is an absolute path. It need not exist.
std::string user_cache();

}  // namespace quadrille::core
