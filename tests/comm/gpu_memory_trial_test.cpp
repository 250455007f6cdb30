// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu_memory_trial.hpp"

#include "comm/transport.hpp"
#include "support/mpi_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace quadrille::comm {
namespace {

using test::world;

// Memory of the host device, which any MPI takes, in place of a GPU's.

std::string problem_with(TriedExchange const& exchange, bool is_allowed = true) {
  return gpu_memory_problem(is_allowed, world().group(), world().stream(), exchange);
}

bool is_last() { return world().rank() == world().size() - 1; }

TEST(GpuMemoryTrial, FindsNothingWhereAllArrives) {
  EXPECT_EQ(problem_with(tried_mpi_exchange(world().group())), "");
}

TEST(GpuMemoryTrial, CallsNothingUnlessMpiAllowsItOnAllRanks) {
  int calls = 0;
  TriedExchange const counted = [&](ConstPiece, int, Piece, int) { ++calls; };

  EXPECT_EQ(problem_with(counted, !is_last()), kTakesNoGpuMemory);
  EXPECT_EQ(calls, 0);
}

TEST(GpuMemoryTrial, FindsOneWrongByteOfEachMessageOnAllRanks) {
  TriedExchange const real = tried_mpi_exchange(world().group());
  constexpr int kExchanges = 4;  // small and large, to itself and to the neighbour
  for (int bad = 0; bad < kExchanges; ++bad) {
    int exchanges = 0;
    std::size_t last = 0;
    TriedExchange const faulty = [&](ConstPiece out, int to, Piece in, int from) {
      real(out, to, in, from);
      if (exchanges++ != bad) return;
      last = in.bytes - 1;
      if (is_last()) static_cast<std::byte*>(in.data)[last] ^= std::byte{1};
    };

    std::string const why = problem_with(faulty);

    EXPECT_EQ(exchanges, kExchanges);
    EXPECT_TRUE(why.starts_with("byte " + std::to_string(last) + " of ")) << why;
    EXPECT_TRUE(why.ends_with("of rank " + std::to_string(world().size() - 1))) << why;
  }
}

TEST(GpuMemoryTrial, FindsMessagesThatDoNotArrive) {
  std::string const why = problem_with([](ConstPiece, int, Piece, int) {});

  EXPECT_TRUE(why.starts_with("byte 0 of 1000 ")) << why;
}

TEST(GpuMemoryTrial, WhatMpiSaysDecidesWhetherItIsTried) {
  auto const entry = std::ranges::find(transports(), "mpi_gpu", &TransportEntry::name);
  ASSERT_NE(entry, transports().end());
  TransportEntry const& mpi_gpu = **entry;

  EXPECT_EQ(mpi_gpu.unavailable_reason(nullptr),
            is_built_for_gpu_memory() ? "" : kTakesNoGpuMemory);
  EXPECT_EQ(mpi_gpu.unavailable_reason(&world()), takes_gpu_memory() ? "" : kTakesNoGpuMemory);
  EXPECT_FALSE(mpi_gpu.serves(world())) << "it moves no memory of hosts";
}

}  // namespace
}  // namespace quadrille::comm
