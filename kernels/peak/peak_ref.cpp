// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Orbits of a quadratic map, or sums of ones, by one thread.
///
///   x -> x^2 + c, rounded once, or x -> x + 1; result[i] = i + the bits of its chains' last x
///
/// Technique    textbook loop, one chain after the other
/// Shapes       n multiply-adds
/// Work         n multiply-adds of 2 flop
/// Launch       the stream's own thread
/// Accuracy     exact: a fused multiply-add has one result
#include "core/generator.hpp"
#include "device/device.hpp"
#include "peak/peak.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <bit>
#include <cmath>

namespace quadrille::kernels::peak {
namespace {

/// x^2 + c in the type of x.
double map(double x) { return std::fma(x, x, kMapConstant); }
float map(float x) { return std::fma(x, x, static_cast<float>(kMapConstant)); }
// A double holds the square of an f16, and its sum with c, exactly.
core::f16 map(core::f16 x) {
  auto const wide = static_cast<double>(x);
  return core::f16{wide * wide + kMapConstant};
}
std::uint32_t map(std::uint32_t x) { return x * x + kMapConstantOfIntegers; }

template <class T>
T orbit(T x, std::int64_t steps) {
  for (std::int64_t i = 0; i < steps; ++i) x = map(x);
  return x;
}

/// The start plus so many ones, which every type of a sum holds exactly, or i32 modulo 2^32.
std::uint64_t sum_bits(Types const& types, double sum) {
  if (types.in == core::DataType::f64) return std::bit_cast<std::uint64_t>(sum);
  if (types.compute == core::Compute::f16) return core::f16{sum}.bits;
  if (types.in == core::DataType::i8) {
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(sum));  // as 32 bits wrap around
  }
  return std::bit_cast<std::uint32_t>(static_cast<float>(sum));
}

}  // namespace

std::uint64_t last_bits(Types const& types, Loop const& loop, std::int64_t steps,
                        std::int32_t start) {
  if (loop.adds) {
    std::int64_t const ones = loop.period > 0 ? steps % loop.period : steps * loop.depth;
    return sum_bits(types, start + static_cast<double>(ones));
  }
  double const x = start / 128.0;
  switch (types.in) {
    case core::DataType::f64: return std::bit_cast<std::uint64_t>(orbit(x, steps));
    case core::DataType::f32:
      return std::bit_cast<std::uint32_t>(orbit(static_cast<float>(x), steps));
    case core::DataType::f16: return orbit(core::f16{x}, steps).bits;
    default: return orbit(static_cast<std::uint32_t>(start), steps);
  }
}

std::string fault_of_host(Types const& types) {
  struct Shipped {
    Types types;
    std::uint64_t digest;
  };
  // Made with exact fractions, rounded to the type's digits: by none of the units that they judge.
  static constexpr Shipped kShipped[] = {
      {core::DataType::f64, 0xeb292c4b3f207acb},
      {core::DataType::f32, 0x50b6fe02aa84c6a3},
      {Types{core::DataType::f16, core::Compute::f16}, 0x04d38da7f9e2e540},
      {core::DataType::i32, 0x1d31fdeec9202aac}};
  constexpr std::int64_t kSteps = 1000;
  for (auto const& [shipped, want] : kShipped) {
    if (shipped != types) continue;
    std::uint64_t digest = 0;
    for (int start = -kMaxStart; start <= kMaxStart; ++start) {
      digest = core::mix(digest + last_bits(types, {.results = 1, .chains = 1}, kSteps, start));
    }
    if (digest == want) return {};
    return fmt::format(
        "the host computes {} wrong: {} steps from {} starts have the digest {:#x}, not {:#x}",
        to_text(types), kSteps, 2 * kMaxStart + 1, digest, want);
  }
  return {};
}

namespace {

constexpr Loop loop_of(Types const& types) {
  Loop loop = kHostLoop;
  bool const is_16_bit = core::size_of(types.in) == 2;
  loop.adds = types.in == core::DataType::i8 || types.compute == core::Compute::tf32 ||
              (is_16_bit && types.compute == core::Compute::f32);
  return loop;
}

/// One after the other: the check has a formula.
template <class Sum>
std::uint64_t add_ones(std::int32_t start, std::int64_t steps) {
  // Else a compiler that adds integers computes where the loop ends.
  auto volatile sum = static_cast<Sum>(start);
  for (std::int64_t i = 0; i < steps; ++i) sum = sum + 1;
  return std::bit_cast<std::uint32_t>(static_cast<Sum>(sum));
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([p = problem] {
    Types const types = facts_of(p).types;
    Loop const loop = loop_of(types);
    auto const add = types.in == core::DataType::i8 ? add_ones<std::uint32_t> : add_ones<float>;
    std::int64_t chain = 0;
    for (std::int64_t i = 0; i < std::int64_t{p.workers} * loop.results; ++i) {
      std::int64_t const steps = steps_of(p, loop, i / loop.results);
      auto sum = static_cast<std::uint64_t>(i);
      for (int c = 0; c < loop.chains; ++c, ++chain) {
        std::int32_t const start = p.start[chain % kStarts];
        sum += loop.adds ? add(start, steps) : last_bits(types, loop, steps, start);
      }
      p.result[i] = sum;
      if (p.processor != nullptr) p.processor[i] = static_cast<std::uint32_t>(sched_getcpu());
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const reference{
    {.name = "reference",
     .role = Role::reference,
     .where = Where::host,
     .types = {core::DataType::f64, core::DataType::f32, core::DataType::i32,
               Types{core::DataType::f16, core::Compute::f16}, core::DataType::f16,
               core::DataType::bf16, Types{core::DataType::f32, core::Compute::tf32},
               core::DataType::i8},
     .needs = {.other = "whole 2Mi of multiply-adds, up to 64Gi for each worker"},
     .source = "textbook",
     .summary = "one thread"},
    launch,
    {.unsupported = count_unsupported, .notes = {.loop = loop_of}}};

}  // namespace quadrille::kernels::peak
