// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/attention.hpp"
#include "common/library.hpp"

namespace quadrille::kernels::attention {

extern constinit Library<Problem> const cudnn_library;

/// That of a row, of which the table has one for GPUs; empty for rows of this project.
inline Library<Problem> library_of(VariantInfo const& row) {
  bool const is_cudnn = row.role == Role::vendor && row.where == Where::cuda;
  return is_cudnn ? cudnn_library : Library<Problem>{};
}

}  // namespace quadrille::kernels::attention
