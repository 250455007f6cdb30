// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reduction on the host in whole vectors.
///
///   s = sum x[i], sum x[i] y[i], sum x[i]^2, min x[i] or max x[i]
///
/// Technique    parallel loop over chunks; each chunk keeps 32 independent partial results in
///              registers, so the compiler may use whole vectors, no addition waits for the one
///              before, and many loads are in flight: the loop runs at the rate of memory.
///              Reproducible: virtual blocks in place of chunks, 256 lanes in the first-level
///              cache, software prefetch, compiled without contraction of a * b + c
/// Shapes       x, y: n contiguous elements
/// Work         n s bytes read (2 n s for dot)
/// Launch       one parallel loop of the stream, 16384 elements an iteration
/// Accuracy     4 eps sqrt(n) sum|x| with eps of the accumulator for uniform data; at worst (520 +
///              n / (16384 threads)) eps / 2 sum|x|; min, max exact; i32 exact below 2^53, partial
///              sums below 2^63
#include "device/host/parallel.hpp"
#include "reduction/reduction_lanes.hpp"

#include <algorithm>

namespace quadrille::kernels::reduction {
namespace {

/// Long enough that folding the lanes costs little, short enough that threads share evenly.
constexpr std::int64_t kChunk = 16384;

template <Operation op, class Acc, class T>
void reduce_chunks(Problem const& p, device::StreamView stream) {
  auto const* x = first_of<T>(p);
  auto const* y = second_of<op, T>(p);
  *p.result = static_cast<double>(device::parallel_reduce(
      stream, (p.n + kChunk - 1) / kChunk, start<op, Acc>(),
      [&](std::int64_t chunk) {
        std::int64_t const begin = chunk * kChunk;
        std::int64_t const count = std::min(kChunk, p.n - begin);
        return reduce_lanes<op, Acc, kRegisterLanes>(x + begin, y + begin, count);
      },
      combine<op, Acc>));
}

template <Operation op, class T>
void reduce_blocks(Problem const& p, device::StreamView stream) {
  auto const* x = first_of<T>(p);
  auto const* y = second_of<op, T>(p);
  device::parallel_for(stream, p.block_count, [&](std::int64_t b) {
    std::int64_t const origin = block_begin(p.global_n, p.block_first);
    std::int64_t const begin = block_begin(p.global_n, p.block_first + b) - origin;
    std::int64_t const end = block_begin(p.global_n, p.block_first + b + 1) - origin;
    p.blocks[b] = reduce_block<op>(x + begin, y + begin, end - begin);
  });
}

void launch(Problem const& problem, device::StreamView stream) {
  visit(problem, [&]<Operation op, class T>() {
    if (problem.reproducible) {
      stream.run([p = problem, stream] { reduce_blocks<op, T>(p, stream); });
    } else {
      visit_accumulator<op, T>(problem, [&]<class Acc>() {
        stream.run([p = problem, stream] { reduce_chunks<op, Acc, T>(p, stream); });
      });
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const host_simd{
    {.name = "host_simd",
     .where = Where::host,
     .types = kReductionTypes,
     .preference = 20,
     .source = "own",
     .summary = "all threads, 32 independent lanes in registers"},
    launch,
    {.notes = {.chain = [](double n, device::Facts const& device) {
       return std::min(n / kRegisterLanes, 512.0) +
              n / static_cast<double>(kChunk * std::max(1, device.multiprocessors));
     }}}};

}  // namespace quadrille::kernels::reduction
