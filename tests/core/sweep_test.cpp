// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/config.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quadrille::core {
namespace {

using Texts = std::vector<std::string>;

std::string why(std::string_view text) {
  auto const values = expand_sweep(text);
  return values ? "" : values.why();
}

bool has(std::string const& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Sweep, PlainTextsStandForThemselves) {
  for (std::string const text : {"2x2", "16Ki", "(8,9,10)", "auto:70%", "ring", ""}) {
    EXPECT_EQ(*expand_sweep(text), Texts{text});
  }
}

TEST(Sweep, RangesIncludeTheirEnd) {
  EXPECT_EQ(*expand_sweep("1:9:+2"), (Texts{"1", "3", "5", "7", "9"}));
  EXPECT_EQ(*expand_sweep("1:8:+2"), (Texts{"1", "3", "5", "7"}));
  EXPECT_EQ(*expand_sweep("0:2:+1"), (Texts{"0", "1", "2"}));
  EXPECT_EQ(*expand_sweep("2:16:*2"), (Texts{"2", "4", "8", "16"}));
  EXPECT_EQ(*expand_sweep("2:15:*2"), (Texts{"2", "4", "8"}));
  EXPECT_EQ(*expand_sweep("1Ki:4Ki:*2"), (Texts{"1024", "2048", "4096"}));
  EXPECT_EQ(*expand_sweep("5:5:+1"), Texts{"5"});
}

TEST(Sweep, RangesEndAtTheLargestCount) {
  EXPECT_EQ(expand_sweep("1:4194304Ti:*2")->size(), 63U);
  EXPECT_EQ(*expand_sweep("4194304Ti:4194304Ti:*2"), Texts{"4611686018427387904"});
  EXPECT_EQ(expand_sweep("0:4194304Ti:+4194304Ti")->size(), 2U);
}

TEST(Sweep, TuplesZip) {
  EXPECT_EQ(*expand_sweep("(1:3:+1,8)"), (Texts{"(1,8)", "(2,8)", "(3,8)"}));
  EXPECT_EQ(*expand_sweep("(1:3:+1, 2:8:*2)"), (Texts{"(1,2)", "(2,4)", "(3,8)"}));
  EXPECT_TRUE(has(why("(1:3:+1,1:2:+1)"), "have 3 and 2 values"));
}

TEST(Sweep, BadRangesSayWhy) {
  EXPECT_TRUE(has(why("1:9:2"), "start:end:+step or start:end:*factor"));
  EXPECT_TRUE(has(why("9:1:+2"), "ends before it starts"));
  EXPECT_TRUE(has(why("1:9:+0"), "does not advance"));
  EXPECT_TRUE(has(why("1:9:*1"), "does not advance"));
  EXPECT_TRUE(has(why("0:9:*2"), "does not advance"));
  EXPECT_TRUE(has(why("1:9K:+1"), "use Ki (1024) or k (1000)"));
  EXPECT_TRUE(has(why("a:9:+1"), "not a count"));
  EXPECT_TRUE(has(why("1:1G:+1"), "more than 10000 values"));
}

TEST(Sweep, SizesRead) {
  auto const one = parse_size("8Ki");
  EXPECT_EQ(one->count, 1);
  EXPECT_EQ((*one)[0], 8192);
  EXPECT_EQ((*one)[2], 8192) << "missing extents repeat the last";
  auto const two = parse_size("( 3 , 4 )");
  EXPECT_EQ(two->count, 2);
  EXPECT_EQ((*two)[0], 3);
  EXPECT_EQ((*two)[2], 4);
  auto const three = parse_size("(16Ki,16Ki,0)");
  EXPECT_EQ(three->count, 3);
  EXPECT_EQ((*three)[2], 0);
  EXPECT_EQ(parse_size("auto:70%")->auto_fraction, 0.7);
  EXPECT_EQ(parse_size("auto:100%")->auto_fraction, 1);
}

TEST(Sweep, SizesThatAreNone) {
  for (char const* const text : {"", "()", "(1,)", "(1,2,3,4,5,6,7,8,9)", "(1;2)", "-1", "8K",
                                 "1:9", "auto", "auto:", "auto:%", "auto:0%", "auto:101%",
                                 "auto:-5%", "auto:70", "auto:nan%", "auto:7x%", "(auto:70%)"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

TEST(Suggestion, IsTheNearestNameIfOneIsNear) {
  Texts const names{"panel", "buffers", "block", "broadcast", "all", "run", "nn"};
  auto const near = [&](std::string_view name) { return suggestion(name, names, ""); };

  EXPECT_EQ(near("panle"), " (did you mean 'panel'?)") << "two letters swapped";
  EXPECT_EQ(near("Panel"), " (did you mean 'panel'?)");
  EXPECT_EQ(near("buffer"), " (did you mean 'buffers'?)");
  EXPECT_EQ(near("brodcst"), " (did you mean 'broadcast'?)");
  EXPECT_EQ(near("rnu"), " (did you mean 'run'?)");
  EXPECT_EQ(near("nt"), " (did you mean 'nn'?)");
  for (char const* const far : {"temperature", "vllm", "best", "lock in", "x", ""}) {
    EXPECT_EQ(near(far), "") << far;
  }
  EXPECT_EQ(suggestion("vllm", names, "; one of all"), "; one of all");
  EXPECT_EQ(suggestion("x", {}, ""), "");
  Texts many{"vector", "virtual", "valid"};
  for (int i = 0; i < 60; ++i) many.insert(many.begin(), fmt::format("temperature{}", i));
  EXPECT_EQ(suggestion("vllm", many, "; one of all"),
            "; of 63 the nearest are valid, vector and virtual");
  EXPECT_EQ(near(std::string(100'000, 'b')), "");
}

}  // namespace
}  // namespace quadrille::core
