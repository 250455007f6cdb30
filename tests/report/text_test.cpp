// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/text.hpp"

#include "report/terminal.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace quadrille::report {
namespace {

TEST(Text, IsMeasuredInCharacters) {
  EXPECT_EQ(width_of("µs"), 2U);
  EXPECT_EQ(clip("abcdefghij", 7), "ab...ij");
  EXPECT_EQ(clip("abcdefg", 7), "abcdefg");
  EXPECT_EQ(clip_end("µµµµµ", 4), "µ...");
}

TEST(Text, IsShortenedSoThatWhatDiffersStillDiffers) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(clip_apart({"short", "a_tile_of_one", "a_tile_of_two", "a_tile_of_one"}, 11),
            (Texts{"short", "a_ti..._one", "a_ti..._two", "a_ti..._one"}));
  EXPECT_EQ(clip_apart({"a_tile_of_one_more", "a_tile_of_two_more"}, 11),
            (Texts{"a_...e_more", "a_...o_more"}));
  EXPECT_EQ(clip_apart({"samesame_two_samesame", "samesame_one_samesame", "same"}, 10),
            (Texts{"samesame~2", "samesame~1", "same"}));
}

TEST(Text, IsBrokenAtBlanksButNotBeforePercent) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrap("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrap("gemm 68 %, dot", 7), (Lines{"gemm", "68 %,", "dot"}));
  EXPECT_EQ(wrap("abcdefghij b", 7), (Lines{"ab...ij", "b"}));
  EXPECT_EQ(wrap("", 7), Lines{""});
}

TEST(Ranged, JoinsMessagesThatDifferInValues) {
  Ranged ranged{"the leg 'x' varies by 22 % (rank 3)"};

  EXPECT_TRUE(ranged.merge(Ranged{"the leg 'x' varies by 142 % (rank 3)"}));
  EXPECT_TRUE(ranged.merge(Ranged{"the leg 'x' varies by 9.5 % (rank 3)"}));

  EXPECT_EQ(ranged.text(), "the leg 'x' varies by 9.5 to 142 % (rank 3)");
  EXPECT_FALSE(ranged.merge(Ranged{"the leg 'y' varies by 22 % (rank 3)"}));
  EXPECT_FALSE(ranged.merge(Ranged{"the leg 'x' varies by 22 % (rank 4)"})) << "4 is no value";
  EXPECT_EQ(Ranged{"takes 1.5 x, f64 x"}.text(), "takes 1.5 x, f64 x");
}

Terminal chosen(std::size_t columns, std::map<std::string, char const*> const& variables) {
  return choose_terminal(columns, [&](char const* name) {
    auto const found = variables.find(name);
    return found == variables.end() ? nullptr : found->second;
  });
}

TEST(Terminal, HasTheWidthOfColumnsThenOfTheTerminalElse80) {
  EXPECT_EQ(chosen(0, {}).width, 80U);
  EXPECT_EQ(chosen(132, {}).width, 132U);
  EXPECT_EQ(chosen(132, {{"COLUMNS", "100"}}).width, 100U);
  EXPECT_EQ(chosen(132, {{"COLUMNS", "wide"}}).width, 132U);
  EXPECT_EQ(chosen(0, {{"COLUMNS", "120"}}).width, 120U);
  EXPECT_EQ(chosen(60, {}).width, 60U);
  EXPECT_EQ(chosen(20, {}).width, 40U) << "texts cannot be read below";
}

TEST(Terminal, IsReadByAPersonWhereItIsOne) {
  EXPECT_TRUE(chosen(80, {{"TERM", "dumb"}}).is_read);
  EXPECT_FALSE(chosen(0, {{"COLUMNS", "80"}}).is_read);
}

TEST(Terminal, HasColoursWhereTheyAreSeenOrAskedFor) {
  EXPECT_TRUE(chosen(80, {}).has_colours);
  EXPECT_FALSE(chosen(0, {}).has_colours);
  EXPECT_FALSE(chosen(0, {{"COLUMNS", "80"}}).has_colours);
  EXPECT_FALSE(chosen(80, {{"NO_COLOR", "1"}}).has_colours);
  EXPECT_TRUE(chosen(80, {{"NO_COLOR", ""}}).has_colours) << "empty counts as not set";
  EXPECT_FALSE(chosen(80, {{"TERM", "dumb"}}).has_colours);
  EXPECT_TRUE(chosen(0, {{"CLICOLOR_FORCE", "1"}}).has_colours);
  EXPECT_FALSE(chosen(0, {{"CLICOLOR_FORCE", "0"}}).has_colours);
  EXPECT_FALSE(chosen(80, {{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}}).has_colours);
}

}  // namespace
}  // namespace quadrille::report
