// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// QUAD_TABLE(Type, kTable, a, b, c) declares `extern Type a, b, c`, which are defined in files of
/// their own, and an array of pointers to them in this order: a table whose rows stand beside what
/// they describe. At most 256 rows; an array and not self-registration, because every rank must go
/// through it in the same order and the linker drops objects that nobody names.
#define QUAD_TABLE(Type, table, ...)                   \
  QUAD_FOR_EACH(QUAD_TABLE_DECLARE, Type, __VA_ARGS__) \
  constexpr Type* table[] = {QUAD_FOR_EACH(QUAD_TABLE_ADDRESS, Type, __VA_ARGS__)}

#define QUAD_TABLE_DECLARE(Type, name) extern Type name;
#define QUAD_TABLE_ADDRESS(Type, name) &name,

/// macro(constant, x) for each x: the preprocessor's recursion, one step for each scan.
#define QUAD_FOR_EACH(macro, constant, ...) \
  __VA_OPT__(QUAD_SCAN(QUAD_FOR_EACH_STEP(macro, constant, __VA_ARGS__)))
#define QUAD_FOR_EACH_STEP(macro, constant, first, ...) \
  macro(constant, first)                                \
      __VA_OPT__(QUAD_FOR_EACH_AGAIN QUAD_PARENTHESES(macro, constant, __VA_ARGS__))
#define QUAD_FOR_EACH_AGAIN() QUAD_FOR_EACH_STEP
#define QUAD_PARENTHESES ()
#define QUAD_SCAN(...) QUAD_SCAN_64(QUAD_SCAN_64(QUAD_SCAN_64(QUAD_SCAN_64(__VA_ARGS__))))
#define QUAD_SCAN_64(...) QUAD_SCAN_16(QUAD_SCAN_16(QUAD_SCAN_16(QUAD_SCAN_16(__VA_ARGS__))))
#define QUAD_SCAN_16(...) QUAD_SCAN_4(QUAD_SCAN_4(QUAD_SCAN_4(QUAD_SCAN_4(__VA_ARGS__))))
#define QUAD_SCAN_4(...) QUAD_SCAN_1(QUAD_SCAN_1(QUAD_SCAN_1(QUAD_SCAN_1(__VA_ARGS__))))
#define QUAD_SCAN_1(...) __VA_ARGS__
