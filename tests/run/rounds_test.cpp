// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "run/rounds.hpp"

#include <gtest/gtest.h>

namespace quadrille::run {
namespace {

using measure::Outcome;
using measure::Record;

Record round_of(double seconds, std::string digest = "a") {
  Record record;
  record.id = "case:variant";
  record.ranks = 1;
  record.outcome = Outcome::pass;
  record.seconds = {seconds, seconds};
  record.check.digest = std::move(digest);
  record.first_use_s = seconds;
  finish(record);
  return record;
}

TEST(Rounds, TheLastIsKeptWithTheRangeOfAll) {
  Record kept = round_of(3);
  for (double const seconds : {2.0, 5.0, 4.0}) join_round(kept, round_of(seconds), true);

  EXPECT_EQ(kept.outcome, Outcome::pass);
  EXPECT_EQ(kept.rounds, 4);
  EXPECT_EQ(kept.time.median, 4);
  EXPECT_EQ(kept.fastest_round_s, 2);
  EXPECT_EQ(kept.slowest_round_s, 5);
  EXPECT_EQ(kept.first_use_s, 3);
  EXPECT_EQ(kept.seconds.size(), 2U) << "memory must not grow with rounds";
}

TEST(Rounds, OtherBitsAreAFailureThatStays) {
  Record kept = round_of(1);
  join_round(kept, round_of(1, "b"), true);
  join_round(kept, round_of(1), true);

  EXPECT_EQ(kept.outcome, Outcome::fail);
  EXPECT_EQ(kept.rounds, 3);
  EXPECT_EQ(kept.reason,
            "round 2 left other bits than the rounds before: expected digest a, got b");

  Record any_order = round_of(1);
  join_round(any_order, round_of(1, "b"), false);
  EXPECT_EQ(any_order.outcome, Outcome::pass);
}

TEST(Rounds, AWrongRoundNamesItself) {
  Record kept = round_of(1);
  Record wrong = round_of(1);
  wrong.outcome = Outcome::fail;
  wrong.reason = "C(1, 2) on rank 0";
  join_round(kept, wrong, true);
  EXPECT_EQ(kept.outcome, Outcome::fail);
  EXPECT_EQ(kept.reason, "round 2: C(1, 2) on rank 0");
}

TEST(Rounds, WhatASignalCutShortCountsForNothing) {
  Record kept = round_of(1);
  Record cut = round_of(9);
  cut.outcome = Outcome::interrupted;
  join_round(kept, cut, true);
  EXPECT_EQ(kept.outcome, Outcome::pass);
  EXPECT_EQ(kept.rounds, 1);
  EXPECT_EQ(kept.time.median, 1);
}

TEST(Rounds, UnsteadyOnesAreSuspect) {
  Record steady = round_of(1);
  join_round(steady, round_of(1.19), true);
  judge_rounds(steady);
  EXPECT_TRUE(steady.suspect.empty());

  Record unsteady = round_of(1);
  join_round(unsteady, round_of(1.21), true);
  judge_rounds(unsteady);
  ASSERT_EQ(unsteady.suspect.size(), 1U);
  EXPECT_EQ(unsteady.suspect[0], "the medians of 2 rounds are 1.00 s to 1.21 s");
}

TEST(DeviceHealth, OnlyCountersThatRoseAreNamed) {
  std::vector<device::ErrorCounter> const before{{"PCIe replays", 3}, {"Xid errors", 0}};
  EXPECT_TRUE(changes_between(before, before).empty());
  auto const changes = changes_between(before, {{"PCIe replays", 3}, {"Xid errors", 2}});
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0], "Xid errors rose from 0 to 2");
}

}  // namespace
}  // namespace quadrille::run
