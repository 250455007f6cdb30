// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/simt.cuh"
#include "common/tunable.hpp"

#include <span>

#ifdef __CUDACC__
#include "common/kernel_sources.hpp"
#include "device/runtime_kernel.hpp"
#endif

#ifdef QUAD_KERNELS

namespace quadrille::kernels {

/// The function of a configuration, as QUAD_LAUNCH takes it: one of the compiled ones, which are
/// functions[i] for tunable.compiled[i], else one that is compiled now, or was before. The reason
/// where there is none.
template <class Function>
core::Parsed<Function> kernel_of(Tunable const& tunable, std::span<Function const> functions,
                                 Configuration const& configuration,
                                 [[maybe_unused]] device::Facts const& device) {
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (tunable.compiled[i] == configuration) return functions[i];
  }
  std::string const illegal = illegal_reason(tunable, configuration, device.compute_capability);
  if (!illegal.empty()) return core::Parsed<Function>::error(illegal);
#ifdef __CUDACC__
  core::Parsed<void const*> const found = device::runtime_kernel(
      kernel_program(tunable, configuration), tunable.needs(configuration)->threads, device);
  if (!found) return core::Parsed<Function>::error(found.why());
  // The runtime takes its handles of such kernels wherever it takes a function.
  return reinterpret_cast<Function>(const_cast<void*>(*found));
#else
  return core::Parsed<Function>::error("has compiled configurations alone in the interpreter");
#endif
}

}  // namespace quadrille::kernels

#endif
