// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/halving.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace quadrille::measure {
namespace {

/// Candidates with true costs from 1 to about 4, of which a sample is off by a few percent.
class Model {
 public:
  Model(std::size_t candidates, unsigned seed, double noise) : random_{seed}, noise_{0, noise} {
    std::uniform_real_distribution<double> place{0, 1};
    for (std::size_t i = 0; i < candidates; ++i)
      truth.push_back(1 + 3 * std::pow(place(random_), 0.8));
  }

  double sample(std::size_t i) {
    double const cost = truth[i] * std::exp(noise_(random_));
    spent += truth[i];
    return cost;
  }

  double best() const { return *std::ranges::min_element(truth); }

  std::vector<double> truth;
  double spent = 0;

 private:
  std::mt19937 random_;
  std::normal_distribution<double> noise_;
};

/// Times what is missing until all is decided, or so many samples were taken.
void search(Halving& halving, Model& model, std::size_t most = 1'000'000) {
  std::size_t taken = 0;
  do {
    for (std::size_t const i : std::vector{halving.survivors()}) {
      for (std::size_t n = halving.missing(i); n > 0; --n) {
        if (taken++ == most) return;
        halving.add(i, model.sample(i));
      }
    }
  } while (halving.next());
}

constexpr std::size_t kMany = 369;

TEST(Halving, FindsWithinTwoPercentInATenthOfTheTime) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    Model model{kMany, seed, 0.02};
    Halving halving{kMany};
    // Everything runs once before it is timed.
    for (std::size_t i = 0; i < kMany; ++i) model.sample(i);
    search(halving, model);
    std::size_t const winner = halving.ranking().front();
    EXPECT_LE(model.truth[winner], 1.02 * model.best()) << "seed " << seed;
    // An exhaustive search warms up and times each like `run`: 3 and 20 repetitions.
    double const exhaustive = 23 * std::accumulate(model.truth.begin(), model.truth.end(), 0.0);
    EXPECT_LE(model.spent, 0.1 * exhaustive) << "seed " << seed;
  }
}

TEST(Halving, FindsTheSameTwice) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Model truth{kMany, seed, 0.02};
    std::vector<double> found;
    for (unsigned again = 0; again < 2; ++again) {
      Model model{kMany, 1000 * seed + again, 0.02};
      model.truth = truth.truth;
      Halving halving{kMany};
      search(halving, model);
      found.push_back(model.truth[halving.ranking().front()]);
    }
    EXPECT_NEAR(found[0], found[1], 0.02 * found[0]) << "seed " << seed;
  }
}

TEST(Halving, TiesGoToTheFirst) {
  Halving halving{4};
  double const costs[] = {1.02, 1.004, 1.003, 1.0};
  do {
    for (std::size_t i = 0; i < 4; ++i) {
      while (halving.missing(i) > 0) halving.add(i, costs[i]);
    }
  } while (halving.next());
  EXPECT_EQ(halving.ranking(), (std::vector<std::size_t>{1, 2, 3, 0}));
}

TEST(Halving, KeepsAnEighthInEachRound) {
  Model model{kMany, 1, 0.001};
  Halving halving{kMany};
  std::vector<std::size_t> sizes;
  do {
    sizes.push_back(halving.survivors().size());
    for (std::size_t const i : halving.survivors()) {
      while (halving.missing(i) > 0) halving.add(i, model.sample(i));
    }
  } while (halving.next());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{369, 47, 6, 4}));
  EXPECT_EQ(halving.ranking().size(), Halving::kFinalists);
  for (std::size_t const i : halving.ranking()) EXPECT_EQ(halving.costs(i).size(), 25U);
}

TEST(Halving, CountsWhatIsMissingInAllRounds) {
  for (std::size_t const n : {1U, 3U, 4U, 40U, 369U}) {
    Model model{n, 5, 0.02};
    Halving halving{n};
    std::size_t left = halving.missing();
    do {
      for (std::size_t const i : std::vector{halving.survivors()}) {
        for (std::size_t times = halving.missing(i); times > 0; --times) {
          halving.add(i, model.sample(i));
          ASSERT_EQ(halving.missing(), --left) << n << " candidates";
        }
      }
    } while (halving.next());
    EXPECT_EQ(left, 0U) << n << " candidates";
  }
}

TEST(Halving, GoesOnWhereItWasInterrupted) {
  Model model{40, 7, 0.02};
  Halving first{40};
  search(first, model, 70);  // in the middle of the third round

  // Samples are told again, by candidate; then what is missing is timed.
  std::vector<double> given(40);
  Halving second{40};
  std::size_t timed = 0;
  do {
    for (std::size_t const i : std::vector{second.survivors()}) {
      while (second.missing(i) > 0) {
        std::size_t const n = second.costs(i).size();
        if (n < first.costs(i).size()) {
          second.add(i, first.costs(i)[n]);
        } else {
          second.add(i, model.sample(i));
          ++timed;
        }
      }
    }
  } while (second.next());
  // 40 x 1, 5 x 2, 4 x 6 and 4 x 16 samples in all.
  EXPECT_EQ(timed, 40U + 10 + 24 + 64 - 70);
}

TEST(Halving, LeavesOutWhatDoesNotRun) {
  Model model{40, 3, 0.01};
  auto const best =
      static_cast<std::size_t>(std::ranges::min_element(model.truth) - model.truth.begin());
  Halving halving{40};
  halving.drop(best);
  search(halving, model);
  EXPECT_EQ(std::ranges::count(halving.ranking(), best), 0);

  Halving none{2};
  none.drop(0);
  none.drop(1);
  while (none.next()) {
  }
  EXPECT_TRUE(none.ranking().empty());
}

}  // namespace
}  // namespace quadrille::measure
