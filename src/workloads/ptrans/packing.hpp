// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/transport.hpp"
#include "workloads/ptrans/division.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace quadrille::workloads::ptrans {

/// Where the pieces of a step are that this rank sends and receives, in rank order; nothing for itself.
struct Slot {
  device::Buffer<std::byte> to_send, received;
  std::vector<comm::ConstPiece> send;
  std::vector<comm::Piece> receive;
  device::Event packed;
  comm::Request exchanged;
};

/// How this rank's part of A becomes the pieces that it sends in a step, and what it receives its part
/// of B.
class Packing {
 public:
  /// Transposes one view into another.
  using Transpose =
      std::function<void(device::MatrixView const& from, device::MatrixView const& into)>;

  Packing() = default;
  Packing(Packing const&) = delete;
  Packing& operator=(Packing const&) = delete;
  virtual ~Packing() = default;

  /// All transposes that it asks for, at least one of those that differ in place alone; before there is
  /// any memory.
  virtual void for_transposes(Transpose const& ask) const = 0;

  virtual void allocate(comm::World& world, device::MatrixView const& a,
                        device::MatrixView const& b) = 0;
  /// Bytes that a slot has to send, and to receive; from allocate() on, as what follows.
  virtual std::size_t send_bytes() const = 0;
  virtual std::size_t receive_bytes() const = 0;
  /// Says where the pieces of step t are in the slot.
  virtual void place(Slot& slot, std::size_t t) const = 0;

  // Each enqueues on the stream, on which `transpose` enqueues too.
  virtual void pack(Slot const& slot, std::size_t t, Transpose const& transpose,
                    device::StreamView stream) const = 0;
  /// What this rank keeps.
  virtual void keep(Slot const& slot, std::size_t t, Transpose const& transpose,
                    device::StreamView stream) const = 0;
  virtual void unpack(Slot const& slot, std::size_t t, Transpose const& transpose,
                      device::StreamView stream) const = 0;
};

/// Each rank has one block: a piece for each pair of ranks.
std::unique_ptr<Packing> make_packing_of_pairs(Division const& division);
/// Of many small blocks for each pair.
std::unique_ptr<Packing> make_packing_of_blocks(Division const& division);

/// Calls f(step) until all extents and alignments of the steps of n rows have been seen: there may be
/// billions of steps. As many as n has rows beyond equal steps are one row longer; among equal steps
/// addresses are aligned as so many steps before.
void for_kinds_of_steps(Division const& division, std::int64_t n,
                        std::function<void(std::size_t t)> const& f);

}  // namespace quadrille::workloads::ptrans
