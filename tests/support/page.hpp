// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <string>

namespace quadrille::test {

/// Keeps a page under its name where somebody looks at pages, as page_test.py does.
inline std::string const& kept(std::string const& page, std::string const& name) {
  if (char const* const folder = std::getenv("QUADRILLE_PAGES")) {
    std::ofstream{fmt::format("{}/{}.html", folder, name), std::ios::binary} << page;
  }
  return page;
}

/// What the page's script reads.
inline nlohmann::json data_of(std::string const& page) {
  std::string const begin = R"(<script type="application/json" id="data">)";
  std::size_t const from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

/// How often it has this part.
inline std::size_t count(std::string const& text, std::string const& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace quadrille::test
