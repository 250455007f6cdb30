// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the headers of this folder share. Each has the instructions of one topic that C++ cannot
/// say, one named function each, with its model for the interpreter beside it: inline PTX for nvcc,
/// C++ or calls of kernels/simt for g++. tests/kernels/ptx compares both with the same expected
/// bits.
///
/// Pointers are generic; where an instruction needs shared memory, which a name or comment says,
/// the pointer must point there. Functions named after `.sync.aligned` instructions (matrices,
/// elect_one) take the whole warp. Under g++ every function that can be misused has a last
/// parameter, the location of the call.

#include "common/simt.cuh"

#ifdef QUAD_KERNELS

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__

#define QUAD_INSTRUCTION __device__ __forceinline__
#define QUAD_LAYOUT __host__ __device__
#define QUAD_WHERE
#define QUAD_ONLY_WHERE
#define QUAD_SAME_WHERE

// Inline PTX that not all architectures have, so that every kernel compiles for each: elsewhere it is
// a trap, which nobody reaches. The rows of kernels with such instructions say what they need
// (Requirements::compute_capability, exact_capability), and are launched on nothing else.
// QUAD_ASM_SM90: sm_90 and later; QUAD_ASM_SM90A: sm_90a alone.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define QUAD_ASM_SM90(...) asm volatile(__VA_ARGS__)
#else
#define QUAD_ASM_SM90(...) __trap()
#endif
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define QUAD_ASM_SM90A(...) asm volatile(__VA_ARGS__)
#else
#define QUAD_ASM_SM90A(...) __trap()
#endif
// Where it may be left out: registers are taken at the launch, and that is all.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_SPECIFIC__)
#define QUAD_ASM_SETMAXNREG(...) asm volatile(__VA_ARGS__)
#else
#define QUAD_ASM_SETMAXNREG(...)
#endif

#else

#include "simt/engine.hpp"
#include "simt/race.hpp"
#include "simt/traffic.hpp"

#include <cstring>
#include <source_location>
#include <string>

#define QUAD_INSTRUCTION QUAD_SIMT_MODEL inline
/// Parts of models that are called for every element.
#define QUAD_LAYOUT __attribute__((no_sanitize("undefined")))
#define QUAD_MODEL_PART inline __attribute__((no_sanitize("thread,undefined"), always_inline))
/// The location of the call: the only parameter of an instruction, the last one, and the argument
/// that passes it on.
#define QUAD_ONLY_WHERE std::source_location where = std::source_location::current()
#define QUAD_WHERE , QUAD_ONLY_WHERE
#define QUAD_SAME_WHERE , where

#endif

namespace quadrille::ptx {

namespace detail {

/// The unsigned integer, or vector of them, that has the size of T.
template <std::size_t kBytes>
struct BitsOfSize;
template <>
struct BitsOfSize<4> {
  using Type = std::uint32_t;
};
template <>
struct BitsOfSize<8> {
  using Type = std::uint64_t;
};
template <>
struct BitsOfSize<16> {
  using Type = uint4;
};
template <class T>
using Bits = typename BitsOfSize<sizeof(T)>::Type;

#ifdef __CUDACC__

/// The 32-bit address that instructions on shared memory take.
__device__ __forceinline__ unsigned shared_address(void const* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

#else

QUAD_SIMT_MODEL inline void require_alignment(void const* p, std::size_t bytes, char const* what,
                                              simt::Place where) {
  if (reinterpret_cast<std::uintptr_t>(p) % bytes != 0) {
    simt::fail(
        std::string{what} + ": address is not aligned to " + std::to_string(bytes) + " bytes",
        where);
  }
}

#endif

}  // namespace detail

}  // namespace quadrille::ptx

#endif  // QUAD_KERNELS
