// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

/// Instruction sets that a compiler may use on its own: the macro that says it does, and the name
/// that __builtin_cpu_supports knows. Place i in this list is bit i of an InstructionMask.
#define QUAD_INSTRUCTION_SETS(ROW)            \
  ROW(__SSE3__, "sse3")                       \
  ROW(__SSSE3__, "ssse3")                     \
  ROW(__SSE4_1__, "sse4.1")                   \
  ROW(__SSE4_2__, "sse4.2")                   \
  ROW(__POPCNT__, "popcnt")                   \
  ROW(__AVX__, "avx")                         \
  ROW(__AVX2__, "avx2")                       \
  ROW(__FMA__, "fma")                         \
  ROW(__BMI__, "bmi")                         \
  ROW(__BMI2__, "bmi2")                       \
  ROW(__LZCNT__, "lzcnt")                     \
  ROW(__F16C__, "f16c")                       \
  ROW(__MOVBE__, "movbe")                     \
  ROW(__AVX512F__, "avx512f")                 \
  ROW(__AVX512VL__, "avx512vl")               \
  ROW(__AVX512DQ__, "avx512dq")               \
  ROW(__AVX512BW__, "avx512bw")               \
  ROW(__AVX512CD__, "avx512cd")               \
  ROW(__AVX512IFMA__, "avx512ifma")           \
  ROW(__AVX512VBMI__, "avx512vbmi")           \
  ROW(__AVX512VBMI2__, "avx512vbmi2")         \
  ROW(__AVX512VNNI__, "avx512vnni")           \
  ROW(__AVX512BITALG__, "avx512bitalg")       \
  ROW(__AVX512VPOPCNTDQ__, "avx512vpopcntdq") \
  ROW(__AVX512BF16__, "avx512bf16")           \
  ROW(__AVX512VP2INTERSECT__, "avx512vp2intersect")

namespace quadrille::kernels {

using InstructionMask = std::uint64_t;

/// What the host kernels were compiled for. A constant: the unit that defines it has no code.
extern InstructionMask const kRequiredInstructions;

/// What the running CPU has.
InstructionMask supported_instructions();

/// What of `required` is not in `supported`.
constexpr InstructionMask missing(InstructionMask required, InstructionMask supported) {
  return required & ~supported;
}

/// Names of the sets in the mask, blank separated.
std::string to_text(InstructionMask sets);

/// Instruction sets that the host kernels need and the running CPU lacks; "" if none. A process
/// that lacks any ends before main() (host_arch.cpp), so what is left to this function is to be
/// printed.
std::string missing_instructions();

/// Prints one line that names the sets and ends the process with Exit::environment.
[[noreturn]] void refuse_cpu(InstructionMask lacking);

}  // namespace quadrille::kernels
