// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

#include <cstdint>

namespace quadrille::kernels {

/// Keeps a stream busy for at least so long, and little longer, without using memory.
void delay(double seconds, device::StreamView stream);
/// The same on a GPU.
void launch_delay(std::uint64_t nanoseconds, device::StreamView stream);

}  // namespace quadrille::kernels
