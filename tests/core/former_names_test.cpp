// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/former_names.hpp"

#include "core/options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quadrille::core {
namespace {

NameTable const& name_table() {
  static WorkloadSchema const vector{.name = "vector", .extents = {"n"}, .variants = {"naive"}};
  static WorkloadSchema const* const all[]{&vector};
  static NameTable const table{.workloads = all, .transports = {"auto"}};
  return table;
}

TEST(FormerNames, OfAConfigurationAreThoseOfItsKeysAndVariantsAlone) {
  EXPECT_EQ(with_present_names("[run]\ntimeout.patience = \"1s\"\ndeal = 1\n\n"
                               "[[case]]\nname = \"deal\"\nworkload = \"ring_attention\"\n"
                               "mask = \"deal\"\ndeal = \"zigzag\"\n\n"
                               "[[case]]\nname = \"most_running\"\nworkload = \"vector\"\n"
                               "deal = \"zigzag\""),
            "[run]\ntimeout.grace = \"1s\"\ndeal = 1\n\n"
            "[[case]]\nname = \"deal\"\nworkload = \"ring_attention\"\n"
            "mask = \"deal\"\npartition = \"zigzag\"\n\n"
            "[[case]]\nname = \"most_running\"\nworkload = \"vector\"\n"
            "deal = \"zigzag\"");
  EXPECT_EQ(with_present_names(""), "");
  EXPECT_EQ(with_present_names("workload\nworkload = \n = \n"), "workload\nworkload = \n = \n");
}

TEST(FormerNames, OfVariantsAreWholeWordsOfTheKeysThatNameThem) {
  char const* const former =
      "mma_async_stage2 a=1; mma_async_stage21; wmma_async_two_slots: 3 TFLOP/s";
  char const* const present =
      "mma_async_cross_tile_pipeline a=1; mma_async_stage21; wmma_async_double_buffer: 3 TFLOP/s";
  for (char const* const key : {"variant", "config", "published"}) {
    EXPECT_EQ(with_present_variants(key, former), present) << key;
    EXPECT_EQ(with_present_names(std::string{key} + " = " + former),
              std::string{key} + " = " + present);
  }
  EXPECT_EQ(with_present_variants("name", former), former);
  EXPECT_EQ(with_present_id("mma_async_stage2:mma_async_stage2"),
            "mma_async_stage2:mma_async_cross_tile_pipeline");
  EXPECT_EQ(with_present_id("mma_async_stage2"), "mma_async_stage2");
}

TEST(FormerNames, AreTakenInInputsWithANote) {
  std::string const one_case = "[[case]]\nworkload = \"vector\"\nsize = 8\n";
  std::string const former = "[run.timeout]\npatience = \"7s\"\n" + one_case;
  std::vector<std::string> const sets{"run.timeout.patience=8s", "run.timeout.patience=9s"};
  std::vector<std::string> const note{"key 'timeout.patience' is called 'timeout.grace' now"};
  std::vector<std::string> notes;

  auto const of_file = resolve(former, "file", {}, name_table(), false, &notes);
  ASSERT_TRUE(of_file) << of_file.why();
  EXPECT_EQ(of_file->run.timeout.grace_s, 7);
  EXPECT_EQ(notes, note);

  auto const of_set = resolve(former, "file", sets, name_table(), false, &notes);
  ASSERT_TRUE(of_set) << of_set.why();
  EXPECT_EQ(of_set->run.timeout.grace_s, 9);
  EXPECT_EQ(notes, note);

  auto const wrong = resolve(former, "file", std::vector<std::string>{"run.timeout.patience=x"},
                             name_table(), false, &notes);
  EXPECT_FALSE(wrong);
  EXPECT_EQ(notes, note);

  auto const present = resolve(to_toml(*of_file), "file", {}, name_table(), false, &notes);
  ASSERT_TRUE(present) << present.why();
  EXPECT_EQ(*present, *of_file);
  EXPECT_TRUE(notes.empty());
}

TEST(FormerNames, BesideThePresentOneAreAnError) {
  for (char const* const both :
       {"patience = \"7s\", grace = \"7s\"", "grace = \"7s\", patience = \"7s\""}) {
    auto const config = resolve(std::string{"[run]\ntimeout = { "} + both +
                                    " }\n[[case]]\nworkload = \"vector\"\nsize = 8\n",
                                "file", {}, name_table());
    ASSERT_FALSE(config) << both;
    EXPECT_EQ(config.why(),
              "file:2: key 'timeout.patience' is called 'timeout.grace' now, and both are given; "
              "leave out one");
  }
}

}  // namespace
}  // namespace quadrille::core
