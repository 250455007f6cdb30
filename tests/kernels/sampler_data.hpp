// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/generator.hpp"
#include "sampler/sampler.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

/// Requests whose tokens are known.
namespace quadrille::kernels::sampler {

struct Drawn {
  std::vector<std::int32_t> tokens;
  std::vector<float> probabilities;
};

/// Requests `first`, first + 1 ... of these logits, all at position 5.
template <class T>
Drawn drawn(device::Device& device, device::StreamView stream, Variant<Problem> const& row,
            Problem p, std::vector<T> const& logits, std::int32_t first = 0) {
  std::vector<std::int32_t> requests(static_cast<std::size_t>(p.logits.rows)), positions;
  std::iota(requests.begin(), requests.end(), first);
  positions.assign(requests.size(), 5);
  test::DeviceArray<T> const on_logits{device, stream, logits};
  test::DeviceArray<std::int32_t> const on_requests{device, stream, requests},
      on_positions{device, stream, positions}, on_tokens{device, stream, p.logits.rows};
  test::DeviceArray<float> const on_probabilities{device, stream, p.logits.rows};
  p.logits.data = on_logits.data();
  p.tokens.data = on_tokens.data();
  p.probabilities.data = on_probabilities.data();
  p.requests = on_requests.data();
  p.positions = on_positions.data();
  row.launch(p, stream);
  stream.synchronize();
  EXPECT_TRUE(on_tokens.intact() && on_probabilities.intact());
  return {on_tokens.download(), on_probabilities.download()};
}

struct Example {
  std::int64_t vocabulary;
  double temperature;
  std::int64_t top_k;
  double top_p;
};
/// One token, fewer than threads and more, parts of warps; all, few and one of the likeliest; ties, as logits of
/// few values have them.
inline std::vector<Example> const kExamples{
    {1, 1, 0, 1},        {7, 0, 0, 1},       {2000, 0, 0, 1},      {2000, 1, 0, 1},
    {1500, 0.5, 40, 1},  {3001, 1, 1, 1},    {1025, 0.25, 0, 0.9}, {2500, 1, 300, 0.5},
    {600, 1, 599, 0.99}, {1100, 1, 0, 1e-9}, {64, 30, 0, 0.999},   {6000, 1, 3000, 0.9}};

/// Every token, and its probability, by the definition in f64. Weights that are right to 2^-22 draw another
/// token of fewer than one request in 2^16: these examples have none.
template <class T>
void expect_right(device::Device& device, device::StreamView stream, Variant<Problem> const& row,
                  Example const& example, bool has_ties) {
  constexpr std::int64_t kRequests = 9;
  auto const& [n, temperature, top_k, top_p] = example;
  SCOPED_TRACE(std::string{row.name} + " of " + std::to_string(n) + ", top_k " +
               std::to_string(top_k) + ", top_p " + std::to_string(top_p));
  Problem p = unallocated(kRequests, n, core::type_of<T>());
  p.temperature = temperature;
  p.top_k = top_k;
  p.top_p = top_p;
  std::vector<T> logits;
  for (std::int64_t e = 0; e < kRequests * n; ++e) {
    double const value = core::generate<double>(core::DataKind::normal, 7, 0, 0, e);
    logits.push_back(T(has_ties ? std::floor(2 * value) : value));
  }
  Drawn const got = drawn(device, stream, row, p, logits, 3);
  for (std::int64_t i = 0; i < kRequests; ++i) {
    std::vector<double> of_row;
    for (std::int64_t j = 0; j < n; ++j) {
      of_row.push_back(static_cast<double>(logits[static_cast<std::size_t>(i * n + j)]));
    }
    std::vector<std::size_t> order(of_row.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return of_row[a] > of_row[b]; });
    double const largest = of_row[order[0]];
    auto const weight = [&](std::size_t j) {
      return std::exp((of_row[j] - largest) / temperature);
    };
    if (temperature == 0) order.resize(1);
    if (top_k > 0) order.resize(static_cast<std::size_t>(top_k));
    double all = 0, sum = 0;
    for (std::size_t const j : order) all += temperature == 0 ? 1 : weight(j);
    std::size_t count = 0;
    while (count < order.size() && (count == 0 || sum < top_p * all)) sum += weight(order[count++]);
    if (top_p < 1) {
      order.resize(count);
      all = sum;
    }
    std::ranges::sort(order);
    double const place = std::ldexp(static_cast<double>(random_share(p.seed, 3 + i, 5)), -53) * all;
    sum = 0;
    std::size_t want = order.back();
    for (std::size_t const j : order) {
      sum += temperature == 0 ? 1 : weight(j);
      if (sum > place) {
        want = j;
        break;
      }
    }
    auto const at = static_cast<std::size_t>(i);
    EXPECT_EQ(got.tokens[at], static_cast<std::int32_t>(want)) << "of request " << i;
    double const probability = temperature == 0 ? 1 : weight(want) / all;
    EXPECT_NEAR(got.probabilities[at], probability, 1e-5 * probability) << "of request " << i;
  }
}

/// The likeliest are as many as are equal, more than are compared with each other: all of them are kept.
inline void expect_equals_kept(device::Device& device, device::StreamView stream,
                               Variant<Problem> const& row) {
  constexpr std::int64_t kEqual = 700, kVocabulary = 1100;
  Problem p = unallocated(2, kVocabulary, core::DataType::f32);
  p.top_k = kEqual;
  std::vector<float> logits(2 * kVocabulary);
  for (std::size_t e = 0; e < logits.size(); ++e) {
    logits[e] = e % kVocabulary >= kVocabulary - kEqual ? 1 : -1;
  }
  Drawn const got = drawn(device, stream, row, p, logits);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_GE(got.tokens[i], kVocabulary - kEqual);
    EXPECT_NEAR(got.probabilities[i], 1.0 / kEqual, 1e-8);
  }
}

inline void expect_all_right(device::Device& device, device::StreamView stream,
                             Variant<Problem> const& row) {
  expect_equals_kept(device, stream, row);
  for (Example const& example : kExamples) {
    expect_right<float>(device, stream, row, example, false);
    expect_right<core::f16>(device, stream, row, example, true);
    expect_right<core::bf16>(device, stream, row, example, false);
  }
}

/// A request's token is the same alone and among others.
inline void expect_no_batch(device::Device& device, device::StreamView stream,
                            Variant<Problem> const& row) {
  Problem p = unallocated(6, 700, core::DataType::f32);
  p.top_p = 0.8;
  std::vector<float> logits;
  for (std::int64_t e = 0; e < 6 * 700; ++e) {
    logits.push_back(core::generate<float>(core::DataKind::normal, 9, 0, 0, e));
  }
  Drawn const all = drawn(device, stream, row, p, logits);
  p = unallocated(1, 700, core::DataType::f32);
  p.top_p = 0.8;
  for (std::int32_t i = 0; i < 6; ++i) {
    std::vector<float> const of_one(logits.begin() + i * 700, logits.begin() + (i + 1) * 700);
    Drawn const one = drawn(device, stream, row, p, of_one, i);
    auto const at = static_cast<std::size_t>(i);
    EXPECT_EQ(one.tokens[0], all.tokens[at]);
    EXPECT_EQ(one.probabilities[0], all.probabilities[at]);
  }
}

struct Beams {
  std::vector<std::int32_t> tokens, parents;
  std::vector<float> scores;
  bool operator==(Beams const&) const = default;
};

/// What beams with these scores become.
template <class T>
Beams extended(device::Device& device, device::StreamView stream, Variant<Problem> const& row,
               Problem p, std::vector<T> const& logits, std::vector<float> const& scores) {
  test::DeviceArray<T> const on_logits{device, stream, logits};
  test::DeviceArray<float> const on_scores{device, stream, scores},
      on_new{device, stream, p.logits.rows};
  test::DeviceArray<std::int32_t> const on_tokens{device, stream, p.logits.rows},
      on_parents{device, stream, p.logits.rows};
  auto const words = static_cast<std::int64_t>(row.scratch_bytes(p, device.facts()) / 4);
  test::DeviceArray<float> const on_scratch{device, stream, std::max<std::int64_t>(1, words)};
  p.logits.data = on_logits.data();
  p.scores = on_scores.data();
  p.tokens.data = on_tokens.data();
  p.parents.data = on_parents.data();
  p.new_scores.data = on_new.data();
  p.scratch = on_scratch.data();
  p.scratch_bytes = static_cast<std::size_t>(words) * 4;
  row.launch(p, stream);
  stream.synchronize();
  EXPECT_TRUE(on_tokens.intact() && on_parents.intact() && on_new.intact() && on_scratch.intact());
  return {on_tokens.download(), on_parents.download(), on_new.download()};
}

/// A step of beams, by the definition in f64; of the first request there is one beam yet.
template <class T>
void expect_right_beams(device::Device& device, device::StreamView stream,
                        Variant<Problem> const& row, std::int64_t n, std::int64_t beams,
                        double temperature, bool has_ties) {
  constexpr std::int64_t kRequests = 3;
  SCOPED_TRACE(std::string{row.name} + " of " + std::to_string(n) + ", " + std::to_string(beams) +
               " beams");
  Problem p = unallocated(kRequests, n, core::type_of<T>(), beams);
  p.temperature = temperature;
  std::vector<T> logits;
  for (std::int64_t e = 0; e < p.logits.rows * n; ++e) {
    double const value = core::generate<double>(core::DataKind::normal, 8, 0, 0, e);
    logits.push_back(T(has_ties ? std::floor(2 * value) : value));
  }
  std::vector<float> scores;
  for (std::int64_t i = 0; i < p.logits.rows; ++i) {
    bool const is_there = i == 0 || i >= beams;
    scores.push_back(is_there ? -5 - static_cast<float>(i * 7 % 3) / 8
                              : -std::numeric_limits<float>::infinity());
  }
  Beams const got = extended(device, stream, row, p, logits, scores);
  struct Beam {
    double score;
    std::int64_t parent, token;
  };
  for (std::int64_t request = 0; request < kRequests; ++request) {
    std::vector<Beam> all;
    for (std::int64_t parent = 0; parent < beams; ++parent) {
      std::int64_t const i = request * beams + parent;
      auto const logit = [&](std::int64_t j) {
        return static_cast<double>(logits[static_cast<std::size_t>(i * n + j)]) / temperature;
      };
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += std::exp(logit(j));
      std::vector<Beam> of_row;
      for (std::int64_t j = 0; j < n; ++j) {
        of_row.push_back(
            {scores[static_cast<std::size_t>(i)] + logit(j) - std::log(sum), parent, j});
      }
      std::ranges::stable_sort(of_row, std::greater{}, &Beam::score);
      all.insert(all.end(), of_row.begin(), of_row.end());
    }
    std::ranges::stable_sort(all, std::greater{}, &Beam::score);
    for (std::int64_t k = 0; k < beams; ++k) {
      auto const at = static_cast<std::size_t>(request * beams + k);
      Beam const& want = all[static_cast<std::size_t>(k)];
      EXPECT_EQ(got.tokens[at], want.token) << "of beam " << k << " of request " << request;
      EXPECT_EQ(got.parents[at], want.parent) << "of beam " << k << " of request " << request;
      EXPECT_NEAR(got.scores[at], want.score, 1e-5) << "of beam " << k << " of request " << request;
    }
    // The same by themselves.
    Problem one = unallocated(1, n, core::type_of<T>(), beams);
    one.temperature = temperature;
    auto const part = [&](auto const& of_all, std::int64_t each) {
      auto const first = of_all.begin() + request * beams * each;
      return std::vector(first, first + beams * each);
    };
    Beams const alone = extended(device, stream, row, one, part(logits, n), part(scores, 1));
    EXPECT_EQ(alone, (Beams{part(got.tokens, 1), part(got.parents, 1), part(got.scores, 1)}));
  }
}

inline void expect_all_beams_right(device::Device& device, device::StreamView stream,
                                   Variant<Problem> const& row) {
  expect_right_beams<float>(device, stream, row, 1500, 4, 1, false);
  expect_right_beams<float>(device, stream, row, 700, 1, 0.5, false);
  expect_right_beams<float>(device, stream, row, 33, 32, 2, false);
  expect_right_beams<core::bf16>(device, stream, row, 5, 5, 1, false);
  expect_right_beams<core::f16>(device, stream, row, 1025, 6, 1, true);
}

}  // namespace quadrille::kernels::sampler
