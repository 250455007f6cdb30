// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simt/engine.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

/// For tests that compare instructions and their models with the same bits: on a GPU these show that
/// the models are right, elsewhere they keep them so. Inputs are small integers, so that sums are
/// exact in every order.
namespace quadrille::test {

/// An integer in [-range, range] that differs by position.
inline int small_integer(unsigned seed, std::size_t i, int range) {
  std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15U + seed * 0xBF58476D1CE4E5B9U;
  x = (x ^ x >> 31) * 0x94D049BB133111EBU;
  return static_cast<int>((x >> 33) % static_cast<unsigned>(2 * range + 1)) - range;
}
/// n of these.
template <class T>
std::vector<T> small_integers(unsigned seed, std::size_t n, int range) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<T>(small_integer(seed, i, range));
  return values;
}

/// The bits of an integer as f16; |value| < 2048.
inline std::uint16_t f16_bits(int value) {
  if (value == 0) return 0;
  auto const magnitude = static_cast<unsigned>(std::abs(value));
  unsigned const exponent = static_cast<unsigned>(std::bit_width(magnitude)) - 1;
  unsigned const mantissa = magnitude << (10 - exponent) & 0x3FFU;
  return static_cast<std::uint16_t>((value < 0 ? 0x8000U : 0U) | (exponent + 15) << 10 | mantissa);
}
/// The bits of an integer as bf16; |value| < 256.
inline std::uint16_t bf16_bits(int value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
}
/// The bits of an integer as f32, and as tf32.
inline std::uint32_t f32_bits(int value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

/// Whether kernels run on a GPU, which diagnoses no misuse.
inline bool has_gpu() { return kernel_mode() == KernelMode::gpu; }

/// What the interpreter says of the launch, or nothing.
template <class Launch>
std::string error_of(Launch&& launch) {
  try {
    launch();
  } catch (simt::Error const& error) {
    return error.what();
  }
  return "";
}

/// What comes of a faulty kernel in a schedule: the interpreter's error, "right" or "wrong".
struct Outcome {
  std::string text;
  bool finds_races;
};
/// The same in each schedule.
inline std::vector<Outcome> outcomes(
    std::function<bool(device::Device&, device::StreamView)> const& is_right) {
  std::vector<Outcome> all;
  on_every_schedule([&](device::Device& device, device::StreamView stream) {
    bool right = false;
    std::string const error = error_of([&] { right = is_right(device, stream); });
    all.push_back({!error.empty() ? error : right ? "right" : "wrong", finds_races()});
  });
  return all;
}

/// Expects the text in each outcome. `of_races`: what the race detector says where it is first to
/// see the fault.
inline void expect_each(std::vector<Outcome> const& outcomes, std::string const& text,
                        std::string const& of_races = "") {
  EXPECT_FALSE(outcomes.empty());
  for (Outcome const& outcome : outcomes) {
    std::string const& expected = outcome.finds_races && !of_races.empty() ? of_races : text;
    EXPECT_NE(outcome.text.find(expected), std::string::npos)
        << outcome.text << "; expected: " << expected;
  }
}

}  // namespace quadrille::test

/// Expects that the interpreter ends the launch with `text` in its error.
#define EXPECT_FINDS(launch, text)                                                         \
  do {                                                                                     \
    std::string const found = ::quadrille::test::error_of([&] { launch; });                \
    EXPECT_NE(found.find(text), std::string::npos) << #launch " found '" << found << '\''; \
  } while (false)
