// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

namespace quadrille::test {

/// What a kernel was compiled for.
struct CompiledFor {
  int compute_capability;  ///< times ten
  int sm90a;               ///< whether with the instructions of sm_90a
};
/// What the kernel was compiled for that the device runs. `out` is in device memory.
void launch_compiled_for(CompiledFor* out, device::StreamView stream);

}  // namespace quadrille::test
