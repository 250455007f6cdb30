// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/channel.hpp"
#include "comm/group.hpp"
#include "common/combine.hpp"
#include "core/error.hpp"
#include "device/device.hpp"

#include <cstddef>
#include <functional>
#include <memory>

namespace quadrille::comm {

inline kernels::Combine combine_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return kernels::Combine::sum;
    case ReduceOp::min: return kernels::Combine::min;
    case ReduceOp::max: return kernels::Combine::max;
  }
  core::fail("a reduction of no known operation");
}

/// Whether a group of this size on such devices can have a channel in line.
bool has_ipc_on_caller_stream(device::Kind kind, int ranks);

/// A channel whose exchanges are kernels on the caller's stream that write into the peers' memory.
/// Collective over the group. `connect_streams` makes the channel, when it is first needed, for what
/// kernels do not do: windows, and the ring of a broadcast.
std::unique_ptr<Channel> make_ipc_on_caller_stream(
    device::Device& device, std::size_t chunk_bytes, Group group,
    std::function<std::unique_ptr<Channel>(Group)> connect_streams);

}  // namespace quadrille::comm
