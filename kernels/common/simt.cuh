// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What every kernel file includes: launch and shared memory, as thin macros over CUDA for nvcc and
/// as calls of the interpreter in kernels/simt for g++, which runs each CUDA thread as a fiber and
/// checks what a GPU does not (simt: races, barriers, lanes, bounds, alignment). For NVRTC, which
/// compiles kernels of tunable variants at run time and has no host, there are kernels alone.
///
/// Rules for kernel authors
///   1  Include this and headers of common/ptx/ only. Instructions that C++ cannot say are functions
///      there, each with a model for the interpreter. No CUB, no cooperative groups, no <<<>>>, no
///      bare __shared__ in kernels.
///   2  QUAD_SHARED(T, name, [N][M]) declares a static array (without extents: one value),
///      QUAD_DYNAMIC_SHARED(T, name) the dynamic one, aligned to 1024 bytes.
///      QUAD_LAUNCH((kernel<...>), grid, block, bytes, stream, arguments...) launches, and
///      QUAD_LAUNCH((kernel<...>), shape, stream, arguments...) with a LaunchShape{.grid = ...} where
///      there is more to say, such as clusters.
///   3  Pointers are generic; nothing takes 32-bit shared addresses. mbarriers have a type.
///   4  All threads of a block reach the same barrier line. Collectives that fragments rely on take
///      the whole warp.
///   5  Compare results with tolerances: the two compilers contract differently.

#ifndef __CUDACC_RTC__
#include "core/error.hpp"
#include "core/types.hpp"
#include "device/views.hpp"
#endif

/// Defined where kernels are compiled: by nvcc, or by g++ for the interpreter. In other builds g++
/// compiles kernel files for their rows alone: what is inside of #ifdef QUAD_KERNELS is left out.
#if defined(__CUDACC__) || defined(QUADRILLE_INTERPRETER)
#define QUAD_KERNELS
/// The function of a row that launches kernels.
#define QUAD_KERNEL_LAUNCH(...) __VA_ARGS__
#else
#define QUAD_KERNEL_LAUNCH(...) nullptr
#endif

#if defined(QUAD_KERNELS) && !defined(__CUDACC_RTC__)
#include "common/launch.cuh"

#include <utility>
#endif

#ifdef __CUDACC__
#define QUAD_SHARED(T, name, ...) \
  __shared__ __align__(alignof(T) < 16 ? 16 : alignof(T)) T name __VA_ARGS__
#define QUAD_DYNAMIC_SHARED(T, name)                                     \
  extern __shared__ __align__(1024) unsigned char quad_dynamic_shared[]; \
  T* const name = reinterpret_cast<T*>(quad_dynamic_shared)
#endif

#ifndef __CUDACC_RTC__
#ifdef __CUDACC__

#include "device/cuda/check.hpp"
#include "device/cuda/stream.hpp"

#include <cuda_runtime.h>

namespace quadrille::kernels {

/// Launches and checks the launch. Where static and dynamic memory exceed 48 KiB together, a kernel
/// must be allowed its dynamic memory.
template <class... Parameters, class... Arguments>
void launch(KernelCall call, void (*kernel)(Parameters...), LaunchShape const& shape,
            device::StreamView stream, Arguments&&... arguments) {
  require_cluster(call, shape);
  auto const* const function = reinterpret_cast<void const*>(kernel);
  if (shape.shared_bytes > 0) {
    QUAD_CUDA(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(shape.shared_bytes)));
  }
  if (shape.non_portable_cluster) {
    QUAD_CUDA(cudaFuncSetAttribute(function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  }
  cudaLaunchAttribute attributes[2];
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = device::cuda_stream(stream);
  config.attrs = attributes;
  if (shape.cluster_blocks() > 1) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {shape.cluster.x, shape.cluster.y, shape.cluster.z};
  }
  if (shape.overlaps_previous) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  // Its error is taken from the last error, which is thereby cleared for the next launch.
  cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
  cudaError_t const status = cudaGetLastError();
  if (status != cudaSuccess) device::fail_cuda(status, call.kernel, call.where);
}

/// Requests that so many percent of the memory that the first-level cache and shared memory have in
/// common be shared memory, for this and later launches of the kernel; -1: the driver's choice.
template <class... Parameters>
void prefer_shared(void (*kernel)(Parameters...), int percent) {
  QUAD_CUDA(cudaFuncSetAttribute(reinterpret_cast<void const*>(kernel),
                                 cudaFuncAttributePreferredSharedMemoryCarveout, percent));
}

}  // namespace quadrille::kernels

#elif defined(QUADRILLE_INTERPRETER)

#include "simt/cuda_language.hpp"

#endif

#ifdef QUAD_KERNELS

namespace quadrille::kernels {

/// The same with a shape of nothing but grid, block and dynamic shared memory.
template <class... Parameters, class... Arguments>
void launch(KernelCall call, void (*kernel)(Parameters...), dim3 grid, dim3 block,
            std::size_t shared_bytes, device::StreamView stream, Arguments&&... arguments) {
  launch(call, kernel, LaunchShape{.grid = grid, .block = block, .shared_bytes = shared_bytes},
         stream, std::forward<Arguments>(arguments)...);
}

}  // namespace quadrille::kernels

#define QUAD_LAUNCH(kernel, ...) \
  ::quadrille::kernels::launch({#kernel, std::source_location::current()}, kernel, __VA_ARGS__)

#endif
#endif  // __CUDACC_RTC__

#ifdef QUAD_KERNELS
namespace quadrille::kernels {

/// Parts of `by` that n, which is not negative, has, the last one maybe not full.
__host__ __device__ constexpr int divide_up(int n, int by) { return n / by + (n % by != 0); }

}  // namespace quadrille::kernels
#endif
