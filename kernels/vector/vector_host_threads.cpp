// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sum of two vectors, and a quadratic function of one, by threads without a pool.
///
///   out[i] = x[i] + y[i];   out[i] = (a x[i] + b) x[i] + c
///
/// Technique    one thread per host thread of the rank, started and joined in every execution: what
///              a pool of threads saves can be read off beside "host_simd". The tutorial does so by
///              OpenMP
/// Shapes       x, y, out: n contiguous elements; slices differ by at most one element
/// Work         add: n flop, 3 n s bytes; quadratic: 4 n flop, 2 n s bytes; out is read once more
///              by the caches
/// Launch       as many threads as the problem says, else as the device has
/// Accuracy     add: 1/2 ulp; quadratic: 2.5 eps (|a| x^2 + |b x| + |c|)
#include "device/device.hpp"
#include "vector/vector.hpp"

#include <thread>
#include <vector>

namespace quadrille::kernels::vector {
namespace {

template <class T>
void evaluate(Problem const& p, core::Range slice) {
  auto const* x = static_cast<T const*>(p.x);
  auto const* y = static_cast<T const*>(p.y);
  auto* out = static_cast<T*>(p.out);
  auto const a = static_cast<T>(p.a);
  auto const b = static_cast<T>(p.b);
  auto const c = static_cast<T>(p.c);
  std::int64_t const end = slice.first + slice.count;
  if (p.operation == Operation::add) {
    for (std::int64_t i = slice.first; i < end; ++i) out[i] = x[i] + y[i];
  } else {
    for (std::int64_t i = slice.first; i < end; ++i) out[i] = (a * x[i] + b) * x[i] + c;
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  int const count = problem.threads > 0 ? problem.threads : stream.facts().multiprocessors;
  stream.run([p = problem, count] {
    std::vector<std::jthread> threads;
    for (int t = 0; t < count; ++t) {
      core::Range const slice = core::split_evenly(p.n, count, t);
      threads.emplace_back([&p, slice] {
        if (p.type == core::DataType::f64) return evaluate<double>(p, slice);
        evaluate<float>(p, slice);
      });
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const host_threads{
    {.name = "host_threads",
     .where = Where::host,
     .types = {core::DataType::f64, core::DataType::f32},
     .source = "DCU programming tutorial, quadFunc",
     .summary = "threads started for each execution, one slice each"},
    launch,
    {.notes = {.takes_threads = true}}};

}  // namespace quadrille::kernels::vector
