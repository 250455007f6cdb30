// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/user_cache.hpp"

#include <cstdlib>
#include <string_view>

namespace quadrille::core {

std::string user_cache() {
  auto const folder = [](char const* variable) -> std::string_view {
    char const* const value = std::getenv(variable);
    return value != nullptr && value[0] == '/' ? value : "";
  };
  std::string_view const cache = folder("XDG_CACHE_HOME");
  if (!cache.empty()) return std::string{cache} + "/quadrille";
  std::string_view const home = folder("HOME");
  return home.empty() ? "" : std::string{home} + "/.cache/quadrille";
}

}  // namespace quadrille::core
