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

// Texts cannot be read below, tables not below 60, and nobody reads wider lines.
constexpr std::size_t kNarrowest = 40, kWidest = 240;

/// Of a terminal that does not say how wide it is.
constexpr std::size_t kUsual = 80;

/// Of the terminal that a stream writes to; 0 where it is none, or does not say.
std::size_t columns_of(int stream) {
  winsize size{};
  bool const is_terminal = isatty(stream) == 1 && ioctl(stream, TIOCGWINSZ, &size) == 0;
  return is_terminal ? size.ws_col : 0;
}

char const* variable(char const* name) { return std::getenv(name); }

bool is_dumb(char const* name) { return name != nullptr && std::string_view{name} == "dumb"; }

}  // namespace

Terminal choose_terminal(std::size_t columns, Environment const& environment) {
  auto const text_of = [&](char const* name) -> std::string_view {
    char const* const value = environment(name);
    return value == nullptr ? "" : value;
  };
  Terminal terminal{.is_read = columns > 0};
  if (columns > 0) terminal.width = columns;
  std::string_view const asked = text_of("COLUMNS");
  std::size_t number = 0;
  auto const [end, error] = std::from_chars(asked.data(), asked.data() + asked.size(), number);
  bool const is_number = error == std::errc{} && end == asked.data() + asked.size();
  if (is_number && number > 0) terminal.width = number;
  terminal.width = std::clamp(terminal.width, kNarrowest, kWidest);

  std::string_view const forced = text_of("CLICOLOR_FORCE");
  bool const is_forced = !forced.empty() && forced != "0";
  bool const shows_colours = columns > 0 && !is_dumb(environment("TERM"));
  terminal.has_colours = text_of("NO_COLOR").empty() && (is_forced || shows_colours);
  return terminal;
}

Terminal terminal_of_output() { return choose_terminal(columns_of(STDOUT_FILENO), variable); }

Terminal terminal_of_errors() {
  if (isatty(STDERR_FILENO) != 1) return kUnlimited;
  std::size_t const columns = columns_of(STDERR_FILENO);
  return {.width = columns > 0 ? columns : kUsual,
          .is_read = true,
          .rewrites = !is_dumb(variable("TERM"))};
}

}  // namespace quadrille::report
