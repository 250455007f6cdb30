// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

#include <algorithm>
#include <cstdint>

namespace quadrille::kernels {

/// Keeps a stream busy for at least so long, and little longer, without using memory.
void delay(double seconds, device::StreamView stream);
/// The same on a GPU.
void launch_delay(std::uint64_t nanoseconds, device::StreamView stream);

// A host is at times slower than it was before. And a device is not to wait for long where its queue,
// not the host, decides when the last launch is enqueued.
inline constexpr double kHeadStartFactor = 2, kMostHeadStartSeconds = 5e-3;
/// How long a device waits for launches that took a host so long to enqueue, so that what they are
/// timed to take is their time and not that of the launches.
inline double head_start(double enqueue_s) {
  return std::min(kHeadStartFactor * enqueue_s, kMostHeadStartSeconds);
}

}  // namespace quadrille::kernels
