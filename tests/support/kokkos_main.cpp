// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/kokkos_runtime.hpp"

#include <gtest/gtest.h>

// Main of tests that run Kokkos kernels: two threads, so that kernels are parallel everywhere.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  quadrille::device::KokkosRuntime const kokkos{2};
  return RUN_ALL_TESTS();
}
