// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"

#include <Kokkos_Core.hpp>

/// Only for files that Kokkos's compiler compiles: nvcc where Kokkos has CUDA.
namespace quadrille::device {

/// Execution space of this stream's Kokkos kernels, with the threads of its host device. Every
/// stream has its own, so kernels of two streams run at the same time. Only inside a task of that
/// stream: `stream.run([=] { auto const& space = host_execution(stream); ... space.fence(); })`.
Kokkos::DefaultHostExecutionSpace const& host_execution(StreamView stream);

#ifdef KOKKOS_ENABLE_CUDA
/// Execution space of this stream's Kokkos kernels on a GPU. Made at the first call, which takes
/// memory and waits for the default stream; later calls only look it up. Kernels of two streams run
/// at the same time. From one thread at a time for a stream.
Kokkos::Cuda const& cuda_execution(StreamView stream);
#endif

/// Calls enqueue(space), which starts Kokkos kernels, with the execution space of the stream: on a
/// host as a task of the stream, which then waits for the kernels.
template <class Enqueue>
void run_kokkos(StreamView stream, Enqueue enqueue) {
#ifdef KOKKOS_ENABLE_CUDA
  if (stream.device().kind() == Kind::cuda) return enqueue(cuda_execution(stream));
#endif
  stream.run([stream, enqueue] {
    auto const& space = host_execution(stream);
    enqueue(space);
    space.fence("quadrille");
  });
}

}  // namespace quadrille::device
