// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/exchange.hpp"

#include "support/cases.hpp"
#include "support/sample_result.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quadrille::report {
namespace {

using measure::Outcome;

/// Rows of n doubles on 4 ranks, in so many seconds.
measure::Record exchange(std::string const& workload, std::int64_t n, double seconds,
                         std::string const& more = "") {
  measure::Record r;
  r.id = fmt::format("{}.{}:transport", workload, n);
  r.name = fmt::format("{}.{}", workload, n);
  r.workload = workload;
  r.type = "f64";
  r.variant = "transport";
  r.transport = "mpi";
  r.config =
      fmt::format("[[case]]\nworkload = \"{}\"\ntype = \"f64\"\nsize = {}\n{}", workload, n, more);
  r.size = {n};
  r.ranks = 4;
  r.outcome = Outcome::pass;
  r.unit = "B/s";
  r.amount = 1;
  r.seconds.assign(12, seconds);
  finish(r);
  return r;
}

measure::RunResult run_of(std::vector<measure::Record> records) {
  measure::RunResult result = test::sample_result();
  result.records = std::move(records);
  test::read_cases_again(result);
  return result;
}

/// The lines that are no comments.
std::vector<std::string> rows_of(std::string const& text) {
  std::vector<std::string> rows;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = text.find('\n', at);
    if (end > at && text[at] != '#') rows.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return rows;
}

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

using Rows = std::vector<std::string>;

TEST(Osu, HasATableForEachExchangeWithTimesInMicroseconds) {
  std::string const text = *render_osu(
      run_of({exchange("allreduce", 16, 12.3456e-6), exchange("allreduce", 1 << 20, 4e-3),
              exchange("alltoall", 16, 7e-6), exchange("broadcast", 2, 1e-6)}));

  EXPECT_EQ(rows_of(text), (Rows{"128                    12.35", "8388608              4000.00",
                                 "32                      7.00", "16                      1.00"}))
      << text;
  EXPECT_TRUE(
      text.starts_with("# OSU MPI Allreduce Latency Test\n# Quadrille 0.1.0, commit 1a72114"))
      << text;
  EXPECT_TRUE(has(text,
                  "# allreduce: variant transport, transport mpi, f64, 4 ranks\n"
                  "# Datatype: MPI_DOUBLE.\n# Size       Avg Latency(us)\n"))
      << text;
  EXPECT_TRUE(has(text, "\n\n# OSU MPI All-to-All Personalized Exchange Latency Test\n")) << text;
  EXPECT_TRUE(has(text, "\n\n# OSU MPI Broadcast Latency Test\n")) << text;
}

TEST(Osu, HasTheLatencyAndTheBandwidthOfTheFirstPair) {
  measure::Record r = exchange("pairs", 1000, 1);
  r.pairs = {{0, 1, "memory", 8000, {2e-6}, {4e-6}}, {1, 0, "memory", 8000, {3e-6}, {5e-6}}};

  std::string const text = *render_osu(run_of({r}));

  EXPECT_EQ(rows_of(text), (Rows{"8                       2.00", "8000                 2000.00"}));
  EXPECT_TRUE(has(text, "# OSU MPI Latency Test\n")) << text;
  EXPECT_TRUE(has(text, "# OSU MPI Bandwidth Test\n")) << text;
  EXPECT_TRUE(has(text, "\n# Size      Bandwidth (MB/s)\n")) << text;
}

TEST(NcclTests, HasTheColumnsOfTheOutOfPlaceHalf) {
  measure::Record wrong = exchange("allreduce", 32, 1);
  wrong.outcome = Outcome::fail;
  wrong.check.wrong = 7;
  wrong.reason = "7 elements differ";
  std::string const text = *render_nccl_tests(
      run_of({exchange("allreduce", 16, 10e-6), exchange("allreduce", 1 << 27, 40e-3), wrong,
              exchange("alltoall", 1024, 4e-6), exchange("broadcast", 1024, 4e-6),
              exchange("sendrecv", 1024, 4e-6)}));

  EXPECT_EQ(
      rows_of(text),
      (Rows{
          "         128            16    double     sum      -1    10.00    0.01    0.02       0",
          "  1073741824     134217728    double     sum      -1    40000   26.84   40.27       0",
          "        8192           256    double    none      -1     4.00    2.05    1.54       0",
          "        8192          1024    double    none       0     4.00    2.05    2.05       0",
          "        8192          1024    double    none      -1     4.00    2.05    2.05       0"}))
      << text;
  EXPECT_TRUE(
      has(text,
          "#                                                              out-of-place\n"
          "#       size         count      type   redop    root     time   algbw   busbw  #wrong\n"
          "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n"))
      << text;
  EXPECT_TRUE(has(text,
                  "# allreduce.32 transport 32: FAIL; 7 elements differ\n"
                  "# Out of bounds values : 1 FAILED\n# Avg bus bandwidth    : 20.1423\n"))
      << text;
  for (char const* const name :
       {"all_reduce_perf", "alltoall_perf", "broadcast_perf", "sendrecv_perf"}) {
    EXPECT_TRUE(has(text, fmt::format("# Collective test starting: {}\n", name))) << name;
  }
}

TEST(NcclTests, HasATableForEachFurtherSetting) {
  std::string const text =
      *render_nccl_tests(run_of({exchange("allreduce", 16, 10e-6),
                                 exchange("allreduce", 16, 10e-6, "operation = \"max\"\n")}));

  EXPECT_EQ(rows_of(text).size(), 2U);
  EXPECT_TRUE(has(text, ", operation = max\n")) << text;
  EXPECT_TRUE(has(text, "    double     max ")) << text;
}

TEST(Exchanges, RefuseACaseThatTheOtherProgramHasNoTestOf) {
  measure::Record const allreduce = exchange("allreduce", 16, 1);
  for (auto const& [render, workload] :
       {std::pair{&render_osu, "copy"}, {&render_osu, "sendrecv"}, {&render_nccl_tests, "copy"}}) {
    auto const refused = render(run_of({allreduce, exchange(workload, 16, 1)}));
    ASSERT_FALSE(refused) << workload;
    EXPECT_TRUE(has(refused.why(), fmt::format("case '{}.16'", workload))) << refused.why();
    EXPECT_TRUE(has(refused.why(), "--only")) << refused.why();
  }
  measure::Record pairs = exchange("pairs", 16, 1);
  EXPECT_FALSE(render_nccl_tests(run_of({pairs})));
  measure::Record skipped = exchange("copy", 16, 1);
  skipped.outcome = Outcome::unsupported;
  EXPECT_TRUE(has(*render_osu(run_of({allreduce, skipped})), "# copy.16 transport 16: UNSUPPORTED"))
      << "what has not run refuses nothing";
}

}  // namespace
}  // namespace quadrille::report
