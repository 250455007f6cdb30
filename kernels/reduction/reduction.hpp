// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"
#include "common/virtual_blocks.hpp"

#include <span>
#include <string_view>

namespace quadrille::kernels::reduction {

enum class Operation { sum, min, max, dot, norm2 };
constexpr auto enum_names(Operation) {
  return core::EnumNames<Operation, 5>{{{Operation::sum, "sum"},
                                        {Operation::min, "min"},
                                        {Operation::max, "max"},
                                        {Operation::dot, "dot"},
                                        {Operation::norm2, "norm2"}}};
}

using kernels::block_begin;
using kernels::kLanes;
using kernels::kVirtualBlocks;

/// Reduction of the elements of x (and y for dot) of this rank. norm2 gives the sum of squares; the
/// caller takes the root. Types f64, f32, i32. Accumulates f32 in f32 or f64, f64 in f64, integers
/// in i64 as double. NaN in the input gives NaN, for min and max too.
struct Problem {
  void const* x = nullptr;
  void const* y = nullptr;  ///< dot only
  std::int64_t n = 0;       ///< local elements
  core::DataType type = core::DataType::f64;
  core::DataType accumulator = core::DataType::f64;
  Operation operation = Operation::sum;
  double* result = nullptr;  ///< device memory: one value; the identity when n == 0

  /// Reproducible mode: the virtual blocks [block_first, block_first + block_count) of a vector of
  /// `global_n` elements, of which x holds just those, from block_begin(global_n, block_first). The
  /// accumulator is f64; `result` is not written.
  bool reproducible = false;
  std::int64_t global_n = 0;
  std::int64_t block_first = 0;
  std::int64_t block_count = 0;
  double* blocks = nullptr;  ///< device memory: block_count values

  /// Memory of a GPU for partial results, scratch_bytes(n) or more, aligned to 256 bytes. Its owner
  /// zeroes it once; launches leave their counters at zero. One stream at a time. Not used on the
  /// host.
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
};

/// What any variant may need for n elements.
std::size_t scratch_bytes(std::int64_t n);

/// Adds the kVirtualBlocks block values in the one fixed order (halves): the end of every
/// reproducible reduction, whatever the number of ranks. Minimum and maximum likewise.
double combine_blocks(Operation operation, std::span<double const> blocks);
/// What changes nothing: 0, +infinity for min, -infinity for max.
double identity(Operation operation);

/// |s - reference| <= this, for uniform data: 4 eps sqrt(n) sum|x|, eps of the accumulator, with
/// sum|x y| for dot and sum x^2 for norm2. 0 for integer data, min and max.
double error_bound(Problem const& problem, double n, double sum_of_magnitudes);

std::span<Variant<Problem> const> variants();
/// A vendor library does not have every operation, and the first steps of the CUDA ladder only add.
bool supports(VariantInfo const& variant, Operation operation,
              device::Kind kind = device::Kind::host);
bool supports_reproducible(VariantInfo const& variant);
/// Ends the job unless the problem is complete; every launch function calls it.
void require_consistent(Problem const& problem);

void launch_reference(Problem const& problem, device::StreamView stream);
void launch_kokkos(Problem const& problem, device::StreamView stream);
/// launch_kokkos on a GPU; only in a build whose Kokkos has CUDA.
void launch_kokkos_cuda(Problem const& problem, device::StreamView stream);
void launch_vendor(Problem const& problem, device::StreamView stream);
/// What launch_reference does with a reproducible problem.
void launch_reproducible(Problem const& problem, device::StreamView stream);

/// launch_vendor on the host: OpenBLAS; on a GPU: CUB and cuBLAS.
void launch_vendor_host(Problem const& problem, device::StreamView stream);
void launch_vendor_cuda(Problem const& problem, device::StreamView stream);

void launch_naive(Problem const& problem, device::StreamView stream);
void launch_interleaved(Problem const& problem, device::StreamView stream);
void launch_sequential(Problem const& problem, device::StreamView stream);
void launch_two_loads(Problem const& problem, device::StreamView stream);
void launch_unrolled_last_warp(Problem const& problem, device::StreamView stream);
void launch_unrolled(Problem const& problem, device::StreamView stream);
void launch_shuffle(Problem const& problem, device::StreamView stream);
void launch_vectorized(Problem const& problem, device::StreamView stream);
void launch_one_launch(Problem const& problem, device::StreamView stream);
void launch_bulk_async(Problem const& problem, device::StreamView stream);
void launch_binned(Problem const& problem, device::StreamView stream);

}  // namespace quadrille::kernels::reduction
