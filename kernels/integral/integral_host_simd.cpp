// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral on the host in whole vectors.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)   (or Simpson, or Gauss-Legendre, a cell)
///
/// Technique    parallel loop over chunks of cells; the integrand is a branch-free polynomial on a
///              reduced range and 256 lanes are independent, so the compiler uses whole vectors:
///              the multipliers are the limit, not the latency of a library call. Reproducible:
///              virtual blocks in place of chunks, compiled without contraction of a * b + c
/// Shapes       cells [first, first + count) of the interval
/// Work         1, 2 or 3 evaluations a cell (midpoint, Simpson, Gauss-Legendre)
/// Launch       one parallel loop of the stream, kChunk cells an iteration
/// Accuracy     error_bound(); f64 sum in (n / (256 threads) + 80) eps / 2
#include "device/host/parallel.hpp"
#include "integral/integral_math.hpp"

#include <algorithm>
#include <functional>

namespace quadrille::kernels::integral {
namespace {

constexpr std::int64_t kChunk = 8192;

void launch(Problem const& problem, device::StreamView stream) {
  visit(problem, [&]<Integrand f, Rule rule, class T>() {
    stream.run([p = problem, stream] {
      Mesh const mesh = mesh_of(p);
      if (p.reproducible) {
        device::parallel_for(stream, p.block_count, [=](std::int64_t b) {
          std::int64_t const v = p.block_first + b;
          p.blocks[b] = integrate_cells<f, rule, T>(mesh, block_begin(p.cells, v),
                                                    block_begin(p.cells, v + 1));
        });
      } else {
        *p.result = device::parallel_reduce(
            stream, (p.count + kChunk - 1) / kChunk, 0.0,
            [&](std::int64_t chunk) {
              std::int64_t const begin = p.first + chunk * kChunk;
              std::int64_t const end = std::min(begin + kChunk, p.first + p.count);
              return integrate_cells<f, rule, T>(mesh, begin, end);
            },
            std::plus<>{});
      }
    });
  });
}

}  // namespace

extern constinit Variant<Problem> const host_simd{
    {.name = "host_simd",
     .where = Where::host,
     .types = {core::DataType::f64, core::DataType::f32},
     .preference = 20,
     .source = "own",
     .summary = "all threads, polynomials on a reduced range in whole vectors"},
    launch};

}  // namespace quadrille::kernels::integral
