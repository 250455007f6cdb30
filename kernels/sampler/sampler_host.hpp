// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sampler/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

/// What the host rows of sampler share: a row, given how its likeliest tokens come to the front.
namespace quadrille::kernels::sampler {

struct Candidate {
  std::uint64_t key = 0, weight = 0;
  std::int32_t index = 0;
};

/// Index of the likeliest token of row i.
template <class T>
std::int64_t likeliest_of(Problem const& p, std::int64_t i) {
  std::int64_t const n = p.logits.cols;
  auto const* const logits = static_cast<T const*>(p.logits.data) + i * n;
  std::int64_t likeliest = 0;
  std::uint64_t largest_key = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    std::uint64_t const key = key_of(static_cast<float>(logits[j]), j);
    if (key > largest_key) likeliest = j;
    largest_key = std::max(largest_key, key);
  }
  return likeliest;
}

/// All tokens of row i with their weights, and the likeliest. Real: what exponentials are taken in.
template <class Real, class T>
struct Weighed {
  T const* logits;
  Real largest, inverse;
  std::vector<Candidate> kept;

  Weighed(Problem const& p, std::int64_t i)
      : logits{static_cast<T const*>(p.logits.data) + i * p.logits.cols},
        largest{static_cast<float>(logits[likeliest_of<T>(p, i)])},
        inverse{static_cast<Real>(1 / p.temperature)},
        kept(static_cast<std::size_t>(p.logits.cols)) {
    for (std::int64_t j = 0; j < p.logits.cols; ++j) {
      Real const share = std::exp(distance(j));
      kept[static_cast<std::size_t>(j)] = {
          key_of(static_cast<float>(logits[j]), j),
          static_cast<std::uint64_t>(share * static_cast<Real>(kWeightOfLargest)),
          static_cast<std::int32_t>(j)};
    }
  }
  Real distance(std::int64_t j) const {
    return (static_cast<Real>(static_cast<float>(logits[j])) - largest) * inverse;
  }
  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (Candidate const& one : kept) sum += one.weight;
    return sum;
  }
};

/// The new beams of a request.
template <class Real, class T, class Sort>
void extend_beams(Problem const& p, std::int64_t request, Sort const& sort) {
  struct Beam {
    float score;
    std::int32_t parent, token;
  };
  std::vector<Beam> all;
  std::int64_t const first = request * p.beams;
  for (std::int64_t beam = 0; beam < p.beams; ++beam) {
    float const score = p.scores[first + beam];
    if (!(score > -std::numeric_limits<float>::infinity())) continue;
    Weighed<Real, T> row{p, first + beam};
    Real const logarithm =
        std::log(static_cast<Real>(row.total()) / static_cast<Real>(kWeightOfLargest));
    sort(row.kept, p.beams);
    for (std::int64_t k = 0; k < p.beams; ++k) {
      std::int32_t const token = row.kept[static_cast<std::size_t>(k)].index;
      all.push_back(
          {static_cast<float>(static_cast<Real>(score) + (row.distance(token) - logarithm)),
           static_cast<std::int32_t>(beam), token});
    }
  }
  std::ranges::stable_sort(all, std::greater{}, &Beam::score);
  for (std::int64_t k = 0; k < p.beams; ++k) {
    Beam const& beam = all[static_cast<std::size_t>(k)];
    static_cast<std::int32_t*>(p.tokens.data)[first + k] = beam.token;
    static_cast<std::int32_t*>(p.parents.data)[first + k] = beam.parent;
    static_cast<float*>(p.new_scores.data)[first + k] = beam.score;
  }
}

/// Draws the token of row i. sort(all, count): puts the `count` likeliest in front, in order.
template <class Real, class T, class Sort>
void draw(Problem const& p, std::int64_t i, Sort const& sort) {
  std::int64_t const n = p.logits.cols;
  auto& token = static_cast<std::int32_t*>(p.tokens.data)[i];
  auto& probability = static_cast<float*>(p.probabilities.data)[i];
  if (p.is_greedy()) {
    token = static_cast<std::int32_t>(likeliest_of<T>(p, i));
    probability = 1;
    return;
  }
  Weighed<Real, T> row{p, i};
  std::vector<Candidate>& kept = row.kept;
  if (p.has_top_k()) {
    sort(kept, p.top_k);
    kept.resize(static_cast<std::size_t>(p.top_k));
  }
  if (p.top_p < 1) {
    if (!p.has_top_k()) sort(kept, n);
    std::uint64_t const needed = needed_of(share_of_top_p(p.top_p), row.total());
    std::uint64_t sum = 0;
    std::size_t count = 0;
    while (sum < needed) sum += kept[count++].weight;
    kept.resize(count);
  }
  std::ranges::sort(kept, {}, &Candidate::index);
  std::uint64_t const total = row.total();
  std::uint64_t left = share_of(random_share(p.seed, p.requests[i], p.positions[i]), total);
  auto const drawn = std::ranges::find_if(kept, [&](Candidate const& one) {
    if (left < one.weight) return true;
    left -= one.weight;
    return false;
  });
  token = drawn->index;
  probability = static_cast<float>(static_cast<double>(drawn->weight) / static_cast<double>(total));
}

/// Of a problem's requests, or its beams': one.
template <class Real, class T, class Sort>
void make_tokens(Problem const& p, std::int64_t request, Sort const& sort) {
  if (p.beams > 0) {
    extend_beams<Real, T>(p, request, sort);
  } else {
    draw<Real, T>(p, request, sort);
  }
}

}  // namespace quadrille::kernels::sampler
