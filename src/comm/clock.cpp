// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/clock.hpp"

#include <cmath>
#include <limits>
#include <span>

namespace quadrille::comm {

ClockOffset clock_offset(Group const& group, std::function<double()> const& now) {
  constexpr int kTries = 30;
  ClockOffset mine;
  for (int r = 1; r < group.size(); ++r) {
    ClockOffset best{0, std::numeric_limits<double>::infinity()};
    for (int i = 0; i < kTries; ++i) {
      double theirs = 0;
      if (group.rank() == 0) {
        double const asked = now();
        group.exchange(std::as_bytes(std::span{&asked, 1}), r,
                       std::as_writable_bytes(std::span{&theirs, 1}), r);
        double const answered = now();
        double const error = (answered - asked) / 2;
        if (error < best.error_s) best = {theirs - (asked + answered) / 2, error};
      } else if (group.rank() == r) {
        double asked = 0;
        group.exchange({}, 0, std::as_writable_bytes(std::span{&asked, 1}), 0);
        theirs = now();
        group.exchange(std::as_bytes(std::span{&theirs, 1}), 0, {}, 0);
      }
    }
    if (group.rank() == 0) {
      group.exchange(std::as_bytes(std::span{&best, 1}), r, {}, r);
    } else if (group.rank() == r) {
      group.exchange({}, 0, std::as_writable_bytes(std::span{&mine, 1}), 0);
    }
  }
  if (std::abs(mine.seconds) <= mine.error_s) mine.seconds = 0;
  return mine;
}

}  // namespace quadrille::comm
