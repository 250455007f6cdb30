// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/screen.hpp"

#include "report/assessment.hpp"
#include "report/swept_keys.hpp"
#include "report/table.hpp"
#include "report/text.hpp"
#include "support/cases.hpp"
#include "support/sample_result.hpp"
#include "support/timed_record.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

namespace quadrille::report {
namespace {

using measure::Outcome;
using measure::Record;
using measure::RunResult;
using test::compare_with_vendor;
using test::timed;

void add(RunResult& result, std::vector<Record> records) {
  compare_with_vendor(records);
  std::ranges::move(records, std::back_inserter(result.records));
}

/// Of everything that a page shows something.
RunResult mixed_result() {
  RunResult result = test::sample_result();
  result.records.clear();
  add(result, {timed("sweep.1", "tiles", 0.6e-3), timed("sweep.1", "wide_tiles_of_a_ring", 0.9e-3),
               timed("sweep.1", "vendor", 0.7e-3)});
  add(result, {timed("sweep.2", "tiles", 2e-3), timed("sweep.2", "vendor", 1e-3)});
  for (Record& r : result.records) {
    bool const is_first = r.name == "sweep.1";
    r.config += fmt::format("layout = \"{}\"\nrepetitions = 6\n", is_first ? "nn" : "nt");
  }
  for (int i = 0; i < 2; ++i) {
    Record r = timed("noisy", fmt::format("row{}", i), 1e-3);
    r.suspect = {fmt::format("the times vary by {} %: something else ran", 22 + i)};
    result.records.push_back(r);
  }
  Record wrong = timed("wrong", "tiles", 1e-3);
  wrong.outcome = Outcome::fail;
  wrong.reason = wrong.check.first_wrong = "C(3, 4) on rank 0: expected 5, got nan";
  result.records.push_back(wrong);
  Record slow = timed("wrong", "reference", 1e-3);
  slow.outcome = Outcome::timeout;
  slow.reason = "a repetition took longer than run.timeout.repetition, 60 s";
  result.records.push_back(slow);
  for (int i = 0; i < 18; ++i) {
    Record r = test::skipped_record();
    r.variant = fmt::format("gpu{}", i);
    result.records.push_back(r);
  }
  result.records.push_back(test::sample_record());
  test::read_cases_again(result);
  return result;
}

std::string expected(std::string const& name) {
  std::ifstream file{QUADRILLE_REPORT_EXPECTED + ("/" + name)};
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::size_t widest_line(std::string const& text) {
  std::size_t widest = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = std::min(text.find('\n', at), text.size());
    widest = std::max(widest, width_of(std::string_view{text}.substr(at, end - at)));
    at = end + 1;
  }
  return widest;
}

TEST(Screen, LooksLikeThis) {
  Terminal const terminal{.width = 120};
  EXPECT_EQ(render_short_header(mixed_result().info, terminal) + '\n' +
                render_screen(mixed_result(), terminal),
            expected("screen.txt"));
}

TEST(Screen, FitsItsTerminal) {
  for (std::size_t const width : {72U, 80U, 100U, 120U, 200U}) {
    std::string const text = render_screen(mixed_result(), {.width = width});
    EXPECT_LE(widest_line(text), width) << text;
  }
}

TEST(Screen, HasColoursWhereTheyAreWantedAndNoneOfAFile) {
  RunResult result = mixed_result();
  result.records.front().variant = "\x1b[2J\xc2\x9b";

  std::string const plain = render_screen(result, {.width = 80});
  std::string const coloured = render_screen(result, {.width = 80, .has_colours = true});

  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_NE(plain.find("\\x1b[2J"), std::string::npos);
  EXPECT_NE(coloured.find("\x1b["), std::string::npos);
  EXPECT_EQ(coloured.find("\x1b[2J"), std::string::npos);
  EXPECT_EQ(coloured.find("\xc2\x9b"), std::string::npos);
}

TEST(Screen, NamesTheWorstOfManyCases) {
  RunResult result;
  for (int i = 0; i < 100; ++i) {
    add(result, {timed(fmt::format("case{:03}", i), "tiles", i % 10 == 7 ? 2e-3 : 1e-3),
                 timed(fmt::format("case{:03}", i), "vendor", 1e-3)});
  }

  std::string const text = render_screen(result, {.width = 80});
  std::string const first = text.substr(0, text.find("\nWhat to try"));

  EXPECT_NE(first.find("\ncase097"), std::string::npos) << first;
  EXPECT_NE(first.find("and 76 more: 76 yes"), std::string::npos) << first;
  EXPECT_LT(std::ranges::count(first, '\n'), 40) << first;
}

// What was simulated has a time and no rate of its own, and much that was found.
TEST(Screen, ShowsAllFurtherRatesOfWhatHasManyAndNoBestOfWhatHasNone) {
  RunResult result = test::sample_result();
  result.records = {timed("many", "policy", 1e-3)};
  Record& r = result.records.front();
  r.unit = "";
  r.amount = 0;
  for (int i = 0; i < 20; ++i) r.extras.push_back({fmt::format("figure {}", i), 10.0 + i, "%"});
  finish(r);

  std::string const page = render_screen(result, {.width = 80});

  for (int i = 0; i < 20; ++i) {
    EXPECT_NE(page.find(fmt::format("figure {}", i)), std::string::npos) << page;
    EXPECT_NE(page.find(fmt::format("{}.0 %", 10 + i)), std::string::npos) << page;
  }
  EXPECT_EQ(page.find("The best of each case"), std::string::npos) << page;
  EXPECT_EQ(page.find("rate"), std::string::npos) << page;
  EXPECT_NE(page.find("simulated in"), std::string::npos) << page;
  EXPECT_EQ(page.find("median"), std::string::npos) << "no time of what was simulated";

  r.extras[3].is_detail = true;
  EXPECT_EQ(render_screen(result, {.width = 80}).find("figure 3"), std::string::npos);
  EXPECT_NE(render_details(result, {.width = 80}).find("figure 3"), std::string::npos)
      << "--details";

  r.extras.resize(6);
  std::string const few = render_screen(result, {.width = 160});
  EXPECT_EQ(few.find("figure 0"), few.rfind("figure 0")) << "beside the time, and once";
}

TEST(Screen, TellsAVendorsLibraryFromOurPipelineWithItsProduct) {
  RunResult result = test::sample_result();
  result.records = {timed("summa", "vendor", 1e-3)};
  constexpr char kNote[] = "our pipeline, with the vendor's product";
  EXPECT_EQ(render_screen(result, {.width = 120}).find(kNote), std::string::npos);
  result.records.front().share_of_local = 0.9;
  EXPECT_NE(render_screen(result, {.width = 120}).find(kNote), std::string::npos);
}

TEST(Screen, SaysWhereNothingRan) {
  std::string const text = render_screen(RunResult{}, {.width = 80});
  EXPECT_TRUE(text.starts_with("RESULT FAIL  0 of 0 measurements passed")) << text;
}

TEST(SweptKeys, AreThoseThatDifferWithinASweep) {
  RunResult result;
  for (auto const& [name, config] : std::vector<std::pair<std::string, std::string>>{
           {"a.1", "panel = 64\nalpha = 1.5\nsize = 8\n"},
           {"a.2", "panel = 128\nalpha = 1.5\nsize = 9\nbroadcast = \"ring\"\n"},
           {"b", "panel = 64\nalpha = 2.5\nsize = 8\n"},
           {"b-2", "panel = 64\nalpha = 3.5\nsize = 8\n"},
           {"c", "this is no TOML ["}}) {
    Record& r = result.records.emplace_back();
    r.name = name;
    r.workload = "summa";
    r.config = fmt::format("[[case]]\nname = \"{}\"\nworkload = \"summa\"\n{}", name, config);
  }
  test::read_cases_again(result);
  std::vector<Record> const& records = result.records;
  std::vector<Record const*> all;
  for (Record const& r : records) all.push_back(&r);

  SweptKeys const swept{all};

  EXPECT_EQ(swept.keys(), (std::vector<std::string>{"broadcast", "panel"}));
  EXPECT_EQ(swept.keys_of(records[1]), swept.keys());
  EXPECT_TRUE(swept.keys_of(records[2]).empty());
  EXPECT_EQ(swept.value(records[1], "panel"), "128");
  EXPECT_EQ(swept.value(records[1], "broadcast"), "ring");
  EXPECT_EQ(swept.value(records[0], "broadcast"), "library");
  EXPECT_EQ(swept.value(records[4], "panel"), "-");
}

TEST(SweptKeys, AWayToComputeIsNoOtherProblem) {
  auto const problem = [](std::string const& workload, std::string const& keys) {
    RunResult result;
    Record& r = result.records.emplace_back();
    r.workload = workload;
    r.config = fmt::format("[[case]]\nworkload = \"{}\"\nsize = 64\n{}", workload, keys);
    test::read_cases_again(result);
    return apart_from_choices(r);
  };
  EXPECT_EQ(problem("summa", "layers = 2\n"), problem("summa", ""));
  EXPECT_NE(problem("summa", "beta = 2\n"), problem("summa", ""));
  std::string const f16 = "type = \"f16\"\n";
  EXPECT_NE(problem("serving", f16 + "layers = 2\n"), problem("serving", f16)) << "of a model";
}

}  // namespace
}  // namespace quadrille::report
