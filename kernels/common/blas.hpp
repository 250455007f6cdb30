// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cblas.h>

#include <atomic>

namespace quadrille::kernels {

/// Lets OpenBLAS use that many threads from now on, in all streams. Setting the count takes a lock
/// and may rebuild the pool, so it is done on a change only.
inline void use_blas_threads(int threads) {
  static std::atomic<int> current{0};
  if (current.exchange(threads) != threads) openblas_set_num_threads(threads);
}

}  // namespace quadrille::kernels
