// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reduction on the host with Kokkos.
///
///   s = sum x[i], sum x[i] y[i], sum x[i]^2, min x[i] or max x[i]
///
/// Technique    parallel_reduce over chunks; each chunk keeps 32 independent partial results in
///              registers, so the compiler may use whole vectors, no addition waits for the one
///              before, and many loads are in flight: the loop runs at the rate of memory.
///              Reproducible: virtual blocks in place of chunks, 256 lanes in the first-level
///              cache, software prefetch
/// Shapes       x, y: n contiguous elements
/// Types        f64 in f64; f32 in f32 or f64; i32 in i64; min and max in the type, i32 in f64
/// Work         n s bytes read (2 n s for dot)
/// Constraints  i32: partial sums below 2^63 in magnitude; reproducible: accumulator f64, compiled
///              without contraction of a * b + c
/// Launch       the stream's execution space; 16384 elements per chunk
/// Accuracy     4 eps sqrt(n) sum|x| with eps of the accumulator for uniform data; at worst
///              (520 + n / (16384 threads)) eps / 2 sum|x|; min, max exact; i32 exact below 2^53
/// Source       own
#include "device/host/execution.hpp"
#include "reduction/reduction_lanes.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>

namespace quadrille::kernels::reduction {
namespace {

using Range =
    Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace, Kokkos::IndexType<std::int64_t>>;

/// Long enough that folding the lanes costs little, short enough that threads share evenly.
constexpr std::int64_t kChunk = 16384;

/// Kokkos::Min and Max lose NaN, so the functor brings its own join.
template <Operation op, class Acc, class T>
struct Chunks {
  using value_type = Acc;
  T const* x;
  T const* y;
  std::int64_t n;

  void operator()(std::int64_t chunk, Acc& total) const {
    std::int64_t const begin = chunk * kChunk;
    std::int64_t const count = std::min(kChunk, n - begin);
    join(total, reduce_lanes<op, Acc, kRegisterLanes>(x + begin, y + begin, count));
  }
  void init(Acc& total) const { total = start<op, Acc>(); }
  void join(Acc& into, Acc const& from) const { into = reduction::join<op>(into, from); }
};

template <Operation op, class T>
struct Blocks {
  T const* x;
  T const* y;
  Problem p;

  void operator()(std::int64_t b) const {
    std::int64_t const origin = block_begin(p.global_n, p.block_first);
    std::int64_t const begin = block_begin(p.global_n, p.block_first + b) - origin;
    std::int64_t const end = block_begin(p.global_n, p.block_first + b + 1) - origin;
    p.blocks[b] = reduce_block<op>(x + begin, y + begin, end - begin);
  }
};

template <Operation op, class Acc, class T>
void reduce_chunks(Problem const& p, device::StreamView stream) {
  stream.run([p, stream] {
    auto const& space = device::host_execution(stream);
    Acc total{};
    Kokkos::parallel_reduce("reduction", Range(space, 0, (p.n + kChunk - 1) / kChunk),
                            Chunks<op, Acc, T>{first_of<T>(p), second_of<op, T>(p), p.n}, total);
    space.fence();
    *p.result = static_cast<double>(total);
  });
}

void launch_kokkos(Problem const& problem, device::StreamView stream) {
  visit(problem, [&]<Operation op, class T>() {
    if (problem.reproducible) {
      stream.run([p = problem, stream] {
        auto const& space = device::host_execution(stream);
        Kokkos::parallel_for("reduction_blocks", Range(space, 0, p.block_count),
                             Blocks<op, T>{first_of<T>(p), second_of<op, T>(p), p});
        space.fence();
      });
    } else {
      visit_accumulator<op, T>(problem,
                               [&]<class Acc>() { reduce_chunks<op, Acc, T>(problem, stream); });
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const kokkos{
    {.name = "kokkos",
     .where = Where::kokkos,
     .types = kReductionTypes,
     .preference = 10,
     .source = "own",
     .summary = "parallel_reduce over chunks of 256 independent lanes"},
    QUAD_KOKKOS_LAUNCH(launch_kokkos)};

}  // namespace quadrille::kernels::reduction
