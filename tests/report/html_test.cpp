// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/html.hpp"

#include "support/cases.hpp"
#include "support/cluster_result.hpp"
#include "support/page.hpp"
#include "support/sample_result.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace quadrille::report {
namespace {

using measure::RunResult;
using nlohmann::json;
using test::count;
using test::data_of;

constexpr char kHostile[] = "</script><img src=x onerror=\"document.title='broken'\"><!--";

std::string page_of(std::string const& name, std::vector<RunResult> results,
                    std::span<io::TracedSpan const> trace = {}) {
  std::ranges::for_each(results, test::read_cases_again);
  std::vector<std::string> const files(results.size(), name);
  return test::kept(render_html(results, files, {}, trace), name);
}

/// With a text that would end the script, or start another, wherever a result has texts.
RunResult hostile_result() {
  RunResult result = test::sample_result();
  result.info.run_id = result.info.config = kHostile;
  result.info.build.emplace_back(kHostile, kHostile);
  result.info.environment.emplace_back(kHostile, kHostile);
  result.info.events.emplace_back(kHostile);
  for (comm::Placement& rank : result.info.ranks) rank.node = rank.device = kHostile;
  for (measure::Record& r : result.records) {
    r.name = r.workload = r.type = r.variant = r.transport = r.reason = kHostile;
    r.published_on = r.source = r.check.first_wrong = kHostile;
    r.suspect = {kHostile};
    for (measure::PairTimes& pair : r.pairs) pair.link = kHostile;
  }
  return result;
}

TEST(Page, HasWhatTheResultHas) {
  RunResult const result = test::sample_result();

  json const data = data_of(page_of("sample", {result}));

  json const& shown = data.at("results").at(0);
  EXPECT_EQ(shown.at("run").at("run_id"), "20260102-030405-abcd");
  ASSERT_EQ(shown.at("cases").size(), 2U);
  json const& summa = shown.at("cases").at(0);
  EXPECT_EQ(summa.at("verdict"), "PASS");
  EXPECT_EQ(summa.at("median_s"), result.records[0].time.median);
  EXPECT_EQ(summa.at("published").at("rate"), 2.5e12);
  EXPECT_EQ(summa.at("published").at("device"), "RTX A6000");
  EXPECT_EQ(summa.at("legs").at("overlapped_s"), result.records[0].leg_summary->overlapped_s);
  EXPECT_EQ(summa.at("pairs").at("rate").size(), 6U);
  EXPECT_EQ(summa.at("sampled").at("of"), 6);
  EXPECT_EQ(summa.at("sampled").at("rows").at(5), (json{0.1, 0.11, 0.2}));
  EXPECT_EQ(summa.at("clock_hz").at("rows").at(1).at(2), 1.9e9);
  EXPECT_EQ(summa.at("rank_times").at("max"), (json{0.3, 0.12, 0.2}));
  EXPECT_EQ(summa.at("role"), "own");
  EXPECT_EQ(shown.at("cases").at(1).at("verdict"), "UNSUPPORTED");
}

/// A detail, but the second series of the roofline is made of it.
TEST(Page, HasTheIntensityThatAKernelAsksFor) {
  RunResult result = test::sample_result();
  result.records[0].extras.push_back(
      {.name = "intensity as asked", .amount = 0.25, .unit = "FLOP/B", .is_detail = true});

  json const shown = data_of(page_of("asked", {result})).at("results").at(0).at("cases");

  EXPECT_EQ(shown.at(0).at("roofline").at("asked_intensity"), 0.25);
  EXPECT_FALSE(shown.at(1).at("roofline").contains("asked_intensity"));
}

TEST(Page, SaysOnceWhyMeasurementsAreNotTrusted) {
  RunResult result = test::sample_result();
  result.records[0].suspect = {"the clock fell by 11 %"};
  result.records.push_back(result.records[0]);
  result.records.push_back(result.records[0]);
  result.records[1].suspect = {"another reason"};
  result.records[1].id = "first";
  result.records[3].suspect = {"the clock fell by 25 %"};
  result.records[3].id = "last";

  json const data = data_of(page_of("sample", {result}));

  EXPECT_EQ(data.at("results").at(0).at("doubts"),
            (json{{{"reason", "the clock fell by 11 to 25 %"},
                   {"of", {"summa.2:kokkos", "summa.2:kokkos", "last"}}},
                  {{"reason", "another reason"}, {"of", {"first"}}}}));
}

TEST(Page, FetchesNothing) {
  std::string const page = page_of("sample", {test::sample_result()});

  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(count(page, " src="), 0U);
  EXPECT_EQ(count(page, "@import"), 0U);
  EXPECT_EQ(count(page, "href=\"http"), 0U);
}

TEST(Page, CarriesTheLicenceOfItsLibrary) {
  EXPECT_NE(std::string{html_page()}.find("The above copyright notice and this permission notice"),
            std::string::npos);
}

TEST(Page, TakesTextsForTexts) {
  std::string const plain = page_of("sample", {test::sample_result()});

  std::string const page = page_of("hostile", {hostile_result()});

  EXPECT_EQ(count(page, "</script>"), count(plain, "</script>"));
  EXPECT_EQ(count(page, "<img"), count(plain, "<img"));
  EXPECT_EQ(count(page, "<!--"), count(plain, "<!--"));
  EXPECT_EQ(data_of(page).at("results").at(0).at("cases").at(0).at("case"), kHostile);
}

TEST(Page, ShowsNumbersThatJsonCannot) {
  RunResult result = test::sample_result();
  measure::Record& r = result.records[0];
  r.outcome = measure::Outcome::interrupted;
  r.seconds[0] = std::numeric_limits<double>::quiet_NaN();
  r.clock_hz[0] = std::numeric_limits<double>::infinity();

  json const data = data_of(page_of("sample", {result}));

  json const& shown = data.at("results").at(0).at("cases").at(0);
  EXPECT_TRUE(shown.at("sampled").at("rows").at(0).at(0).is_null());
  EXPECT_TRUE(shown.at("clock_hz").at("rows").at(0).at(0).is_null());
}

TEST(Page, OfManyRanksAndCasesStaysSmall) {
  RunResult const result = test::cluster_result(64, 500);

  std::string const page = page_of("cluster", {result});

  EXPECT_GE(result.records.size(), 500U);
  EXPECT_LT(page.size(), 10'000'000U);
  json const data = data_of(page);
  json const& shown = data.at("results").at(0).at("cases").at(0);
  EXPECT_EQ(shown.at("sampled").at("of"), 20);
  EXPECT_LT(shown.at("sampled").at("rows").size(), 20U);
  EXPECT_GE(shown.at("sampled").at("rows").size(), 1U);
  EXPECT_EQ(shown.at("rank_times").at("median").size(), 64U);
  EXPECT_EQ(shown.at("slowest_rank"), test::kSlowRank);
}

TEST(Page, OfMoreThanItHoldsLeavesOutSamplesAndPairs) {
  RunResult result = test::cluster_result(8, 40);
  result.records.resize(4);
  for (measure::Record& r : result.records) {
    r.ranks = static_cast<int>(kPageNumbers / 8);
    r.seconds.assign(static_cast<std::size_t>(r.ranks), 1.0);
    r.pairs.assign(kPageNumbers / 10, measure::PairTimes{0, 1, "NVLink", 1, {1}, {1}});
    r.clock_hz.clear();
    r.power_w.clear();
  }
  result.records[2].imbalance = 9;

  json const data = data_of(page_of("crowded", {result}));

  json const& cases = data.at("results").at(0).at("cases");
  EXPECT_TRUE(cases.at(2).contains("rank_times")) << "the least balanced one comes first";
  int with_ranks = 0, with_pairs = 0;
  for (json const& shown : cases) {
    with_ranks += shown.contains("rank_times") ? 1 : 0;
    with_pairs += shown.contains("pairs") ? 1 : 0;
    EXPECT_TRUE(shown.at("has_pairs"));
    EXPECT_EQ(shown.at("sampled").at("of"), 1);
  }
  EXPECT_EQ(with_ranks, 2);
  EXPECT_EQ(with_pairs, 2);
}

TEST(Page, KeepsSamplesThatAreEvenlySpaced) {
  constexpr std::size_t kRepetitions = 20, kKept = 8;
  RunResult result = test::sample_result();
  result.records.resize(1);
  measure::Record& r = result.records[0];
  r.ranks = static_cast<int>(kPageNumbers / kKept);
  r.clock_hz.clear();
  r.power_w.clear();
  r.seconds.clear();
  for (std::size_t i = 1; i <= kRepetitions; ++i) {
    r.seconds.insert(r.seconds.end(), static_cast<std::size_t>(r.ranks), static_cast<double>(i));
  }

  json const data = data_of(page_of("thinned", {result}));

  json const& sampled = data.at("results").at(0).at("cases").at(0).at("sampled");
  EXPECT_EQ(sampled.at("of"), kRepetitions);
  std::vector<double> kept;
  for (json const& row : sampled.at("rows")) kept.push_back(row.at(0).get<double>());
  EXPECT_EQ(kept, (std::vector<double>{1, 3, 6, 8, 11, 13, 16, 18}));
}

TEST(Page, NumbersOfChartsHaveFiveDigits) {
  RunResult result = test::sample_result();
  measure::Record& r = result.records[0];
  r.seconds[0] = 1.23456789e-12;
  r.seconds[1] = 0.99999999;
  r.seconds[2] = 98765.4321;
  r.clock_hz[0] = 1987654321;
  r.power_w[0] = 305.54321;

  json const data = data_of(page_of("digits", {result}));

  json const& shown = data.at("results").at(0).at("cases").at(0);
  EXPECT_EQ(shown.at("sampled").at("rows").at(0), (json{1.2346e-12, 1.0, 98765.0}));
  EXPECT_EQ(shown.at("clock_hz").at("rows").at(0).at(0), 1.9877e9);
  EXPECT_EQ(shown.at("power_w").at("rows").at(0).at(0), 305.54);
}

TEST(Page, KnowsWhoseVariantsAre) {
  RunResult result = test::cluster_result(1, 0);
  std::vector<measure::Record> rows;
  for (auto const& [role, seconds] :
       {std::pair{"reference", 1e-3}, {"own", 3e-3}, {"vendor", 2e-3}}) {
    measure::Record& r = rows.emplace_back(result.records.front());
    r.id = fmt::format("gemm:{}", role);
    r.variant = fmt::format("by_{}", role);
    r.role = role;
    r.published = 0;
    r.seconds.assign(r.seconds.size(), seconds);
    finish(r);
  }
  for (measure::Record& r : rows) set_ratio(r, rows.back());
  result.records = rows;

  json const data = data_of(page_of("textbook", {result}));

  EXPECT_EQ(data.at("results").at(0).at("cases").at(0).at("role"), "reference");
}

TEST(Page, SaysOfVendorsWhatTheScreenSays) {
  RunResult result = test::cluster_result(1, 0);
  measure::Record const any = result.records.front();
  result.records.clear();
  for (auto const& [name, ratio, of_rates] : {std::tuple{"slower", 0.944, 0.944},
                                              {"rounded", 0.946, 0.946},
                                              {"suspect", 0.5, 0.5},
                                              {"drifted", 1.25, 1.1}}) {
    for (std::string const role : {"own", "vendor"}) {
      measure::Record& r = result.records.emplace_back(any);
      r.name = name;
      r.variant = r.role = role;
      r.id = fmt::format("{}:{}", name, role);
      r.seconds.assign(r.seconds.size(), role == "vendor" ? of_rates : 1.0);
      finish(r);
      r.ratio_to_vendor = role == "vendor" ? 1 : ratio;
      r.ratio_to_vendor_low = r.ratio_to_vendor_high = {};
      r.vendor_is_suspect = r.name == "suspect";
    }
  }

  json const data = data_of(page_of("vendor", {result}));

  json const& shown = data.at("results").at(0);
  EXPECT_EQ(shown.at("vs_vendor"),
            (json{{"slower", {"slower:own"}}, {"as_fast", {"rounded:own", "drifted:own"}}}));
  for (json const& one : shown.at("cases")) {
    json const wanted = one.at("id") == "drifted:own" ? json(110) : json();
    EXPECT_EQ(one.value("percent_by_rates", json()), wanted) << one.at("id");
  }
}

TEST(Page, ComparesTransports) {
  RunResult result = test::cluster_result(2, 0);
  measure::Record const any = result.records.front();
  result.records.clear();
  for (auto const& [transport, seconds] :
       {std::pair{"ipc", 2e-3}, {"mpi", 1e-3}, {"nccl", 0.5e-3}}) {
    measure::Record& r = result.records.emplace_back(any);
    r.name = fmt::format("product.{}", transport);
    r.id = r.name + ":ours";
    r.role = "own";
    r.transport = transport;
    r.seconds.assign(r.seconds.size(), seconds);
    finish(r);
  }
  result.records.back().outcome = measure::Outcome::unsupported;
  result.records.back().reason = "there is no GPU";

  json const data = data_of(page_of("transports", {result}));

  EXPECT_EQ(data.at("results").at(0).at("cases").at(1).at("transport"), "mpi");
}

TEST(Page, HoldsSeveralResults) {
  std::vector<RunResult> results{test::cluster_result(8, 40), test::cluster_result(8, 40)};
  results[1].info.run_id = "other";
  results[1].info.build[1].second = "2b83225";

  json const data = data_of(page_of("pair", results));

  EXPECT_EQ(data.at("results").size(), 2U);
  EXPECT_EQ(data.at("results").at(1).at("run").at("run_id"), "other");
}

/// What two ranks did on two streams each: panels are broadcast while others are multiplied.
std::vector<io::TracedSpan> two_ranks_trace(std::string const& of) {
  using enum device::TraceKind;
  std::vector<io::TracedSpan> trace;
  for (int rank = 0; rank < 2; ++rank) {
    trace.push_back({rank, "main", of, repetition, "repetition", "", 2, 2 + 5e-3});
    for (int panel = 0; panel < 4; ++panel) {
      std::string const label = fmt::format("panel {}", panel);
      double const begin_s = 2 + 1e-3 * panel;
      trace.push_back(
          {rank, "communication", of, exchange, "broadcast", label, begin_s, begin_s + 8e-4});
      trace.push_back({rank, "main", of, wait, "wait", label, begin_s + 9e-4, begin_s + 1e-3});
      trace.push_back({rank, "main", of, kernel, "vendor", label, begin_s + 1e-3, begin_s + 19e-4});
    }
  }
  return trace;
}

TEST(Page, DrawsTheTracedRepetition) {
  RunResult const result = test::cluster_result(2, 0);
  std::string const of = "summa-16384:vendor";

  json const data = data_of(page_of("traced", {result}, two_ranks_trace(of)));

  json const& timeline = data.at("timelines").at("drawn").at(of);
  EXPECT_EQ(timeline.at("rows"), (json{{{"rank", 0}, {"name", "main"}},
                                       {{"rank", 0}, {"name", "communication"}},
                                       {{"rank", 1}, {"name", "main"}},
                                       {{"rank", 1}, {"name", "communication"}}}));
  json const& last = timeline.at("spans").back();
  EXPECT_EQ(last, (json{{"row", 2},
                        {"kind", "kernel"},
                        {"name", "vendor"},
                        {"label", "panel 3"},
                        {"begin_ns", 4'000'000},
                        {"end_ns", 4'900'000}}));
}

TEST(Page, LeavesOutTheTracesThatItCannotHold) {
  io::TracedSpan span;
  span.of = "first";
  std::vector<io::TracedSpan> trace(kPageSpans, span);
  span.of = "second";
  trace.push_back(span);

  json const data = data_of(page_of("long-trace", {test::cluster_result(2, 0)}, trace));

  EXPECT_TRUE(data.at("timelines").at("drawn").contains("first"));
  EXPECT_EQ(data.at("timelines").at("drawn").size(), 1U);
  EXPECT_EQ(data.at("timelines").at("left_out"), 1);
}

TEST(Page, KnowsWhatSecondLevelCachesServe) {
  RunResult result = test::cluster_result(2, 0);
  measure::Record window = result.records.front();
  window.id = window.name = "window";
  window.workload = "memory";
  window.unit = "B/s";
  window.amount = 32e9;
  window.roofline = {};
  window.extras = {{"second-level cache", 16e9, "B/s"}};
  result.records.front().extras = {{"second-level cache", 5e7, "B/s"}};
  finish(window);
  result.records.push_back(window);

  json const data = data_of(page_of("cache", {result}));

  json const& cases = data.at("results").at(0).at("cases");
  EXPECT_EQ(cases.back().at("roofline").at("second_level_bytes"), 32e9) << "of both ranks";
  EXPECT_EQ(cases.front().at("roofline").at("second_level_bytes"), 1e8);
  EXPECT_EQ(cases.at(1).at("roofline").at("second_level_bytes"), 0);
}

/// The same case of two runs, for which "auto" took two transports.
TEST(Page, JoinsWhatChoseItsTransport) {
  std::vector<RunResult> results(2, test::cluster_result(2, 0));
  for (std::size_t i = 0; i < 2; ++i) {
    results[i].records.resize(1);
    results[i].records[0].transport = i == 0 ? "mpi" : "ipc";
    results[i].records[0].transport_is_chosen = true;
  }

  json const data = data_of(page_of("chosen", results));

  EXPECT_EQ(data.at("results").at(1).at("cases").at(0).at("transport_is_chosen"), true);
}

/// Two cases of a sweep, each by two policies.
RunResult serving_result() {
  RunResult result = test::cluster_result(1, 0);
  measure::Record const any = result.records.front();
  result.records.clear();
  for (int limit : {512, 2048}) {
    for (std::string const policy : {"static", "paged"}) {
      bool const is_paged = policy == "paged";
      measure::Record& r = result.records.emplace_back(any);
      r.workload = "serving";
      r.type = "f16";
      r.variant = policy;
      r.name = limit == 512 ? "chat.1" : "chat.2";
      r.id = fmt::format("{}:{}", r.name, policy);
      r.config = fmt::format(
          "[[case]]\nworkload = \"serving\"\nsize = 1024\ntype = \"f16\"\nmax_length = {}\nrate = "
          "5\n",
          limit);
      r.unit = "";
      r.amount = r.published = 0;
      r.extras = {{"throughput", is_paged ? 862.0 : 201.0, "token/s", 1},
                  {"TTFT p50", 1, "s", is_paged ? 0.028 : 1700},
                  {"TTFT p99", 1, "s", is_paged ? 0.818 : 3272},
                  {"TBT p50", 1, "s", 0.0159},
                  {"TBT p99", 1, "s", 0.0681},
                  {"KV used", is_paged ? 50.0 : 23.0, "%"},
                  {"reserved", is_paged ? 1.0 : 5.0, "%"},
                  {"internal", is_paged ? 0.0 : 71.5, "%"},
                  {"external", is_paged ? 0.0 : 0.5, "%"}};
      for (int part = 1; part <= 4; ++part) {
        r.extras.push_back({fmt::format("used {}/4", part), (is_paged ? 40.0 : 20.0) + part, "%", 0,
                            true, "used"});
      }
      finish(r);
    }
  }
  return result;
}

TEST(Page, ShowsWhatServersWouldDo) {
  json const data = data_of(page_of("serving", {serving_result()}));

  json const& paged = data.at("results").at(0).at("cases").at(3);
  EXPECT_EQ(paged.at("over_time"), (json{{"used", {41, 42, 43, 44}}}));
  EXPECT_EQ(paged.at("extras").size(), 9U) << "parts of the time are told once";
  EXPECT_EQ(paged.at("sweep"), (json{{"name", "chat"}, {"keys", {{"max_length", "2048"}}}}));
  EXPECT_EQ(paged.at("settings").at("rate"), "5");
  std::set<std::string> names, drawn;
  for (json const& extra : paged.at("extras")) names.insert(extra.at("name"));
  for (json const& chart : data.at("drawn").at("serving").at("charts")) {
    for (json const& part : chart.at("parts")) drawn.insert(part.at("metric"));
  }
  drawn.erase("used");  // a series
  EXPECT_TRUE(std::ranges::includes(names, drawn)) << "a chart of what no case has";
}

TEST(Page, TellsSettingsThatAreNoDefaults) {
  RunResult result = test::cluster_result(1, 30);
  result.records[0].config = "[[case]]\nworkload = \"gemm\"\nsize = 1024\nbeta = 2.0\n";
  result.records[1].config = "of another program";
  result.records[2].workload = "serving";
  result.records[2].config =
      "[[case]]\nworkload = \"serving\"\nsize = 9\ntype = \"f16\"\nkv_memory = 6710886400\n";

  json const data = data_of(page_of("settings", {result}));

  json const& cases = data.at("results").at(0).at("cases");
  EXPECT_EQ(cases.at(0).at("settings"), (json{{"beta", "2"}}));
  EXPECT_EQ(cases.at(1).at("settings"), (json{{"case", "gemm-1024"}}));
  EXPECT_EQ(cases.at(2).at("settings"), (json{{"kv_memory", "6400Mi"}}));
  EXPECT_EQ(cases.at(3).at("settings"), json::object());
}

/// A sweep of two keys with defaults among their values, and a run of one of its cases alone.
std::vector<RunResult> swept_results() {
  std::vector<RunResult> results(2, test::cluster_result(2, 0));
  measure::Record const any = results[0].records.front();
  for (RunResult& result : results) result.records.clear();
  auto const add = [&any](RunResult& result, std::string const& name, std::string const& keys,
                          double seconds) {
    measure::Record vendor = any;
    vendor.workload = "ptrans";
    vendor.type = "f64";
    vendor.name = name;
    vendor.config = "[[case]]\nworkload = \"ptrans\"\nsize = 1024\nbuffers = 3\n" + keys;
    vendor.published = 0;
    measure::Record own = vendor;
    vendor.variant = vendor.role = "vendor";
    own.variant = "register_operand_persistent";
    own.role = "own";
    vendor.seconds.assign(vendor.seconds.size(), 0.75 * seconds);
    own.seconds.assign(own.seconds.size(), seconds);
    for (measure::Record* r : {&own, &vendor}) {
      r->id = fmt::format("{}:{}", name, r->variant);
      finish(*r);
      set_ratio(*r, vendor);
      result.records.push_back(*r);
    }
  };
  int n = 0;
  for (int const block : {64, 1024}) {
    for (int const panel : {64, 256}) {
      add(results[0], fmt::format("swept.{}", ++n),
          fmt::format("block = {}\npanel = {}\n", block, panel), panel == 256 ? 2e-3 : 3e-3);
    }
  }
  add(results[1], "one", "block = 64\n", 1e-3);
  return results;
}

TEST(Page, TellsKeysOfASweepAlsoAtTheirDefaults) {
  std::vector<RunResult> const results = swept_results();

  json const data = data_of(page_of("swept", results));

  json const& swept = data.at("results").at(0).at("cases").at(2);
  EXPECT_EQ(swept.at("sweep").at("keys"), (json{{"block", "64"}, {"panel", "256"}}));
  json const& alone = data.at("results").at(1).at("cases").at(0);
  EXPECT_EQ(alone.at("sweep").at("keys"), json::object());
  EXPECT_EQ(alone.at("settings"), (json{{"buffers", "3"}, {"block", "64"}}));
  EXPECT_EQ(alone.at("settings"), swept.at("settings")) << "or a page would not join them";
}

TEST(Page, WritesBytesOfASweepAsOtherSettings) {
  RunResult result = test::cluster_result(1, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    result.records[i].name = fmt::format("chat.{}", i + 1);
    result.records[i].workload = "serving";
    result.records[i].config =
        fmt::format("[[case]]\nworkload = \"serving\"\nsize = 9\ntype = \"f16\"\nkv_memory = {}\n",
                    i == 0 ? 11200LL << 20 : 6400LL << 20);
  }

  json const data = data_of(page_of("bytes", {result}));

  json const& cases = data.at("results").at(0).at("cases");
  EXPECT_EQ(cases.at(0).at("sweep").at("keys"), (json{{"kv_memory", "11200Mi"}})) << "the default";
  EXPECT_EQ(cases.at(1).at("sweep").at("keys"), (json{{"kv_memory", "6400Mi"}}));
}

}  // namespace
}  // namespace quadrille::report
