// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
//
// What kernel files compiled with -fsanitize=alignment,null,bounds,... call when a check fails;
// libubsan is not linked, so that the failure is one of the kernel and names block and thread.

#include "simt/engine.hpp"

#include <fmt/format.h>

namespace {

// The layout that GCC and Clang share.
struct SourceLocation {
  char const* file;
  std::uint32_t line;
  std::uint32_t column;
};
struct TypeDescriptor {
  std::uint16_t kind;
  std::uint16_t info;
  char name[1];
};
struct TypeMismatch {
  SourceLocation where;
  TypeDescriptor const* type;
  unsigned char log_alignment;
  unsigned char check_kind;
};
struct OutOfBounds {
  SourceLocation where;
  TypeDescriptor const* array;
  TypeDescriptor const* index;
};
struct Plain {
  SourceLocation where;
};

[[noreturn]] void fail_at(SourceLocation const& where, std::string const& message) {
  std::string const file = where.file;
  quadrille::simt::fail(
      fmt::format("{}:{}: {}", file.substr(file.rfind('/') + 1), where.line, message));
}

}  // namespace

extern "C" {

[[noreturn]] void __ubsan_handle_type_mismatch_v1_abort(TypeMismatch* data, std::uintptr_t p);
void __ubsan_handle_type_mismatch_v1_abort(TypeMismatch* data, std::uintptr_t p) {
  if (p == 0) fail_at(data->where, "access through a null pointer");
  fail_at(data->where,
          fmt::format("misaligned access: address {:#x} of type {} must be a multiple of {}", p,
                      data->type->name, 1U << data->log_alignment));
}

[[noreturn]] void __ubsan_handle_out_of_bounds_abort(OutOfBounds* data, std::uintptr_t index);
void __ubsan_handle_out_of_bounds_abort(OutOfBounds* data, std::uintptr_t index) {
  fail_at(data->where, fmt::format("index {} is out of bounds of {}",
                                   static_cast<std::intptr_t>(index), data->array->name));
}

[[noreturn]] void __ubsan_handle_shift_out_of_bounds_abort(Plain* data, std::uintptr_t,
                                                           std::uintptr_t by);
void __ubsan_handle_shift_out_of_bounds_abort(Plain* data, std::uintptr_t, std::uintptr_t by) {
  fail_at(data->where, fmt::format("shift by {}", static_cast<std::intptr_t>(by)));
}

[[noreturn]] void __ubsan_handle_divrem_overflow_abort(Plain* data, std::uintptr_t, std::uintptr_t);
void __ubsan_handle_divrem_overflow_abort(Plain* data, std::uintptr_t, std::uintptr_t) {
  fail_at(data->where, "division by zero");
}

#define QUAD_OVERFLOW(operation, sign)                                                         \
  [[noreturn]] void __ubsan_handle_##operation##_overflow_abort(Plain* data, std::uintptr_t a, \
                                                                std::uintptr_t b);             \
  void __ubsan_handle_##operation##_overflow_abort(Plain* data, std::uintptr_t a,              \
                                                   std::uintptr_t b) {                         \
    fail_at(data->where,                                                                       \
            fmt::format("integer overflow: {} " sign " {}", static_cast<std::intptr_t>(a),     \
                        static_cast<std::intptr_t>(b)));                                       \
  }
QUAD_OVERFLOW(add, "+")
QUAD_OVERFLOW(sub, "-")
QUAD_OVERFLOW(mul, "*")
#undef QUAD_OVERFLOW

[[noreturn]] void __ubsan_handle_negate_overflow_abort(Plain* data, std::uintptr_t);
void __ubsan_handle_negate_overflow_abort(Plain* data, std::uintptr_t) {
  fail_at(data->where, "integer overflow: the negative of the lowest integer");
}

}  // extern "C"
