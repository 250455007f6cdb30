// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sum of two vectors, and a quadratic function of one, with Kokkos.
///
///   out[i] = x[i] + y[i];   out[i] = (a x[i] + b) x[i] + c
///
/// Technique    a range policy over the elements, which Kokkos cuts for the device: on a GPU
///              neighbouring threads take neighbouring elements, so that a warp reads and writes
///              whole lines; on a host each thread takes a piece of the vectors
/// Shapes       x, y, out: n contiguous elements, any alignment of elements
/// Work         add: n flop, 3 n s bytes; quadratic: 4 n flop, 2 n s bytes; on a host out is read
///              once more by the caches
/// Launch       the stream's execution space; one element an iteration
/// Accuracy     add: 1/2 ulp; quadratic: 2.5 eps (|a| x^2 + |b x| + |c|)
#include "common/kokkos.hpp"
#include "vector/vector.hpp"

namespace quadrille::kernels::vector {
namespace {

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

template <class T, class Space>
void evaluate(Space const& space, Problem const& p) {
  RangeOf<Space> const all{space, 0, p.n};
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

void launch(Problem const& problem, device::StreamView stream) {
  device::run_kokkos(stream, [problem](auto const& space) {
    if (problem.type == core::DataType::f64) return evaluate<double>(space, problem);
    evaluate<float>(space, problem);
  });
}

}  // namespace

extern constinit Variant<Problem> const kokkos{
    {.name = "kokkos",
     .where = Where::kokkos,
     .types = {core::DataType::f64, core::DataType::f32},
     .preference = 10,
     .source = "own",
     .summary = "one source for host and GPU: a range policy over the elements"},
    launch};

}  // namespace quadrille::kernels::vector
