// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/simt.cuh"
#include "kernels/architecture_kernels.hpp"

namespace quadrille::test {
namespace {

__global__ void compiled_for_kernel(CompiledFor* out) {
#ifdef __CUDA_ARCH__
  out->compute_capability = __CUDA_ARCH__ / 10;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  out->sm90a = 1;
#else
  out->sm90a = 0;
#endif
#else  // the interpreter
  *out = {90, 1};
#endif
}

}  // namespace

void launch_compiled_for(CompiledFor* out, device::StreamView stream) {
  QUAD_LAUNCH(compiled_for_kernel, 1, 1, 0, stream, out);
}

}  // namespace quadrille::test
