// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace quadrille::report {
namespace {

// Tables cannot be read below, and nobody reads wider lines.
constexpr std::size_t kNarrowest = 72, kWidest = 240;

}  // namespace

Terminal choose_terminal(std::size_t columns, Environment const& environment) {
  auto const text_of = [&](char const* name) -> std::string_view {
    char const* const value = environment(name);
    return value == nullptr ? "" : value;
  };
  Terminal terminal;
  if (columns > 0) terminal.width = columns;
  std::string_view const asked = text_of("COLUMNS");
  std::size_t number = 0;
  auto const [end, error] = std::from_chars(asked.data(), asked.data() + asked.size(), number);
  bool const is_number = error == std::errc{} && end == asked.data() + asked.size();
  if (is_number && number > 0) terminal.width = number;
  terminal.width = std::clamp(terminal.width, kNarrowest, kWidest);

  std::string_view const forced = text_of("CLICOLOR_FORCE");
  bool const is_forced = !forced.empty() && forced != "0";
  bool const shows_colours = columns > 0 && text_of("TERM") != "dumb";
  terminal.has_colours = text_of("NO_COLOR").empty() && (is_forced || shows_colours);
  return terminal;
}

Terminal terminal_of_output() {
  winsize size{};
  bool const is_terminal =
      isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return choose_terminal(is_terminal ? size.ws_col : 0, [](char const* name) {
    return static_cast<char const*>(std::getenv(name));
  });
}

}  // namespace quadrille::report
