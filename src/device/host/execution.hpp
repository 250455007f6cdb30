// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"

#include <Kokkos_Core.hpp>

namespace quadrille::device {

/// Execution space of this stream's Kokkos kernels, with the threads of its host device. Every
/// stream has its own, so kernels of two streams run at the same time. Only inside a task of that
/// stream: `stream.run([=] { auto const& space = host_execution(stream); ... space.fence(); })`.
Kokkos::DefaultHostExecutionSpace const& host_execution(StreamView stream);

}  // namespace quadrille::device
