// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/checks/product.hpp"

#include <memory>
#include <span>
#include <string>

namespace quadrille::workloads {

/// A library's call that does a workload's whole operation on all ranks. Its end is collective.
class PeerCall {
 public:
  PeerCall() = default;
  PeerCall(PeerCall const&) = delete;
  PeerCall& operator=(PeerCall const&) = delete;
  virtual ~PeerCall() = default;

  /// Enqueues it on the stream of the world.
  virtual void run() const = 0;
  /// "cublasMpGemm of cuBLASMp 0.7.0, workspace 96 MiB"; empty where the row says all.
  virtual std::string implementation() const { return {}; }
};

/// C = alpha A B + beta C.
struct PeerProduct {
  using Layout = ProductLayout;
  Layout layout;
  core::Compute compute = core::Compute::automatic;
  double alpha = 1, beta = 0;
  device::MatrixView a, b, c;
};

/// B = A^T.
struct PeerTranspose {
  struct Layout {
    workloads::Layout a, b;
  };
  Layout layout;
  device::MatrixView a, b;
};

/// A row whose library does the whole operation. A row-major block of M is a column-major block of
/// M^T, so the calls of both libraries work on transposes over a Q x P grid, and nothing is converted.
template <class Operation>
struct Peer : kernels::VariantInfo {
  using Layout = typename Operation::Layout;

  /// Where the library has the operands of a case of this size on a rank of the grid. `block` is the
  /// case's; 0: one per process.
  Layout (*layout)(core::GridShape grid, int rank, std::int64_t block,
                   std::span<std::int64_t const> size) = nullptr;
  /// Why it does not take them; empty where it does.
  std::string (*unsupported)(Layout const& operands, kernels::Types const& type) = nullptr;
  /// Collective over the world, whose ranks are the grid in row-major order. Allocates what the library
  /// asks for, which it tells only now, so that no plan of memory has it. The matrices outlive the call.
  std::unique_ptr<PeerCall> (*plan)(comm::World& world, core::GridShape grid,
                                    Operation const& operation) = nullptr;
  /// Why this process cannot use the library, or with a machine all its ranks together; empty where
  /// they can. Null: the library is there whenever the row is.
  std::string (*unavailable)(comm::Machine const* machine) = nullptr;
  /// Whether C is rounded after each block of k.
  bool rounds_blocks = false;

  std::string unsupported_reason(Layout const& operands, kernels::Types const& type) const {
    std::string const reason = unavailable_reason(nullptr);
    return reason.empty() ? unsupported(operands, type) : reason;
  }
  std::string unavailable_reason(comm::Machine const* machine) const {
    return unavailable == nullptr ? "" : unavailable(machine);
  }
};

/// Those of this build.
template <class Operation>
std::span<Peer<Operation> const* const> peers();
template <>
std::span<Peer<PeerProduct> const* const> peers();
template <>
std::span<Peer<PeerTranspose> const* const> peers();

/// Why the library that a row of any table calls cannot be used by this process, whatever the case; empty
/// where it can, and of rows that are no peers.
std::string library_unavailable(kernels::VariantInfo const& row);

}  // namespace quadrille::workloads
