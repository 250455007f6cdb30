// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/world.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

namespace quadrille::comm {
namespace {

LauncherFacts read_with(std::initializer_list<std::pair<char const*, char const*>> variables) {
  for (char const* name :
       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
        "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_LOCALID", "PMI_RANK",
        "PMI_SIZE", "MPI_LOCALRANKID", "PALS_RANKID", "PALS_LOCAL_RANKID", "PMIX_RANK"}) {
    unsetenv(name);
  }
  for (auto const& [name, value] : variables) setenv(name, value, 1);
  return read_launcher();
}

TEST(Launcher, NothingSetMeansNoLauncher) {
  LauncherFacts const facts = read_with({});
  EXPECT_EQ(facts.name, "");
  EXPECT_EQ(facts.rank, -1);
  EXPECT_EQ(facts.size, -1);
  EXPECT_EQ(facts.local_rank, -1);
}

TEST(Launcher, MpirunInsideSlurmIsOpenMpi) {
  LauncherFacts const facts = read_with({{"OMPI_COMM_WORLD_RANK", "3"},
                                         {"OMPI_COMM_WORLD_SIZE", "8"},
                                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                         {"SLURM_PROCID", "0"},
                                         {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_EQ(facts.name, "Open MPI");
  EXPECT_EQ(facts.rank, 3);
  EXPECT_EQ(facts.size, 8);
  EXPECT_EQ(facts.local_rank, 1);
}

TEST(Launcher, SrunCountsAndTheBatchScriptDoesNot) {
  LauncherFacts const step =
      read_with({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_LOCALID", "0"}});
  EXPECT_EQ(step.name, "Slurm");
  EXPECT_EQ(step.size, 4);
  EXPECT_EQ(step.local_rank, 0);
  EXPECT_EQ(read_with({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}).name, "");
}

TEST(Launcher, OthersAreKnown) {
  EXPECT_EQ(read_with({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}).name, "MPICH");
  EXPECT_EQ(read_with({{"PALS_RANKID", "0"}, {"PMI_SIZE", "2"}, {"PMI_RANK", "0"}}).name, "PALS");
  LauncherFacts const pmix = read_with({{"PMIX_RANK", "5"}});
  EXPECT_EQ(pmix.name, "PMIx");
  EXPECT_EQ(pmix.rank, 5);
  EXPECT_EQ(pmix.size, -1);
}

TEST(Launcher, NoNumberIsNothing) {
  EXPECT_EQ(read_with({{"PMI_RANK", "x"}, {"PMI_SIZE", "2"}}).name, "");
}

}  // namespace
}  // namespace quadrille::comm
