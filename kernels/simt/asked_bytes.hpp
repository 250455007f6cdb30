// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/asked_bytes.hpp"

#include <vector>

namespace quadrille::simt::traffic {

/// Of each launch that stop() returned last.
std::vector<kernels::AskedBytes> const& asked_bytes();

}  // namespace quadrille::simt::traffic
