// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/machine.hpp"

#include "comm/transport.hpp"
#include "device/known_devices.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace quadrille::comm {
namespace {

PlannedMachine planned(std::string_view device, int ranks) {
  return {*device::known_device(device), ranks, {}};
}

TEST(PlannedMachine, HasAllRanksOnOneNode) {
  PlannedMachine const gpus = planned("H100 SXM", 3);

  EXPECT_EQ(gpus.size(), 3);
  EXPECT_EQ(gpus.nodes(), 1);
  EXPECT_EQ(gpus.placement().local_size, 3);
  EXPECT_EQ(gpus.planned_ranks(), (std::vector{0, 1, 2}));
  EXPECT_FALSE(sharing_a_gpu(gpus.placements()));
  EXPECT_TRUE(std::isinf(gpus.free_host_memory()));
  EXPECT_EQ(gpus.max(5), 5);
  EXPECT_EQ(gpus.min(5), 5);

  PlannedMachine const host = planned("host", 2);
  EXPECT_EQ(host.placement().threads, 1);
  EXPECT_EQ(host.free_host_memory(), static_cast<double>(host.device().free_memory()));
}

// Neither libraries nor devices are here.
TEST(PlannedMachine, HasTransportsWithoutATrial) {
  auto const serves = [](std::string_view name, Machine const& machine) {
    return machine.transport_entry(name).serves(machine);
  };
  PlannedMachine const gpus = planned("H100 SXM", 2), host = planned("host", 2);

  EXPECT_TRUE(serves("ipc", gpus));
  EXPECT_TRUE(serves("mpi", gpus));
  EXPECT_TRUE(serves("nccl", gpus));
  EXPECT_FALSE(serves("hybrid", gpus)) << "there is one node";
  EXPECT_TRUE(serves("ipc", host));
  EXPECT_FALSE(serves("nccl", host));
  EXPECT_EQ(host.transport_entry("auto").name, "mpi");
}

}  // namespace
}  // namespace quadrille::comm
