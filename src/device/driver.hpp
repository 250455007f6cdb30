// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quadrille::device {

/// The driver of this node's GPUs: "580.82.07, CUDA 13.0", or "none" without one. NVML tells the
/// first and the runtime the second; what neither tells is left out.
std::string driver_version();

}  // namespace quadrille::device
