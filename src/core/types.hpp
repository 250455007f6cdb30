// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/enum_names.hpp"
#include "core/error.hpp"
#include "core/small_float.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace quadrille::core {

/// Element types of matrices and vectors.
enum class DataType { f64, f32, f16, bf16, i64, i32, i8, e4m3, e5m2 };

/// What a product multiplies and adds in. tf32 and bf16 round f32 inputs to 10 and 7 bits of mantissa
/// and add in f32. Emulated: f64 and f32 made of products in i8, as accurate as the type. Automatic:
/// see compute_for().
enum class Compute { automatic, f64, f32, tf32, bf16, f16, i64, i32, emulated };
constexpr auto enum_names(Compute) {
  return EnumNames<Compute, 9>{{{Compute::automatic, "auto"},
                                {Compute::f64, "f64"},
                                {Compute::f32, "f32"},
                                {Compute::tf32, "tf32"},
                                {Compute::bf16, "bf16"},
                                {Compute::f16, "f16"},
                                {Compute::i64, "i64"},
                                {Compute::i32, "i32"},
                                {Compute::emulated, "emulated"}}};
}

// Behind the enumerations: g++ says that enumerators shadow what stands before them.
using f16 = SmallFloat<std::uint16_t, 5, 10>;        ///< IEEE 754 binary16
using bf16 = SmallFloat<std::uint16_t, 8, 7>;        ///< the upper half of an f32
using e4m3 = SmallFloat<std::uint8_t, 4, 3, false>;  ///< of OCP, to 448
using e5m2 = SmallFloat<std::uint8_t, 5, 2>;         ///< of OCP, the upper half of an f16
static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2 && sizeof(e4m3) == 1 && sizeof(e5m2) == 1);

/// What elements of a type are computed in where nobody asks for anything else: their own type, f32
/// for narrower ones, i32 for i8.
constexpr Compute compute_for(DataType type) {
  switch (type) {
    case DataType::f64: return Compute::f64;
    case DataType::f32:
    case DataType::f16:
    case DataType::bf16:
    case DataType::e4m3:
    case DataType::e5m2: return Compute::f32;
    case DataType::i64: return Compute::i64;
    case DataType::i32:
    case DataType::i8: return Compute::i32;
  }
  return Compute::automatic;
}

/// The same, where somebody may ask for something else.
constexpr Compute compute_for(DataType type, Compute asked) {
  return asked == Compute::automatic ? compute_for(type) : asked;
}

/// The same, where what is emulated counts as what it is as accurate as.
constexpr Compute accuracy_of(DataType type, Compute asked) {
  return asked == Compute::emulated ? compute_for(type) : compute_for(type, asked);
}

/// Products in i8 for each one that is emulated: moduli whose residues together are as accurate as the
/// type, by kernels/gemm/gemm_moduli.hpp. 0: nothing emulates it.
constexpr int emulating_products(DataType type) {
  return type == DataType::f64 ? 14 : type == DataType::f32 ? 7 : 0;
}

constexpr bool is_float_of_8_bits(DataType type) {
  return type == DataType::e4m3 || type == DataType::e5m2;
}

/// Bytes of one element.
constexpr std::size_t size_of(DataType type) {
  switch (type) {
    case DataType::f64:
    case DataType::i64: return 8;
    case DataType::f32:
    case DataType::i32: return 4;
    case DataType::f16:
    case DataType::bf16: return 2;
    case DataType::i8:
    case DataType::e4m3:
    case DataType::e5m2: return 1;
  }
  return 0;
}

constexpr auto enum_names(DataType) {
  return EnumNames<DataType, 9>{{{DataType::f64, "f64"},
                                 {DataType::f32, "f32"},
                                 {DataType::f16, "f16"},
                                 {DataType::bf16, "bf16"},
                                 {DataType::i64, "i64"},
                                 {DataType::i32, "i32"},
                                 {DataType::i8, "i8"},
                                 {DataType::e4m3, "e4m3"},
                                 {DataType::e5m2, "e5m2"}}};
}

/// Distance from 1 to the next value, twice the unit roundoff; 0 for integers.
double epsilon_of(DataType type);
/// The same of what sums are formed in.
double epsilon_of(Compute compute);
/// The least positive number of a type, which is as far as its least numbers lie apart; 0 for
/// integers.
double least_of(DataType type);

template <class T>
constexpr DataType type_of() {
  if constexpr (std::is_same_v<T, double>) return DataType::f64;
  if constexpr (std::is_same_v<T, float>) return DataType::f32;
  if constexpr (std::is_same_v<T, f16>) return DataType::f16;
  if constexpr (std::is_same_v<T, bf16>) return DataType::bf16;
  if constexpr (std::is_same_v<T, std::int64_t>) return DataType::i64;
  if constexpr (std::is_same_v<T, std::int32_t>) return DataType::i32;
  if constexpr (std::is_same_v<T, std::int8_t>) return DataType::i8;
  if constexpr (std::is_same_v<T, e4m3>) return DataType::e4m3;
  if constexpr (std::is_same_v<T, e5m2>) return DataType::e5m2;
}

/// Calls `f(T{})` with the C++ type of `type`.
template <class F>
decltype(auto) visit_type(DataType type, F&& f) {
  switch (type) {
    case DataType::f64: return f(double{});
    case DataType::f32: return f(float{});
    case DataType::f16: return f(f16{});
    case DataType::bf16: return f(bf16{});
    case DataType::i64: return f(std::int64_t{});
    case DataType::i32: return f(std::int32_t{});
    case DataType::i8: return f(std::int8_t{});
    case DataType::e4m3: return f(e4m3{});
    case DataType::e5m2: return f(e5m2{});
  }
  fail("no such type");
}

/// The same for types that C++ computes with. Others fail.
template <class F>
decltype(auto) visit_arithmetic(DataType type, F&& f) {
  switch (type) {
    case DataType::f64: return f(double{});
    case DataType::f32: return f(float{});
    case DataType::i64: return f(std::int64_t{});
    case DataType::i32: return f(std::int32_t{});
    case DataType::i8: return f(std::int8_t{});
    default: fail("this operation has no arithmetic for types of 16 and 8 bits; use f32 or f64");
  }
}

/// A value as it is stored in this type.
inline double rounded_to(DataType type, double value) {
  return visit_type(
      type, [&](auto zero) { return static_cast<double>(static_cast<decltype(zero)>(value)); });
}

/// Splits of an index range: part `p` of `parts` owns [first, first + count). Sizes differ by at
/// most one, larger parts first; parts beyond `n` are empty.
struct Range {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
constexpr Range split_evenly(std::int64_t n, std::int64_t parts, std::int64_t p) {
  std::int64_t const each = n / parts;
  std::int64_t const extra = n % parts;
  return {p * each + (p < extra ? p : extra), each + (p < extra ? 1 : 0)};
}

}  // namespace quadrille::core
