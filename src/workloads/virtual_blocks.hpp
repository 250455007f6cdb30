// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/transport.hpp"
#include "comm/transport_choice.hpp"
#include "reduction/reduction.hpp"
#include "workloads/data.hpp"

namespace quadrille::workloads {

/// The end of every reduction over ranks: partial results become one total on every rank. The
/// plain way is an allreduce; the reproducible one gathers the values of all virtual blocks and
/// adds them in one fixed order, so that its bits do not depend on the number of ranks.
class RankReduction {
 public:
  using Operation = kernels::reduction::Operation;

  RankReduction() = default;
  /// Collective. `blocks` are the virtual blocks of this rank.
  RankReduction(comm::World& world, core::Case const& spec, Operation operation, bool reproducible);

  /// Virtual blocks of one rank of `ranks`.
  static core::Range blocks_of(int ranks, int rank) {
    return core::split_evenly(kernels::reduction::kVirtualBlocks, ranks, rank);
  }
  /// Of values of all virtual blocks, or of one number.
  static comm::Traffic traffic(bool reproducible) {
    if (!reproducible) return {comm::Operation::allreduce, sizeof(double)};
    return {comm::Operation::allgather, 8.0 * kernels::reduction::kVirtualBlocks};
  }
  /// Where a kernel writes its partial result, and its block values.
  double* partial() const { return outputs_.data(); }
  double* blocks() const { return blocks_.data(); }

  void reset(comm::World& world);
  /// Enqueues the reduction behind the kernel on world.stream().
  void run(comm::World& world);
  /// partial and total; for reproducible ones the values of this rank's blocks and the total.
  std::vector<measure::Field> fields() const;
  /// The total, for files.
  measure::Field total(std::string name) const;
  /// This rank's part as one number, from what the kernel wrote. Blocks.
  double partial_value(comm::World const& world) const;
  double total_value(comm::World const& world) const;
  /// Collective. The gathered block values against those that each rank really had: their sum alone
  /// would not show that two ranks' blocks changed places.
  void check_gathered(comm::World const& world, Finding& finding) const;

 private:
  device::MatrixView my_blocks() const;

  Operation operation_ = Operation::sum;
  bool reproducible_ = false;
  core::Range mine_;
  int ranks_ = 1;
  std::int64_t total_at_ = 1;  ///< 0 where one rank's partial result is the total
  std::unique_ptr<comm::Channel> channel_;
  device::Buffer<double> outputs_;  // partial, total
  device::Buffer<double> blocks_;
  device::Buffer<double> gathered_;
  device::PinnedBuffer<double> host_;  // gathered blocks, then their total
};

}  // namespace quadrille::workloads
