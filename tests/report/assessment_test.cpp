// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/assessment.hpp"

#include "report/cells.hpp"
#include "report/columns.hpp"
#include "report/screen.hpp"
#include "report/table.hpp"
#include "support/cases.hpp"
#include "support/timed_record.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace quadrille::report {
namespace {

using measure::Outcome;
using measure::Record;
using measure::RunResult;
using test::timed;

CaseAssessment assessed(std::vector<Record> records, RunResult& result) {
  result = {};
  result.records = std::move(records);
  test::read_cases_again(result);
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

/// "yes compute" of a row whose rate is such a share of the peak, and such a ratio to the vendor; 0: none.
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
  EXPECT_EQ(judged(0.81, 0), "yes compute");
  EXPECT_EQ(judged(0.79, 0), "fair compute");
  EXPECT_EQ(judged(0.01, 0), "no compute");
  EXPECT_EQ(judged(0.6, 0.96), "yes compute");
  EXPECT_EQ(judged(0.6, 0.94), "fair compute");
  EXPECT_EQ(judged(0.02, 0.79), "no compute");
  EXPECT_EQ(judged(0.01, 1.2), "fair compute") << "they contradict each other";
  EXPECT_EQ(judged(0.9, 0.5), "fair compute");
  EXPECT_EQ(judged(0, 0.96), "yes -");
  EXPECT_EQ(judged(0, 0), "unknown -");
}

/// A made-up record, and what is said of it.
struct Rule {
  char const* name;
  std::function<void(Record&)> make;
  Limit limit;
  Answer answer;
  char const* advice = "";  ///< a part of it; "" for none at all
};

/// On two ranks, over a link.
void exchange(Record& r) {
  r.transport = "nccl";
  r.ranks = 2;
  r.unit = "B/s";
  r.roofline = {};
  r.peak = 0;
}
/// That moves bytes of memory alone, such a share of what it gives.
void move(Record& r, double share) {
  r.unit = "B/s";
  r.peak = 0;
  r.roofline = {.bytes = r.amount, .memory_peak = r.rate / share};
}
/// Of little work.
void shorten(Record& r, double seconds) {
  r = timed("a", "x", seconds);
  r.suspect.clear();
  r.amount = r.roofline.flop = 1e6;
  r.roofline.bytes = 1e3;
  finish(r);
}
void legs(Record& r, double compute_s, double communicate_s) {
  r.transport = "nccl";
  r.ranks = 2;
  r.leg_summary.emplace().compute_s = compute_s;
  r.leg_summary->communicate_s = communicate_s;
}

// 1 ms at half of the peak, where nothing else is said.
TEST(Assessment, HasARuleForEachLimit) {
  using enum Limit;
  constexpr Answer yes = Answer::yes, fair = Answer::fair, no = Answer::no;
  Rule const rules[]{
      {"products", [](Record&) {}, compute, fair, "variant = \"all\""},
      {"near the peak", [](Record& r) { r.roofline.compute_peak = r.rate; }, compute, yes},
      {"79.6 % are shown as 80", [](Record& r) { r.roofline.compute_peak = r.rate / 0.796; },
       compute, yes},
      {"memory", [](Record& r) { move(r, 0.6); }, memory, fair, "a larger size"},
      {"more than memory gives", [](Record& r) { move(r, 2); }, cache, yes},
      {"hot buffers",
       [](Record& r) {
         move(r, 0.6);
         r.roofline.is_hot = true;
       },
       cache, Answer::unknown},
      {"hot buffers of two ranks are no messages",
       [](Record& r) {
         exchange(r);
         move(r, 0.6);
         r.roofline.is_hot = true;
       },
       cache, Answer::unknown},
      {"a host's memory without a copy before",
       [](Record& r) {
         move(r, 0.6);
         r.roofline.memory_peak = 0;
       },
       memory, Answer::unknown, "a case of `copy`"},
      {"few operations, of whatever computes",
       [](Record& r) {
         move(r, 0.6);
         r.roofline.flop = r.amount / 8;
       },
       memory, fair, "a larger size"},
      {"PCIe, by generation and width",
       [](Record& r) {
         move(r, 1);
         r.roofline = {.pcie_bytes = r.amount, .pcie_peak = r.rate / 0.84};
       },
       pcie, yes},
      {"PCIe, far from it",
       [](Record& r) {
         move(r, 1);
         r.roofline = {.pcie_bytes = r.amount, .pcie_peak = 4 * r.rate};
       },
       pcie, no, "page-locked"},
      {"power, as NVML says", [](Record& r) { r.clock_limits = {"power"}; }, power, fair,
       "sustained"},
      {"power does not matter near the peak",
       [](Record& r) {
         r.clock_limits = {"power"};
         r.roofline.compute_peak = r.rate;
       },
       compute, yes},
      {"another cause of a lower clock is no power", [](Record& r) { r.clock_limits = {"other"}; },
       compute, fair, "variant"},
      // Short ones, by a device's clock as by a host's.
      {"a launch",
       [](Record& r) {
         shorten(r, 15e-6);
         r.timing = "device";
       },
       launch, no, "the time of a launch"},
      {"a call of a host", [](Record& r) { shorten(r, 15e-6); }, launch, no,
       "the time of a launch"},
      {"several launches",
       [](Record& r) {
         shorten(r, 50e-6);
         r.kernels = {"one", "two", "three"};
       },
       launch, no, "the time of a launch"},
      {"one that is longer", [](Record& r) { shorten(r, 50e-6); }, compute, no, "variant"},
      {"a short one near the peak",
       [](Record& r) {
         shorten(r, 15e-6);
         r.roofline.compute_peak = r.rate;
       },
       compute, yes},
      // Between ranks.
      {"a message",
       [](Record& r) {
         shorten(r, 35e-6);
         exchange(r);
       },
       latency, Answer::unknown},
      {"many bytes", exchange, link, Answer::unknown},
      {"one rank sends nothing",
       [](Record& r) {
         exchange(r);
         r.ranks = 1;
       },
       Limit::unknown, Answer::unknown},
      {"messages take longer than the work", [](Record& r) { legs(r, 1e-3, 2e-3); }, link, fair,
       "transport = \"all\""},
      {"the work takes longer", [](Record& r) { legs(r, 2e-3, 1e-3); }, compute, fair, "variant"},
      {"the work on one rank",
       [](Record& r) {
         legs(r, 1e-3, 2e-3);
         r.ranks = 1;
       },
       compute, fair, "variant"},
      {"launches and messages of a small pipeline",
       [](Record& r) {
         shorten(r, 90e-6);
         r.kernels = {"pack", "product", "pack", "product"};
         legs(r, 60e-6, 40e-6);
       },
       latency, no, "send more at once"},
      {"far below its work without communication",
       [](Record& r) {
         legs(r, 1e-3, 1e-3);
         r.leg_summary.reset();
         r.share_of_local = 0.7;
       },
       link, fair, "transport"},
      {"by a local row that nobody trusts",
       [](Record& r) {
         legs(r, 1e-3, 1e-3);
         r.leg_summary.reset();
         r.share_of_local = 0.7;
         r.local_is_suspect = true;
       },
       compute, fair, "variant"},
      // Ratios.
      {"as fast as the vendor", [](Record& r) { r.ratio_to_vendor = 0.96; }, compute, yes},
      {"94.6 % are shown as 95", [](Record& r) { r.ratio_to_vendor = 0.946; }, compute, yes},
      {"slower, whatever the size", [](Record& r) { r.ratio_to_vendor = 0.6; }, compute, no,
       "the vendor's library is 1.7 x faster at this size"},
      {"a little slower", [](Record& r) { r.ratio_to_vendor = 0.92; }, compute, fair,
       "the vendor's library is 1.09 x faster at this size"},
      {"faster than a vendor that nobody trusts",
       [](Record& r) {
         r.ratio_to_vendor = 1.51;
         r.vendor_is_suspect = true;
       },
       compute, fair, "variant"},
      {"the same, without anything else to compare with",
       [](Record& r) {
         r.ratio_to_vendor = 1.51;
         r.vendor_is_suspect = true;
         r.peak = r.roofline.compute_peak = 0;
       },
       Limit::unknown, Answer::suspect, "what it is compared with is SUSPECT"},
      {"a copy that nobody trusts",
       [](Record& r) {
         move(r, 1);
         r.roofline.memory_peak = 0;
         r.ratio_to_copy = 0.9;
         r.copy_is_suspect = true;
       },
       memory, Answer::suspect, "what it is compared with is SUSPECT"},
      {"a copy",
       [](Record& r) {
         move(r, 1);
         r.roofline.memory_peak = 0;
         r.ratio_to_copy = 0.9;
       },
       memory, yes},
      {"its own time",
       [](Record& r) {
         r.ratio_to_vendor = 1.2;
         r.suspect = {"the times vary"};
       },
       compute, Answer::suspect, "SUSPECT"},
      {"what is simulated",
       [](Record& r) {
         shorten(r, 1e-6);
         r.unit = "";
         r.peak = r.amount = 0;
         r.roofline = {};
         finish(r);
       },
       Limit::unknown, Answer::no_result},
  };
  for (Rule const& rule : rules) {
    Record record = timed("a", "x", 1e-3);
    rule.make(record);
    RunResult result;
    CaseAssessment const found = assessed({record}, result);
    EXPECT_EQ(core::to_text(limit_of(record)), core::to_text(rule.limit)) << rule.name;
    EXPECT_EQ(core::to_text(found.answer), core::to_text(rule.answer)) << rule.name;
    bool const has_advice = *rule.advice == '\0'
                                ? found.advice.empty()
                                : found.advice.find(rule.advice) != std::string::npos;
    EXPECT_TRUE(has_advice) << rule.name << ": " << found.advice;
    EXPECT_EQ(cell(column("limit"), record), core::to_text(rule.limit)) << "one word everywhere";
  }
}

TEST(Assessment, NamesWhatIsFasterInTheSameRun) {
  auto const sent = [](std::string const& name, std::string const& keys, double seconds) {
    Record r = timed(name, "ours", seconds);
    r.workload = "broadcast";
    r.config = fmt::format("[[case]]\nname = \"{}\"\nworkload = \"broadcast\"\nsize = 1024\n{}",
                           name, keys);
    r.share_of_local = 0.5;
    return r;
  };
  auto const advice = [](std::vector<Record> records) {
    RunResult result;
    return assessed(std::move(records), result).advice;
  };
  std::string const ring = "broadcast = \"ring\"\n", library = "broadcast = \"library\"\n";
  Record const slow = sent("a.1", ring, 2.7e-3), fast = sent("a.2", library, 1e-3);

  EXPECT_EQ(advice({slow, fast}), "broadcast = library is 2.7 x faster here");
  EXPECT_EQ(advice({fast, slow}).find("faster here"), std::string::npos);
  EXPECT_EQ(advice({slow, sent("b", library, 1e-3)}), "broadcast = library is 2.7 x faster here");
  EXPECT_EQ(advice({slow, sent("a.2", ring + "clock = \"sustained\"\n", 1e-3)}).find("here"),
            std::string::npos)
      << "under other conditions";
  Record doubtful = fast, larger = fast;
  doubtful.suspect = {"the times vary"};
  larger.size = {2048};
  EXPECT_EQ(advice({slow, doubtful}).find("here"), std::string::npos);
  EXPECT_EQ(advice({slow, larger}).find("here"), std::string::npos);
  Record variant = sent("a.2", ring, 1e-3);
  variant.variant = "tiles";
  EXPECT_EQ(advice({slow, variant}), "variant = tiles is 2.7 x faster here");
}

TEST(Assessment, AdvisesALargerSizeWhereNothingSpeaksAgainstIt) {
  auto const sized = [](std::int64_t n, double of_peak) {
    Record r = timed(fmt::format("a.{}", n), "x", 1e9 / (2e12 * of_peak));
    r.size = {n};
    return r;
  };
  auto const advises = [](std::vector<Record> records) {
    RunResult result;
    return assessed(std::move(records), result).advice.find("larger size") != std::string::npos;
  };
  EXPECT_TRUE(advises({sized(1, 0.5)}));
  EXPECT_TRUE(advises({sized(1, 0.5), sized(2, 0.7)}));
  EXPECT_FALSE(advises({sized(1, 0.5), sized(2, 0.51)})) << "the run shows that it does not help";
  EXPECT_TRUE(advises({sized(2, 0.5), sized(1, 0.4)}));
  Record behind = sized(1, 0.5);
  behind.ratio_to_vendor = 0.8;
  EXPECT_FALSE(advises({behind})) << "the vendor is faster at the same size";
}

TEST(Assessment, CountsCasesBesideTheVendor) {
  std::vector<Record> records;
  for (auto const& [name, ratio] : std::vector<std::pair<std::string, double>>{
           {"slow", 0.5}, {"slower", 0.4}, {"fast", 1.1}, {"doubtful", 3}, {"vary", 2}}) {
    records.push_back(timed(name, "x", 1e-3));
    records.back().ratio_to_vendor = ratio;
    records.back().vendor_is_suspect = name == "doubtful";
    if (name == "vary") records.back().suspect = {"the times vary"};
  }
  RunResult result;
  result.records = records;

  VendorStanding const standing = vendor_standing(assess(result));

  ASSERT_EQ(standing.slower.size(), 2U);
  EXPECT_EQ(standing.slower.front()->name, "slower");
  ASSERT_EQ(standing.as_fast.size(), 1U);
  EXPECT_EQ(standing.as_fast.front()->name, "fast");
  EXPECT_EQ(standing.compared(), 3U);
}

TEST(Assessment, ShowsWhatTheMedianRatesSayWhereTheyContradict) {
  Record ours = timed("a", "x", 1.0e-3), vendor = timed("a", "vendor", 1.1e-3);
  vendor.ratio_to_vendor = 1;
  ours.ratio_to_vendor = 1.12;
  std::vector<Record> rows{ours, vendor};
  EXPECT_FALSE(contradicting_vendor_percent(ours, rows)) << "within 3 %";

  ours.ratio_to_vendor = 1.0;
  auto const percent = contradicting_vendor_percent(ours, rows);
  ASSERT_TRUE(percent);
  EXPECT_NEAR(*percent, 110, 0.1);
  EXPECT_FALSE(contradicting_vendor_percent(vendor, rows)) << "itself";
  rows[0].ratio_to_vendor = 1.0;
  RunResult result;
  result.records = rows;
  EXPECT_NE(render_screen(result, {.width = 240}).find("by the median rates it is 110 %"),
            std::string::npos);
}

TEST(Assessment, TellsWhereBestMissedAFasterRow) {
  struct {
    char const* name;
    std::function<void(Record& best, Record& other)> make;
    bool is_told = false;
  } const rules[]{
      {"faster", [](Record&, Record&) {}, true},
      {"no longer the best", [](Record& best, Record&) { best.is_best = false; }},
      {"by 5 %", [](Record& best, Record&) { best.rate *= 1.25; }},
      {"not trusted", [](Record& best, Record&) { best.suspect = {"it varies"}; }},
      {"a doubtful rival", [](Record&, Record& other) { other.suspect = {"it varies"}; }},
      {"intervals overlap", [](Record&, Record& other) { other.time.median_high = 2e-3; }},
      {"of another case", [](Record&, Record& other) { other.name = "b"; }},
      {"the vendor's", [](Record&, Record& other) { other.role = "vendor"; }},
      {"a wrong one", [](Record&, Record& other) { other.outcome = Outcome::fail; }},
  };
  for (auto const& rule : rules) {
    RunResult result;
    result.records = {timed("a", "tma", 1.3e-3), timed("a", "simt", 1e-3), timed("a", "x", 1.2e-3)};
    result.records[0].is_best = true;
    result.records[2].suspect = {"it varies"};
    rule.make(result.records[0], result.records[1]);

    std::string const told = missed_best(result.records[0], result.records);

    EXPECT_EQ(told, rule.is_told ? "best took tma; simt is 1.3 x faster here" : "") << rule.name;
    EXPECT_EQ(missed_best(result.records[1], result.records), "") << rule.name;
    bool const is_shown =
        render_screen(result, {.width = 240}).find("best took tma; simt is") != std::string::npos;
    EXPECT_EQ(is_shown, rule.is_told) << rule.name;
  }
}

TEST(Assessment, BracketsRatiosToWhatIsSuspect) {
  Record r = timed("a", "x", 1e-3);
  r.ratio_to_vendor = 1.51;
  r.ratio_to_copy = r.share_of_local = 0.5;
  EXPECT_EQ(vendor_share(r) + copy_share(r) + local_share(r), "151 %50 %50 %");
  r.vendor_is_suspect = r.copy_is_suspect = r.local_is_suspect = true;
  EXPECT_EQ(vendor_share(r) + copy_share(r) + local_share(r), "(151 %)(50 %)(50 %)");
  EXPECT_EQ(cell(column("ratio_to_vendor"), r), "(1.51)");
  EXPECT_EQ(cell(column("ratio_to_copy"), r), "(0.50)");
  EXPECT_EQ(cell(column("share_of_local"), r), "(0.50)");
  r.ratio_to_vendor.reset();
  EXPECT_EQ(vendor_share(r), "-");
}

Record exchanged(std::string const& name, std::string const& transport, double seconds) {
  Record r = timed(name, "ours", seconds);
  r.workload = "summa";
  r.transport = transport;
  r.config = fmt::format(
      "[[case]]\nname = \"{}\"\nworkload = \"summa\"\nsize = 1024\ntransport = \"{}\"\n", name,
      transport);
  return r;
}

TEST(Assessment, CasesThatDifferInTransportAloneAreOne) {
  RunResult result;
  Record missing = exchanged("a.nccl", "nccl", 1e-3);
  missing.outcome = Outcome::unsupported;
  missing.reason = "no GPU";
  result.records = {missing, exchanged("a.ipc", "ipc", 2e-3), exchanged("a.mpi", "mpi", 1e-3)};
  test::read_cases_again(result);

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
    test::read_cases_again(result);
    EXPECT_EQ(assess(result).size(), 2U) << name << ' ' << key;
  }
}

TEST(Assessment, OfASuspectTimeThereIsNoAnswer) {
  Record r = timed("a", "x", 1e-3);
  r.suspect = {"the times vary"};
  RunResult result;
  EXPECT_EQ(assessed({r}, result).answer, Answer::suspect);
  r.outcome = Outcome::fail;
  EXPECT_EQ(assessed({r}, result).answer, Answer::no_result);
}

TEST(Assessment, TellsASuspectPeakFromNone) {
  Record r = timed("a", "x", 1e-3), copy = timed("b", "x", 1e-3);
  move(r, 0.6);
  r.roofline.memory_peak = 0;
  copy.measures = measure::Resource::memory;
  RunResult result;
  EXPECT_TRUE(assessed({r, copy}, result).advice.starts_with("a case of `copy`"));
  copy.suspect = {"the times vary"};
  EXPECT_TRUE(
      assessed({r, copy}, result).advice.starts_with("what it is compared with is SUSPECT"));
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

}  // namespace
}  // namespace quadrille::report
