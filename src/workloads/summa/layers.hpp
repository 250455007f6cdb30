// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/summa/division.hpp"

#include <memory>
#include <string>

namespace quadrille::workloads::summa {

/// The sums of a layer, which with those of the others are added up at the end, so that each layer keeps
/// every c-th block of rows of C.
/// (E. Solomonik, J. Demmel: Communication-optimal parallel 2.5D matrix multiplication, 2011.)
class LayerSums {
 public:
  explicit LayerSums(Division const& division) : division_{division} {}

  /// Why nothing of this type is added up; empty where it is.
  static std::string unsupported_reason(core::DataType type);
  /// Bytes of the sums.
  double memory_bytes() const;

  /// Collective.
  void allocate(comm::World& world, comm::Transport& transport);
  device::MatrixView view() const { return sums_.view(); }
  /// Enqueues what this rank's products add to: beta C of its own rows.
  void reset(double beta, device::MatrixView const& c, device::StreamView stream) const;
  /// Enqueues C's rows of all layers' sums, behind the products on world.stream().
  void add_up(comm::World& world, device::MatrixView const& c);

 private:
  template <class F>
  void for_shared_rows(F const& f) const;
  device::MatrixView shared_rows(std::int64_t first, int layer) const;

  Division division_;
  device::Matrix sums_;
  device::Event multiplied_;
  std::unique_ptr<comm::Channel> channel_;
};

}  // namespace quadrille::workloads::summa
