// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sum of two vectors, and a quadratic function of one, on a GPU with Kokkos.
///
///   out[i] = x[i] + y[i];   out[i] = (a x[i] + b) x[i] + c
///
/// Technique    a range policy over the elements: neighbouring threads take neighbouring elements,
///              so a warp reads and writes whole lines; Kokkos chooses the size of the blocks
/// Shapes       x, y, out: n contiguous elements, any alignment of elements
/// Types        f64, f32, computed in the type
/// Work         add: n flop, 3 n s bytes; quadratic: 4 n flop, 2 n s bytes
/// Constraints  out overlaps no input
/// Launch       the stream's execution space; one element a thread
/// Accuracy     add: 1/2 ulp; quadratic: 2.5 eps (|a| x^2 + |b x| + |c|)
/// Source       own
#include "device/cuda/kokkos_execution.cuh"
#include "vector/vector.hpp"

#include <Kokkos_Core.hpp>

namespace quadrille::kernels::vector {
namespace {

using Range = Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<std::int64_t>>;
template <class T>
using Vector = Kokkos::View<T*, Kokkos::CudaSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class T>
struct Add {
  Vector<T const> x, y;
  Vector<T> out;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { out(i) = x(i) + y(i); }
};

template <class T>
struct Quadratic {
  Vector<T const> x;
  Vector<T> out;
  T a, b, c;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { out(i) = (a * x(i) + b) * x(i) + c; }
};

template <class T>
void evaluate(Problem const& p, device::StreamView stream) {
  auto const n = static_cast<std::size_t>(p.n);
  Range const all{device::cuda_execution(stream), 0, p.n};
  Vector<T const> const x{static_cast<T const*>(p.x), n};
  Vector<T> const out{static_cast<T*>(p.out), n};
  if (p.operation == Operation::add) {
    Vector<T const> const y{static_cast<T const*>(p.y), n};
    Kokkos::parallel_for("quadrille::vector::add", all, Add<T>{x, y, out});
  } else {
    Kokkos::parallel_for(
        "quadrille::vector::quadratic", all,
        Quadratic<T>{x, out, static_cast<T>(p.a), static_cast<T>(p.b), static_cast<T>(p.c)});
  }
}

}  // namespace

void launch_kokkos_cuda(Problem const& problem, device::StreamView stream) {
  require_consistent(problem);
  if (problem.type == core::DataType::f64) return evaluate<double>(problem, stream);
  evaluate<float>(problem, stream);
}

}  // namespace quadrille::kernels::vector
