// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

#include <cuda_runtime_api.h>

namespace quadrille::device {

/// The CUDA stream behind a stream of a CUDA device; any other ends the job. For .cu files only.
cudaStream_t cuda_stream(StreamView stream);

}  // namespace quadrille::device
