// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/workload.hpp"
#include "transpose/transpose.hpp"
#include "workloads/ptrans/packing.hpp"

#include <string>

namespace quadrille::workloads::ptrans {

/// For every pair of ranks the common part is cut into as many steps as there are panels. The exchange of
/// step t runs under the packing of t + 1, the unpacking of t - 1, and the transposes of what each rank
/// keeps.
class StepExchange {
 public:
  StepExchange(Division const& division, std::int64_t buffers);

  /// Why this variant does not transpose all pieces; empty where it does.
  std::string unsupported_reason(
      kernels::Variant<kernels::transpose::Problem> const& variant) const;
  /// Buffers, where each rank has `local` bytes of A.
  double memory_bytes(double local) const;

  void allocate(comm::World& world, comm::Channel& channel, device::MatrixView const& a,
                device::MatrixView const& b);
  /// Enqueues that nothing is left which a repetition before received.
  void reset(device::StreamView stream) const;
  void run(comm::World& world, measure::Leg leg,
           kernels::Variant<kernels::transpose::Problem> const& variant);

 private:
  Slot& slot(std::size_t t) { return slots_[t % slots_.size()]; }

  Division division_;
  std::int64_t buffers_;
  std::unique_ptr<Packing> packing_;
  comm::Channel* channel_ = nullptr;
  std::vector<Slot> slots_;
};

}  // namespace quadrille::workloads::ptrans
