// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/host_arch.hpp"

// A macro that is defined arrives here as its value 1, any other as its own name.
#define QUAD_TEXT(x) #x
#define QUAD_ONE_IF_DEFINED(macro, name) (QUAD_TEXT(macro)[0] == '1' ? 1 : 0),

namespace quadrille::kernels {
namespace {

constexpr InstructionMask required() {
  InstructionMask mask = 0;
  InstructionMask bit = 1;
  for (int const defined : {QUAD_INSTRUCTION_SETS(QUAD_ONE_IF_DEFINED)}) {
    if (defined != 0) mask |= bit;
    bit <<= 1;
  }
  return mask;
}

}  // namespace

constinit InstructionMask const kRequiredInstructions = required();

}  // namespace quadrille::kernels
