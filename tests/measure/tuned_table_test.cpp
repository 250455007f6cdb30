// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/tuned_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

namespace quadrille::measure {
namespace {

TuningClass const kClass{"gemm", "NVIDIA \"H200\"", "f32", "nn", "4096x4096x4096"};

TunedEntry entry(std::string variant, std::string configuration, double rate) {
  return {kClass, std::move(variant), std::move(configuration), rate};
}

std::string shape(std::array<std::int64_t, 3> const& extents) { return shape_class(extents); }

TEST(TunedTable, ClassesShapesByTheNearestPowersOfTwo) {
  EXPECT_EQ(shape({4096, 4096, 4096}), "4096x4096x4096");
  EXPECT_EQ(shape({2897, 5792, 5793}), "4096x4096x8192");  // 2^11.5 = 2896.3, 2^12.5 = 5792.6
  EXPECT_EQ(shape({2896, 0, 1}), "2048x64x64");
  EXPECT_EQ(shape({1 << 20, 16385, 90}), "16384x16384x64");
}

TEST(TunedTable, ReadsWhatItWrote) {
  TunedTable table;
  table.put(entry("tuned", "BM=1", 3e13));
  table.put(entry("simt_async", "", 4.5e13));
  core::Parsed<TunedTable> const read = TunedTable::parse(table.to_toml(), "x.toml");
  ASSERT_TRUE(read) << read.why();
  EXPECT_EQ(read->entries(), table.entries());
  EXPECT_TRUE(TunedTable::parse("# none yet\n", "x.toml")->entries().empty());
}

TEST(TunedTable, TakesNothingThatItWouldNotReadAgain) {
  TunedTable table;
  TunedEntry nameless = entry("a", "", 1);
  nameless.of.device.clear();
  for (TunedEntry const& one : {entry("a", "", 0), entry("a", "", INFINITY), entry("a", "", NAN),
                                entry("", "", 1), nameless}) {
    table.put(one);
    table.put_problem(one);
  }
  EXPECT_TRUE(table.entries().empty()) << table.to_toml();
}

TEST(TunedTable, FindsTheFastestFirstAndOfOneClassAlone) {
  TunedTable table;
  table.put(entry("a", "X=1", 1));
  table.put(entry("b", "X=2", 3));
  table.put(entry("c", "X=3", 2));
  TunedEntry other = entry("d", "X=4", 9);
  other.of.layout = "nt";
  table.put(other);
  other.variant = "a";
  table.put(other);                   // not in place of that of the other class
  table.put(entry("a", "X=5", 2.5));  // in place of the first
  std::string found;
  for (TunedEntry const& one : table.find(kClass)) found += one.variant + one.configuration + ' ';
  EXPECT_EQ(found, "bX=2 aX=5 cX=3 ");
  EXPECT_EQ(table.find(other.of).size(), 2U);
  for (auto member : {&TuningClass::operation, &TuningClass::device, &TuningClass::type,
                      &TuningClass::layout, &TuningClass::shape, &TuningClass::problem}) {
    TuningClass of = kClass;
    of.*member = "another";
    EXPECT_TRUE(table.find(of).empty());
  }
}

TEST(TunedTable, HasOneRowOfAProblemAndTheLatestOfMany) {
  TunedTable table;
  table.put(entry("a", "", 5));
  auto const of_problem = [](std::size_t i, std::string variant) {
    TunedEntry one = entry(std::move(variant), "", 1);
    one.of.problem = std::to_string(i);
    return one;
  };
  for (std::size_t i = 0; i < TunedTable::kMaxProblems; ++i) {
    table.put_problem(of_problem(i, "slower"));
    table.put_problem(of_problem(i, "b"));
  }
  EXPECT_EQ(table.entries().size(), TunedTable::kMaxProblems + 1);
  ASSERT_EQ(table.find(of_problem(0, "").of).size(), 1U);
  EXPECT_EQ(table.find(of_problem(0, "").of)[0].variant, "b");
  EXPECT_EQ(table.find(kClass).size(), 1U) << "problems are none of their class";

  table.put_problem(of_problem(TunedTable::kMaxProblems, "b"));
  EXPECT_TRUE(table.find(of_problem(0, "").of).empty());
  EXPECT_EQ(table.find(of_problem(1, "").of).size(), 1U);
  EXPECT_EQ(table.find(kClass).size(), 1U);
  EXPECT_EQ(TunedTable::parse(table.to_toml(), "x.toml")->entries(), table.entries());
}

TEST(TunedTable, SaysWhereAFileIsWrong) {
  auto const why = [](std::string const& text) {
    core::Parsed<TunedTable> const read = TunedTable::parse(text, "x.toml");
    return read ? "" : read.why();
  };
  EXPECT_EQ(why("[[tuned]]\nvariant = 3\n").substr(0, 9), "x.toml:1:");
  EXPECT_NE(why("\n[[tuned]]\nbad = \"x\"\n").find("'bad'"), std::string::npos);
  EXPECT_NE(why("[tuned]\na = 1\n").find("[[tuned]]"), std::string::npos);
  EXPECT_NE(why("\n=\n").find("x.toml:2:"), std::string::npos);
  EXPECT_NE(why("\xff = 1\n").find("ASCII"), std::string::npos);
  TunedTable table;
  table.put(entry("a", "X=1", 1));
  std::string const text = table.to_toml();
  EXPECT_EQ(why(text), "");
  EXPECT_NE(why(text + "[[more]]\n").find("[[tuned]]"), std::string::npos);
  for (char const* const key : {"operation", "device", "type", "shape", "variant", "rate"}) {
    std::string less = text;
    std::size_t const at = less.find(std::string{key} + " = ");
    less.erase(at, less.find('\n', at) + 1 - at);
    EXPECT_NE(why(less).find("needs operation"), std::string::npos) << less;
  }
  EXPECT_NE(why("tuned = [1]\n").find("[[tuned]]"), std::string::npos);
  EXPECT_NE(why("[[tuned]]\nrate = \"1\"\n").find("'rate'"), std::string::npos);
  for (char const* const rate : {"nan", "inf", "0", "-1"}) {
    std::string other = text;
    other.replace(other.find("1.000000e+00"), 12, rate);
    EXPECT_NE(why(other), "") << other;
  }
}

}  // namespace
}  // namespace quadrille::measure
