// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"
#include "device/device.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::kernels {

enum class Backend { reference, kokkos, vendor, host, cuda };
constexpr auto enum_names(Backend) {
  return core::EnumNames<Backend, 5>{{{Backend::reference, "reference"},
                                      {Backend::kokkos, "kokkos"},
                                      {Backend::vendor, "vendor"},
                                      {Backend::host, "host"},
                                      {Backend::cuda, "cuda"}}};
}

/// One row of an operation's table, without its launch function.
struct VariantInfo {
  std::string_view name;
  Backend backend;
  std::vector<core::DataType> types;
  std::string_view needs;    ///< for people: "sm_90a", "n % 4 == 0"; "none"
  std::string_view source;   ///< where the technique comes from, or "own"
  std::string_view summary;  ///< what is different, in half a sentence
  int min_sm = 0;            ///< compute capability times ten
  /// Shows a mistake: its result is expected to be wrong, and it runs only where a case asks.
  bool demonstration = false;
  /// A kokkos row that has kernels for GPUs too, for builds whose Kokkos has CUDA.
  bool portable = false;

  bool supports(core::DataType type) const;
  /// True when the backend can run on this kind of device at all. Vendor lines exist for both, and
  /// so do portable rows where Kokkos has CUDA.
  bool runs_on(device::Kind kind) const;
  /// False for rows that need CUDA in a build without it.
  bool is_built() const;
};

/// A row with the function that enqueues one execution on a stream. The function checks the
/// problem, never allocates device memory, never synchronises.
template <class Problem>
struct Variant : VariantInfo {
  void (*launch)(Problem const& problem, device::StreamView stream) = nullptr;
};

/// The launch function of a row whose kernels differ between host and GPU.
template <class Problem, void (*on_host)(Problem const&, device::StreamView),
          void (*on_gpu)(Problem const&, device::StreamView)>
void launch_by_kind(Problem const& problem, device::StreamView stream) {
  if (stream.device().kind() == device::Kind::cuda) return on_gpu(problem, stream);
  on_host(problem, stream);
}

/// The row called `name`, or nullptr.
template <class Problem>
Variant<Problem> const* find(std::span<Variant<Problem> const> table, std::string_view name) {
  for (Variant<Problem> const& row : table) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace quadrille::kernels

/// The launch function of a row that needs CUDA. A build without CUDA lists the row too, without a
/// launch function.
#ifdef QUADRILLE_CUDA_KERNELS
#define QUAD_CUDA_LAUNCH(function) function
#else
#define QUAD_CUDA_LAUNCH(function) nullptr
#endif

/// The launch function of a portable row: on a GPU that with "_cuda" behind its name, where the
/// build has one.
#ifdef QUADRILLE_KOKKOS_CUDA
#define QUAD_KOKKOS_LAUNCH(function) \
  (::quadrille::kernels::launch_by_kind<Problem, function, function##_cuda>)
#else
#define QUAD_KOKKOS_LAUNCH(function) function
#endif
