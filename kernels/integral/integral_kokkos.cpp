// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral on the host with Kokkos.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)   (or Simpson, or Gauss-Legendre, a cell)
///
/// Technique    parallel_reduce over chunks of cells; the integrand is a branch-free polynomial on
/// a
///              reduced range and 256 lanes are independent, so the compiler uses whole vectors:
///              the multipliers are the limit, not the latency of a library call. Reproducible:
///              virtual blocks in place of chunks
/// Shapes       cells [first, first + count) of the interval
/// Types        f64; f32 evaluation of an argument reduced in f64; sums in f64
/// Work         1, 2 or 3 evaluations a cell (midpoint, Simpson, Gauss-Legendre)
/// Constraints  compiled without contraction of a * b + c
/// Launch       the stream's execution space; kChunk cells per task
/// Accuracy     error_bound(); f64 sum in (n / (256 threads) + 80) eps / 2
/// Source       own
#include "device/host/execution.hpp"
#include "integral/integral_math.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>

namespace quadrille::kernels::integral {
namespace {

using Range =
    Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace, Kokkos::IndexType<std::int64_t>>;

constexpr std::int64_t kChunk = 8192;

void launch_kokkos(Problem const& problem, device::StreamView stream) {
  visit(problem, [&]<Integrand f, Rule rule, class T>() {
    stream.run([p = problem, stream] {
      auto const& space = device::host_execution(stream);
      Mesh const mesh = mesh_of(p);
      if (p.reproducible) {
        Kokkos::parallel_for("integral_blocks", Range(space, 0, p.block_count),
                             [=](std::int64_t b) {
                               std::int64_t const v = p.block_first + b;
                               p.blocks[b] = integrate_cells<f, rule, T>(
                                   mesh, block_begin(p.cells, v), block_begin(p.cells, v + 1));
                             });
      } else {
        double total = 0;
        Kokkos::parallel_reduce(
            "integral", Range(space, 0, (p.count + kChunk - 1) / kChunk),
            [=](std::int64_t chunk, double& sum) {
              std::int64_t const begin = p.first + chunk * kChunk;
              std::int64_t const end = std::min(begin + kChunk, p.first + p.count);
              sum += integrate_cells<f, rule, T>(mesh, begin, end);
            },
            total);
        *p.result = total;
      }
      space.fence();
    });
  });
}

}  // namespace

extern constinit Variant<Problem> const kokkos{
    {.name = "kokkos",
     .where = Where::kokkos,
     .types = {core::DataType::f64, core::DataType::f32},
     .preference = 10,
     .source = "own",
     .summary = "parallel_reduce, polynomials on a reduced range in whole vectors"},
    QUAD_KOKKOS_LAUNCH(launch_kokkos)};

}  // namespace quadrille::kernels::integral
