// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm.hpp"
#include "vendor/library.hpp"

namespace quadrille::kernels::gemm {

extern constinit Library<Problem> const blas_library, cublas;
extern Variant<Problem> const vendor_emulated;

/// That of a row; empty for rows of this project, and for that of emulation, which has one call.
inline Library<Problem> library_of(VariantInfo const& row) {
  if (&row == &vendor_emulated) return {};
  return kernels::library_of<Problem>(row, blas_library, cublas);
}

}  // namespace quadrille::kernels::gemm
