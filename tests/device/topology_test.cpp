// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/topology.hpp"

#include <gtest/gtest.h>

namespace quadrille::device {
namespace {

// Run with HWLOC_SYNTHETIC: two nodes of two cores with two hardware threads each. The second thread of
// core i is CPU i + 4, as Linux counts on most machines.
TEST(Topology, CountsHardwareThreadsOfACoreOnce) {
  EXPECT_EQ(cores_of("0-7").size(), 4U);
  EXPECT_EQ(cores_of("1,5").size(), 1U);
  EXPECT_EQ(cores_of("0-1").size(), 2U);
  EXPECT_EQ(cores_of("1"), cores_of("5"));
  EXPECT_NE(cores_of("1"), cores_of("2"));
  EXPECT_TRUE(cores_of("").empty());
  EXPECT_TRUE(cores_of("64-80").empty());
  EXPECT_EQ(threads_per_core(), 2);
}

TEST(Topology, KnowsWhatIsNextToANode) {
  EXPECT_EQ(cpus_of_numa_node(1), "2-3,6-7");
  EXPECT_EQ(cpus_of_numa_node(7), "");
  EXPECT_EQ(cpus_of_numa_node(-1), "");
  EXPECT_EQ(numa_node_of("0000:18:00.0"), -1);
  EXPECT_EQ(numa_node_of("none"), -1);
}

TEST(Topology, MadeUpMachinesHaveNeitherAModelNorCards) {
  EXPECT_EQ(cpu_name(), "CPU");
  EXPECT_EQ(network_cards(), "none");
}

}  // namespace
}  // namespace quadrille::device
