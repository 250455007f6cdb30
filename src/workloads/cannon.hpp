// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/transport.hpp"
#include "measure/workload.hpp"
#include "workloads/checks/product.hpp"

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace quadrille::workloads {

/// The sum over k of A(:, k) B(k, :) on a grid by neighbours alone. k is in as many parts as a row has
/// processes; process (i, j) multiplies part i + j + t in step t. Its part of A comes from the right
/// and goes to the left, its part of B comes from below and goes up, those of the next steps under the
/// product of this one. For the first step they come at once from the processes that own them, i
/// columns and j rows away: the skew. What a process owns never comes back to it, so that it receives no
/// more than by broadcasts, but from neighbours, and in messages as large as parts.
/// (L. E. Cannon: A Cellular Computer to Implement the Kalman Filter Algorithm, 1969.)
class Cannon {
 public:
  /// Where a process is among those that share a product, of which `layers` share k.
  struct Place {
    core::GridShape grid;
    int row = 0, col = 0;
    int layers = 1, layer = 0;
  };
  /// Called with columns of A and rows of B.
  using Use = std::function<void(device::MatrixView const& a, device::MatrixView const& b)>;

  /// Rows and columns must have equally many processes, or only one of both more than one.
  static std::string unsupported_reason(core::GridShape const& grid);

  Cannon(ProductLayout const& layout, core::DataType type, Place const& place);

  /// Bytes of the buffers.
  double memory_bytes() const;
  /// What a rank multiplies, all steps.
  void for_products(Use const& use) const;

  /// Channels may be null where there is one process.
  void allocate(comm::World& world, device::MatrixView const& a, device::MatrixView const& b,
                comm::Channel* row_channel, comm::Channel* col_channel);
  /// Enqueues, before a repetition, that no part is left which a repetition before received.
  void reset(device::StreamView stream) const;
  /// Enqueues a leg. What it sent has arrived for later work of world.stream().
  void run(comm::World& world, measure::Leg leg, Use const& multiply);

 private:
  /// One operand on its way along a row or column of processes, to the one before.
  struct Ring {
    comm::Distribution k;
    int layers = 1, layer = 0;
    int size = 1, place = 0;
    int skew = 0;                         ///< of the first step
    bool is_a = true;                     ///< parts are columns, not rows
    device::MatrixView own;               ///< unallocated at first
    std::array<device::Matrix, 2> slots;  ///< one is multiplied and sent on, one receives
    comm::Channel* channel = nullptr;
    comm::Request last;

    int part_at(int step) const { return (place + skew + step) % size; }
    bool is_own(int step) const { return part_at(step) == place; }
    /// The part of this step, where it lies on this rank.
    device::MatrixView part(int step) const;
    void shift(int step, device::StreamView stream);
  };
  /// Indices of k that lie side by side in a part of A and in one of B.
  struct Run {
    std::int64_t a = 0, b = 0;  ///< the first in each
    std::int64_t count = 0;
  };

  using Runs = std::vector<std::vector<Run>>;  ///< by part

  Runs find_runs() const;
  void for_products(Runs const& runs, int step, Use const& use) const;
  void shift(comm::World& world, int step);
  device::Event& multiplied(int step) { return multiplied_[static_cast<std::size_t>(step % 2)]; }

  int steps_;
  Ring a_, b_;
  Runs runs_;                                ///< from allocate() on
  std::array<device::Event, 2> multiplied_;  ///< what slots hold
};

}  // namespace quadrille::workloads
