// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

#include <cstdint>

/// The least work that shows that it was done: what a launch costs by itself.
namespace quadrille::kernels::api {

inline constexpr int kCounters = 4;

/// Adds 1 to kCounters counters in device memory: a kernel on a GPU, a task on a host.
void count(std::int64_t* counters, device::StreamView stream);

void launch_count(std::int64_t* counters, device::StreamView stream);

}  // namespace quadrille::kernels::api
