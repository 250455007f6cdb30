// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quadrille::device {

/// Starts Kokkos for this process and ends it. One per process; outlives every stream and view.
class KokkosRuntime {
 public:
  explicit KokkosRuntime(int threads);
  ~KokkosRuntime();
  KokkosRuntime(KokkosRuntime const&) = delete;
  KokkosRuntime& operator=(KokkosRuntime const&) = delete;
};

/// "4.7.0, OpenMP" for the header of a run.
std::string kokkos_version();

}  // namespace quadrille::device
