// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/tunable.hpp"
#include "device/runtime_kernel.hpp"

#include <span>
#include <string_view>

namespace quadrille::kernels {

/// The files below kernels/ that NVRTC compiles tunable kernels from, as they were when this program
/// was built.
std::span<device::SourceFile const> kernel_sources();

/// The tables of tuned configurations beside the kernels, as TOML.
std::string_view shipped_tuning();

/// The kernel of a configuration for a kind of problems as a program of its own.
device::KernelProgram kernel_program(Tunable const& tunable, Configuration const& configuration,
                                     ProblemKind const& kind);

}  // namespace quadrille::kernels
