// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"

#include "core/process.hpp"
#include "core/text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace quadrille::core {
namespace {

// The one piece of mutable state: tests and World replace it.
std::atomic<FailHandler> g_handler{nullptr};

int rank_of(Exit code) {
  constexpr std::array kOrder{Exit::bad_config,  Exit::timeout,      Exit::runtime,
                              Exit::environment, Exit::wrong_result, Exit::regression,
                              Exit::undecided,   Exit::interrupted,  Exit::nothing_executed,
                              Exit::pass};
  for (std::size_t i = 0; i < kOrder.size(); ++i) {
    if (kOrder[i] == code) return static_cast<int>(i);
  }
  return static_cast<int>(kOrder.size());
}

}  // namespace

Exit worse(Exit a, Exit b) { return rank_of(a) <= rank_of(b) ? a : b; }

FailHandler set_fail_handler(FailHandler handler) noexcept { return g_handler.exchange(handler); }

void fail(std::string const& what, Exit code, std::source_location where) {
  if (FailHandler const handler = g_handler.load()) handler({what, code, where});
  print_error("FATAL {}{}\n", one_line(what), shown_place(where));
  _exit(static_cast<int>(code) & 0x7f);
}

}  // namespace quadrille::core
