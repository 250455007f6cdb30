// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/group.hpp"
#include "comm/piece.hpp"
#include "device/device.hpp"

#include <cstddef>
#include <vector>

namespace quadrille::comm {

/// Memory of every rank of a group, equally much of each, which all of them have open. Made and ended on
/// all ranks at the same place; nothing under way uses it when it ends.
class GroupMemory {
 public:
  /// `value` fills this rank's. The host waits. Ends the job where the memory cannot be shared, which
  /// the trial of shared memory finds before.
  GroupMemory(device::Device& device, Group const& group, std::size_t bytes, unsigned char value,
              device::StreamView stream);
  ~GroupMemory();
  GroupMemory(GroupMemory const&) = delete;
  GroupMemory& operator=(GroupMemory const&) = delete;

  /// Rank r's, where this rank's device reaches it.
  std::byte* of(int r) const { return r == group_.rank() ? own_.data() : peers_[index(r)].data(); }

 private:
  Group const& group_;
  device::SharedMemory own_;
  std::vector<device::PeerMemory> peers_;  ///< nothing for this rank
};

}  // namespace quadrille::comm
