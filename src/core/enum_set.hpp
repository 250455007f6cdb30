// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/enum_names.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>

namespace quadrille::core {

/// A set of enumerators, whose values are below 32.
template <NamedEnum E>
class EnumSet {
 public:
  constexpr EnumSet() = default;
  constexpr EnumSet(std::initializer_list<E> values) {
    for (E const value : values) insert(value);
  }
  constexpr void insert(E value) { bits_ |= bit(value); }
  constexpr bool contains(E value) const { return (bits_ & bit(value)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr EnumSet& operator|=(EnumSet other) {
    bits_ |= other.bits_;
    return *this;
  }
  constexpr bool operator==(EnumSet const&) const = default;

 private:
  static constexpr std::uint32_t bit(E value) { return 1U << static_cast<unsigned>(value); }

  std::uint32_t bits_ = 0;
};

/// "power, thermal"; empty for none.
template <NamedEnum E>
std::string to_text(EnumSet<E> set) {
  std::string text;
  for (auto const& [enumerator, word] : enum_names(E{})) {
    if (!set.contains(enumerator)) continue;
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

}  // namespace quadrille::core
