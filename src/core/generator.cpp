// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/generator.hpp"

#include <array>
#include <utility>

namespace quadrille::core {
namespace {

constexpr std::array<std::pair<DataKind, std::string_view>, 5> kNames{{
    {DataKind::uniform, "uniform"},
    {DataKind::normal, "normal"},
    {DataKind::integer, "integer"},
    {DataKind::constant, "constant"},
    {DataKind::zeros, "zeros"},
}};

}  // namespace

std::string_view to_text(DataKind kind) {
  for (auto const& [value, name] : kNames) {
    if (value == kind) return name;
  }
  return "?";
}

std::optional<DataKind> parse_data_kind(std::string_view text) {
  for (auto const& [value, name] : kNames) {
    if (name == text) return value;
  }
  return std::nullopt;
}

}  // namespace quadrille::core
