// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/types.hpp"

#include <array>
#include <utility>

namespace quadrille::core {
namespace {

constexpr std::array<std::pair<DataType, std::string_view>, 7> kNames{{
    {DataType::f64, "f64"},
    {DataType::f32, "f32"},
    {DataType::f16, "f16"},
    {DataType::bf16, "bf16"},
    {DataType::i64, "i64"},
    {DataType::i32, "i32"},
    {DataType::i8, "i8"},
}};

}  // namespace

std::string_view to_text(DataType type) {
  for (auto const& [value, name] : kNames) {
    if (value == type) return name;
  }
  return "?";
}

std::optional<DataType> parse_data_type(std::string_view text) {
  for (auto const& [value, name] : kNames) {
    if (name == text) return value;
  }
  return std::nullopt;
}

double epsilon_of(DataType type) {
  switch (type) {
    case DataType::f64: return 0x1p-52;
    case DataType::f32: return 0x1p-23;
    case DataType::f16: return 0x1p-10;
    case DataType::bf16: return 0x1p-7;
    case DataType::i64:
    case DataType::i32:
    case DataType::i8: return 0;
  }
  return 0;
}

}  // namespace quadrille::core
