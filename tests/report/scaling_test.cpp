// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/scaling.hpp"

#include "report/html.hpp"
#include "support/cases.hpp"
#include "support/cluster_result.hpp"
#include "support/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace quadrille::report {
namespace {

using measure::RunResult;

/// A product of `n` on `ranks` that takes `seconds`.
measure::Record product(std::int64_t n, int ranks, double seconds) {
  test::Noise noise;
  measure::Record r = test::cluster_record("summa", "vendor", n, ranks, 1, noise);
  r.transport = ranks > 1 ? "mpi" : "none";
  r.amount = r.roofline.flop = 2 * std::pow(static_cast<double>(n), 3);
  r.seconds.assign(static_cast<std::size_t>(7 * ranks), seconds);
  finish(r);
  return r;
}

measure::Record exchange(double bytes, int ranks, double seconds) {
  test::Noise noise;
  measure::Record r = test::cluster_record("allreduce", "transport",
                                           static_cast<std::int64_t>(bytes), ranks, 1, noise);
  r.transport = "mpi";
  r.roofline = {};
  r.amount = bytes;
  r.seconds.assign(static_cast<std::size_t>(7 * ranks), seconds);
  finish(r);
  return r;
}

RunResult run_of(int ranks, std::vector<measure::Record> records) {
  RunResult result = test::cluster_result(ranks, 0);
  result.records = std::move(records);
  test::read_cases_again(result);
  return result;
}

/// With this time on 1, 2, 4 and 8 ranks.
std::vector<RunResult> runs_of(std::function<double(int)> const& seconds,
                               std::function<std::int64_t(int)> const& size) {
  std::vector<RunResult> results;
  for (int const ranks : {4, 1, 8, 2}) {  // in any order
    results.push_back(run_of(ranks, {product(size(ranks), ranks, seconds(ranks))}));
  }
  return results;
}

TEST(Fit, FindsALine) {
  std::vector<double> const x{1, 2, 4, 8}, y{5, 7, 11, 19};

  Line const line = fit_line(x, y).value();

  EXPECT_NEAR(line.constant, 3, 1e-9);
  EXPECT_NEAR(line.slope, 2, 1e-9);
  EXPECT_NEAR(line.worst, 0, 1e-9);
}

TEST(Fit, KeepsBothPartsAboveZero) {
  std::vector<double> const x{1, 2, 3}, falling{3, 2, 1}, steep{0.1, 2, 4};

  Line const constant = fit_line(x, falling).value();
  Line const slope = fit_line(x, steep).value();

  EXPECT_EQ(constant.slope, 0);
  EXPECT_GT(constant.constant, 0);
  EXPECT_EQ(slope.constant, 0);
  EXPECT_GT(slope.slope, 0);
}

TEST(Fit, TakesThreePoints) {
  EXPECT_FALSE(fit_line(std::vector<double>{1, 2}, std::vector<double>{1, 2}).has_value());
  EXPECT_FALSE(fit_line(std::vector<double>{1, 1, 1}, std::vector<double>{1, 2, 3}).has_value());
  EXPECT_FALSE(
      fit_line(std::vector<double>{1, 2, 3}, std::vector<double>{1, std::nan(""), 3}).has_value());
}

TEST(Scaling, FindsTheSerialPartOfStrongScaling) {
  auto const results =
      runs_of([](int ranks) { return 0.2 + 0.8 / ranks; }, [](int) { return 4096; });

  Scaling const scaling = *join_scaling(results);

  EXPECT_EQ(scaling.ranks, (std::vector{1, 2, 4, 8}));
  ASSERT_EQ(scaling.curves.size(), 1U);
  ScalingCurve const& curve = scaling.curves[0];
  EXPECT_EQ(curve.growth, Growth::strong);
  ASSERT_EQ(curve.points.size(), 4U);
  EXPECT_NEAR(curve.points[1].speedup, 1 / 0.6, 1e-9);
  EXPECT_NEAR(curve.points[1].efficiency, 1 / 1.2, 1e-9);
  EXPECT_FALSE(curve.points[0].serial.has_value());
  for (int const i : {1, 2, 3})
    EXPECT_NEAR(*curve.points[static_cast<std::size_t>(i)].serial, 0.2, 1e-9);
  EXPECT_NEAR(curve.fit->constant, 0.2, 1e-9);
  EXPECT_NEAR(curve.fit->at(abscissa(Growth::strong, 16)), 0.25, 1e-9);
  std::string const text = render_scaling(scaling);
  EXPECT_NE(text.find("Amdahl: 20.0 % of the time on 1 is serial"), std::string::npos) << text;
  EXPECT_NE(text.find("16 ranks: 250 ms predicted"), std::string::npos) << text;
}

TEST(Scaling, ComparesRatesOfRanksWhereWorkGrows) {
  // 4 times the ranks, 8 times the operations in twice the time: as many for each rank in a second.
  auto const results =
      runs_of([](int ranks) { return std::sqrt(ranks) * (1 + 0.1 * std::log2(ranks)); },
              [](int ranks) { return std::llround(1024 * std::sqrt(ranks)); });

  Scaling const scaling = *join_scaling(results);

  ASSERT_EQ(scaling.curves.size(), 1U);
  EXPECT_EQ(scaling.curves[0].growth, Growth::weak);
  EXPECT_NEAR(scaling.curves[0].points[2].efficiency, 1 / 1.2, 1e-3);
  EXPECT_FALSE(scaling.curves[0].points[2].serial.has_value());
  EXPECT_NEAR(scaling.curves[0].fitted_s(scaling.curves[0].points[2]), 2.4, 0.01);
  std::string const text = render_scaling(scaling);
  EXPECT_NE(text.find("adds 10.0 % of the time on 1; 16 ranks: efficiency 71.4 %"),
            std::string::npos)
      << text;
}

TEST(Scaling, FitsLatencyAndBandwidthOfExchanges) {
  std::vector<RunResult> results;
  for (int const ranks : {2, 4}) {
    std::vector<measure::Record> records;
    for (double const bytes : {8.0, 8e3, 8e6}) {
      records.push_back(exchange(bytes, ranks, ranks * 1e-6 + bytes / 1e10));
    }
    results.push_back(run_of(ranks, records));
  }

  Scaling const scaling = *join_scaling(results);

  EXPECT_TRUE(scaling.curves.empty());
  ASSERT_EQ(scaling.exchanges.size(), 2U);
  EXPECT_EQ(scaling.exchanges[1].ranks, 4);
  EXPECT_NEAR(scaling.exchanges[1].fit.constant, 4e-6, 1e-12);
  EXPECT_NEAR(1 / scaling.exchanges[1].fit.slope, 1e10, 1);
  std::string const text = render_scaling(scaling);
  EXPECT_NE(text.find("4.00 us   10.0 GB/s"), std::string::npos) << text;
}

TEST(Scaling, SaysWhatItCannotJoin) {
  RunResult const one = run_of(1, {product(64, 1, 1)}), two = run_of(2, {product(64, 2, 1)}),
                  other = run_of(2, {exchange(8, 2, 1)});

  EXPECT_NE(join_scaling(std::vector{one}).why().find("at least two"), std::string::npos);
  EXPECT_NE(join_scaling(std::vector{two, two}).why().find("the same number of ranks, 2"),
            std::string::npos);
  EXPECT_NE(join_scaling(std::vector{one, other}).why().find("no measurement in common"),
            std::string::npos);
}

TEST(Scaling, NotesWhatDiffersBesideRanks) {
  RunResult const one = run_of(1, {product(64, 1, 1)});
  RunResult two = run_of(2, {product(64, 2, 1)});
  EXPECT_TRUE(join_scaling(std::vector{one, two})->notes.empty());
  two.info.build[1].second = "other";
  two.info.ranks[1].device = "A100";
  two.info.ranks[1].threads = 7;

  EXPECT_EQ(join_scaling(std::vector{one, two})->notes.size(), 3U);
}

TEST(Scaling, TellsWhatIsLeftOutAndWhy) {
  measure::Record other = product(64, 2, 1), larger = product(128, 1, 1);
  other.variant = "other";
  auto const notes = [](RunResult const& a, RunResult const& b) {
    return fmt::format("{}", fmt::join(join_scaling(std::vector{a, b})->notes, "\n"));
  };
  measure::Record shared = product(64, 1, 1);
  shared.workload = "ptrans";
  measure::Record shared_on_two = product(64, 2, 1);
  shared_on_two.workload = "ptrans";

  std::string const chosen =
      notes(run_of(1, {shared, product(64, 1, 1)}), run_of(2, {shared_on_two, other}));
  EXPECT_NE(chosen.find(" was measured on 1 ranks alone, other on 2: name one variant for all"),
            std::string::npos)
      << chosen;
  EXPECT_NE(chosen.find("other was measured on 2 ranks alone"), std::string::npos) << chosen;

  std::string const sized =
      notes(run_of(1, {larger, product(64, 1, 1)}), run_of(2, {product(64, 2, 1)}));
  EXPECT_NE(sized.find("size 128 on 1 ranks: nothing of this size"), std::string::npos) << sized;

  std::string const few = notes(run_of(1, {shared}), run_of(2, {shared_on_two, exchange(8, 2, 1)}));
  EXPECT_NE(few.find("on 2 ranks: a fit takes three sizes"), std::string::npos) << few;
}

TEST(Scaling, HasNoSerialPartWhereRanksGainMoreThanTheirNumber) {
  auto const results =
      runs_of([](int ranks) { return 1.0 / ranks / ranks; }, [](int) { return 4096; });
  auto const scaling = join_scaling(results);
  for (ScalingPoint const& point : scaling->curves.at(0).points) {
    EXPECT_FALSE(point.serial) << point.ranks;
  }
}

TEST(Scaling, OfWrongResultsIsNone) {
  RunResult const one = run_of(1, {product(64, 1, 1)});
  RunResult two = run_of(2, {product(64, 2, 1)});
  two.records[0].outcome = measure::Outcome::fail;

  EXPECT_FALSE(join_scaling(std::vector{one, two}));
}

TEST(ScalingPage, ShowsCurvesAndFits) {
  auto results = runs_of([](int ranks) { return 0.2 + 0.8 / ranks; }, [](int) { return 4096; });
  for (RunResult& result : results) {
    int const ranks = static_cast<int>(result.info.ranks.size());
    test::Noise noise;
    result.records.push_back(test::cluster_record("gemm", "vendor", 4096, ranks, 5, noise));
    finish(result.records.back());
  }
  Scaling const scaling = *join_scaling(results);
  std::vector<std::string> const files(results.size(), "scaling");

  std::string const page = test::kept(render_html(results, files, scaling, {}), "scaling");

  EXPECT_NE(page.find(R"("growth":"strong")"), std::string::npos);
  EXPECT_NE(page.find(R"("growth":"weak")"), std::string::npos);
}

}  // namespace
}  // namespace quadrille::report
