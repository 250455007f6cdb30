// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/variant.hpp"

#include <algorithm>

namespace quadrille::kernels {

bool VariantInfo::supports(core::DataType type) const {
  return std::find(types.begin(), types.end(), type) != types.end();
}

bool VariantInfo::runs_on(device::Kind kind) const {
  if (kind == device::Kind::host) return backend != Backend::cuda;
#ifdef QUADRILLE_KOKKOS_CUDA
  if (portable) return true;
#endif
  return backend == Backend::cuda || backend == Backend::vendor;
}

bool VariantInfo::is_built() const {
#ifdef QUADRILLE_CUDA_KERNELS
  return true;
#else
  return backend != Backend::cuda;
#endif
}

}  // namespace quadrille::kernels
