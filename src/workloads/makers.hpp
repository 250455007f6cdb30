// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/workload.hpp"

#include <memory>
#include <vector>

namespace quadrille::workloads {

std::unique_ptr<measure::Workload> make_vector(core::Case const& one, int ranks, int rank);
std::unique_ptr<measure::Workload> make_copy(core::Case const& one, int ranks, int rank);
std::unique_ptr<measure::Workload> make_memory(core::Case const& one, int ranks, int rank);
std::unique_ptr<measure::Workload> make_api(core::Case const& one, int ranks, int rank);
std::unique_ptr<measure::Workload> make_pipeline(core::Case const& one, int ranks, int rank);
std::unique_ptr<measure::Workload> make_integral(core::Case const& one, int ranks, int rank);
std::unique_ptr<measure::Workload> make_reduction(core::Case const& one, int ranks, int rank);
std::unique_ptr<measure::Workload> make_transpose(core::Case const& one, int ranks, int rank);
std::unique_ptr<measure::Workload> make_ptrans(core::Case const& one, int ranks, int rank);
std::unique_ptr<measure::Workload> make_gemm(core::Case const& one, int ranks, int rank);
std::unique_ptr<measure::Workload> make_summa(core::Case const& one, int ranks, int rank);
std::unique_ptr<measure::Workload> make_allreduce(core::Case const& one, int ranks, int rank);
std::unique_ptr<measure::Workload> make_broadcast(core::Case const& one, int ranks, int rank);
std::unique_ptr<measure::Workload> make_alltoall(core::Case const& one, int ranks, int rank);
std::unique_ptr<measure::Workload> make_sendrecv(core::Case const& one, int ranks, int rank);
std::unique_ptr<measure::Workload> make_field_io(core::Case const& one, int ranks, int rank);

/// Rows of workloads whose variants differ from the kernel table of the same name.
std::vector<kernels::VariantInfo const*> transpose_rows();
std::vector<kernels::VariantInfo const*> pipeline_rows();
std::vector<kernels::VariantInfo const*> api_rows();
std::vector<kernels::VariantInfo const*> summa_rows();
std::vector<kernels::VariantInfo const*> ptrans_rows();
std::vector<kernels::VariantInfo const*> exchange_rows();
std::vector<kernels::VariantInfo const*> field_io_rows();

}  // namespace quadrille::workloads
