// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/kokkos_execution.hpp"

#include "device/host/host_stream.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "device/cuda/check.hpp"
#include "device/cuda/execution_place.hpp"
#include "device/cuda/stream.hpp"
#endif

namespace quadrille::device {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
static_assert(std::is_same_v<Host, Kokkos::OpenMP>,
              "instances with a number of threads of their own need Kokkos with OpenMP");

/// The execution space in a stream's place for it, made by make() at the first call.
template <class Space, class Make>
Space const& space_in(std::shared_ptr<void>& place, Make make) {
  if (!place) {
    QUAD_REQUIRE(Kokkos::is_initialized() && !Kokkos::is_finalized(),
                 "Kokkos kernels need a living KokkosRuntime");
    place = make();
  }
  return *static_cast<Space const*>(place.get());
}

}  // namespace

Host const& host_execution(StreamView view) {
  HostStream& stream = stream_of_task(view);
  return space_in<Host>(stream.execution(),
                        [&] { return std::make_shared<Host>(stream.threads()); });
}

#ifdef KOKKOS_ENABLE_CUDA
Kokkos::Cuda const& cuda_execution(StreamView stream) {
  return space_in<Kokkos::Cuda>(cuda_execution_place(stream), [&] {
    auto space = std::make_shared<Kokkos::Cuda>(cuda_stream(stream));
    // Kokkos clears the counters of its reductions on the default stream, for which ours does not
    // wait.
    QUAD_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
    return space;
  });
}
#endif

}  // namespace quadrille::device
