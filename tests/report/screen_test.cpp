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
  for (std::size_t const width : {40U, 60U, 72U, 80U, 100U, 120U, 200U}) {
    std::string const text = render_screen(mixed_result(), {.width = width});
    EXPECT_LE(widest_line(text), std::max<std::size_t>(width, 60)) << text;
    std::string const header = render_run_header(mixed_result().info, {.width = width});
    EXPECT_LE(widest_line(header), width) << header;
  }
}

/// The first line that begins so.
std::string line_of(std::string const& text, std::string_view begin) {
  std::size_t const at = ("\n" + text).find(fmt::format("\n{}", begin));
  return at == text.npos ? "" : text.substr(at, text.find('\n', at) - at);
}
bool has(std::string const& text, std::string_view part) { return text.find(part) != text.npos; }

TEST(Screen, KeepsWhatAnswersInEightyColumns) {
  RunResult result = mixed_result();
  for (Record& r : result.records) {
    if (r.name == "noisy") r.size = {4096};
    if (r.name == "sweep.2") r.name = "a_sweep_of_some_length.2";
    if (r.name == "sweep.1") r.variant += "_of_a_variant_of_some_length";
  }
  std::string const text = render_screen(result, {.width = 80});
  std::string const heads = line_of(text, "case ");
  for (char const* const head : {"variant", "per rank", "vendor", "limit", "good?"}) {
    EXPECT_TRUE(has(heads, head)) << head << '\n' << text;
  }
  EXPECT_FALSE(has(text, "SUSPEC.")) << text;
}

TEST(Screen, SaysInTheHeadingWhatAllCasesHaveInCommon) {
  RunResult result;
  add(result, {timed("one", "tiles", 1e-3), timed("one", "vendor", 1e-3)});
  add(result, {timed("two", "tiles", 1e-3), timed("two", "vendor", 1e-3)});
  std::string const text = render_screen(result, {.width = 200});
  EXPECT_TRUE(has(text, "The best of each case, 1Ki, f64: good?")) << text;
  EXPECT_FALSE(has(line_of(text, "case "), "size")) << text;
  result.records.back().type = result.records[2].type = "f32";
  std::string const mixed = render_screen(result, {.width = 200});
  EXPECT_TRUE(has(mixed, "The best of each case, 1Ki: good?")) << mixed;
  EXPECT_TRUE(has(line_of(mixed, "case "), "type")) << mixed;
}

TEST(Screen, GivesACaseOfManyVariantsATableOfItsOwn) {
  RunResult result;
  for (int n = 1; n <= 5; ++n) {
    result.records.push_back(timed("many", fmt::format("the_same_long_begin_{}_and_end", n), n));
    if (n < 5) result.records.push_back(timed("few", fmt::format("row{}", n), n));
  }
  std::string const text = render_screen(result, {.width = 80});
  EXPECT_TRUE(has(text, "\ngemm: many, 1Ki, f64, 1 rank\nvariant ")) << text;
  EXPECT_TRUE(has(text, "\ngemm: few, 1Ki, f64, 1 rank\nvariant ")) << text;

  std::string const narrow = render_screen(result, {.width = 40});
  std::string const table = narrow.substr(narrow.find("\ngemm: many"));
  for (int n = 1; n <= 5; ++n) {
    EXPECT_TRUE(has(table, fmt::format("{}_and_end", n))) << table;
  }
}

TEST(Screen, ShowsMessagesInBytesWithTheirElementsAndTheRateOfARank) {
  RunResult result;
  Record& r = result.records.emplace_back(timed("sum", "transport", 1e-3));
  r.workload = "allreduce";
  r.transport = "mpi";
  r.type = "f32";
  r.size = {65536};
  r.config = "[[case]]\nname = \"sum\"\nworkload = \"allreduce\"\nsize = 65536\n";
  r.ranks = 4;
  r.amount = 4e6;
  r.unit = "B/s";
  r.peak = 0;
  r.roofline = {};
  r.seconds.assign(24, 1e-3);
  finish(r);
  test::read_cases_again(result);

  std::string const text = render_screen(result, {.width = 80});

  EXPECT_TRUE(has(text, "The best of each case, 256KiB (64Ki), f32: good?")) << text;
  EXPECT_TRUE(has(text, "\nallreduce: sum, 256KiB (64Ki), f32, mpi, 4 ranks\n")) << text;
  std::string const heads = line_of(text, "case "), row = line_of(text, "sum ");
  EXPECT_LT(heads.find("median"), heads.find("per rank")) << text;
  EXPECT_LT(heads.find("per rank"), heads.find("rate")) << text;
  EXPECT_TRUE(has(row, "1.00 ms  1.00 GB/s  4.00 GB/s")) << text;
  result.records.front().workload = "vector";
  result.records.front().config = "[[case]]\nworkload = \"vector\"\nsize = 65536\n";
  test::read_cases_again(result);
  EXPECT_TRUE(has(render_screen(result, {.width = 80}), "vector: sum, 64Ki, f32"));
}

TEST(Screen, ShowsTheTimeOfACall) {
  RunResult result;
  Record& r = result.records.emplace_back(timed("api", "launch", 2.5e-6));
  r.workload = "api";
  r.amount = 1;
  r.unit = "call/s";
  r.published = 1 / 50.3e-6;
  r.published_on = "a GPU";
  finish(r);

  std::string const text = render_screen(result, {.width = 80});

  EXPECT_FALSE(has(text, "call/s")) << text;
  EXPECT_TRUE(has(text, "50.3 us")) << text;
  std::string const row = line_of(text.substr(text.find("\napi: ") + 1), "launch ");
  EXPECT_TRUE(has(row, "2.50 us")) << text;
  EXPECT_TRUE(has(line_of(text, "api  "), "2.50 us")) << text;
  EXPECT_TRUE(has(render_details(result, {.width = 80}), "400 kcall/s"));
}

TEST(Screen, WritesNoPercentWithAnExponent) {
  RunResult result;
  Record& r = result.records.emplace_back(timed("wild", "tiles", 1e-3));
  r.seconds = {1e-3, 1e-3, 1e-3, 2e-3, 9e-3, 9e-3};
  r.suspect_percent = 0;
  finish(r);
  std::string const text = render_screen(result, {.width = 200});
  EXPECT_TRUE(has(text, "+-267 %")) << text;
}

TEST(Screen, CountsWhatARunEndedBefore) {
  RunResult result;
  result.info.status = "interrupted";
  result.records.push_back(timed("first", "tiles", 1e-3));
  for (int i = 0; i < 3; ++i) {
    Record& r = result.records.emplace_back();
    r.name = fmt::format("case{}", i);
    r.workload = "gemm";
    r.variant = "tiles";
    r.outcome = Outcome::interrupted;
    r.reason = "the run ended before it";
  }
  std::string const text = render_screen(result, {.width = 120});
  EXPECT_TRUE(text.starts_with("FAIL  1 of 4 measurements passed; 3 interrupted")) << text;
  EXPECT_TRUE(has(text, "\n   3 INTERRUPTED  the run ended before it\n")) << text;
  EXPECT_TRUE(has(text, "  - INTERRUPTED the run ended before it: case0 tiles, case1 tiles"))
      << text;
  EXPECT_EQ(line_of(text, "case0 "), "") << "it has no numbers";
  EXPECT_FALSE(has(text, "RESULT")) << "the last line alone is called so";
}

TEST(Screen, BreaksItsLastLineForAPersonAlone) {
  RunResult const result = mixed_result();
  std::string const file = "results/20260102-030405-abcd/result.h5";
  EXPECT_EQ(shown_result(result, file, {.width = 40}), result_line(result, file) + "\n");
  std::string const broken = shown_result(result, file, {.width = 60, .is_read = true});
  EXPECT_LE(widest_line(broken), 60U) << broken;
  std::string joined = broken;
  for (std::size_t at = 0; (at = joined.find("\n  ", at)) != joined.npos;) {
    joined.replace(at, 3, " ");
  }
  EXPECT_EQ(joined, result_line(result, file) + "\n");
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
  EXPECT_NE(page.find("host time"), std::string::npos) << page;
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
  EXPECT_TRUE(text.starts_with("FAIL  0 of 0 measurements passed")) << text;
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
