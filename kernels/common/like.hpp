// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

namespace quadrille::kernels {

/// Whether two matrices are of one type, with the same extents and leading dimension.
inline bool is_like(device::MatrixView const& a, device::MatrixView const& b) {
  return a.type == b.type && a.rows == b.rows && a.cols == b.cols && a.ld == b.ld;
}

/// With gaps between rows, as wide as those of another where that has room for its rows.
inline device::MatrixView with_gaps(device::MatrixView view, device::MatrixView const& like) {
  if (like.ld > view.ld) view.ld = like.ld;
  return view;
}

}  // namespace quadrille::kernels
