// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/summa/local_products.hpp"

#include "workloads/tables.hpp"

namespace quadrille::workloads::summa {

namespace gemm = kernels::gemm;

std::span<kernels::VariantInfo const> LocalProducts::rows() {
  static constexpr kernels::VariantInfo kOnHosts{
      .name = "local_products",
      .role = kernels::Role::ceiling,
      .where = kernels::Where::host,
      .types = {core::DataType::f64, core::DataType::f32},
      .source = "the vendor of the local product",
      .summary = "each rank's part of C by one product of the vendor, all operands at hand"};
  static constexpr kernels::VariantInfo all[] = {kOnHosts, [] {
                                                   kernels::VariantInfo info = kOnHosts;
                                                   info.where = kernels::Where::cuda;
                                                   info.types = {
                                                       core::DataType::f64, core::DataType::f32,
                                                       core::DataType::f16, core::DataType::bf16};
                                                   return info;
                                                 }()};
  return all;
}

LocalProducts::LocalProducts(Division const& division, Parameters const& parameters,
                             core::Compute compute)
    : rows_of_a_{division.layout.c.rows, {division.k, 0, 1}, division.layout.c.row_part, 0},
      cols_of_b_{{division.k, 0, 1}, division.layout.b.cols, 0, division.layout.b.col_part} {
  problem_.a = unallocated(rows_of_a_, division.type);
  problem_.b = unallocated(cols_of_b_, division.type);
  problem_.c = unallocated(division.layout.c, division.type);
  problem_.alpha = parameters.alpha;
  problem_.beta = parameters.beta;
  problem_.compute = compute;
}

/// The first that takes it; nullptr where there is none.
kernels::Variant<gemm::Problem> const* LocalProducts::vendor_of(
    device::Device const& device) const {
  for (kernels::Variant<gemm::Problem> const& row : gemm::variants()) {
    bool const is_vendor = row.role == kernels::Role::vendor;
    if (is_vendor && takes(row, problem_, device.kind(), device.facts())) return &row;
  }
  return nullptr;
}

std::string LocalProducts::unsupported_reason(device::Device const& device) const {
  return vendor_of(device) == nullptr ? "needs a vendor's product of this type and shape" : "";
}

void LocalProducts::allocate(comm::World const& world, device::MatrixView const& c) {
  vendor_ = vendor_of(world.device());
  a_ = allocate_matrix(problem_.a, world);
  b_ = allocate_matrix(problem_.b, world);
  problem_.c = c;
}

void LocalProducts::fill(Product const& product, comm::World const& world) const {
  if (vendor_ == nullptr) return;
  workloads::fill(problem_.a, rows_of_a_, product.a, world);
  workloads::fill(problem_.b, cols_of_b_, product.b, world);
}

}  // namespace quadrille::workloads::summa
