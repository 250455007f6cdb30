// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/simt.cuh"
#include "common/tunable.hpp"

#include <algorithm>

#ifdef __CUDACC__
#include "common/kernel_sources.hpp"
#include "device/runtime_kernel.hpp"
#endif

#ifdef QUAD_KERNELS

namespace quadrille::kernels {

/// The handle of a configuration that is compiled now, or was before: the reason where there is none.
inline core::Parsed<void const*> compiled_now(Tunable const& tunable,
                                              Configuration const& configuration,
                                              ProblemKind const& kind,
                                              device::Facts const& device) {
  using Result = core::Parsed<void const*>;
  std::string const illegal =
      illegal_reason(tunable, configuration, kind, device.compute_capability);
  if (!illegal.empty()) return Result::error(illegal);
#ifdef __CUDACC__
  return device::runtime_kernel(kernel_program(tunable, configuration, kind),
                                tunable.needs(configuration, kind)->threads, device);
#else
  return Result::error("has compiled configurations alone in the interpreter");
#endif
}

/// For Tunable::prepare.
inline std::string prepare(Tunable const& tunable, Configuration const& configuration,
                           ProblemKind const& kind, device::Facts const& device) {
  if (std::ranges::find(tunable.compiled, configuration) != tunable.compiled.end()) return {};
  core::Parsed<void const*> const found = compiled_now(tunable, configuration, kind, device);
  return found ? "" : found.why();
}

/// The function of a configuration that none of the compiled ones is, as QUAD_LAUNCH takes it: prepare()
/// says that there is one.
template <class Function>
core::Parsed<Function> runtime_function(Tunable const& tunable, Configuration const& configuration,
                                        ProblemKind const& kind, device::Facts const& device) {
  core::Parsed<void const*> const found = compiled_now(tunable, configuration, kind, device);
  if (!found) return core::Parsed<Function>::error(found.why());
  // The runtime takes its handles of such kernels wherever it takes a function.
  return reinterpret_cast<Function>(const_cast<void*>(*found));
}

}  // namespace quadrille::kernels

#endif
