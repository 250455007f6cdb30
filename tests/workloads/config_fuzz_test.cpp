// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "support/fuzz.hpp"
#include "workloads/registry.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace quadrille {
namespace {

std::vector<std::string> const kTokens{"[",
                                       "[[",
                                       "]]",
                                       "[[case]]\n",
                                       "[run]\n",
                                       "{",
                                       "}",
                                       "\"",
                                       "\"\"\"",
                                       "'",
                                       "=",
                                       " = ",
                                       ",",
                                       ".",
                                       "\n",
                                       "#",
                                       "\\",
                                       "\\u0000",
                                       "\x1b",
                                       "a.",
                                       "0",
                                       "-1",
                                       "1e999",
                                       "nan",
                                       "inf",
                                       "9223372036854775807",
                                       "0x",
                                       "1:10000:+1",
                                       "\"1:9999:+1\",",
                                       "(1:9999:+1,",
                                       "1:1Ti:*2",
                                       "auto:",
                                       "auto:70%",
                                       "Ki",
                                       "(1,2,3)",
                                       "true",
                                       "1979-05-27",
                                       "run",
                                       "size",
                                       "size = ",
                                       "name = ",
                                       "name = \"../x\"\n",
                                       "variant = [",
                                       "workload = \"gemm\"\n",
                                       "timeout",
                                       "warmup.",
                                       "published = [\"a: 1 s\",",
                                       "\xef\xbb\xbf",
                                       "\xff"};

std::string text_of(std::filesystem::path const& path) {
  std::ostringstream text;
  text << std::ifstream{path}.rdbuf();
  return text.str();
}

std::vector<std::string> inputs() {
  std::vector<std::string> texts;
  for (char const* const folder :
       {QUADRILLE_SOURCE "/inputs", QUADRILLE_SOURCE "/tests/workloads"}) {
    for (auto const& entry : std::filesystem::directory_iterator{folder}) {
      if (entry.path().extension() == ".toml") texts.push_back(text_of(entry.path()));
    }
  }
  return texts;
}

/// It is understood, and then written and understood again; or one line says why not.
void expect_contract(core::Parsed<core::Config> const& config, std::uint64_t number) {
  if (!config) {
    EXPECT_TRUE(test::is_one_clear_line(config.why()))
        << "input " << number << ": " << config.why();
    return;
  }
  core::NameTable const& name_table = workloads::name_table();
  ASSERT_LE(config->cases.size(), 10'000U) << "input " << number;
  if (config->cases.size() > 100) return;  // the round trip of so many takes its time
  auto const again = core::resolve(core::to_toml(*config), "again", {}, name_table);
  ASSERT_TRUE(again) << "input " << number << ": " << again.why();
  core::Config written = *config;
  written.about.reset();  // which stays with the file
  EXPECT_EQ(*again, written) << "input " << number;
}

TEST(ConfigFuzz, Files) {
  test::Mutator mutator{inputs(), kTokens, 1};
  auto const tried = test::fuzz(1.5, [&](std::uint64_t number) {
    expect_contract(core::resolve(mutator.input(number), "fuzz.toml", {}, workloads::name_table()),
                    number);
  });
  RecordProperty("inputs", static_cast<int>(tried));
}

TEST(ConfigFuzz, Sets) {
  test::Mutator mutator{
      {"run.seed=3", "run.timeout.init=2min", "size=8Ki", "size=(16Ki,16Ki,4Ki)",
       "size=[\"1:9:+2\", 7]", "variant=[\"reference\", \"best\"]", "gemm.size=auto:70%",
       "alpha=-0.5", "run.device_map=0,2,GPU-1", "name=a.b-c", "published=\"a: 3 GFLOP/s\"",
       "run.throttle=500 MB/s", "stop=1 %", "warmup={count = 1}"},
      kTokens,
      2};
  auto const tried = test::fuzz(0.5, [&](std::uint64_t number) {
    std::string const set = mutator.input(number);
    expect_contract(core::resolve("[[case]]\nworkload = \"gemm\"\nsize = 64\n", "--case",
                                  std::vector{set}, workloads::name_table(), number % 2 == 0),
                    number);
  });
  RecordProperty("inputs", static_cast<int>(tried));
}

TEST(ConfigFuzz, SweepsAndUnits) {
  test::Mutator mutator{{"1:9:+2", "2:16Ki:*2", "(1:3:+1,8)", "(1,2,3)", "auto:70%", "1.5Ki", "1e6",
                         "500 MB/s", "120s", "1 %", "309 GFLOP/s"},
                        kTokens,
                        3};
  auto const tried = test::fuzz(0.5, [&](std::uint64_t number) {
    std::string const text = mutator.input(number);
    if (auto const values = core::expand_sweep(text)) {
      EXPECT_LE(values->size(), 10'000U) << "input " << number;
    }
    if (auto const size = core::parse_size(text)) {
      EXPECT_LE(size->count, 8) << "input " << number;
    }
    if (auto const count = core::parse_count(text)) {
      EXPECT_GE(*count, 0) << "input " << number;
    }
    if (auto const rate = core::parse_rate(text)) {
      EXPECT_GT(*rate, 0) << "input " << number;
    }
    if (auto const seconds = core::parse_seconds(text)) {
      EXPECT_GE(*seconds, 0) << "input " << number;
    }
    core::parse_percent(text);
    core::parse_figure(text, 1);
    core::parse_device_map(text);
  });
  RecordProperty("inputs", static_cast<int>(tried));
}

// What chance finds too rarely: each takes all memory or time, or the stack, where nothing limits it.
TEST(ConfigFuzz, LargeAndDeep) {
  auto const repeated = [](std::string const& piece, std::size_t n) {
    std::string text;
    while (n-- > 0) text += piece;
    return text;
  };
  std::string const gemm = "[[case]]\nworkload = \"gemm\"\n";
  std::vector<std::string> const texts{
      repeated("a.", 200'000) + "a = 1",
      "[" + repeated("a.", 200'000) + "a]",
      gemm + repeated("x.", 100'000) + "y = 1",
      "a = " + repeated("[", 200'000),
      "a = " + repeated("{a=", 200'000),
      gemm + "size = [" + repeated("\"1:9999:+1\",", 10'000) + "]",
      gemm + "size = \"(" + repeated("1:9999:+1,", 10'000) + "1)\"",
      gemm + "size = \"1:9999:+1\"\npublished = [" + repeated("\"a: 1 s\",", 50'000) + "]",
      gemm + "size = \"1:9999:+1\"\nvariant = [" + repeated("\"best\",", 50'000) + "]",
      gemm + repeated("z", 500'000) + " = 1",
      "[[case]]\nworkload = \"" + repeated("gemm", 200'000) + "\"",
      repeated("[[case]]\nworkload=\"gemm\"\nsize=1\n", 25'000),
      repeated("x", 50'000'000)};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    test::fuzz_one(i, [&] {
      expect_contract(core::resolve(texts[i], "large.toml", {}, workloads::name_table()), i);
    });
  }
}

}  // namespace
}  // namespace quadrille
