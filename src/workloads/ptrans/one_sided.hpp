// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/transport.hpp"
#include "measure/workload.hpp"
#include "workloads/ptrans/division.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace quadrille::workloads::ptrans {

/// Transposes out of the memory of peers, or into it.
enum class Direction { get, put };

struct OneSidedRow : kernels::VariantInfo {
  Direction direction = Direction::get;
};
std::span<OneSidedRow const> one_sided_rows();

/// Packs nothing, and its messages only say that memory is ready and that peers are through with it: each
/// rank transposes out of what all hold of A into its B, or out of its A into all B, in one launch for each
/// peer. Legs: the same transposes in the own memory; copies of the same bytes from or to the peers;
/// both, one after the other; and the whole, so that "hidden" is what transposing costs beside a copy.
class OneSided {
 public:
  /// Why the ranks of this machine do not share memory; empty where they do.
  static std::string unavailable_reason(core::Case const& spec, comm::Machine const& machine);

  /// Puts this rank's part of A, or of B, where all ranks reach it. The other matrix is `own`. With legs
  /// gets copy, too. Collective.
  OneSided(comm::World& world, comm::Channel& channel, Division const& division,
           Direction direction, device::MatrixView const& own, bool has_legs);
  OneSided(OneSided const&) = delete;
  OneSided& operator=(OneSided const&) = delete;

  device::MatrixView const& shared() const { return shared_; }
  void run(comm::World& world, measure::Leg leg);

 private:
  kernels::transpose::Blocks common_with(int r, void* memory, kernels::transpose::Path path) const;

  Division division_;
  Direction direction_;
  comm::Channel& channel_;
  device::MatrixView own_;
  std::unique_ptr<comm::Window> window_;
  device::MatrixView shared_;                      // there
  std::vector<comm::Access> transposes_, copies_;  // in the memory of each other rank
  device::Buffer<std::byte> landed_;               // copies that came
};

}  // namespace quadrille::workloads::ptrans
