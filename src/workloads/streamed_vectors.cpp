// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/streamed_vectors.hpp"

#include <algorithm>

namespace quadrille::workloads {

StreamedVectors::StreamedVectors(comm::World& world, core::DataType type, std::int64_t count,
                                 int vectors, std::int64_t chunk_bytes)
    : type_{type},
      count_{count},
      each_{
          std::max<std::int64_t>(1, chunk_bytes / static_cast<std::int64_t>(core::size_of(type)))} {
  device::Device& device = world.device();
  for (int v = 0; v < vectors; ++v) {
    host_.emplace_back(device, static_cast<std::int64_t>(bytes(count)));
  }
  for (std::size_t s = 0; s < kSlots; ++s) {
    Slot& slot = slots_.emplace_back();
    for (int v = 0; v < vectors; ++v) {
      slot.vectors.emplace_back(device, type, 1, std::min(each_, count), world.stream());
    }
    slot.arrived = device::Event{device};
    slot.used = device::Event{device};
  }
}

void StreamedVectors::fill(int v, std::int64_t first, Source const& source, comm::World& world) {
  auto const vector = static_cast<std::size_t>(v);
  // By way of the device, which generates faster than a host.
  device::Matrix const& on_device = slots_[0].vectors[vector];
  for (std::int64_t c = 0; c < chunks(); ++c) {
    std::int64_t const at = c * each_;
    workloads::fill(on_device.view().block(0, 0, 1, length(c)), row_from(first + at), source,
                    world);
    world.stream().copy(host_[vector].data() + bytes(at), on_device.view().data, bytes(length(c)));
  }
  world.stream().synchronize();
}

void StreamedVectors::run(comm::World& world, Launch const& launch) {
  device::StreamView const compute = world.stream();
  device::StreamView const copies = world.comm_stream();
  // Kernels of an earlier run may still be at work on the slots.
  for (Slot& slot : slots_) compute.record(slot.used);
  for (std::int64_t c = 0; c < chunks(); ++c) {
    Slot& slot = slots_[static_cast<std::size_t>(c) % kSlots];
    copies.wait(slot.used);
    for (std::size_t v = 0; v < host_.size(); ++v) {
      copies.copy(slot.vectors[v].view().data, host_[v].data() + bytes(c * each_),
                  bytes(length(c)));
    }
    copies.record(slot.arrived);
    compute.wait(slot.arrived);
    launch(c, slot.vectors[0].view().data, host_.size() > 1 ? slot.vectors[1].view().data : nullptr,
           length(c));
    compute.record(slot.used);
  }
}

}  // namespace quadrille::workloads
