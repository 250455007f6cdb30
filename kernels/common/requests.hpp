// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace quadrille::kernels {

/// Requests of warps of one kind.
struct Requests {
  std::int64_t requests = 0;
  std::int64_t parts = 0;  ///< sectors of global memory, wavefronts of shared memory
  std::int64_t least = 0;  ///< wavefronts without bank conflicts; 0 for global memory
  constexpr std::int64_t conflicts() const { return parts - least; }
  bool operator==(Requests const&) const = default;
};
constexpr Requests operator+(Requests const& x, Requests const& y) {
  return {x.requests + y.requests, x.parts + y.parts, x.least + y.least};
}
constexpr Requests operator*(std::int64_t n, Requests const& x) {
  return {n * x.requests, n * x.parts, n * x.least};
}

struct Accesses {
  Requests global_loads{}, global_stores{}, shared_loads{}, shared_stores{};
  bool operator==(Accesses const&) const = default;
};
constexpr Accesses operator+(Accesses const& x, Accesses const& y) {
  return {x.global_loads + y.global_loads, x.global_stores + y.global_stores,
          x.shared_loads + y.shared_loads, x.shared_stores + y.shared_stores};
}
constexpr Accesses operator*(std::int64_t n, Accesses const& x) {
  return {n * x.global_loads, n * x.global_stores, n * x.shared_loads, n * x.shared_stores};
}

}  // namespace quadrille::kernels
