// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>

namespace quadrille::kernels {

/// A kernel as it is written where it is launched, for messages.
struct KernelCall {
  char const* kernel;
  std::source_location where;
};

}  // namespace quadrille::kernels
