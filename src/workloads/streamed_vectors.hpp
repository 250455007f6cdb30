// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "workloads/data.hpp"

#include <functional>
#include <vector>

namespace quadrille::workloads {

/// One or two vectors in page-locked memory of the host that pass through the device chunk by
/// chunk: while a kernel works on one chunk, the next is copied to the other of two slots.
class StreamedVectors {
 public:
  StreamedVectors() = default;
  /// `vectors` of `count` elements each, in chunks of at most `chunk_bytes` of each.
  StreamedVectors(comm::World& world, core::DataType type, std::int64_t count, int vectors,
                  std::int64_t chunk_bytes);

  /// Device memory of the slots, in bytes.
  static double slot_bytes(int vectors, std::int64_t chunk_bytes) {
    return static_cast<double>(kSlots) * vectors * static_cast<double>(chunk_bytes);
  }
  std::int64_t chunks() const { return (count_ + each_ - 1) / each_; }

  /// Vector v where it lies.
  device::MatrixView on_host(int v) const {
    return {host_[static_cast<std::size_t>(v)].data(), type_, 1, count_, count_};
  }

  /// Vector v becomes elements [first, first + count) of row 0 of `source`. Blocks.
  void fill(int v, std::int64_t first, Source const& source, comm::World& world);

  /// Enqueues all copies on world.comm_stream() and calls `launch` for each chunk in order, which
  /// enqueues on world.stream() what works on `n` elements at x and, of the second vector, y.
  using Launch =
      std::function<void(std::int64_t chunk, void const* x, void const* y, std::int64_t n)>;
  void run(comm::World& world, Launch const& launch);

 private:
  static constexpr std::size_t kSlots = 2;
  struct Slot {
    std::vector<device::Matrix> vectors;
    device::Event arrived, used;
  };

  std::int64_t length(std::int64_t chunk) const { return std::min(each_, count_ - chunk * each_); }
  std::size_t bytes(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * core::size_of(type_);
  }

  core::DataType type_ = core::DataType::f64;
  std::int64_t count_ = 0;
  std::int64_t each_ = 1;  ///< elements of a chunk
  std::vector<device::PinnedBuffer<std::byte>> host_;
  std::vector<Slot> slots_;
};

}  // namespace quadrille::workloads
