// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/screen.hpp"

#include "report/assessment.hpp"
#include "report/swept_keys.hpp"
#include "report/table.hpp"
#include "report/text.hpp"
#include "support/sample_result.hpp"

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

/// Six repetitions of one rank, of 1 GFLOP each.
Record timed(std::string const& name, std::string const& variant, double seconds) {
  Record r;
  r.id = name + ":" + variant;
  r.name = name;
  r.workload = "gemm";
  r.type = "f64";
  r.variant = variant;
  r.role = variant == "vendor" ? "vendor" : "own";
  r.backend = variant == "vendor" ? "vendor" : "cuda";
  r.transport = "none";
  r.device = "GPU";
  r.size = {1024};
  r.config = fmt::format("[[case]]\nname = \"{}\"\nworkload = \"gemm\"\n", name);
  r.ranks = 1;
  r.outcome = Outcome::pass;
  r.amount = 1e9;
  r.unit = "FLOP/s";
  r.peak = 2e12;
  r.roofline = {.flop = 1e9, .bytes = 1e6, .compute_peak = 2e12, .memory_peak = 1e12};
  r.seconds.assign(6, seconds);
  r.check = {0.25, 1, 0, "", "0123"};
  finish(r);
  return r;
}

/// Sets the ratios to the last record, the vendor's.
void compare_with_vendor(std::vector<Record>& records) {
  for (Record& r : records) set_ratio(r, records.back());
}

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
  for (std::size_t const width : {80U, 120U}) {
    Terminal const terminal{.width = width};
    EXPECT_EQ(render_short_header(mixed_result().info, terminal) + '\n' +
                  render_screen(mixed_result(), terminal),
              expected(fmt::format("screen_{}.txt", width)));
  }
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

  r.extras[3].is_detail = true;
  EXPECT_EQ(render_screen(result, {.width = 80}).find("figure 3"), std::string::npos);
  EXPECT_NE(render_table(result).find("figure 3"), std::string::npos) << "--details";

  r.extras.resize(6);
  std::string const few = render_screen(result, {.width = 160});
  EXPECT_EQ(few.find("figure 0"), few.rfind("figure 0")) << "beside the time, and once";
}

TEST(Screen, SaysWhereNothingRan) {
  std::string const text = render_screen(RunResult{}, {.width = 80});
  EXPECT_TRUE(text.starts_with("RESULT FAIL  0 of 0 measurements passed")) << text;
}

CaseAssessment assessed(std::vector<Record> records, RunResult& result) {
  result = {};
  result.records = std::move(records);
  return assess(result).at(0);
}

TEST(Assessment, TakesTheFastestOfItsOwn) {
  RunResult result;
  Record copy = timed("a", "copy", 1e-6);
  copy.role = "ceiling";
  Record reference = timed("a", "textbook", 0.1e-3);
  reference.role = "reference";

  CaseAssessment const found = assessed({copy, reference, timed("a", "slow", 2e-3),
                                         timed("a", "fast", 1e-3), timed("a", "vendor", 0.5e-3)},
                                        result);

  ASSERT_NE(found.best, nullptr);
  EXPECT_EQ(found.best->variant, "fast");
  EXPECT_EQ(found.rows.size(), 5U);
  EXPECT_EQ(assessed({copy, reference}, result).best->variant, "textbook");
  EXPECT_EQ(assessed({copy}, result).best, nullptr);
}

TEST(Assessment, ReadsRolesOfOlderResults) {
  Record r = timed("a", "x", 1e-3);
  r.role = "";
  EXPECT_TRUE(is_own(r));
  r.backend = "vendor";
  EXPECT_FALSE(is_own(r));
}

/// "yes pipe" of a row whose rate is such a share of the peak, and such a ratio to the vendor; 0: none.
std::string judged(double of_peak, double of_vendor) {
  double const seconds = of_peak > 0 ? 1e9 / (2e12 * of_peak) : 1e-3;
  Record r = timed("a", "x", seconds);
  if (of_peak == 0) r.peak = r.roofline.compute_peak = 0;
  if (of_vendor > 0) r.ratio_to_vendor = of_vendor;
  RunResult result;
  CaseAssessment const found = assessed({r}, result);
  return fmt::format("{} {}", core::to_text(found.answer), core::to_text(found.limit));
}

TEST(Assessment, AnswersByLimitAndVendor) {
  EXPECT_EQ(judged(0.81, 0), "yes pipe");
  EXPECT_EQ(judged(0.79, 0), "fair pipe");
  EXPECT_EQ(judged(0.01, 0), "no pipe");
  EXPECT_EQ(judged(0.6, 0.96), "yes pipe");
  EXPECT_EQ(judged(0.6, 0.94), "fair pipe");
  EXPECT_EQ(judged(0.02, 0.79), "no pipe");
  EXPECT_EQ(judged(0.01, 1.2), "fair pipe") << "they contradict each other";
  EXPECT_EQ(judged(0.9, 0.5), "fair pipe");
  EXPECT_EQ(judged(0, 0.96), "yes -");
  EXPECT_EQ(judged(0, 0), "unknown -");
}

TEST(Assessment, NamesTheLimit) {
  auto const limit = [](Record const& r, double run_clock = 0) {
    RunResult result;
    result.records = {r};
    if (run_clock > 0) {
      result.records.push_back(timed("other", "x", 1e-3));
      result.records.back().clock_hz.assign(6, run_clock);
    }
    return core::to_text(assess(result).at(0).limit);
  };
  Record r = timed("a", "x", 1e-3);
  EXPECT_EQ(limit(r), "pipe");

  r.clock_hz.assign(6, 1.5e9);
  EXPECT_EQ(limit(r, 1.6e9), "pipe");
  EXPECT_EQ(limit(r, 1.9e9), "power");

  Record memory = timed("a", "x", 1e-3);
  memory.roofline = {.bytes = 1e8, .memory_peak = 1e12};
  EXPECT_EQ(limit(memory), "memory");
  memory.roofline.memory_peak = 5e10;
  EXPECT_EQ(limit(memory), "cache") << "twice what memory delivers";
  memory.roofline.memory_peak = 0;
  memory.peak = 0;
  EXPECT_EQ(limit(memory), "memory") << "nothing is computed";

  Record small = timed("a", "x", 10e-6);
  EXPECT_EQ(limit(small), "pipe") << "more than the peak";
  small.amount = small.roofline.flop = 1e6;
  finish(small);
  EXPECT_EQ(limit(small), "launch");
  small.timing = "device";
  EXPECT_EQ(limit(small), "memory") << "a GPU's clock has no launch in it";
  small.kernels = {"first", "second"};
  EXPECT_EQ(limit(small), "launch") << "but each takes 3 us";

  Record link = timed("a", "x", 1e-3);
  link.transport = "mpi";
  EXPECT_EQ(limit(link), "pipe");
  link.share_of_local = 0.7;
  EXPECT_EQ(limit(link), "link");
  link.leg_summary.emplace().compute_s = 2;
  link.leg_summary->communicate_s = 1;
  EXPECT_EQ(limit(link), "pipe");
  link.leg_summary->communicate_s = 3;
  EXPECT_EQ(limit(link), "link");
}

Record exchanged(std::string const& name, std::string const& transport, double seconds) {
  Record r = timed(name, "ours", seconds);
  r.transport = transport;
  r.config += fmt::format("transport = \"{}\"\n", transport);
  return r;
}

TEST(Assessment, CasesThatDifferInTransportAloneAreOne) {
  RunResult result;
  Record missing = exchanged("a.nccl", "nccl", 1e-3);
  missing.outcome = Outcome::unsupported;
  missing.reason = "no GPU";
  result.records = {missing, exchanged("a.ipc", "ipc", 2e-3), exchanged("a.mpi", "mpi", 1e-3)};

  std::vector<CaseAssessment> const one = assess(result);
  std::string const text = render_screen(result, {.width = 120});

  ASSERT_EQ(one.size(), 1U);
  ASSERT_NE(one[0].best, nullptr);
  EXPECT_EQ(one[0].best->name, "a.mpi");
  EXPECT_EQ(one[0].rows.size(), 3U);
  EXPECT_NE(text.find("\na.mpi  mpi        ours"), std::string::npos) << text;
  EXPECT_NE(text.find("UNSUPPORTED no GPU: a.nccl ours"), std::string::npos) << text;

  // Another key, another name in the input, or the same transport again.
  for (auto const& [name, transport, key] :
       {std::tuple{"a.mpi", "mpi", "panel = 32\n"}, {"b.mpi", "mpi", ""}, {"a.2", "ipc", ""}}) {
    Record other = exchanged(name, transport, 1e-3);
    other.config += key;
    result.records = {exchanged("a.ipc", "ipc", 2e-3), other};
    EXPECT_EQ(assess(result).size(), 2U) << name << ' ' << key;
  }
}

TEST(Assessment, OfASuspectTimeThereIsNoAnswer) {
  Record r = timed("a", "x", 1e-3);
  r.suspect = {"the clock fell"};
  RunResult result;
  EXPECT_EQ(assessed({r}, result).answer, Answer::suspect);
  r.outcome = Outcome::fail;
  EXPECT_EQ(assessed({r}, result).answer, Answer::no_result);
}

TEST(Assessment, SlowerIsWhatTheWholeIntervalSays) {
  Record r = timed("a", "x", 1e-3);
  r.ratio_to_vendor = 0.9;
  EXPECT_TRUE(is_slower_than_vendor(r));
  r.ratio_to_vendor_low = 0.8;
  r.ratio_to_vendor_high = 1.01;
  EXPECT_FALSE(is_slower_than_vendor(r));
  r.ratio_to_vendor_high = 0.99;
  EXPECT_TRUE(is_slower_than_vendor(r));
  r.role = "reference";
  EXPECT_FALSE(is_slower_than_vendor(r));
}

TEST(SweptKeys, AreThoseThatDifferWithinASweep) {
  std::vector<Record> records;
  for (auto const& [name, config] : std::vector<std::pair<std::string, std::string>>{
           {"a.1", "panel = 64\nalpha = 1.5\nsize = 8\n"},
           {"a.2", "panel = 128\nalpha = 1.5\nsize = 9\nring = true\n"},
           {"b", "panel = 64\nalpha = 2.5\nsize = 8\n"},
           {"b-2", "panel = 64\nalpha = 3.5\nsize = 8\n"},
           {"c", "this is no TOML ["}}) {
    Record& r = records.emplace_back();
    r.name = name;
    r.config = fmt::format("[[case]]\nname = \"{}\"\n{}", name, config);
  }
  std::vector<Record const*> all;
  for (Record const& r : records) all.push_back(&r);

  SweptKeys const swept{all};

  EXPECT_EQ(swept.keys(), (std::vector<std::string>{"panel", "ring"}));
  EXPECT_EQ(swept.keys_of(records[1]), swept.keys());
  EXPECT_TRUE(swept.keys_of(records[2]).empty());
  EXPECT_EQ(swept.value(records[1], "panel"), "128");
  EXPECT_EQ(swept.value(records[1], "ring"), "true");
  EXPECT_EQ(swept.value(records[0], "ring"), "-");
  EXPECT_EQ(swept.value(records[4], "panel"), "-");
}

}  // namespace
}  // namespace quadrille::report
