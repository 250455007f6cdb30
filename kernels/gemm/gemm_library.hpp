// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/library.hpp"
#include "gemm/gemm.hpp"

namespace quadrille::kernels::gemm {

extern constinit Variant<Problem> const vendor_host, vendor_cuda;
extern constinit Library<Problem> const openblas, cublas;

/// That of a row; empty for rows of this project.
inline Library<Problem> library_of(VariantInfo const& row) {
  return &row == &vendor_host ? openblas : &row == &vendor_cuda ? cublas : Library<Problem>{};
}

}  // namespace quadrille::kernels::gemm
