// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transpose/transpose.hpp"
#include "vendor/library.hpp"

namespace quadrille::kernels::transpose {

extern constinit Library<Problem> const blas_library, cublas;

/// That of a row; empty for rows of this project.
inline Library<Problem> library_of(VariantInfo const& row) {
  return kernels::library_of<Problem>(row, blas_library, cublas);
}

}  // namespace quadrille::kernels::transpose
