// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "measure/workload.hpp"

#include <cstdint>

namespace quadrille::measure {

/// Digests of the bits that an execution leaves in this rank's outputs, and of their places, taken
/// where they lie. An output that a GPU does not reach is left out.
class OutputDigest {
 public:
  explicit OutputDigest(comm::World const& world);
  /// Of the last execution. Waits for the stream.
  std::uint64_t of(Workload& workload) const;

 private:
  comm::World const& world_;
  device::Buffer<std::uint64_t> sum_;
};

}  // namespace quadrille::measure
