// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace quadrille::device {

/// Starts Kokkos for this process and ends it. One per process; outlives every stream and view.
class KokkosRuntime {
 public:
  /// `gpu`: that of this process. A Kokkos with CUDA needs one, and takes any where none is named;
  /// without one it ends the job with Exit::environment.
  explicit KokkosRuntime(int threads, std::optional<int> gpu = {});
  ~KokkosRuntime();
  KokkosRuntime(KokkosRuntime const&) = delete;
  KokkosRuntime& operator=(KokkosRuntime const&) = delete;
};

/// "4.7.0, OpenMP" for the header of a run, or "4.7.0, CUDA, OpenMP".
std::string kokkos_version();

}  // namespace quadrille::device
