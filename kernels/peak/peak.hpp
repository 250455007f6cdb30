// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// Multiply-adds of values that stay in registers, or in shared memory next to the tensor cores: what
/// the arithmetic units of a device can do. Their results are known.
namespace quadrille::kernels::peak {

/// Chains of multiply-adds start from one of so many numbers, chain i from number i % kStarts.
inline constexpr int kStarts = 256;
/// Numbers to start from are in [-kMaxStart, kMaxStart].
inline constexpr int kMaxStart = 127;
/// Multiply-adds are divided among workers in portions of so many: whole steps of every variant.
inline constexpr std::int64_t kQuantum = 2 << 20;
/// Loop::period of sums in f16: with any start they stay where f16 holds quarters, in which hardware
/// may add the products of a step.
inline constexpr int kHalfPeriod = 256;
static_assert(kMaxStart + kHalfPeriod <= 512);

/// How a worker, a multiprocessor or a thread of a host, does its share: each of its `results` is
/// made of `chains` numbers, and a step does `depth` multiply-adds to each number.
struct Loop {
  int results = 0;
  int chains = 0;
  int depth = 1;
  /// Whether a step adds `depth` products of ones to the start, as matrix products do. Else it maps
  /// x to x^2 + c, from x = start / 128: see orbit().
  bool adds = false;
  /// Where it adds and this is not 0, products are of 1 / depth, so that a step adds one, and the last
  /// of so many steps goes back to the start: a narrow sum stays exact and each step shows in it.
  int period = 0;

  constexpr std::int64_t multiply_adds() const {
    return static_cast<std::int64_t>(results) * chains * depth;
  }
};

/// Result i, of all workers, is i plus the bits of its chains' last numbers, added modulo 2^64; chains
/// are counted through all results of all workers.
struct Problem {
  static constexpr std::string_view kOperation = "peak";
  struct Notes {
    Loop (*loop)(Types const& types) = nullptr;
  };

  core::DataType type = core::DataType::f64;
  core::Compute compute = core::Compute::automatic;
  std::int64_t multiply_adds = 0;  ///< of all workers together
  int workers = 0;
  std::int32_t const* start = nullptr;  ///< kStarts numbers
  std::uint64_t* result = nullptr;      ///< workers x Loop::results
  /// As many: the multiprocessor, or the CPU of a host, that each result was made on, by the number that it
  /// has there. May be missing.
  std::uint32_t* processor = nullptr;
};

Variants<Problem> variants();
ProblemFacts facts_of(Problem const& problem);
/// Ends the job unless the problem is complete.
void require_consistent(Problem const& problem);

/// Why a variant does not take so many multiply-adds; empty where it does.
std::string count_unsupported(Problem const& problem);

/// Steps of each chain of a worker: portions are shared evenly, the first ones have what is left.
QUAD_HD constexpr std::int64_t steps_of(std::int64_t worker, std::int64_t workers,
                                        std::int64_t multiply_adds, std::int64_t of_step) {
  std::int64_t const portions = multiply_adds / kQuantum;
  return (portions / workers + (worker < portions % workers ? 1 : 0)) * (kQuantum / of_step);
}
inline std::int64_t steps_of(Problem const& problem, Loop const& loop, std::int64_t worker) {
  return steps_of(worker, problem.workers, problem.multiply_adds, loop.multiply_adds());
}

/// c of the map x -> x^2 + c: with it no orbit settles, nor leaves [-1.91, 1.75].
inline constexpr double kMapConstant = -61.0 / 32;
inline constexpr std::uint32_t kMapConstantOfIntegers = 0x9E3779B9;

/// What a chain of `loop` ends with, as the bits of its type, in what it is computed in; the textbook
/// loop for maps.
std::uint64_t last_bits(Types const& types, Loop const& loop, std::int64_t steps,
                        std::int32_t start);

/// What is wrong with the host, by whose numbers others are judged: whether orbits in the type end where they do
/// everywhere. Empty where nothing is, and for sums.
std::string fault_of_host(Types const& types);

/// Of a host.
inline constexpr Loop kHostLoop{.results = 8, .chains = 128};
inline constexpr TypeList kHostTypes{core::DataType::f64, core::DataType::f32, core::DataType::i32};
constexpr Loop host_loop(Types const&) { return kHostLoop; }

}  // namespace quadrille::kernels::peak
