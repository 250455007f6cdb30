// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral by fused multiply-adds alone.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)   (or Simpson, or Gauss-Legendre, a cell)
///
/// Technique    sin^2(a x) cos^2(b x) = (1 - cos 2 a x) (1 + cos 2 b x) / 4, and within a tile of
///              cells x = c + d_j with the same d_j for every tile: cos 2 a x is cos 2 a c cos 2 a
///              d_j - sin 2 a c sin 2 a d_j, whose d_j factors are a table in the constant bank, an
///              operand of the multiply-add itself. So an evaluation is 5 of them, and the range is
///              reduced, and polynomials are evaluated, once per tile. Several tiles per thread
///              hide the latency and share the table's loads. The other integrands: 4 cells in
///              flight, polynomials without branches. Reproducible: a block of threads per virtual
///              block, the polynomials and the order of the host, compiled without contraction of a
///              * b + c
/// Shapes       cells [first, first + count) of the interval
/// Work         1, 2 or 3 evaluations per cell (midpoint, Simpson, Gauss-Legendre) of 10 flop
///              (sin2cos2), and 130 flop per tile of 64, 32 or 16 cells
/// Launch       256 threads per block, at most 4 blocks per multiprocessor, partial sums in scratch
///              memory; reproducible: 256 threads, at most 8 blocks per multiprocessor
/// Accuracy     error_bound(); an evaluation has an error of some eps of max f, of the type; within
///              a tile of f32 evaluations sums are f32; sums in a fixed order
#include "integral/integral_device.cuh"

#include <cmath>

namespace quadrille::kernels::integral {
namespace {

constexpr int kThreads = 256;
/// Tiles of a thread at a time.
constexpr int kTiles = 4;
/// Cells of a thread at a time, where there are no tiles.
constexpr int kCells = 4;

#ifdef QUAD_KERNELS

/// Evaluations of a tile, one point of a cell after the other.
template <Rule rule>
inline constexpr int kPoints = rule == Rule::midpoint  ? 1
                               : rule == Rule::simpson ? 2
                                                       : 3;
template <Rule rule>
inline constexpr int kTileCells = rule == Rule::midpoint  ? 64
                                  : rule == Rule::simpson ? 32
                                                          : 16;

/// Cosine and sine of 2 a d and 2 b d for the positions d of a tile, relative to its middle.
template <Rule rule, class T>
struct Table {
  static constexpr int kPlaces = kPoints<rule> * kTileCells<rule>;
  T cos_a[kPlaces], sin_a[kPlaces], cos_b[kPlaces], sin_b[kPlaces];
};

template <Rule rule, class T>
Table<rule, T> table_of(Task const& task) {
  Table<rule, T> table;
  for (int k = 0; k < kPoints<rule>; ++k) {
    for (int j = 0; j < kTileCells<rule>; ++j) {
      double const d = (j + task.offset[k] - kTileCells<rule> / 2) * task.mesh.h;
      int const position = k * kTileCells<rule> + j;
      table.cos_a[position] = static_cast<T>(std::cos(2 * task.mesh.a * d));
      table.sin_a[position] = static_cast<T>(std::sin(2 * task.mesh.a * d));
      table.cos_b[position] = static_cast<T>(std::cos(2 * task.mesh.b * d));
      table.sin_b[position] = static_cast<T>(std::sin(2 * task.mesh.b * d));
    }
  }
  return table;
}

constexpr double inverse_factorial(int n) {
  double product = 1;
  for (int i = 2; i <= n; ++i) product *= i;
  return 1 / product;
}
// A constant, because device code may not call a host function.
template <class T, int n>
inline constexpr T kTaylor = static_cast<T>((n % 4 < 2 ? 1 : -1) * inverse_factorial(n));

template <class T>
struct Angle {
  T cosine, sine;
};

/// Cosine and sine of 2 y from those of y reduced to at most pi / 2, where Taylor's series ends
/// soon enough: errors 2e-18 and 8e-20, apart from rounding.
template <class T>
__device__ inline Angle<T> double_angle(double y) {
  auto const r = static_cast<T>(reduce_half_turn(y));
  T const z = r * r;
  T const s = r * polynomial(z, T{1}, kTaylor<T, 3>, kTaylor<T, 5>, kTaylor<T, 7>, kTaylor<T, 9>,
                             kTaylor<T, 11>, kTaylor<T, 13>, kTaylor<T, 15>, kTaylor<T, 17>,
                             kTaylor<T, 19>, kTaylor<T, 21>);
  T const c = polynomial(z, T{1}, kTaylor<T, 2>, kTaylor<T, 4>, kTaylor<T, 6>, kTaylor<T, 8>,
                         kTaylor<T, 10>, kTaylor<T, 12>, kTaylor<T, 14>, kTaylor<T, 16>,
                         kTaylor<T, 18>, kTaylor<T, 20>, kTaylor<T, 22>);
  return {std::fma(T{-2} * s, s, T{1}), T{2} * s * c};
}

/// What the ends of the interval add, where these cells reach them.
template <Integrand f, Rule rule, class T>
__device__ inline double ends_of_part(Task const& task) {
  if (task.count == 0) return 0;
  return end_value<f, rule, T>(task.mesh, task.first == 0,
                               static_cast<double>(task.first + task.count) == task.mesh.last);
}

template <Rule rule, class T>
__global__ void __launch_bounds__(kThreads)
    integral_angle_addition_kernel(Task task, Table<rule, T> table, double* partials,
                                   unsigned* finished, double* result) {
  constexpr int kEach = kTileCells<rule>;
  std::int64_t const tiles = task.count / kEach;
  std::int64_t const step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  Mesh const& mesh = task.mesh;
  double sum = 0;
  for (std::int64_t tile = own_index(); tile < tiles; tile += kTiles * step) {
    // angles at the middles of the tiles
    Angle<T> a[kTiles];
    Angle<T> b[kTiles];
#pragma unroll
    for (int q = 0; q < kTiles; ++q) {
      std::int64_t const cell = task.first + (tile + q * step) * kEach + kEach / 2;
      double const x = std::fma(static_cast<double>(cell), mesh.h, mesh.lower);
      a[q] = double_angle<T>(mesh.a * x);
      b[q] = double_angle<T>(mesh.b * x);
    }
    // evaluations; separate sums for the points of a cell, as their weights differ
#pragma unroll
    for (int k = 0; k < kPoints<rule>; ++k) {
      T of_tile[kTiles] = {};
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        int const position = k * kEach + j;
#pragma unroll
        for (int q = 0; q < kTiles; ++q) {
          T const u = std::fma(-a[q].cosine, table.cos_a[position],
                               std::fma(a[q].sine, table.sin_a[position], T{1}));
          T const v = std::fma(b[q].cosine, table.cos_b[position],
                               std::fma(-b[q].sine, table.sin_b[position], T{1}));
          of_tile[q] = std::fma(u, v, of_tile[q]);
        }
      }
#pragma unroll
      for (int q = 0; q < kTiles; ++q) {
        // A tile after the last one is not used.
        if (tile + q * step < tiles) {
          sum = std::fma(0.25 * task.weight[k], static_cast<double>(of_tile[q]), sum);
        }
      }
    }
  }
  // cells after the last whole tile, and what the ends of the interval add
  auto const value = [&](double x) { return value_at<Integrand::sin2cos2, T>(x, mesh.a, mesh.b); };
  for (std::int64_t i = tiles * kEach + own_index(); i < task.count; i += step) {
    sum += sum_of_points(task, task.first + i, value);
  }
  if (own_index() == 0) sum += ends_of_part<Integrand::sin2cos2, rule, T>(task);
  sum = reduction::block_reduce<reduction::Operation::sum, kThreads>(mesh.scale * sum);
  reduction::finish_in_last_block<reduction::Operation::sum, kThreads>(sum, partials, finished,
                                                                       task.count, result);
}

template <Integrand f, Rule rule, class T>
__global__ void __launch_bounds__(kThreads)
    integral_polynomial_kernel(Task task, double* partials, unsigned* finished, double* result) {
  std::int64_t const step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  Mesh const& mesh = task.mesh;
  auto const at = [&](std::int64_t i) {
    return cell_value<f, rule, T>(mesh, static_cast<double>(task.first + i));
  };
  double sum[kCells] = {};
  std::int64_t i = own_index();
  for (; i + (kCells - 1) * step < task.count; i += kCells * step) {
#pragma unroll
    for (int q = 0; q < kCells; ++q) sum[q] += at(i + q * step);
  }
  for (; i < task.count; i += step) sum[0] += at(i);
  double total = (sum[0] + sum[2]) + (sum[1] + sum[3]);
  if (own_index() == 0) total += ends_of_part<f, rule, T>(task);
  total = reduction::block_reduce<reduction::Operation::sum, kThreads>(mesh.scale * total);
  reduction::finish_in_last_block<reduction::Operation::sum, kThreads>(total, partials, finished,
                                                                       task.count, result);
}

template <Integrand f, Rule rule, class T>
__global__ void __launch_bounds__(kLanes)
    integral_blocks_kernel(Mesh mesh, std::int64_t cells, std::int64_t block_first,
                           std::int64_t block_count, double* blocks) {
  QUAD_SHARED(double, lanes, [kLanes]);
  unsigned const lane = threadIdx.x;
  for (std::int64_t b = blockIdx.x; b < block_count; b += gridDim.x) {
    std::int64_t const begin = block_begin(cells, block_first + b);
    std::int64_t const end = block_begin(cells, block_first + b + 1);
    double sum = 0;
    for (std::int64_t i = begin + lane; i < end; i += kLanes) {
      sum += cell_value<f, rule, T>(mesh, static_cast<double>(i));
    }
    lanes[lane] = sum;
    __syncthreads();
    for (unsigned half = kLanes / 2; half >= 32; half /= 2) {
      if (lane < half) lanes[lane] += lanes[lane + half];
      __syncthreads();  // the next step reads what this one wrote
    }
    if (lane < 32) {
      sum = warp_reduce(lanes[lane]);
      bool const has_first = begin == 0 && end > begin;
      bool const has_last = static_cast<double>(end) == mesh.last && end > begin;
      if (lane == 0) {
        blocks[b] = mesh.scale * (sum + end_value<f, rule, T>(mesh, has_first, has_last));
      }
    }
    __syncthreads();  // the next virtual block overwrites the lanes
  }
}

void launch_blocks(Problem const& p, device::StreamView stream) {
  if (p.block_count == 0) return;
  auto const grid = static_cast<unsigned>(
      std::min<std::int64_t>(p.block_count, 8 * stream.facts().multiprocessors));
  visit(p, [&]<Integrand f, Rule rule, class T>() {
    QUAD_LAUNCH((integral_blocks_kernel<f, rule, T>), dim3(grid), dim3(kLanes), 0, stream,
                mesh_of(p), p.cells, p.block_first, p.block_count, p.blocks);
  });
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.reproducible) return launch_blocks(problem, stream);
  require_scratch(problem);
  int const resident = 4 * stream.facts().multiprocessors;
  Task const task = task_of(problem);
  visit(problem, [&]<Integrand f, Rule rule, class T>() {
    if constexpr (f == Integrand::sin2cos2) {
      std::int64_t const each = std::int64_t{kThreads} * kTileCells<rule>;
      unsigned const blocks = std::max(1U, blocks_for(problem.count, each, resident));
      QUAD_LAUNCH((integral_angle_addition_kernel<rule, T>), dim3(blocks), dim3(kThreads), 0,
                  stream, task, (table_of<rule, T>(task)), partials_of(problem),
                  counter_of(problem), problem.result);
    } else {
      unsigned const blocks = std::max(1U, blocks_for(problem.count, kThreads * kCells, resident));
      QUAD_LAUNCH((integral_polynomial_kernel<f, rule, T>), dim3(blocks), dim3(kThreads), 0, stream,
                  task, partials_of(problem), counter_of(problem), problem.result);
    }
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const reduced_range{
    {.name = "reduced_range",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .preference = 30,
     .source = "own",
     .summary = "fused multiply-adds only: angle addition, polynomials"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::integral
