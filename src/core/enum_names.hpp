// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace quadrille::core {

/// The words of an enumeration, in the order of lists and messages. They stand in a function beside
/// the enumeration, where argument-dependent lookup finds them:
///
///   enum class Clock { burst, sustained };
///   constexpr auto enum_names(Clock) {
///     return core::EnumNames<Clock, 2>{{{Clock::burst, "burst"}, {Clock::sustained, "sustained"}}};
///   }
template <class E, std::size_t n>
using EnumNames = std::array<std::pair<E, std::string_view>, n>;

template <class E>
concept NamedEnum = requires(E e) {
  enum_names(e);
};

/// The word of an enumerator; "?" for a value that is none.
template <NamedEnum E>
constexpr std::string_view to_text(E value) {
  for (auto const& [enumerator, word] : enum_names(E{})) {
    if (enumerator == value) return word;
  }
  return "?";
}

/// The enumerator of a word.
template <NamedEnum E>
constexpr std::optional<E> parse_enum(std::string_view text) {
  for (auto const& [enumerator, word] : enum_names(E{})) {
    if (word == text) return enumerator;
  }
  return std::nullopt;
}

}  // namespace quadrille::core
