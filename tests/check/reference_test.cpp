// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "check/reference.hpp"

#include <gtest/gtest.h>

namespace quadrille::check {
namespace {

TEST(Reference, WhatIsWrittenIsRead) {
  std::vector<Subject> subjects;
  for (double const rate : {100.0, 80.0, 110.0}) {
    subjects.push_back({.node = "node",
                        .gpu = static_cast<int>(subjects.size()),
                        .model = "GPU \"A\"",
                        .readings = {{.metric = find_metric("gemm_f64"), .value = rate},
                                     {.metric = find_metric("launch"), .value = 1 / rate},
                                     {.metric = find_metric("gemm_f32"), .missing = "none"}}});
  }
  subjects[2].readings[0].wrong = "C(0, 0)";

  std::string const text = reference_of(subjects, "here, today");
  core::Parsed<Reference> const read = read_reference(text, "table.toml");

  ASSERT_TRUE(read) << read.why() << text;
  auto const& gpu = read->at("GPU \"A\"");
  EXPECT_EQ(gpu.size(), 2U) << text;
  Expected const& product = gpu.at(find_metric("gemm_f64"));
  EXPECT_DOUBLE_EQ(product.median, 90) << "without the wrong one";
  EXPECT_NEAR(product.band, 1.25 * (1 - 80.0 / 90), 1e-3);
  EXPECT_DOUBLE_EQ(gpu.at(find_metric("launch")).median, 0.01);
  EXPECT_NEAR(gpu.at(find_metric("launch")).band, 0.25, 1e-3);
}

TEST(Reference, TheShippedTableIsOne) {
  Reference const shipped = shipped_reference();

  ASSERT_TRUE(shipped.contains("NVIDIA H200"));
  Expected const& product = shipped.at("NVIDIA H200").at(find_metric("gemm_f64"));
  EXPECT_GT(product.median, 5e13);
  EXPECT_LT(product.median, 6.69e13) << "the peak";
}

TEST(Reference, BadTablesSayWhatIsWrong) {
  struct Bad {
    char const* text;
    char const* why;
  };
  for (Bad const& bad : {
           Bad{"", "has no [[device]]"},
           Bad{"[[device]]\nmodel = 3\n", "table.toml:1: a device needs a model"},
           Bad{"[[device]]\nmodel = \"A\"\n[[device]]\nmodel = \"A\"\n", "stands twice"},
           Bad{"[[device]]\nmodel = \"A\"\ngemm_f46 = { median = 1 }\n", "did you mean 'gemm_f64'"},
           Bad{"[[device]]\nmodel = \"A\"\ngemm_f64 = 1\n", "needs { median"},
           Bad{"[[device]]\nmodel = \"A\"\ngemm_f64 = { median = -1 }\n", "needs { median"},
           Bad{"[[device]]\nmodel = \"A\"\ngemm_f64 = { median = 1, band = 2 }\n",
               "needs { median"},
           Bad{"[[device]]\nmodel = \"A\"\ngemm_f64 = { median = 1, wide = 2 }\n", "'wide'"},
           Bad{"[device]\nmodel = \"A\"\n", "no [[device]]"},
           Bad{"[[device]\n", "table.toml:1"},
       }) {
    core::Parsed<Reference> const read = read_reference(bad.text, "table.toml");
    ASSERT_FALSE(read) << bad.text;
    EXPECT_NE(read.why().find(bad.why), std::string::npos) << read.why();
  }
}

}  // namespace
}  // namespace quadrille::check
