// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sampler/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

/// What the host rows of sampler share: a row, given how its likeliest tokens come to the front.
namespace quadrille::kernels::sampler {

struct Candidate {
  std::uint64_t key = 0, weight = 0;
  std::int32_t index = 0;
};

/// Draws the token of row i. Real: what exponentials are taken in. sort(first, count): puts the `count`
/// likeliest in front, in order.
template <class Real, class T, class Sort>
void draw(Problem const& p, std::int64_t i, Sort const& sort) {
  std::int64_t const n = p.logits.cols;
  auto const* const logits = static_cast<T const*>(p.logits.data) + i * n;
  auto& token = static_cast<std::int32_t*>(p.tokens.data)[i];
  auto& probability = static_cast<float*>(p.probabilities.data)[i];
  std::int64_t likeliest = 0;
  std::uint64_t largest_key = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    std::uint64_t const key = key_of(static_cast<float>(logits[j]), j);
    if (key > largest_key) likeliest = j;
    largest_key = std::max(largest_key, key);
  }
  if (p.is_greedy()) {
    token = static_cast<std::int32_t>(likeliest);
    probability = 1;
    return;
  }
  Real const largest = static_cast<Real>(static_cast<float>(logits[likeliest])),
             inverse = static_cast<Real>(1 / p.temperature);
  std::vector<Candidate> kept(static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < n; ++j) {
    auto const logit = static_cast<float>(logits[j]);
    Real const share = std::exp((static_cast<Real>(logit) - largest) * inverse);
    kept[static_cast<std::size_t>(j)] = {
        key_of(logit, j), static_cast<std::uint64_t>(share * static_cast<Real>(kWeightOfLargest)),
        static_cast<std::int32_t>(j)};
  }
  auto const total_of = [&] {
    std::uint64_t total = 0;
    for (Candidate const& one : kept) total += one.weight;
    return total;
  };
  if (p.has_top_k()) {
    sort(kept, p.top_k);
    kept.resize(static_cast<std::size_t>(p.top_k));
  }
  if (p.top_p < 1) {
    if (!p.has_top_k()) sort(kept, n);
    std::uint64_t const needed = needed_of(share_of_top_p(p.top_p), total_of());
    std::uint64_t sum = 0;
    std::size_t count = 0;
    while (sum < needed) sum += kept[count++].weight;
    kept.resize(count);
  }
  std::ranges::sort(kept, {}, &Candidate::index);
  std::uint64_t const total = total_of();
  std::uint64_t left = share_of(random_share(p.seed, p.requests[i], p.positions[i]), total);
  auto const drawn = std::ranges::find_if(kept, [&](Candidate const& one) {
    if (left < one.weight) return true;
    left -= one.weight;
    return false;
  });
  token = drawn->index;
  probability = static_cast<float>(static_cast<double>(drawn->weight) / static_cast<double>(total));
}

}  // namespace quadrille::kernels::sampler
