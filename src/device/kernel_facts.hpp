// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace quadrille::device {

/// One kernel launch as the driver sees it, of our kernels and of a vendor's.
struct KernelFacts {
  std::string name;  ///< without namespace of ours and without arguments
  std::array<std::int64_t, 3> grid{};
  std::array<std::int64_t, 3> block{};
  int registers = 0;             ///< of each thread
  std::size_t shared_bytes = 0;  ///< of each block, static and dynamic
  std::size_t local_bytes = 0;   ///< of each thread: spilled registers and indexed arrays
  int resident_blocks = 0;       ///< on one multiprocessor, as the driver says
  int modelled_blocks = 0;       ///< the same by device::resident_blocks(); 0 where unknown
};

/// The kernels that `enqueue` launches on `stream`, found by recording them in place of running
/// them; nothing is executed. Empty on a host device, or where the work cannot be recorded. The
/// enqueued work must not synchronise.
std::vector<KernelFacts> recorded_kernels(StreamView stream, std::function<void()> const& enqueue);

}  // namespace quadrille::device
