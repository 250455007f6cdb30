// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.hpp"

#include <any>
#include <concepts>
#include <type_traits>
#include <utility>

namespace quadrille::core {

/// The parameters of one case in the struct of its workload, which only the workload knows. A value:
/// copied with the case, equal where the structs are.
class Parameters {
 public:
  Parameters() = default;
  template <class T>
  requires(!std::same_as<T, Parameters>) explicit Parameters(T value)
      : value_{std::move(value)}, equal_{[](std::any const& a, std::any const& b) {
          return *std::any_cast<T>(&a) == *std::any_cast<T>(&b);
        }} {}

  template <class T>
  T& as() {
    T* const value = std::any_cast<T>(&value_);
    QUAD_REQUIRE(value != nullptr, "parameters read as those of another workload");
    return *value;
  }
  template <class T>
  T const& as() const {
    return const_cast<Parameters*>(this)->as<T>();
  }

  bool operator==(Parameters const& other) const {
    if (value_.type() != other.value_.type()) return false;
    return equal_ == nullptr || equal_(value_, other.value_);
  }

 private:
  std::any value_;
  bool (*equal_)(std::any const&, std::any const&) = nullptr;
};

}  // namespace quadrille::core
