// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Instructions of a thread by itself: its numbers and clocks, election in its warp, sleep,
/// registers, kernels that depend on each other, bits of words, powers of two.

#include "common/ptx/instruction.cuh"

#ifdef QUAD_KERNELS

#ifndef __CUDACC__
#include <atomic>
#include <cmath>
#endif

namespace quadrille::ptx {

/// True for one lane of `mask`, always the same one. PTX elect.sync.
QUAD_INSTRUCTION bool elect_one(unsigned mask = 0xFFFFFFFFU QUAD_WHERE) {
#ifdef __CUDACC__
  std::uint32_t elected = 0;
  QUAD_ASM_SM90(
      "{\n.reg .pred p;\n"
      "elect.sync _|p, %1;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(elected)
      : "r"(mask));
  return elected != 0;
#else
  simt::warp_meet(mask, nullptr, nullptr, where, "elect.sync", false);
  return simt::current->lane == static_cast<unsigned>(__builtin_ctz(mask));
#endif
}

/// Number of this thread in its warp. PTX %laneid.
QUAD_INSTRUCTION unsigned laneid() {
#ifdef __CUDACC__
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
#else
  return simt::current->lane;
#endif
}

/// Number of the multiprocessor the thread is on now; always 0 in the interpreter. PTX %smid.
QUAD_INSTRUCTION unsigned smid() {
#ifdef __CUDACC__
  unsigned number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
#else
  return 0;
#endif
}

/// Cycles of the multiprocessor's clock; a counter of calls in the interpreter. PTX %clock64.
QUAD_INSTRUCTION std::uint64_t clock64() {
#ifdef __CUDACC__
  std::uint64_t cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
#else
  static std::atomic<std::uint64_t> calls{0};
  return ++calls;
#endif
}

/// Nanoseconds of the GPU's clock, which advances in steps of a microsecond or so; a counter of
/// calls in the interpreter. PTX %globaltimer.
QUAD_INSTRUCTION std::uint64_t globaltimer() {
#ifdef __CUDACC__
  std::uint64_t nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds)::"memory");
  return nanoseconds;
#else
  static std::atomic<std::uint64_t> calls{0};
  return ++calls;
#endif
}

/// Sleeps for about `nanoseconds`, at most a millisecond. PTX nanosleep.
QUAD_INSTRUCTION void nanosleep([[maybe_unused]] unsigned nanoseconds QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds) : "memory");
#else
  simt::yield(where);
#endif
}

/// Requests kRegisters registers per thread, more than before; all warps of the warpgroup. Code for
/// architectures that lack it keeps the registers of its launch. PTX setmaxnreg.inc (sm_90a).
template <int kRegisters>
QUAD_INSTRUCTION void setmaxnreg_inc() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
#ifdef __CUDACC__
  QUAD_ASM_SETMAXNREG("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
#endif
}

/// Releases registers until kRegisters per thread are left; all warps of the warpgroup. See
/// setmaxnreg_inc(). PTX setmaxnreg.dec (sm_90a).
template <int kRegisters>
QUAD_INSTRUCTION void setmaxnreg_dec() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
#ifdef __CUDACC__
  QUAD_ASM_SETMAXNREG("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
#endif
}

/// Lets the next kernel of the stream start, if it was launched to overlap.
/// PTX griddepcontrol.launch_dependents.
QUAD_INSTRUCTION void griddepcontrol_launch_dependents() {
#ifdef __CUDACC__
  QUAD_ASM_SM90("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Waits until the kernels before this one are complete and their writes visible.
/// PTX griddepcontrol.wait.
QUAD_INSTRUCTION void griddepcontrol_wait() {
#ifdef __CUDACC__
  QUAD_ASM_SM90("griddepcontrol.wait;" ::: "memory");
#else
  simt::current->has_waited = true;
#endif
}

/// Selects four of the eight bytes of (b, a), one for each nibble of `selector`; bit 3 of a nibble
/// repeats the sign of the byte. PTX prmt.
QUAD_INSTRUCTION std::uint32_t prmt(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
#ifdef __CUDACC__
  std::uint32_t result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector));
  return result;
#else
  std::uint64_t const bytes = static_cast<std::uint64_t>(b) << 32 | a;
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned const nibble = selector >> 4 * i & 15U;
    auto byte = static_cast<std::uint32_t>(bytes >> 8 * (nibble & 7U) & 0xFFU);
    if (nibble & 8U) byte = byte & 0x80U ? 0xFFU : 0U;
    result |= byte << 8 * i;
  }
  return result;
#endif
}

/// Any bitwise function of three words: kTable is its value for a = 0xF0, b = 0xCC, c = 0xAA.
/// PTX lop3.
template <int kTable>
QUAD_INSTRUCTION std::uint32_t lop3(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  static_assert(kTable >= 0 && kTable < 256);
#ifdef __CUDACC__
  std::uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(result) : "r"(a), "r"(b), "r"(c), "n"(kTable));
  return result;
#else
  std::uint32_t result = 0;
  for (unsigned row = 0; row < 8; ++row) {
    if ((kTable >> row & 1) == 0) continue;
    result |= (row & 4U ? a : ~a) & (row & 2U ? b : ~b) & (row & 1U ? c : ~c);
  }
  return result;
#endif
}

/// 2^x within 2 units of the last place; what is below the normal numbers, and 2^-infinity, is 0.
/// PTX ex2.approx.ftz.f32.
QUAD_INSTRUCTION float ex2(float x) {
#ifdef __CUDACC__
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#else
  float const power = std::exp2(x);
  return power < 0x1p-126F ? 0 : power;
#endif
}

}  // namespace quadrille::ptx

#endif  // QUAD_KERNELS
