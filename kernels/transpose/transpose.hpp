// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <span>

namespace quadrille::kernels::transpose {

/// out = in^T: in is m x n, out n x m, both row-major, not overlapping; for variant "in_place" one
/// and the same. Exact.
struct Problem {
  device::MatrixView in;
  device::MatrixView out;
};

/// Ends the job unless extents, types and leading dimensions fit together.
void require_consistent(Problem const& problem);

/// Each element read once and written once.
constexpr double bytes(double m, double n, double element_bytes) {
  return 2 * m * n * element_bytes;
}

std::span<Variant<Problem> const> variants();
/// What a row asks of an m x n matrix without padding that it does not meet, with a row that fits;
/// empty otherwise. The launch functions check alignment too.
std::string refusal(VariantInfo const& variant, core::DataType type, std::int64_t m,
                    std::int64_t n);

/// The launch functions behind the table: each checks the problem and enqueues it.
void launch_reference(Problem const& problem, device::StreamView stream);
void launch_kokkos(Problem const& problem, device::StreamView stream);
/// launch_kokkos on a GPU; only in a build whose Kokkos has CUDA.
void launch_kokkos_cuda(Problem const& problem, device::StreamView stream);
/// OpenBLAS on the host, cuBLAS on a GPU.
void launch_vendor(Problem const& problem, device::StreamView stream);
void launch_vendor_host(Problem const& problem, device::StreamView stream);
void launch_vendor_cuda(Problem const& problem, device::StreamView stream);
void launch_naive_32x8(Problem const& problem, device::StreamView stream);
void launch_naive_8x32(Problem const& problem, device::StreamView stream);
void launch_register_4x4(Problem const& problem, device::StreamView stream);
void launch_shared_tile(Problem const& problem, device::StreamView stream);
void launch_shared_padded(Problem const& problem, device::StreamView stream);
void launch_shared_swizzled(Problem const& problem, device::StreamView stream);
void launch_bulk_tensor(Problem const& problem, device::StreamView stream);
void launch_in_place(Problem const& problem, device::StreamView stream);

}  // namespace quadrille::kernels::transpose
