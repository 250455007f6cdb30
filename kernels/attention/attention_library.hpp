// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/attention.hpp"
#include "common/library.hpp"

namespace quadrille::kernels::attention {

extern constinit Variant<Problem> const vendor_cuda;
extern constinit Library<Problem> const cudnn_library;

/// That of a row; empty for rows of this project.
inline Library<Problem> library_of(VariantInfo const& row) {
  return &row == &vendor_cuda ? cudnn_library : Library<Problem>{};
}

}  // namespace quadrille::kernels::attention
