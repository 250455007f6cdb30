// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm.hpp"
#include "measure/workload.hpp"
#include "workloads/summa/division.hpp"

#include <span>

namespace quadrille::workloads::summa {

/// The ceiling: this rank's part of C by one product of the vendor, with all rows of A and columns of B
/// that it takes at hand.
class LocalProducts {
 public:
  static std::span<kernels::VariantInfo const> rows();

  LocalProducts(Division const& division, Parameters const& parameters, core::Compute compute);

  /// Empty where a vendor's row of this device computes it.
  std::string unsupported_reason(device::Device const& device) const;
  void allocate(comm::World const& world, device::MatrixView const& c);
  void fill(Product const& product, comm::World const& world) const;
  void launch(device::StreamView stream) const { vendor_->launch(problem_, stream); }
  device::MatrixView const& a() const { return problem_.a; }
  device::MatrixView const& b() const { return problem_.b; }

 private:
  kernels::Variant<kernels::gemm::Problem> const* vendor_of(device::Device const& device) const;

  Layout rows_of_a_, cols_of_b_;
  kernels::Variant<kernels::gemm::Problem> const* vendor_ = nullptr;
  device::Matrix a_, b_;
  kernels::gemm::Problem problem_;  ///< without memory at first
};

}  // namespace quadrille::workloads::summa
