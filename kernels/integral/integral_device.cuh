// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/simt.cuh"
#include "integral/integral_math.hpp"
#include "reduction/reduction_device.cuh"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

/// What the CUDA kernels of the integral share: the points of a cell, the integrands by library
/// functions, and the check of a problem.
namespace quadrille::kernels::integral {

#ifdef QUAD_KERNELS

/// What the integrand is evaluated with.
enum class Functions {
  library,     ///< sin, cos, exp and division
  half_turns,  ///< sinpi and cospi
  intrinsic,   ///< __sinf and so on, f32 alone
  rounded,     ///< those of the library, f32 alone, of arguments that are rounded to f32
};

/// The cells of a problem. Integrand and rule are run-time values here: their branches are the same
/// for all threads and cost nothing compared with a sine.
struct Task {
  Mesh mesh;
  Integrand integrand;
  bool has_ends;  ///< Simpson's rule treats the ends of the interval separately
  int points;     ///< of a cell
  double offset[3];
  double weight[3];
  std::int64_t first;
  std::int64_t count;
};

inline Task task_of(Problem const& p) {
  constexpr double kNode = 0.3872983346207417;  // sqrt(3/5) / 2
  Task task{mesh_of(p), p.integrand, p.rule == Rule::simpson, 1, {0.5}, {1}, p.first, p.count};
  if (p.rule == Rule::simpson) {
    task.points = 2;
    task.offset[1] = 0;
    task.weight[0] = 4;
    task.weight[1] = 2;
  } else if (p.rule == Rule::gauss_legendre) {
    task.points = 3;
    task.offset[1] = 0.5 - kNode;
    task.offset[2] = 0.5 + kNode;
    task.weight[0] = 8;
    task.weight[1] = task.weight[2] = 5;
  }
  return task;
}

/// The product of sine and cosine, up to its sign. An f32 argument must be reduced in f64,
/// since f32 would lose its phase; whole half turns change only signs.
template <class T, Functions functions>
__device__ inline T sine_cosine(double ax, double bx) {
  constexpr double kInversePi = 0x1.45f306dc9c883p-2;
  if constexpr (functions == Functions::half_turns) {
    double const u = ax * kInversePi;
    double const v = bx * kInversePi;
    if constexpr (std::is_same_v<T, double>) {
      return sinpi(u) * cospi(v);
    } else {
      return sinpif(static_cast<float>(u - std::rint(u))) *
             cospif(static_cast<float>(v - std::rint(v)));
    }
  } else if constexpr (std::is_same_v<T, double>) {
    return std::sin(ax) * std::cos(bx);
  } else if constexpr (functions == Functions::rounded) {
    return std::sin(static_cast<float>(ax)) * std::cos(static_cast<float>(bx));
  } else {
    auto const u = static_cast<float>(reduce_half_turn(ax));
    auto const v = static_cast<float>(reduce_half_turn(bx));
    if constexpr (functions == Functions::intrinsic) {
      return __sinf(u) * __cosf(v);
    } else {
      return std::sin(u) * std::cos(v);
    }
  }
}

template <class T, Functions functions>
__device__ inline T quotient(T a, T b) {
  if constexpr (functions == Functions::intrinsic) {
    return __fdividef(a, b);
  } else {
    return a / b;
  }
}

template <class T, Functions functions>
__device__ inline double evaluate(Task const& task, double x) {
  auto const t = static_cast<T>(x);
  T value{};
  switch (task.integrand) {
    case Integrand::sin2cos2: {
      T const product = sine_cosine<T, functions>(task.mesh.a * x, task.mesh.b * x);
      value = product * product;
      break;
    }
    case Integrand::arctan: value = quotient<T, functions>(T{4}, T{1} + t * t); break;
    case Integrand::gauss:
      if constexpr (functions == Functions::intrinsic) {
        value = __expf(-t * t);
      } else {
        value = std::exp(-t * t);
      }
      break;
    case Integrand::runge: value = quotient<T, functions>(T{1}, T{1} + T{25} * t * t); break;
  }
  return static_cast<double>(value);
}

/// Weighted sum of f(x) over the points of one cell, not yet scaled.
template <class F>
__device__ inline double sum_of_points(Task const& task, std::int64_t cell, F const& f) {
  auto const left = static_cast<double>(cell);
  double sum = 0;
  for (int k = 0; k < task.points; ++k) {
    // Selections, since an index would move the arrays to local memory.
    double const offset = k == 0 ? task.offset[0] : k == 1 ? task.offset[1] : task.offset[2];
    double const weight = k == 0 ? task.weight[0] : k == 1 ? task.weight[1] : task.weight[2];
    sum = std::fma(weight, f(std::fma(left + offset, task.mesh.h, task.mesh.lower)), sum);
  }
  return sum;
}

/// The same with what the ends of the interval add to its first and last cell.
template <class F>
__device__ inline double sum_of_cell(Task const& task, std::int64_t cell, F const& f) {
  double sum = sum_of_points(task, cell, f);
  if (task.has_ends) {
    if (cell == 0) sum -= f(task.mesh.lower);
    double const next = static_cast<double>(cell + 1);
    if (next == task.mesh.last) sum += f(std::fma(next, task.mesh.h, task.mesh.lower));
  }
  return sum;
}
template <class T, Functions functions>
__device__ inline double sum_of_cell(Task const& task, std::int64_t cell) {
  return sum_of_cell(task, cell, [&](double x) { return evaluate<T, functions>(task, x); });
}

/// The cell of a thread of a grid that has one for each.
__device__ inline std::int64_t own_index() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// The sum of a thread that goes through the cells with the grid as stride, not yet scaled.
template <class T, Functions functions>
__device__ inline double sum_of_thread(Task const& task) {
  std::int64_t const step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  double sum = 0;
  for (std::int64_t i = own_index(); i < task.count; i += step) {
    sum += sum_of_cell<T, functions>(task, task.first + i);
  }
  return sum;
}

__device__ inline double warp_reduce(double value) {
  return reduction::warp_reduce<reduction::Operation::sum>(value);
}

/// Adds a value of each thread to *result: shuffles, one shared atomic per warp, one global per
/// block.
__device__ inline void add_to_result(double value, double* result) {
  QUAD_SHARED(double, of_block);
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();  // before the first warp adds
  value = warp_reduce(value);
  if (threadIdx.x % 32 == 0) atomicAdd(&of_block, value);
  __syncthreads();  // all warps have added
  if (threadIdx.x == 0) atomicAdd(result, of_block);
}

/// grid_stride with one set of functions or another; each has a file of its own name.
template <class T, Functions functions>
__global__ void __launch_bounds__(1024) integral_grid_stride_kernel(Task task, double* result) {
  add_to_result(task.mesh.scale * sum_of_thread<T, functions>(task), result);
}

/// Ends the job unless the problem brings memory for partial sums.
inline void require_scratch(Problem const& p) {
  QUAD_REQUIRE(p.scratch != nullptr && p.scratch_bytes >= scratch_bytes(p.count),
               "integral: scratch is missing or smaller than scratch_bytes(count)");
}
inline unsigned* counter_of(Problem const& p) { return static_cast<unsigned*>(p.scratch); }
inline double* partials_of(Problem const& p) {
  return reinterpret_cast<double*>(static_cast<char*>(p.scratch) + 256);
}

/// Calls g.operator()<T>() for the type of the evaluation.
template <class G>
void visit_type(Problem const& p, G const& g) {
  if (p.type == core::DataType::f64) return g.template operator()<double>();
  g.template operator()<float>();
}

/// Sets the result to zero, to which the kernels of the atomic variants add.
inline void clear_result(Problem const& p, device::StreamView stream) {
  stream.fill(p.result, 0, sizeof(double));
}

/// As many blocks of 1024 as are resident, but no idle ones.
template <class T, Functions functions>
void launch_resident(Problem const& p, device::StreamView stream) {
  clear_result(p, stream);
  if (p.count == 0) return;
  int const resident = 2 * stream.facts().multiprocessors;
  QUAD_LAUNCH((integral_grid_stride_kernel<T, functions>),
              dim3(blocks_for(p.count, 1024, resident)), dim3(1024), 0, stream, task_of(p),
              p.result);
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::integral
