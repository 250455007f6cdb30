// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/process.hpp"

#include "core/error.hpp"

#include <gtest/gtest.h>
#include <system_error>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace quadrille::core {
namespace {

template <class Exception>
[[noreturn]] void end_by(Exception const& exception) {
  set_up_process();
  std::thread{[&] { throw exception; }}.join();
  std::abort();
}

TEST(Process, ReportsExceptionsThatNobodyCatches) {
  EXPECT_EXIT(end_by(std::runtime_error{"unexpected"}), testing::ExitedWithCode(4),
              "FATAL uncaught exception: unexpected");
  EXPECT_EXIT(end_by(3), testing::ExitedWithCode(4), "FATAL uncaught exception");
  EXPECT_EXIT(end_by(std::system_error{EAGAIN, std::generic_category()}),
              testing::ExitedWithCode(3), "FATAL cannot start a thread")
      << "the environment's fault";
}

}  // namespace
}  // namespace quadrille::core
