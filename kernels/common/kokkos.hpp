// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/kokkos_execution.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

/// What the Kokkos variants share. Each is one source for all devices: a function object templated
/// on the execution space, whose sizes are constants of the space. Only for files that Kokkos's
/// compiler compiles.
namespace quadrille::kernels {

/// Whether an execution space is a GPU, where neighbouring threads should touch neighbouring
/// elements; on a host one thread should.
template <class Space>
inline constexpr bool kOnGpu = !std::is_same_v<Space, Kokkos::DefaultHostExecutionSpace>;

/// The policy of a loop over [begin, end).
template <class Space>
using RangeOf = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// A view of memory that somebody else owns.
template <class Data, class... Properties>
using Unmanaged = Kokkos::View<Data, Properties..., Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// A matrix in memory of the space, with any distance between its rows and its columns.
template <class T, class Space>
using MatrixOf = Unmanaged<T**, Kokkos::LayoutStride, typename Space::memory_space>;

/// x as it is stored or, transposed, the same memory with rows and columns exchanged.
template <class Matrix>
Matrix matrix_of(device::MatrixView const& x, bool transposed = false) {
  auto const size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  Kokkos::LayoutStride const as_stored{size(x.rows), size(x.ld), size(x.cols), 1};
  Kokkos::LayoutStride const exchanged{size(x.cols), 1, size(x.rows), size(x.ld)};
  return Matrix{static_cast<typename Matrix::pointer_type>(x.data),
                transposed ? exchanged : as_stored};
}

/// n, but at most `most`, as an int: 64-bit indices would cost registers.
KOKKOS_FUNCTION inline int up_to(int most, std::int64_t n) {
  return n < most ? static_cast<int>(n) : most;
}

}  // namespace quadrille::kernels
