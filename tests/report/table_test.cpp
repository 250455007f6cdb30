// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/table.hpp"

#include "device/kernel_text.hpp"
#include "report/screen.hpp"
#include "report/tables.hpp"
#include "support/cases.hpp"
#include "support/json_schema.hpp"
#include "support/sample_result.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace quadrille::report {
namespace {

using measure::Outcome;
using nlohmann::json;
using test::sample_result;

measure::RunResult result_of(std::vector<Outcome> const& outcomes) {
  measure::RunResult result;
  for (Outcome const outcome : outcomes) {
    measure::Record& record = result.records.emplace_back();
    record.name = "c";
    record.variant = "v";
    record.outcome = outcome;
  }
  return result;
}

/// The sample, a wrong result and a plain one.
measure::RunResult three_results() {
  measure::RunResult result = sample_result();
  measure::Record wrong = test::sample_record();
  wrong.id = "square:reference";
  wrong.variant = "reference";
  wrong.outcome = Outcome::fail;
  wrong.reason = "";
  wrong.suspect.clear();
  wrong.modelled_link = false;
  wrong.check.error = std::numeric_limits<double>::quiet_NaN();
  result.records.push_back(wrong);
  measure::Record plain;
  plain.id = plain.name = plain.workload = "copy";
  plain.type = "f32";
  plain.variant = "kokkos|a";
  plain.size = {1000000};
  plain.ranks = 1;
  plain.outcome = Outcome::pass;
  plain.amount = 8e6;
  plain.unit = "B/s";
  plain.seconds = {0.001, 0.001, 0.001};
  finish(plain);
  result.records.push_back(plain);
  return result;
}

using Cells = std::vector<std::string>;

/// The rows of each table in Markdown, its header and the line below that included.
std::vector<std::vector<Cells>> tables_of(std::string const& markdown) {
  std::vector<std::vector<Cells>> tables;
  bool is_in_table = false;
  std::istringstream in{markdown};
  for (std::string line; std::getline(in, line);) {
    bool const is_row = line.starts_with("| ");
    if (is_row && !is_in_table) tables.emplace_back();
    is_in_table = is_row;
    if (!is_row) continue;
    Cells& cells = tables.back().emplace_back();
    for (std::size_t from = 2, at = from; (at = line.find(" |", at)) != std::string::npos; ++at) {
      cells.push_back(line.substr(from, at - from));
      from = at + 3;
    }
  }
  return tables;
}

TEST(Markdown, HasACellForEachColumnInEachRow) {
  auto const tables = tables_of(render_markdown(three_results()));
  EXPECT_GE(tables.size(), 12U);
  for (std::vector<Cells> const& rows : tables) {
    ASSERT_GE(rows.size(), 3U);
    for (Cells const& row : rows) EXPECT_EQ(row.size(), rows[0].size()) << row.at(0);
    for (std::string const& rule : rows[1]) EXPECT_TRUE(rule == "---" || rule == "---:") << rule;
  }
}

TEST(Markdown, ShowsTheFiguresOfARecord) {
  std::set<std::string> others, reference;
  std::string const page = render_markdown(three_results());
  for (std::vector<Cells> const& rows : tables_of(page)) {
    for (Cells const& row : rows) {
      bool const is_wrong = std::ranges::find(row, "reference") != row.end();
      (is_wrong ? reference : others).insert(row.begin(), row.end());
    }
  }
  // Of times, ratios, rounds, legs, the roof, energy, further rates, links, and what was published.
  for (char const* const figure : {"4Ki,4Ki,512",
                                   "160 ms",
                                   "107 GFLOP/s",
                                   "10.7",
                                   "1.43 [1.40, 1.46]",
                                   "0.90",
                                   "0.95 [0.94, 0.96]",
                                   "1.3e-16/3.5e-15",
                                   "PASS",
                                   "[110 ms, 300 ms]",
                                   "300 ms",
                                   "1.50 s",
                                   "1.52",
                                   "3: 115 ms to 125 ms",
                                   "50.0 ms",
                                   "70.0 ms",
                                   "60 % to 100 %",
                                   "1.40",
                                   "85.9",
                                   "129 GFLOP/s",
                                   "83.3",
                                   "0.12 J",
                                   "143 GFLOP/s/W",
                                   "2.67 B/s",
                                   "31.2 GB/s",
                                   "2.25 us",
                                   "44.9 GB/s",
                                   "3.00",
                                   "43.48",
                                   "2.50 TFLOP/s",
                                   "RTX A6000",
                                   "cublasDgemm"}) {
    EXPECT_TRUE(others.contains(figure)) << figure << "\n" << page;
  }
  EXPECT_TRUE(reference.contains("FAIL") && reference.contains("nan/3.5e-15"));
  EXPECT_NE(page.find("**summa: square, 4Ki,4Ki,512, f64"), std::string::npos) << page;
  EXPECT_FALSE(reference.contains("160 ms")) << "a wrong result has no speed";
  EXPECT_NE(page.find("- UNSUPPORTED "), std::string::npos) << page;
}

TEST(Table, HasTheCellsOfMarkdownInColumns) {
  std::istringstream text{render_details(three_results(), {.width = 120})};
  std::string line;
  auto const has = [&](Cells const& row) {
    std::size_t at = 0;
    for (std::string cell : row) {
      if (auto const bar = cell.find("\\|"); bar != std::string::npos) cell.erase(bar, 1);
      at = line.find(cell, at);
      if (at == std::string::npos) return false;
      at += cell.size();
    }
    return true;
  };
  // The line of each row follows that of the row before, and has its cells from left to right.
  for (std::vector<Cells> const& rows : tables_of(render_markdown(three_results()))) {
    for (Cells const& row : rows) {
      if (&row == &rows[1]) continue;
      while (std::getline(text, line) && !has(row)) continue;
      EXPECT_TRUE(text) << fmt::format("no line has {}", fmt::join(row, ", "));
    }
  }
}

TEST(Table, NamesTheSlowestPairsOfManyRanksWithoutAMatrix) {
  measure::RunResult result = sample_result();
  measure::Record& record = result.records[0];
  record.ranks = 17;

  std::string const text = render_details(result, {.width = 120});

  EXPECT_NE(text.find("0 to 2: 3.00 us"), std::string::npos) << text;
  EXPECT_EQ(text.find("from a row's rank"), std::string::npos) << text;
}

TEST(Table, ComparesALaunchWithThatOfItsSource) {
  measure::RunResult result = sample_result();
  measure::Record& record = result.records[0];
  record.kernels = {device::to_text(
      {.name = "kernel", .grid = {128, 128, 1}, .block = {8, 8, 1}, .registers = 16}, {})};
  auto const shown = [&](std::string const& launch) {
    record.config =
        fmt::format("[[case]]\nworkload = \"{}\"\nsize = 1024\npublished_launch = \"{}: {}\"\n",
                    record.workload, record.variant, launch);
    test::read_cases_again(result);
    return render_details(result, {.width = 400});
  };
  auto const has = [](std::string const& text, std::string_view part) {
    return text.find(part) != text.npos;
  };
  std::string const same = shown("m/8 x n/8 blocks, 8x8 threads");
  EXPECT_TRUE(has(same, "published launch") && has(same, "m/8 x n/8 blocks, 8x8 threads")) << same;
  EXPECT_FALSE(has(same, "differs here")) << same;
  EXPECT_TRUE(has(shown("m/4 x n/8 blocks, 8x8 threads"), "8x8 threads (differs here)"));
  EXPECT_TRUE(has(shown("none, a library's"), "a library's"));
}

TEST(RunHeader, NamesTheBuildAndTheRanks) {
  std::string const text = render_run_header(sample_result().info, kUnlimited);
  for (char const* const fact :
       {"0.1.0", "1a72114", "20260102-030405-abcd", "2026-01-02T03:04:05Z", "GNU 12.2", "-O3",
        "Open MPI", "1.10.8", "4.7", "OpenBLAS", "n2", "H200", "0000:17:00.0", "1.00 TiB", "4-7"}) {
    EXPECT_NE(text.find(fact), std::string::npos) << fact;
  }
  EXPECT_TRUE(text.ends_with("\n  settings     of rank 2: power limit 650 W; ECC on\n")) << text;
}

TEST(Table, NamesNodesInPlaceOfManyRanks) {
  measure::RunInfo info = sample_result().info;
  info.ranks.clear();
  for (int r = 0; r < 4096; ++r) {
    comm::Placement place;
    place.rank = r;
    place.node = fmt::format("n{}", r / 8);
    place.local_rank = r % 8;
    place.device = r % 8 < 6 ? "H100" : "H200";
    place.uuid = fmt::format("GPU-{}", r);
    place.free_memory = (r + 1LL) << 30;
    place.threads = 4;
    info.ranks.push_back(place);
  }

  std::string const text = render_run_header(info, kUnlimited);

  EXPECT_NE(text.find("4096 ranks, 512 nodes, 4096 devices\n"
                      "node  ranks      threads    memory  devices of ranks\n"
                      "n0    0-7              4  1.00 GiB  6 x H100, 2 x H200\n"
                      "n1    8-15             4  9.00 GiB  6 x H100, 2 x H200\n"),
            std::string::npos)
      << text.substr(0, 1000);
  EXPECT_TRUE(text.ends_with("n511  4088-4095        4  3.99 TiB  6 x H100, 2 x H200\n"));
  info.ranks.resize(16);
  EXPECT_NE(render_run_header(info, kUnlimited).find("  15  n1 "), std::string::npos)
      << "few ranks have a line each";
}

/// A reader of RFC 4180.
std::vector<std::vector<std::string>> parse_csv(std::string const& text) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    if (quoted) {
      if (c != '"') {
        rows.back().back() += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        rows.back().back() += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      rows.back().emplace_back();
    } else if (c == '\n') {
      rows.emplace_back(1);
    } else {
      rows.back().back() += c;
    }
  }
  rows.pop_back();
  return rows;
}

TEST(Csv, HasOneHeaderAndARowPerRecord) {
  measure::RunResult result = three_results();
  result.records[1].reason = "needs \"a\",\nb";

  auto const rows = parse_csv(render_csv(std::vector{result}));

  ASSERT_EQ(rows.size(), 17U) << "a line for each of six pairs behind each of two";
  for (auto const& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  auto const field = [&](std::size_t row, std::string const& name) {
    auto const column = std::ranges::find(rows[0], name) - rows[0].begin();
    return rows[row].at(static_cast<std::size_t>(column));
  };
  EXPECT_EQ(field(1, "id"), "summa.2:kokkos");
  EXPECT_EQ(field(1, "size"), "4096x4096x512");
  EXPECT_EQ(std::stod(field(1, "median_s")), result.records[0].time.median);
  EXPECT_EQ(std::stod(field(1, "hidden")), result.records[0].leg_summary->hidden);
  EXPECT_EQ(field(1, "pair_from"), "");
  EXPECT_EQ(field(3, "id"), "summa.2:kokkos");
  EXPECT_EQ(field(3, "pair_from") + field(3, "pair_to") + field(3, "pair_link"), "02network");
  EXPECT_EQ(field(3, "pair_bytes"), "1000000");
  EXPECT_EQ(std::stod(field(3, "pair_latency_s")), 3e-6);
  EXPECT_EQ(std::stod(field(3, "pair_rate")), 1e6 / 2.8e-5);
  EXPECT_EQ(field(8, "reason"), "needs \"a\",\nb");
  EXPECT_EQ(field(8, "median_s"), "");
  EXPECT_EQ(field(9, "verdict"), "FAIL");
  EXPECT_EQ(field(9, "rate"), "");
  EXPECT_EQ(field(9, "error"), "");
  EXPECT_EQ(field(12, "pair_rate"), "") << "of a wrong result";
  EXPECT_EQ(field(16, "rate"), "8000000000");
}

TEST(Csv, HasNoFormulas) {
  measure::RunResult result = three_results();
  result.info.run_id = "@run";
  result.records.resize(1);
  measure::Record& record = result.records[0];
  record.name = "=1+2";
  record.id = "-case";
  record.reason = "+reason";
  record.suspect = {"=x", "y"};
  record.extras[0].name = "+rate";
  record.time.median = -0.5;

  auto const rows = parse_csv(render_csv(std::vector{result}));
  std::set<std::string> cells(rows.at(1).begin(), rows.at(1).end());
  cells.insert(rows.at(0).begin(), rows.at(0).end());

  for (char const* const cell :
       {"'@run", "'=1+2", "'-case", "'+reason", "'=x; y", "-0.5", "'+rate (B/s)"}) {
    EXPECT_TRUE(cells.contains(cell)) << cell;
  }
}

std::string complaints_about(json const& value) {
  return test::complaints_about(value, QUADRILLE_REPORT_SCHEMA);
}

TEST(Json, FollowsItsSchemaAndTheSchemaBites) {
  for (measure::RunResult const& result : {three_results(), measure::RunResult{}}) {
    EXPECT_EQ(complaints_about(json::parse(render_json(std::vector{result}))), "");
  }
  json damaged = json::parse(render_json(std::vector{three_results()}));
  damaged["cases"][0]["rate"] = "fast";
  damaged["cases"][0]["verdict"] = "GREAT";
  damaged["cases"][0]["legs"].erase("hidden");
  damaged["cases"][1].erase("bound");
  damaged["run"]["ranks"][0]["memory"] = 0.5;
  std::string const complaints = complaints_about(damaged);
  EXPECT_EQ(std::ranges::count(complaints, '\n'), 5) << complaints;
}

TEST(Json, KeysAreThoseOfTheSchemaInTheSchemasOrder) {
  std::ifstream file{QUADRILLE_REPORT_SCHEMA};
  auto const schema = nlohmann::ordered_json::parse(file);
  auto const report = nlohmann::ordered_json::parse(render_json(std::vector{three_results()}));
  using test::keys_of;
  auto const& rules = schema["$defs"];
  EXPECT_EQ(keys_of(report["cases"][0]), keys_of(rules["case"]["properties"]));
  EXPECT_EQ(keys_of(report["cases"][0]["legs"]), keys_of(rules["legs"]["properties"]));
  EXPECT_EQ(keys_of(report["cases"][0]["pairs"][0]), keys_of(rules["pair"]["properties"]));
  EXPECT_EQ(keys_of(report["run"]), keys_of(rules["run"]["properties"]));
  EXPECT_EQ(keys_of(report["run"]["ranks"][0]), keys_of(rules["rank"]["properties"]));
  EXPECT_EQ(keys_of(report["run"]["transport_times"][0]),
            keys_of(rules["transport_time"]["properties"]));
}

TEST(Json, NumbersAreNumbersAndWrongResultsHaveNoSpeed) {
  json const cases = json::parse(render_json(std::vector{three_results()}))["cases"];
  EXPECT_EQ(cases[0]["median_s"], 0.16);
  EXPECT_EQ(cases[0]["samples"], 6);
  EXPECT_EQ(cases[0]["ratio_to_vendor"], 1.43);
  EXPECT_EQ(cases[0]["modelled_link"], true);
  EXPECT_EQ(cases[0]["implementation"], "cublasDgemm");
  EXPECT_EQ(cases[0]["pairs"][1]["bytes"], 1e6);
  EXPECT_EQ(cases[0]["pairs"][1]["latency_s"], 3e-6);
  EXPECT_EQ(cases[0]["pairs"][1]["rate"], 1e6 / 2.8e-5);
  EXPECT_TRUE(cases[2]["pairs"][1]["rate"].is_null());
  EXPECT_TRUE(cases[1]["rate"].is_null());
  EXPECT_TRUE(cases[1]["error"].is_null());
  EXPECT_EQ(cases[2]["verdict"], "FAIL");
  EXPECT_TRUE(cases[2]["rate"].is_null());
  EXPECT_TRUE(cases[2]["error"].is_null());
  EXPECT_EQ(cases[3]["rate"], 8e9);
  EXPECT_TRUE(cases[3]["percent_of_peak"].is_null());
  EXPECT_TRUE(cases[3]["legs"].is_null());
}

/// Two runs of a product, of which each sets another key.
std::vector<measure::RunResult> two_runs() {
  std::vector<measure::RunResult> runs(2, sample_result());
  runs[1].info.run_id = "later";
  for (std::size_t i = 0; i < 2; ++i) {
    measure::Record& record = runs[i].records[0];
    record.workload = "gemm";
    record.config = std::string{"[[case]]\nworkload = \"gemm\"\nsize = 64\n"} +
                    (i == 0 ? "beta = 2\n" : "layout = \"tn\"\n");
    runs[i].records.resize(1);
    test::read_cases_again(runs[i]);
  }
  return runs;
}

TEST(Csv, HasAColumnForEachSettingAndFurtherRateOfAllRuns) {
  auto const rows = parse_csv(render_csv(two_runs()));

  ASSERT_EQ(rows.size(), 15U) << "one header, and in each run a measurement with six pairs";
  auto const field = [&](std::size_t row, std::string const& name) {
    auto const column = std::ranges::find(rows[0], name) - rows[0].begin();
    return rows[row].at(static_cast<std::size_t>(column));
  };
  std::vector<std::vector<std::string>> told;
  for (std::size_t const row : {1U, 8U}) {
    told.push_back({field(row, "run_id"), field(row, "commit"), field(row, "node"),
                    field(row, "settings.beta"), field(row, "settings.layout"),
                    field(row, "clock_hz"), field(row, "good")});
  }
  EXPECT_EQ(told, (std::vector<std::vector<std::string>>{
                      {"20260102-030405-abcd", "1a72114", "n1", "2", "", "1975000000", "suspect"},
                      {"later", "1a72114", "n1", "", "tn", "1975000000", "suspect"}}));
  EXPECT_EQ(std::stod(field(1, "bus bandwidth (B/s)")), 1.0 / 3 / 0.125);
  EXPECT_EQ(std::stod(field(1, "rate_per_rank")), std::stod(field(1, "rate")) / 3);
}

TEST(Json, OfSeveralRunsIsOneArray) {
  json const runs = json::parse(render_json(two_runs()));

  ASSERT_TRUE(runs.is_array() && runs.size() == 2);
  for (json const& run : runs) EXPECT_EQ(complaints_about(run), "");
  EXPECT_EQ(runs[1]["run"]["run_id"], "later");
  EXPECT_EQ(runs[0]["cases"][0]["settings"], (json{{"beta", "2"}}));
  EXPECT_EQ(runs[1]["cases"][0]["settings"], (json{{"layout", "tn"}}));
  EXPECT_EQ(runs[0]["cases"][0]["power_w"], 305.5);
}

TEST(Json, APublishedFigureMayLackItsDevice) {
  measure::RunResult result = three_results();
  result.records[0].published_on = "";
  json const report = json::parse(render_json(std::vector{result}));
  EXPECT_EQ(complaints_about(report), "");
  EXPECT_TRUE(report["cases"][0]["published"]["device"].is_null());
  EXPECT_EQ(report["cases"][0]["published"]["rate"], 2.5e12);
}

TEST(ResultLine, CountsWhatRanAndNamesTheFile) {
  auto const line = [](std::vector<Outcome> const& outcomes) {
    return result_line(result_of(outcomes), "r.h5");
  };
  EXPECT_EQ(line({Outcome::pass, Outcome::skip, Outcome::pass, Outcome::unsupported}),
            "RESULT PASS executed=2 of=4 passed=2 failed=0 skipped=1 unsupported=1 file=r.h5");
  EXPECT_EQ(
      line({Outcome::pass, Outcome::fail, Outcome::error, Outcome::timeout}),
      "RESULT FAIL executed=4 of=4 passed=1 failed=3 skipped=0 unsupported=0 reason=\"1 wrong: "
      "c v; 1 ended by an error: c v; 1 timed out: c v\" file=r.h5");
  EXPECT_EQ(
      line({Outcome::pass, Outcome::wrong_library}),
      "RESULT PASS executed=2 of=2 passed=1 failed=0 wrong_libraries=1 skipped=0 unsupported=0 "
      "file=r.h5");
  EXPECT_EQ(line({Outcome::skip, Outcome::interrupted}),
            "RESULT FAIL executed=0 of=2 passed=0 failed=0 skipped=1 unsupported=0 reason=\"1 "
            "interrupted: c v\" file=r.h5");

  measure::RunResult named = result_of({Outcome::pass, Outcome::unsupported});
  named.records[1].is_named = true;
  EXPECT_EQ(
      result_line(named, "r.h5"),
      "RESULT FAIL executed=1 of=2 passed=1 failed=0 skipped=0 unsupported=1 reason=\"1 named "
      "variant cannot run: c v\" file=r.h5");
  named.records[1].variant = "a\"b";
  EXPECT_NE(result_line(named, "r.h5").find("reason=\"1 named variant cannot run: c a'b\""),
            std::string::npos);
}

TEST(Tables, OfDetailsHaveRows) {
  EXPECT_TRUE(tables_of_details({}).empty());
  std::vector<Table> const details = tables_of_details(sample_result());
  EXPECT_FALSE(details.empty());
  for (Table const& table : details) {
    EXPECT_TRUE(table.is_detail && table.rows() > 0) << table.title;
  }
}

TEST(Tables, SayWhichRowsAHostTimed) {
  measure::RunResult result = sample_result();
  EXPECT_EQ(render_markdown(result).find("host clock"), std::string::npos);

  result.records[0].is_host_timed = true;

  EXPECT_NE(render_markdown(result).find("host clock["), std::string::npos);
}

}  // namespace
}  // namespace quadrille::report
