// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <span>

namespace quadrille::kernels::copy {

/// n bytes from `from` to `to`, not overlapping, both device accessible. Any alignment.
struct Problem {
  void* to = nullptr;
  void const* from = nullptr;
  std::int64_t bytes = 0;
};

/// The variant "kokkos" is the ceiling that other kernels of the host are held against,
/// "vectorized" that of kernels on a GPU.
std::span<Variant<Problem> const> variants();
/// Ends the job unless the problem is complete; every launch function calls it.
void require_consistent(Problem const& problem);

void launch_reference(Problem const& problem, device::StreamView stream);
void launch_kokkos(Problem const& problem, device::StreamView stream);
/// launch_kokkos on a GPU; only in a build whose Kokkos has CUDA.
void launch_kokkos_cuda(Problem const& problem, device::StreamView stream);
/// The stream's own copy: memcpy on the host, cudaMemcpyAsync on a GPU.
void launch_vendor(Problem const& problem, device::StreamView stream);
void launch_vectorized(Problem const& problem, device::StreamView stream);
void launch_bulk_async(Problem const& problem, device::StreamView stream);

}  // namespace quadrille::kernels::copy
