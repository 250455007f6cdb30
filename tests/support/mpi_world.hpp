// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"

#include <string>

namespace quadrille::test {

/// The world of a test program with MAIN support/mpi_main.cpp: open, on device_name(), with the
/// chunk_bytes of the environment variable QUADRILLE_TEST_CHUNK_BYTES or 1 MiB, split into
/// QUADRILLE_TEST_FAKE_NODES nodes where that is set. Every rank runs the same tests; an assertion that fails on one rank makes the program fail on all.
comm::World& world();
/// "host", or what the environment variable QUADRILLE_TEST_DEVICE says. With "cuda" the program is
/// skipped where there are fewer GPUs than ranks, which share them with QUADRILLE_TEST_SHARED_GPU.
std::string device_name();

}  // namespace quadrille::test
