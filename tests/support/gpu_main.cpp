// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"
#include "device/device.hpp"

#include <gtest/gtest.h>

#include <cstdio>

// Main of tests that need a GPU: without one they are skipped, which is not passed.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string why;
  if (quadrille::device::cuda_device_count(&why) == 0) {
    std::printf("skipped: %s\n", why.c_str());
    return static_cast<int>(quadrille::core::Exit::skipped);
  }
  return RUN_ALL_TESTS();
}
