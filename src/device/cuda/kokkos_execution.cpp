// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/kokkos_execution.cuh"

#include "device/cuda/check.hpp"
#include "device/cuda/stream.hpp"

namespace quadrille::device {

Kokkos::Cuda const& cuda_execution(StreamView stream) {
  std::shared_ptr<void>& place = cuda_execution_place(stream);
  if (!place) {
    QUAD_REQUIRE(Kokkos::is_initialized() && !Kokkos::is_finalized(),
                 "Kokkos kernels need a living KokkosRuntime");
    place = std::make_shared<Kokkos::Cuda>(cuda_stream(stream));
    // Kokkos clears the counters of its reductions on the default stream, for which ours does not
    // wait.
    QUAD_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
  }
  return *static_cast<Kokkos::Cuda const*>(place.get());
}

}  // namespace quadrille::device
