// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/attention.hpp"
#include "vendor/library.hpp"

namespace quadrille::kernels::attention {

extern constinit Library<Problem> const cudnn_library;

/// That of a row; empty for rows of this project.
inline Library<Problem> library_of(VariantInfo const& row) {
  return kernels::library_of<Problem>(row, {}, cudnn_library);
}

}  // namespace quadrille::kernels::attention
