// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm.hpp"

namespace quadrille::kernels::gemm {

/// Whether a row takes products of any extents: those for thin shapes alone have a test of their own.
inline bool takes_any_extents(Variant<Problem> const& row) {
  if (row.specifics.unsupported == nullptr) return true;
  constexpr std::int64_t kExtent = 256;
  Types const types = *row.types.begin();
  Problem p;
  p.a = p.b = {nullptr, types.in, kExtent, kExtent, kExtent};
  p.c = {nullptr, types.out, kExtent, kExtent, kExtent};
  p.compute = types.compute;
  return row.specifics.unsupported(p).empty();
}

}  // namespace quadrille::kernels::gemm
