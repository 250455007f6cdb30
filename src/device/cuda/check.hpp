// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

namespace quadrille::device {

/// Ends the job: "cudaMemcpyAsync(...): cudaErrorInvalidValue (invalid argument), device 0".
[[noreturn]] void fail_cuda(cudaError_t status, char const* call,
                            std::source_location where = std::source_location::current());

}  // namespace quadrille::device

/// Ends the job unless the CUDA call succeeds.
#define QUAD_CUDA(call)                                        \
  do {                                                         \
    cudaError_t const quad_cuda_status = (call);               \
    if (quad_cuda_status != cudaSuccess) {                     \
      ::quadrille::device::fail_cuda(quad_cuda_status, #call); \
    }                                                          \
  } while (false)
