// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/glossary.hpp"
#include "support/cases.hpp"
#include "support/expect_fails.hpp"
#include "support/sample_result.hpp"
#include "workloads/exchange.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

namespace quadrille::report {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::string shown(std::string_view key, measure::Record const& record) {
  return cell(column(key), record);
}
std::string written(std::string_view key, measure::Record const& record) {
  return to_text(column(key).value(record));
}

TEST(Columns, HaveKeysOfTheirOwn) {
  std::set<std::string_view> keys;
  for (Column const& column : columns()) EXPECT_TRUE(keys.insert(column.key).second) << column.key;
  EXPECT_EQ(column("median_s").heading.text, "median");
  EXPECT_FAILS(column("mode_s"), "no column 'mode_s'");
}

TEST(Columns, ShowOnScreenWhatTheyWrite) {
  measure::Record const r = test::sample_record();
  EXPECT_EQ(shown("size", r), "4Ki,4Ki,512");
  EXPECT_EQ(written("size", r), "4096x4096x512");
  EXPECT_EQ(shown("median_s", r), "160 ms");
  EXPECT_EQ(written("median_s", r), "0.16");
  EXPECT_EQ(shown("ratio_to_vendor", r), "1.43 [1.40, 1.46]");
  EXPECT_EQ(written("ratio_to_vendor", r), "1.43");
  EXPECT_EQ(shown("verdict", r), "PASS");
  EXPECT_EQ(written("modelled_link", r), "1");
  EXPECT_EQ(written("kernels", r), "gemm_naive_kernel: grid 128x128x1; another: block 32x1x1");
  EXPECT_EQ(shown("implementation", r), "cublasDgemm");
}

TEST(Columns, ShowFurtherRatesByTheirUnits) {
  measure::Record const r = test::sample_record();
  auto const shown_as = [&](double amount, std::string const& unit, double seconds = 0) {
    auto const [value, count] = extra_text({"what", amount, unit, seconds}, r);
    return value + '|' + count;
  };
  EXPECT_EQ(shown_as(3 << 20, "B"), "3.00 MiB|");
  EXPECT_EQ(shown_as(1, "s", 0.25), "250 ms|");
  EXPECT_EQ(shown_as(1e9, "B/s", 2), "500 MB/s|");
  EXPECT_EQ(shown_as(12.34, "%"), "12.3 %|");
  EXPECT_EQ(shown_as(29933, "tokens"), "29933|tokens");
  EXPECT_EQ(shown_as(1.0 / 16, "k"), "k/16|");
  EXPECT_EQ(shown_as(1.125, "k"), "9k/8|");
  EXPECT_EQ(shown_as(2, "k"), "2k|");
  EXPECT_EQ(shown_as(0.3, "k"), "0.3k|");
  EXPECT_EQ(shown_as(0.25, "flop/B"), "0.25|flop/B");
  EXPECT_EQ(shown_as(99.46, "tokens"), "99.5|tokens");
  EXPECT_EQ(shown_as(100.46, "tokens"), "100|tokens");
}

TEST(Columns, WhatIsMissingIsMissingEverywhere) {
  measure::Record r = test::sample_record();
  r.amount = 0;
  finish(r);
  r.ratio_to_vendor = r.ratio_to_copy = r.imbalance = kInf;
  r.time.median_low = std::numeric_limits<double>::quiet_NaN();
  r.leg_summary->hidden = -kInf;
  r.published = 0;
  for (std::string_view const key : {"rate", "percent_of_peak", "ratio_to_vendor", "ratio_to_copy",
                                     "imbalance", "median_low_s", "hidden", "published_rate"}) {
    EXPECT_EQ(shown(key, r), "-") << key;
    EXPECT_EQ(written(key, r), "") << key;
  }
}

TEST(Columns, AWrongResultHasAnErrorButNoSpeed) {
  measure::Record r = test::sample_record();
  r.outcome = measure::Outcome::fail;
  for (std::string_view const key : {"median_s", "rate", "percent_of_peak", "slowest_rank",
                                     "first_use_s", "ratio_to_copy", "hidden"}) {
    EXPECT_EQ(shown(key, r), "-") << key;
  }
  EXPECT_EQ(shown("error", r), "1.3e-16/3.5e-15");
  EXPECT_EQ(written("error", r), "1.25e-16");

  r.check.error = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(shown("error", r), "nan/3.5e-15");
  EXPECT_EQ(written("error", r), "");
}

TEST(Columns, AnInterruptedResultShowsWhatItSampled) {
  measure::Record r = test::sample_record();
  r.outcome = measure::Outcome::interrupted;
  EXPECT_EQ(shown("median_s", r), "160 ms");
  EXPECT_NE(shown("rate", r), "-");
  EXPECT_NE(shown("hidden", r), "-");
  EXPECT_EQ(shown("verdict", r), "INTERRUPTED");
  EXPECT_EQ(shown("error", r), "-") << "its last repetition was not checked";

  r.seconds.clear();
  finish(r);
  EXPECT_EQ(shown("median_s", r), "-");
}

/// 4 ranks with rows of 10 doubles, in 8 us.
measure::Record exchange(std::string const& workload) {
  measure::RunResult result;
  measure::Record& r = result.records.emplace_back();
  r.workload = workload;
  r.config = fmt::format("[[case]]\nworkload = \"{}\"\nsize = 10\n", workload);
  r.size = {10};
  r.ranks = 4;
  r.outcome = measure::Outcome::pass;
  r.seconds = {8e-6, 8e-6, 8e-6, 8e-6};
  finish(r);
  test::read_cases_again(result);
  EXPECT_EQ(r.unreadable, "");
  return r;
}

TEST(Columns, AnExchangeHasBytesOfMessagesAndALatency) {
  for (auto const& [workload, message_bytes] : {std::pair{"allreduce", "80"},
                                                {"alltoall", "24"},
                                                {"broadcast", "80"},
                                                {"sendrecv", "80"}}) {
    measure::Record r = exchange(workload);
    EXPECT_EQ(written("message_bytes", r), message_bytes) << workload;
    EXPECT_DOUBLE_EQ(std::stod(written("latency_us", r)), 8) << workload;

    r.outcome = measure::Outcome::fail;
    EXPECT_EQ(written("message_bytes", r), message_bytes) << workload;
    EXPECT_EQ(written("latency_us", r), "") << workload;
  }
  EXPECT_EQ(written("message_bytes", exchange("copy")), "") << "no message";
  EXPECT_EQ(written("latency_us", exchange("copy")), "") << "no exchange";
  EXPECT_EQ(written("message_bytes", test::sample_record()), "1000000") << "of its pairs";
}

TEST(Columns, AnExchangeHasTheBandwidthsOfNcclTests) {
  for (auto const& [workload, bus_share] :
       {std::pair{"allreduce", 1.5}, {"alltoall", 0.75}, {"broadcast", 1.}, {"sendrecv", 1.}}) {
    measure::Record const r = exchange(workload);
    std::vector<measure::SecondaryMetric> const extras =
        workloads::entry_of(*r.spec->workload).make(*r.spec, 4, 0)->describe({}).extras;
    ASSERT_EQ(extras.size(), 2U) << workload;
    EXPECT_EQ(extras[0].name + extras[1].name, "algbwbusbw");
    EXPECT_DOUBLE_EQ(rate_of(extras[0], r), 80 / 8e-6) << workload;
    EXPECT_DOUBLE_EQ(rate_of(extras[1], r), bus_share * 80 / 8e-6) << workload;
  }
}

TEST(Columns, AllWorkloadsWithRowsOfExchangesAreOneButForPairs) {
  for (measure::WorkloadEntry const* entry : workloads::workloads()) {
    bool const is_exchange =
        entry->variants == workloads::exchange_rows() && entry->schema.name != "pairs";
    EXPECT_EQ(workloads::operation_of(*entry).has_value(), is_exchange) << entry->schema.name;
  }
}

TEST(Metrics, AreExplainedUnderNamesOfTheirOwn) {
  std::set<std::string> names;
  for (ExplainedMetric const& metric : metrics()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_FALSE(metric.unit.empty() || metric.unit.find_first_of("[]:") != metric.unit.npos)
        << metric.name << ": " << metric.unit;
    EXPECT_TRUE(metric.meaning.ends_with('.')) << metric.name;
  }
  for (std::string const name :
       {"median", "peak", "at clock", "ceiling", "hidden", "cv", "busbw"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace quadrille::report
