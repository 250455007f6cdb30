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

// Pointers, not Views: code of nvcc 13.0 for the device looks for the second View of a functor where
// the host did not put it, for a View has members without an address of their own.
template <class T>
struct Add {
  T const *x, *y;
  T* out;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { out[i] = x[i] + y[i]; }
};

template <class T>
struct Quadratic {
  T const* x;
  T* out;
  T a, b, c;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { out[i] = (a * x[i] + b) * x[i] + c; }
};

template <class T>
void evaluate(Problem const& p, device::StreamView stream) {
  Range const all{device::cuda_execution(stream), 0, p.n};
  auto const* const x = static_cast<T const*>(p.x);
  auto* const out = static_cast<T*>(p.out);
  if (p.operation == Operation::add) {
    Kokkos::parallel_for("quadrille::vector::add", all, Add<T>{x, static_cast<T const*>(p.y), out});
  } else {
    Kokkos::parallel_for(
        "quadrille::vector::quadratic", all,
        Quadratic<T>{x, out, static_cast<T>(p.a), static_cast<T>(p.b), static_cast<T>(p.c)});
  }
}

}  // namespace

void launch_kokkos_cuda(Problem const& problem, device::StreamView stream) {
  if (problem.type == core::DataType::f64) return evaluate<double>(problem, stream);
  evaluate<float>(problem, stream);
}

}  // namespace quadrille::kernels::vector
