// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Orbits of a quadratic map, by all threads of the host.
///
///   x -> x^2 + c, rounded once; result[i] = i + the bits of its chains' last x
///
/// Technique    a thread takes as many chains at a time as eight vectors hold: enough to hide the
///              latency of a multiply-add on two pipes, few enough for the registers. The map needs
///              no other register, and its values never settle, so that no step can be left out
/// Shapes       n multiply-adds
/// Work         n multiply-adds of 2 flop
/// Launch       one parallel loop of the stream, a result of a worker an iteration
/// Accuracy     exact: a fused multiply-add has one result
#include "device/host/parallel.hpp"
#include "peak/peak.hpp"

#include <sched.h>

#include <array>
#include <bit>
#include <cmath>
#include <type_traits>

namespace quadrille::kernels::peak {
namespace {

#ifdef __AVX512F__
constexpr std::size_t kVectorBytes = 64;
#else
constexpr std::size_t kVectorBytes = 32;
#endif
constexpr std::size_t kVectors = 8;

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
T start_of(std::int32_t start) {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(start / 128.0);
  return static_cast<T>(start);
}

double map(double x) { return std::fma(x, x, kMapConstant); }
float map(float x) { return std::fma(x, x, static_cast<float>(kMapConstant)); }
std::uint32_t map(std::uint32_t x) { return x * x + kMapConstantOfIntegers; }

/// The bits of the last numbers of a result's chains, whose starts begin at `starts`.
template <class T>
std::uint64_t result_of(std::int32_t const* starts, std::int64_t steps) {
  constexpr std::size_t kAtOnce = kVectors * kVectorBytes / sizeof(T);
  static_assert(kHostLoop.chains % kAtOnce == 0);
  std::uint64_t sum = 0;
  for (int first = 0; first < kHostLoop.chains; first += static_cast<int>(kAtOnce)) {
    std::array<T, kAtOnce> x;
    for (std::size_t c = 0; c < kAtOnce; ++c) {
      x[c] = start_of<T>(starts[static_cast<std::size_t>(first) + c]);
    }
    for (std::int64_t i = 0; i < steps; ++i) {
      for (std::size_t c = 0; c < kAtOnce; ++c) x[c] = map(x[c]);
    }
    for (T const last : x) sum += std::bit_cast<Bits<T>>(last);
  }
  return sum;
}

template <class T>
void enqueue(Problem const& problem, device::StreamView stream) {
  stream.run([p = problem, stream] {
    device::parallel_for(stream, std::int64_t{p.workers} * kHostLoop.results, [p](std::int64_t i) {
      std::int32_t const* const starts = p.start + i * kHostLoop.chains % kStarts;
      p.result[i] = static_cast<std::uint64_t>(i) +
                    result_of<T>(starts, steps_of(p, kHostLoop, i / kHostLoop.results));
      if (p.processor != nullptr) p.processor[i] = static_cast<std::uint32_t>(sched_getcpu());
    });
  });
}
static_assert(kStarts % kHostLoop.chains == 0);

void launch(Problem const& problem, device::StreamView stream) {
  switch (problem.type) {
    case core::DataType::f64: return enqueue<double>(problem, stream);
    case core::DataType::f32: return enqueue<float>(problem, stream);
    default: return enqueue<std::uint32_t>(problem, stream);
  }
}

}  // namespace

extern constinit Variant<Problem> const host_simd{
    {.name = "host_simd",
     .where = Where::host,
     .types = kHostTypes,
     .needs = {.other = "whole 2Mi of multiply-adds, up to 64Gi for each worker"},
     .preference = 20,
     .source = "own",
     .summary = "all threads, chains enough to hide the latency"},
    launch,
    {.unsupported = count_unsupported, .notes = {.loop = host_loop}}};

}  // namespace quadrille::kernels::peak
