// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm.hpp"
#include "measure/workload.hpp"
#include "workloads/summa/division.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace quadrille::workloads::summa {

/// Of the rows and of the columns of the grid; null where there is one process.
struct Channels {
  comm::Channel* row = nullptr;
  comm::Channel* col = nullptr;
};

/// How A and B come, part by part of k, to the ranks that multiply them.
class OperandSchedule {
 public:
  /// Called with columns of A and rows of B, whose product is added to C, or is the first.
  using Use =
      std::function<void(device::MatrixView const& a, device::MatrixView const& b, bool is_first)>;
  /// What tells which width is the best: whether all products of one are taken, and seconds of a run of the
  /// width that is set; both the same on all ranks.
  struct Trial {
    std::function<bool(std::int64_t width)> takes;
    std::function<double()> seconds;
  };

  OperandSchedule() = default;
  OperandSchedule(OperandSchedule const&) = delete;
  OperandSchedule& operator=(OperandSchedule const&) = delete;
  virtual ~OperandSchedule() = default;

  // Known before there is any memory.

  /// Why it does not suit the case; empty where it does.
  virtual std::string unsupported_reason() const = 0;
  /// The larger of its messages, on a grid of several processes.
  virtual comm::Traffic traffic() const = 0;
  /// Bytes of the buffers.
  virtual double memory_bytes() const = 0;
  /// The width in k of a part, and all from which a measurement may choose it; 0: no key has it.
  virtual std::int64_t width() const { return 0; }
  virtual std::vector<std::int64_t> widths() const { return {width()}; }
  /// What this rank multiplies by parts of this width, at least one of those that differ in place alone.
  virtual void for_products(std::int64_t width, Use const& use) const = 0;

  // In this order.

  virtual void connect(comm::World& world, Channels const& channels) = 0;
  /// Shared memory that A or B must be in; null where it may be in any.
  virtual comm::Window const* a_window() const { return nullptr; }
  virtual comm::Window const* b_window() const { return nullptr; }
  /// A and B of this rank, and buffers for those of others.
  virtual void allocate(comm::World& world, device::MatrixView const& a,
                        device::MatrixView const& b) = 0;
  /// Chooses what is left to a measurement, and says what; empty where nothing is. Collective.
  virtual std::string choose(Trial const&) { return {}; }
  /// Of k, after each of which C is rounded.
  virtual std::int64_t parts() const = 0;

  /// Enqueues, before a repetition, that nothing is left which a repetition before received.
  virtual void reset(device::StreamView stream) const = 0;
  /// Enqueues a leg. What it sent has arrived for later work of world.stream().
  virtual void run(comm::World& world, measure::Leg leg, Use const& multiply) = 0;
  /// Later work of the stream may change A and B.
  virtual void await_readers(device::StreamView) const {}
};

/// Panels by broadcasts along rows and columns of the grid.
std::unique_ptr<OperandSchedule> make_broadcast(core::Case const& spec, Division const& division);
/// Parts of k by shifts to neighbours.
std::unique_ptr<OperandSchedule> make_cannon(Division const& division);
/// Why there are no shifts on such a grid: rows and columns must have equally many processes, or only one
/// of both more than one.
std::string cannon_unsupported(core::GridShape const& grid);

}  // namespace quadrille::workloads::summa
