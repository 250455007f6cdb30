// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace quadrille::measure {

/// Successive halving: finds the fastest of many candidates by timing all a little and, in rounds, the
/// better ones more. It is told costs (seconds, or ratios to those of one candidate) in any order and
/// has no clock of its own, so that a search can go on where another was interrupted.
class Halving {
 public:
  // Never fewer are kept, and as many may win.
  static constexpr std::size_t kFinalists = 4;
  // Of medians that are so close the first candidate wins, so that noise does not choose.
  static constexpr double kTie = 0.005;

  struct Rounds {
    /// Of each candidate after the first, second, ... round.
    std::vector<std::size_t> samples{1, 3, 9, 25};
    std::size_t keep_one_of = 8;  ///< of the candidates of a round; 1: all
  };

  /// Candidates are numbered from 0 in an order that ties follow.
  explicit Halving(std::size_t candidates) : Halving{candidates, Rounds{}} {}
  Halving(std::size_t candidates, Rounds rounds);

  /// Those that are still timed.
  std::vector<std::size_t> const& survivors() const { return survivors_; }
  /// Samples that a candidate lacks in this round.
  std::size_t missing(std::size_t candidate) const;
  void add(std::size_t candidate, double cost) { costs_[candidate].push_back(cost); }
  /// All that are still missing, later rounds included.
  std::size_t missing() const;
  /// Takes a candidate out: it does not run, or computes something else.
  void drop(std::size_t candidate);
  /// Ends a round in which nothing is missing. False after the last.
  bool next();

  /// All samples of a candidate.
  std::vector<double> const& costs(std::size_t candidate) const { return costs_[candidate]; }
  double median(std::size_t candidate) const;
  /// Survivors from the fastest on, ties as they were numbered.
  std::vector<std::size_t> ranking() const;

 private:
  std::size_t kept_of(std::size_t candidates) const;

  Rounds rounds_;
  std::vector<std::vector<double>> costs_;
  std::vector<std::size_t> survivors_;
  std::size_t round_ = 0;
};

}  // namespace quadrille::measure
