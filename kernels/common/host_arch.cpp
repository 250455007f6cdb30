// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/host_arch.hpp"

#include "core/error.hpp"

#include <unistd.h>

#include <cstring>

namespace quadrille::kernels {
namespace {

#define QUAD_NAME(macro, name) name,
constexpr char const* kNames[] = {QUAD_INSTRUCTION_SETS(QUAD_NAME)};
#undef QUAD_NAME

void print(char const* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

}  // namespace

InstructionMask supported_instructions() {
  InstructionMask mask = 0;
#if defined(__x86_64__)
  __builtin_cpu_init();
  InstructionMask bit = 1;
#define QUAD_ADD_IF_SUPPORTED(macro, name)       \
  if (__builtin_cpu_supports(name)) mask |= bit; \
  bit <<= 1;
  QUAD_INSTRUCTION_SETS(QUAD_ADD_IF_SUPPORTED)
#undef QUAD_ADD_IF_SUPPORTED
#endif
  return mask;
}

std::string to_text(InstructionMask sets) {
  std::string text;
  for (char const* name : kNames) {
    if ((sets & 1) != 0) {
      if (!text.empty()) text += ' ';
      text += name;
    }
    sets >>= 1;
  }
  return text;
}

std::string missing_instructions() {
  return to_text(missing(kRequiredInstructions, supported_instructions()));
}

void refuse_cpu(InstructionMask lacking) {
  print("FATAL the host kernels of this binary need instructions that this CPU lacks:");
  for (char const* name : kNames) {
    if ((lacking & 1) != 0) {
      print(" ");
      print(name);
    }
    lacking >>= 1;
  }
  print("; build here, or with -DQUADRILLE_HOST_ARCH=x86-64-v3 or x86-64\n");
  _exit(static_cast<int>(core::Exit::environment));
}

// An inline function of a header that both a baseline unit and a unit compiled with -march
// instantiate is kept once, and the linker may keep the one with foreign instructions, so no code
// of this binary is safe on a lesser CPU. The check therefore runs before every other initialiser
// of the binary, and it and what it calls use builtins and the C library alone. The C name is for
// CMakeLists.txt, which has every executable link this function.
extern "C" [[gnu::constructor(101)]] void quadrille_check_cpu() {
  InstructionMask const lacking = missing(kRequiredInstructions, supported_instructions());
  if (lacking != 0) refuse_cpu(lacking);
}

}  // namespace quadrille::kernels
