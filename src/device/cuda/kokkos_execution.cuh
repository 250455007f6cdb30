// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"

#include <Kokkos_Core.hpp>

namespace quadrille::device {

/// Execution space of this stream's Kokkos kernels on a GPU. Made at the first call, which takes
/// memory and waits for the default stream; later calls only look it up. Kernels of two streams run
/// at the same time. Only where Kokkos has CUDA, and from one thread at a time for a stream.
Kokkos::Cuda const& cuda_execution(StreamView stream);

}  // namespace quadrille::device
