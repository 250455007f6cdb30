// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace quadrille::test {

/// The failure that `action` reports on this thread, or nothing where it returns.
template <class Action>
std::optional<core::Failure> failure_of(Action&& action) {
  auto const before = core::set_fail_handler([](core::Failure const& failure) { throw failure; });
  std::optional<core::Failure> found;
  try {
    action();
  } catch (core::Failure const& failure) {
    found = failure;
  }
  core::set_fail_handler(before);
  return found;
}

}  // namespace quadrille::test

/// Expects that the expression ends in core::fail() with `text` in its message.
#define EXPECT_FAILS(expression, text)                                               \
  do {                                                                               \
    auto const failure = ::quadrille::test::failure_of([&] { (void)(expression); }); \
    ASSERT_TRUE(failure) << #expression << " did not fail";                          \
    EXPECT_NE(failure->what.find(text), std::string::npos) << failure->what;         \
  } while (false)
