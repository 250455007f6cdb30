// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/channel.hpp"
#include "comm/group.hpp"
#include "device/device.hpp"

#include <cstddef>
#include <functional>
#include <memory>

namespace quadrille::comm {

/// Whether a group of this size on such devices can have a channel in line.
bool has_ipc_on_caller_stream(device::Kind kind, int ranks);

/// A channel whose exchanges are kernels on the caller's stream that write into the peers' memory.
/// Collective over the group. `connect_streams` makes the channel, when it is first needed, for what
/// kernels do not do: windows, and the ring of a broadcast.
std::unique_ptr<Channel> make_ipc_on_caller_stream(
    device::Device& device, std::size_t chunk_bytes, Group group,
    std::function<std::unique_ptr<Channel>(Group)> connect_streams);

}  // namespace quadrille::comm
