// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/trace.hpp"
#include "workloads/summa/operand_schedule.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace quadrille::workloads::summa {

using measure::Leg;

namespace {

/// What a trace calls the work of this step.
void label(comm::World const& world, int step) {
  if (device::Trace* const trace = world.device().trace()) {
    trace->set_label(fmt::format("step {}", step));
  }
}

/// The sum over k of A(:, k) B(k, :) on a grid by neighbours alone. k is in as many parts as a row has
/// processes; process (i, j) multiplies part i + j + t in step t. Its part of A comes from the right
/// and goes to the left, its part of B comes from below and goes up, those of the next steps under the
/// product of this one. For the first step they come at once from the processes that own them, i
/// columns and j rows away: the skew. What a process owns never comes back to it, so that it receives no
/// more than by broadcasts, but from neighbours, and in messages as large as parts.
/// (L. E. Cannon: A Cellular Computer to Implement the Kalman Filter Algorithm, 1969.)
class Cannon final : public OperandSchedule {
 public:
  explicit Cannon(Division const& division)
      : division_{division}, steps_{std::max(division.grid.rows, division.grid.cols)} {
    auto const ring = [&](Layout const& part, bool is_a) {
      Ring made;
      made.k = is_a ? part.cols : part.rows;
      made.layers = division.layers;
      made.layer = division.layer;
      made.size = is_a ? division.grid.cols : division.grid.rows;
      made.place = is_a ? division.col : division.row;
      made.skew = is_a ? division.row : division.col;
      made.is_a = is_a;
      made.own = unallocated(part, division.type);
      return made;
    };
    a_ = ring(division.layout.a, true);
    b_ = ring(division.layout.b, false);
  }

  std::string unsupported_reason() const override {
    std::string const misfit = cannon_unsupported(division_.grid);
    return misfit.empty() ? steps_problem(division_.k, division_.k_block(), "block") : misfit;
  }

  comm::Traffic traffic() const override {
    double const depth = std::ceil(static_cast<double>(division_.k) / (steps_ * division_.layers));
    return {comm::Operation::sendrecv,
            static_cast<double>(core::size_of(division_.type)) * division_.across() * depth};
  }

  double memory_bytes() const override {
    double bytes = 0;
    for (Ring const* ring : {&a_, &b_}) {
      if (ring->size == 1) continue;
      std::int64_t const across = ring->is_a ? ring->own.rows : ring->own.cols;
      bytes += static_cast<double>(ring->slots.size()) *
               static_cast<double>(ring->k.count(ring->layer)) * static_cast<double>(across) *
               static_cast<double>(core::size_of(ring->own.type));
    }
    return bytes;
  }

  void for_products(std::int64_t, Use const& use) const override {
    Runs const runs = find_runs();
    bool is_first = true;
    for (int step = 0; step < steps_; ++step) for_products_of(step, runs, is_first, use);
  }

  void connect(comm::World&, Channels const& channels) override {
    a_.channel = channels.row;
    b_.channel = channels.col;
  }

  void allocate(comm::World& world, device::MatrixView const& a,
                device::MatrixView const& b) override {
    runs_ = find_runs();
    a_.own = a;
    b_.own = b;
    for (Ring* ring : {&a_, &b_}) {
      if (ring->size == 1) continue;
      // No part has more than the first one of the layer.
      std::int64_t const depth = ring->k.count(ring->layer);
      for (device::Matrix& slot : ring->slots) {
        slot = {world.device(), ring->own.type, ring->is_a ? ring->own.rows : depth,
                ring->is_a ? depth : ring->own.cols, world.stream()};
      }
    }
    for (device::Event& event : multiplied_) event = device::Event{world.device()};
  }

  std::int64_t parts() const override {
    std::int64_t count = 0;
    for (std::vector<Run> const& of_part : runs_) count += std::ssize(of_part);
    return count;
  }

  void reset(device::StreamView stream) const override {
    for (Ring const* ring : {&a_, &b_}) {
      for (device::Matrix const& slot : ring->slots) forget_received(slot, ring->own, stream);
    }
  }

  void run(comm::World& world, Leg leg, Use const& multiply) override {
    device::StreamView const compute = world.stream();
    auto const await = [&] {
      a_.last.wait_on(compute);
      b_.last.wait_on(compute);
    };
    bool is_first = true;
    if (leg == Leg::overlapped) shift(world, 0);
    for (int step = 0; step < steps_; ++step) {
      if (leg == Leg::serial && step > 0) world.comm_stream().wait(multiplied(step - 1));
      if (leg == Leg::serial || leg == Leg::communicate) shift(world, step);
      if (leg != Leg::compute) await();
      if (leg == Leg::overlapped && step + 1 < steps_) shift(world, step + 1);
      if (leg == Leg::communicate) continue;
      label(world, step);
      for_products_of(step, runs_, is_first, multiply);
      compute.record(multiplied(step));
    }
  }

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
    device::MatrixView part(int step) const {
      if (is_own(step)) return own;
      std::int64_t const depth = k.count(part_at(step) * layers + layer);
      device::MatrixView view = slots[static_cast<std::size_t>(step) % slots.size()].view();
      view.type = own.type;
      view.rows = is_a ? own.rows : depth;
      view.cols = is_a ? depth : own.cols;
      view.ld = view.cols;
      return view;
    }

    /// The part of a step comes, from its owner or from the neighbour, which had it in the step before.
    void shift(int step, device::StreamView stream) {
      if (channel == nullptr || is_own(step)) return;
      // That of the step before has come, and has left the slot that is written next.
      last.wait_on(stream);
      int const distance = step == 0 ? skew : 1;
      last = channel->sendrecv(piece(step == 0 ? own : part(step - 1)),
                               (place + size - distance) % size, piece(part(step)),
                               (place + distance) % size, stream);
    }
  };
  /// Indices of k that lie side by side in a part of A and in one of B.
  struct Run {
    std::int64_t a = 0, b = 0;  ///< the first in each
    std::int64_t count = 0;
  };

  using Runs = std::vector<std::vector<Run>>;  ///< by part

  Runs find_runs() const {
    Runs found(static_cast<std::size_t>(steps_));
    comm::Distribution const& parts = a_.size > 1 ? a_.k : b_.k;
    for (std::int64_t first = 0, end = 0; first < parts.size(); first = end) {
      end = std::min(a_.k.block_end(first), b_.k.block_end(first));
      int const owner = parts.owner(first);
      if (owner % a_.layers != a_.layer) continue;
      std::vector<Run>& runs = found[static_cast<std::size_t>(owner / a_.layers)];
      Run const run{a_.k.local(first), b_.k.local(first), end - first};
      bool const continues = !runs.empty() && runs.back().a + runs.back().count == run.a &&
                             runs.back().b + runs.back().count == run.b;
      if (continues) {
        runs.back().count += run.count;
      } else {
        runs.push_back(run);
      }
    }
    return found;
  }

  void for_products_of(int step, Runs const& runs, bool& is_first, Use const& use) const {
    device::MatrixView const a = a_.part(step), b = b_.part(step);
    int const part = a_.size > 1 ? a_.part_at(step) : b_.part_at(step);
    for (Run const& run : runs[static_cast<std::size_t>(part)]) {
      use(a.block(0, run.a, a.rows, run.count), b.block(run.b, 0, run.count, b.cols),
          std::exchange(is_first, false));
    }
  }

  void shift(comm::World& world, int step) {
    device::StreamView const stream = world.comm_stream();
    label(world, step);
    stream.wait(multiplied(step));
    a_.shift(step, stream);
    b_.shift(step, stream);
  }

  device::Event& multiplied(int step) { return multiplied_[static_cast<std::size_t>(step % 2)]; }

  Division division_;
  int steps_;
  Ring a_, b_;
  Runs runs_;                                ///< from allocate() on
  std::array<device::Event, 2> multiplied_;  ///< what slots hold
};

}  // namespace

std::unique_ptr<OperandSchedule> make_cannon(Division const& division) {
  return std::make_unique<Cannon>(division);
}

std::string cannon_unsupported(core::GridShape const& grid) {
  if (grid.rows == grid.cols || grid.rows == 1 || grid.cols == 1) return {};
  return fmt::format(
      "cannon shifts on P x P, 1 x P and P x 1, not on {}x{}; change grid, or take schedule = "
      "\"broadcast\"",
      grid.rows, grid.cols);
}

}  // namespace quadrille::workloads::summa
