// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/halving.hpp"

#include "core/stats.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace quadrille::measure {

Halving::Halving(std::size_t candidates, Rounds rounds)
    : rounds_{std::move(rounds)}, costs_(candidates), survivors_(candidates) {
  std::iota(survivors_.begin(), survivors_.end(), std::size_t{0});
}

std::size_t Halving::missing(std::size_t candidate) const {
  std::size_t const wanted = rounds_.samples[round_];
  return wanted - std::min(wanted, costs_[candidate].size());
}

std::size_t Halving::kept_of(std::size_t candidates) const {
  return std::max(kFinalists, (candidates + rounds_.keep_one_of - 1) / rounds_.keep_one_of);
}

std::size_t Halving::missing() const {
  std::size_t sum = 0;
  for (std::size_t const candidate : survivors_) sum += missing(candidate);
  std::size_t candidates = survivors_.size();
  for (std::size_t round = round_ + 1; round < rounds_.samples.size(); ++round) {
    candidates = std::min(candidates, kept_of(candidates));
    sum += candidates * (rounds_.samples[round] - rounds_.samples[round - 1]);
  }
  return sum;
}

void Halving::drop(std::size_t candidate) { std::erase(survivors_, candidate); }

double Halving::median(std::size_t candidate) const {
  std::vector<double> const& costs = costs_[candidate];
  return costs.empty() ? std::numeric_limits<double>::infinity() : core::summarize(costs).median;
}

std::vector<std::size_t> Halving::ranking() const {
  std::vector<std::size_t> order = survivors_;
  std::ranges::stable_sort(order, {}, [this](std::size_t i) { return median(i); });
  if (order.empty()) return order;
  double const limit = median(order.front()) * (1 + kTie);
  auto const ties = std::ranges::find_if(order, [&](std::size_t i) { return median(i) > limit; });
  std::sort(order.begin(), ties);
  return order;
}

bool Halving::next() {
  bool const is_last = round_ + 1 == rounds_.samples.size();
  std::size_t const keep = kept_of(survivors_.size());
  if (survivors_.size() > keep) {
    std::ranges::stable_sort(survivors_, {}, [this](std::size_t i) { return median(i); });
    survivors_.resize(keep);
    std::ranges::sort(survivors_);
  }
  if (!is_last) ++round_;
  return !is_last;
}

}  // namespace quadrille::measure
