// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/launch_line.hpp"

#include <gtest/gtest.h>

namespace quadrille::commands {
namespace {

TEST(LaunchLine, SrunStartsARankPerGpuThatSeesAll) {
  LaunchFacts const facts{
      .is_slurm = true, .nodes = 2, .ranks_per_node = 4, .cores_per_node = 64, .gpus_per_node = 4};
  EXPECT_EQ(launch_line(facts, "quadrille doctor"),
            "srun --mpi=pmix --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --gpu-bind=none "
            "--cpus-per-task=16 --kill-on-bad-exit=1 -W 60 quadrille doctor");
}

TEST(LaunchLine, MpirunHasTheOptionsThatItsMpiNeeds) {
  LaunchFacts facts{.ranks_per_node = 2, .cores_per_node = 2};
  EXPECT_EQ(launch_line(facts, "q"), "mpirun -n 2 --bind-to none q");
  facts = {.is_root = true, .nodes = 3, .ranks_per_node = 4, .cores_per_node = 2};
  EXPECT_EQ(
      launch_line(facts, "q"),
      "mpirun -n 12 --map-by ppr:4:node --oversubscribe --bind-to none --allow-run-as-root q");
  facts.is_open_mpi = false;
  EXPECT_EQ(launch_line(facts, "q"), "mpirun -n 12 q");
}

}  // namespace
}  // namespace quadrille::commands
