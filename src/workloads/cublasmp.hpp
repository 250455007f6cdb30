// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/product_check.hpp"

#include <memory>
#include <string>

namespace quadrille::workloads {

/// The peer on GPUs, as rows of summa and of ptrans.
extern kernels::VariantInfo const cublasmp_product, cublasmp_transpose;

/// Why the library that a row of a table calls cannot be used by this process, whatever the case; empty
/// where it can, and of rows whose library is there whenever they are.
std::string library_unavailable(kernels::VariantInfo const& row);
/// Why the ranks of this world cannot use cuBLASMp together; empty where they can.
std::string cublasmp_unavailable(comm::Machine const& machine);

/// How cuBLASMp is to have C (m x n) = A B: it wants the same block of k in A and B, and of m and n in
/// all. Block 0: one of C per process, and of k the fewest that suit both dimensions of the grid.
ProductLayout cublasmp_product_layout(core::GridShape grid, int rank, std::int64_t block,
                                      std::int64_t m, std::int64_t n, std::int64_t k);
/// The same of a matrix that is to be transposed into one with the layout for n x m.
Layout cublasmp_transpose_layout(core::GridShape grid, int rank, std::int64_t block, std::int64_t m,
                                 std::int64_t n);
/// Why it does not take such a product or matrix; empty where it does.
std::string cublasmp_unsupported(ProductLayout const& layout, core::DataType type,
                                 core::Compute compute);
std::string cublasmp_unsupported(Layout const& layout);

/// cuBLASMp over all ranks, with a communicator of NCCL of its own. A row-major block of M is a
/// column-major block of M^T, so every call works on transposes over a Q x P grid and nothing is ever
/// converted. CUDA device only.
class Cublasmp {
 public:
  /// Collective over the world, whose ranks are the grid in row-major order.
  Cublasmp(comm::World& world, core::GridShape grid);
  ~Cublasmp();  ///< Collective.
  Cublasmp(Cublasmp const&) = delete;
  Cublasmp& operator=(Cublasmp const&) = delete;

  // What run() does from now on. Collective; allocates what the library asks for, which it tells only
  // now, so that no plan of memory has it. The matrices outlive this.

  /// C = alpha A B + beta C, with the layout of cublasmp_product_layout().
  void plan_product(ProductLayout const& layout, core::Compute compute, double alpha,
                    device::MatrixView const& a, device::MatrixView const& b, double beta,
                    device::MatrixView const& c);
  /// B = A^T, with the layouts of cublasmp_transpose_layout().
  void plan_transpose(Layout const& layout_a, device::MatrixView const& a, Layout const& layout_b,
                      device::MatrixView const& b);

  /// Enqueues on the stream of the world.
  void run() const;
  /// "cublasMpGemm of cuBLASMp 0.7.0, workspace 96 MiB"
  std::string implementation() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quadrille::workloads
