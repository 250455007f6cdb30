// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"

#include <cuda_runtime_api.h>

#include <memory>

namespace quadrille::device {

/// The CUDA stream behind a stream of a CUDA device; any other ends the job. For .cu files only.
cudaStream_t cuda_stream(StreamView stream);

/// Place for the execution space of the stream's Kokkos kernels; what is in it ends before the
/// stream. Untyped, so that streams do not depend on Kokkos. One thread at a time.
std::shared_ptr<void>& cuda_execution_place(StreamView stream);

}  // namespace quadrille::device
