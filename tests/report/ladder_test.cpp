// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/ladder.hpp"

#include <gtest/gtest.h>

namespace quadrille::report {
namespace {

using measure::Record;

/// A measurement of gemm at so many GFLOP/s, of which the source published as many.
Record rung(std::string const& variant, double rate, double published) {
  Record record;
  record.name = record.workload = "gemm";
  record.id = "gemm:" + variant;
  record.type = "f32";
  record.variant = variant;
  record.unit = "FLOP/s";
  record.size = {64, 64, 64};
  record.ranks = 1;
  record.amount = 1e6;
  record.published = published * 1e9;
  record.published_on = "a GPU";
  record.outcome = measure::Outcome::pass;
  record.seconds.assign(6, 1e-3 / rate);
  finish(record);
  return record;
}

TEST(Ladder, GainsAreOverTheFastestAboveAndNameItWhereThatIsNotTheRowAbove) {
  measure::RunResult result;
  // The third shows what 16-byte accesses are worth; the fourth builds on the second.
  result.records = {rung("naive", 10, 1), rung("vectorized", 40, 0),
                    rung("vectorized_scalar", 20, 0), rung("swizzled_b", 50, 3)};

  std::string const text = render_ladders(result);

  for (char const* const row :
       {"| 10.0 GFLOP/s | - | - | 1.00 GFLOP/s | - |\n", "| 40.0 GFLOP/s | 4.00 | - | - | - |\n",
        "| 20.0 GFLOP/s | 0.50 | - | - | - |\n",
        "| 50.0 GFLOP/s | 1.25 (`vectorized`) | - | 3.00 GFLOP/s | "
        "3.00 (`naive`) |\n"}) {
    EXPECT_NE(text.find(row), std::string::npos) << row << "is not in\n" << text;
  }
}

}  // namespace
}  // namespace quadrille::report
