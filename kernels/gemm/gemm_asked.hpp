// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/asked_bytes.hpp"
#include "gemm/gemm.hpp"

#include <optional>

namespace quadrille::kernels::gemm {

struct Asked {
  AskedBytes bytes;
  /// Elements that threads load for each result and k, of which the formula has 2.
  double global_loads = 0, shared_loads = 0;
};
/// What threads of a product ask of memory, where traffic_of() is known.
std::optional<Asked> asked_of(Variant<Problem> const& row, Problem const& problem);

}  // namespace quadrille::kernels::gemm
