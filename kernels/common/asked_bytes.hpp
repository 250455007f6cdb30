// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/access.hpp"

#include <cstdint>

namespace quadrille::kernels {

/// What all threads of a kernel load and store, whether they want the same or not: the traffic of
/// memory if nothing were cached.
struct AskedBytes {
  std::int64_t global_loads = 0, global_stores = 0, shared_loads = 0, shared_stores = 0;
  constexpr std::int64_t global() const { return global_loads + global_stores; }
  bool operator==(AskedBytes const&) const = default;
};
constexpr AskedBytes operator+(AskedBytes const& x, AskedBytes const& y) {
  return {x.global_loads + y.global_loads, x.global_stores + y.global_stores,
          x.shared_loads + y.shared_loads, x.shared_stores + y.shared_stores};
}
constexpr AskedBytes operator*(std::int64_t n, AskedBytes const& x) {
  return {n * x.global_loads, n * x.global_stores, n * x.shared_loads, n * x.shared_stores};
}

/// The bytes behind a row of counted_accesses().
struct CountedBytes {
  AskedBytes block{};
  AskedBytes k_tile{};
};
CountedBytes const& bytes_of(CountedAccesses const& row);

/// A problem that consists of so many of what a row of the table was counted with.
struct CountedParts {
  CountedAccesses const* part = nullptr;
  std::int64_t parts = 0;  ///< 0 where whole ones do not fill it
  Accesses accesses() const { return parts * part->block; }
  AskedBytes bytes() const { return parts * bytes_of(*part).block; }
};

}  // namespace quadrille::kernels
