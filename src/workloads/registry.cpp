// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/registry.hpp"

#include "copy/copy.hpp"
#include "gemm/gemm.hpp"
#include "integral/integral.hpp"
#include "memory/memory.hpp"
#include "reduction/reduction.hpp"
#include "vector/vector.hpp"
#include "workloads/makers.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <array>

namespace quadrille::workloads {
namespace {

constexpr bool kLocal = true;
constexpr bool kGrid = false;

std::vector<kernels::VariantInfo const*> vector_rows() {
  return rows_of(kernels::vector::variants());
}
std::vector<kernels::VariantInfo const*> copy_rows() { return rows_of(kernels::copy::variants()); }
std::vector<kernels::VariantInfo const*> integral_rows() {
  return rows_of(kernels::integral::variants());
}
std::vector<kernels::VariantInfo const*> reduction_rows() {
  return rows_of(kernels::reduction::variants());
}
std::vector<kernels::VariantInfo const*> memory_rows() {
  return rows_of(kernels::memory::variants());
}
std::vector<kernels::VariantInfo const*> gemm_rows() { return rows_of(kernels::gemm::variants()); }

// clang-format off
constexpr std::array kWorkloads{
    measure::WorkloadEntry{"vector", "element-wise x + y or a x^2 + b x + c", "3 n s or 2 n s bytes per rank", kLocal, make_vector, vector_rows},
    measure::WorkloadEntry{"copy", "copies within a device or between it and pinned, registered or plain host memory", "2 n s bytes read and written per rank, twice for both ways", kLocal, make_copy, copy_rows},
    measure::WorkloadEntry{"memory", "reads of one window over and over, from the level of memory that holds it", "volume bytes read per rank; a chase: one step for 128 of them", kLocal, make_memory, memory_rows},
    measure::WorkloadEntry{"api", "single calls of the device's runtime: memory, streams, events, launches, queries", "1 call per rank", kLocal, make_api, api_rows},
    measure::WorkloadEntry{"pipeline", "intervals of an integral through kernel, copy and sum, overlapped in a dozen ways", "evaluations of the integrand per rank", kLocal, make_pipeline, pipeline_rows},
    measure::WorkloadEntry{"integral", "a definite integral by a composite rule", "evaluations of the integrand", kGrid, make_integral, integral_rows},
    measure::WorkloadEntry{"reduction", "sum, min, max, dot or norm2 of a distributed vector", "n s bytes read, twice for dot", kGrid, make_reduction, reduction_rows},
    measure::WorkloadEntry{"transpose", "out = in^T on each rank", "2 m n s bytes per rank", kLocal, make_transpose, transpose_rows},
    measure::WorkloadEntry{"ptrans", "B = A^T on a process grid, packed, exchanged and unpacked in overlapped steps", "m n s bytes", kGrid, make_ptrans, ptrans_rows},
    measure::WorkloadEntry{"gemm", "C = alpha op(A) op(B) + beta C on each rank", "2 m n k flop per rank", kLocal, make_gemm, gemm_rows},
    measure::WorkloadEntry{"summa", "C = alpha A B + beta C on a process grid, panels broadcast under the product", "2 m n k flop", kGrid, make_summa, summa_rows},
    measure::WorkloadEntry{"allreduce", "element-wise sum, min or max over ranks", "S = n s bytes; bus bandwidth 2 (P - 1) / P S / t", kGrid, make_allreduce, exchange_rows},
    measure::WorkloadEntry{"broadcast", "rank 0's row to every rank", "S = n s bytes", kGrid, make_broadcast, exchange_rows},
    measure::WorkloadEntry{"alltoall", "every rank deals its row to all ranks", "S (P - 1) / P bytes per rank", kGrid, make_alltoall, exchange_rows},
    measure::WorkloadEntry{"sendrecv", "a ring: to the next rank, from the previous one", "S bytes per rank", kGrid, make_sendrecv, exchange_rows},
    measure::WorkloadEntry{"field_io", "a distributed matrix written to HDF5 by hyperslabs and read back", "2 m n s bytes, written and read", kGrid, make_field_io, field_io_rows},
};
// clang-format on

}  // namespace

std::span<measure::WorkloadEntry const> workloads() { return kWorkloads; }

measure::WorkloadEntry const* find(std::string_view name) {
  auto const* const found = std::find_if(kWorkloads.begin(), kWorkloads.end(),
                                         [&](auto const& entry) { return entry.name == name; });
  return found == kWorkloads.end() ? nullptr : found;
}

std::vector<core::Known> known_names() {
  std::vector<core::Known> known;
  for (measure::WorkloadEntry const& entry : kWorkloads) {
    core::Known& one = known.emplace_back();
    one.workload = entry.name;
    for (kernels::VariantInfo const* row : entry.variants()) one.variants.emplace_back(row->name);
  }
  return known;
}

}  // namespace quadrille::workloads
