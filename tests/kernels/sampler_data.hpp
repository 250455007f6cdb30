// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/generator.hpp"
#include "sampler/sampler.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
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
    {600, 1, 599, 0.99}, {1100, 1, 0, 1e-9}, {64, 30, 0, 0.999}};

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

inline void expect_all_right(device::Device& device, device::StreamView stream,
                             Variant<Problem> const& row) {
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

}  // namespace quadrille::kernels::sampler
