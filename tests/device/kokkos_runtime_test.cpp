// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/kokkos_runtime.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace quadrille::device {
namespace {

// In a process of its own, which reads the variable when it starts.
void refuse(char const* variable, char const* value, char const* why) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  setenv(variable, value, 1);
  EXPECT_EXIT(KokkosRuntime{2}, testing::ExitedWithCode(3), why);
  unsetenv(variable);
}

TEST(KokkosRuntime, RefusesFewerThreads) {
  refuse("OMP_THREAD_LIMIT", "1", "OpenMP starts 1 of 2 threads; unset its variables");
}
TEST(KokkosRuntime, RefusesBoundThreads) {
  refuse("OMP_PROC_BIND", "close", "OpenMP binds threads; unset its variables");
}

}  // namespace
}  // namespace quadrille::device
