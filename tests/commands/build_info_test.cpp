// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/build_info.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace quadrille::commands {
namespace {

bool is_recorded(char const* name) {
  setenv(name, "value", 1);
  auto const facts = environment_facts();
  unsetenv(name);
  return std::ranges::any_of(facts, [&](auto const& fact) { return fact.first == name; });
}

TEST(EnvironmentFacts, OnlyWhatMayInfluenceARunIsRecorded) {
  for (char const* const name : {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "SLURM_JOB_ID"}) {
    EXPECT_TRUE(is_recorded(name)) << name;
  }
  for (char const* const name : {"HOME", "AWS_REGION", "XCUDA_"}) {
    EXPECT_FALSE(is_recorded(name)) << name;
  }
}

TEST(EnvironmentFacts, SecretsAreNot) {
  for (char const* const name : {"SLURM_JWT", "OMPI_token", "UCX_PASSWORD", "NCCL_API_KEY",
                                 "SLURM_AUTH", "CUDA_SECRET", "OMP_credentials"}) {
    EXPECT_FALSE(is_recorded(name)) << name;
  }
}

}  // namespace
}  // namespace quadrille::commands
