// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/search.hpp"

#include "device/device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <thread>
#include <vector>

namespace quadrille::kernels {
namespace {

using Places = std::vector<std::size_t>;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Candidates by what one launch takes, on a clock of their own; kNone: the library has no such call.
struct Library {
  std::vector<double> seconds;
  double look_s = 0;  ///< that a look takes beside the launch
  Effort effort{};
  double spent = 0;
  Places looked{};
  std::map<std::size_t, int> rows{};
  std::map<std::size_t, std::int64_t> launches{};  ///< of the latest row
  std::vector<double> shown{};                     ///< by looks; empty: what is so
  Places untimed{};                                ///< whose rows no clock shows

  Places ranked() {
    Trial const trial{.look =
                          [this](std::size_t i) {
                            looked.push_back(i);
                            spent += look_s;
                            if (std::isnan(seconds[i])) return kNone;
                            spent += seconds[i];
                            return shown.empty() ? seconds[i] : shown[i];
                          },
                      .row =
                          [this](std::size_t i, std::int64_t n) {
                            ++rows[i];
                            launches[i] = n;
                            spent += seconds[i] * static_cast<double>(n);
                            bool const is_timed = std::ranges::count(untimed, i) == 0;
                            return is_timed ? seconds[i] : kUntimed;
                          },
                      .spent = [this] { return spent; }};
    Places places;
    for (Ranked const& one : rank(seconds.size(), trial, effort)) places.push_back(one.candidate);
    return places;
  }
};

TEST(Search, RanksTheFastestFirst) {
  Library library{.seconds = {3e-3, 1e-3, 9e-3, 2e-3, 1.2e-3}};

  EXPECT_EQ(library.ranked(), (Places{1, 4, 3, 0, 2}));

  EXPECT_EQ(library.looked, (Places{0, 1, 2, 3, 4}));
}

TEST(Search, EndsWhenItsTimeIsSpent) {
  Library library{.seconds = std::vector(100, 1e-6), .look_s = Effort{}.looks_s / 10};

  EXPECT_EQ(library.ranked().size(), 10U);
}

TEST(Search, LooksAtTheFirstWhateverTheyTake) {
  Library library{.seconds = std::vector(100, 1e-6), .look_s = 2 * Effort{}.looks_s};

  EXPECT_EQ(library.ranked().size(), Effort{}.min_looks);
}

TEST(Search, DoesNotCountWhatTheLibraryRefuses) {
  std::vector<double> seconds(100, kNone);
  for (std::size_t i = 3; i < seconds.size(); i += 4) seconds[i] = 1e-6;
  Library library{.seconds = seconds, .look_s = 2 * Effort{}.looks_s};

  EXPECT_EQ(library.ranked(), (Places{3, 7, 11}));

  EXPECT_EQ(library.looked.size(), 12U);
}

TEST(Search, MayFindNothing) {
  Library library{.seconds = std::vector(8, kNone), .look_s = 1};

  EXPECT_TRUE(library.ranked().empty());
  EXPECT_EQ(library.looked.size(), 8U);
}

TEST(Search, TimesInRowsWhatIsNotFarBehind) {
  Library library{.seconds = {1e-3, 1.04e-3, 1.2e-3, 1.4e-3, 2e-3}};

  library.ranked();

  EXPECT_EQ(library.rows, (std::map<std::size_t, int>{{0, 5}, {1, 5}, {2, 2}, {3, 1}}));
}

TEST(Search, BelievesRowsNotLooks) {
  Library library{.seconds = {1.1e-3, 1e-3}, .shown = {1e-3, 1.2e-3}};

  EXPECT_EQ(library.ranked(), (Places{1, 0}));
}

TEST(Search, MakesRowsOfShortLaunchesLongAndNoneEndless) {
  Library library{.seconds = {1e-3, 1e-3}};
  library.ranked();
  EXPECT_EQ(library.launches[0], 50);

  library = {.seconds = {1e-9, 1e-9}};
  library.ranked();
  EXPECT_EQ(library.launches[0], 250);

  library = {.seconds = {1, 1}};
  library.ranked();
  EXPECT_EQ(library.launches[0], 3);

  library = {.seconds = {20e-3, 20e-3},
             .effort = {.min_row_s = 1e-3, .max_row_s = 1e-3, .min_launches = 1}};
  library.ranked();
  EXPECT_EQ(library.launches[0], 1);
}

TEST(Search, BeginsNoRowAfterItsTimeButOfThoseThatItOwes) {
  Library library{.seconds = std::vector(8, 1.0), .effort = {.min_rows = 2}};

  EXPECT_EQ(library.ranked().size(), 3U);

  EXPECT_EQ(library.rows, (std::map<std::size_t, int>{{0, 1}, {1, 1}}));
}

TEST(Search, TimesRowsWhateverALookTook) {
  Library library{.seconds = {1e-3, 1e-3, 1e-3, 1e-3, 10},
                  .effort = {.looks_s = 25e-3,
                             .all_s = 50e-3,
                             .min_row_s = 1e-3,
                             .max_row_s = 1e-3,
                             .min_launches = 1}};

  library.ranked();

  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(library.rows[i], 5) << i;
}

TEST(Search, DropsTimesThatNoClockShowed) {
  Library library{
      .seconds = {1e-3, 1.2e-3, 1.1e-3}, .shown = {2e-3, 2.4e-3, 2.2e-3}, .untimed = {1}};

  EXPECT_EQ(library.ranked(), (Places{0, 2, 1}));

  library.untimed = {0, 1, 2};
  EXPECT_EQ(library.ranked(), (Places{0, 2, 1}));
}

TEST(Search, ShowsTheDeviceNotTheHostsCalls) {
  constexpr double kCallSeconds = 0.2, kSeconds = 1e-3;
  auto const device = device::make_host_device(1);
  device::Stream const stream{*device};
  auto const sleep = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };

  std::vector<Ranked> const ranked = rank(
      2,
      [&](std::size_t i) {
        if (i == 0) return false;
        sleep(kCallSeconds);
        stream.view().run([&] { sleep(kSeconds); });
        return true;
      },
      stream);

  ASSERT_EQ(ranked.size(), 1U);
  EXPECT_EQ(ranked[0].candidate, 1U);
  EXPECT_GE(ranked[0].seconds, kSeconds);
  EXPECT_LT(ranked[0].seconds, kCallSeconds);
}

}  // namespace
}  // namespace quadrille::kernels
