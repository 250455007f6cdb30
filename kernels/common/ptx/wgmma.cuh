// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Matrix products of a warpgroup (sm_90a), whose operands the asynchronous proxy reads from shared
/// memory; barriers.cuh says what that requires.

#include "common/ptx/barriers.cuh"
#include "common/tensor_map.hpp"

#ifdef QUAD_KERNELS

#ifndef __CUDACC__
#include "simt/wgmma.hpp"
#endif

namespace quadrille::ptx {

// wgmma: the 128 threads of a warpgroup (four consecutive warps, the first one's number a multiple
// of four) together start D = A B or D += A B; D is 64 x N in registers, A is 64 x K, B is K x N
// with K of 32 bytes (16 for f16 and bf16, 8 for tf32, 32 for s8, e4m3 and e5m2), N a multiple of 8
// up to 64, of 16 up to 256.
//
//   wgmma_fence();                                  // registers and shared memory as they are now
//   for (...) wgmma_f16<N>(d, a, b, accumulate);    // start
//   wgmma_commit();                                 // these make a group
//   wgmma_wait<0>(d);                               // d may be used, shared memory overwritten
//
// Accumulators: thread t of the warpgroup holds, for pair p = 0 .. N / 4 - 1,
//   D[t / 32 * 16 + t % 32 / 4 + p % 2 * 8][p / 2 * 8 + t % 4 * 2 + {0, 1}]
// in d[2 p], d[2 p + 1] (f32, s32), or in the low and high half of d[p] (f16). accumulator_row() and
// accumulator_column() compute it. From the start to the wait no thread may access d.
// A in registers: the same thread holds in a[i], i = 0 .. 3 (16-bit types, low half first)
//   A[t / 32 * 16 + t % 32 / 4 + i % 2 * 8][i / 2 * 8 + t % 4 * 2 + {0, 1}]
// for tf32 one value: A[the same row][i / 2 * 4 + t % 4], and of 8-bit types four, the first one lowest:
//   A[the same row][i / 2 * 16 + t % 4 * 4 + {0, 1, 2, 3}]

/// Of this thread's warpgroup in its block; whole warps. The shuffle tells the compiler that all lanes have
/// the same, so that descriptors which follow from it are made once for a warp, not by each thread.
__device__ inline int warpgroup_number() {
  return __shfl_sync(0xFFFFFFFFU, static_cast<int>(threadIdx.x) / 128, 0);
}

/// Which index of an operand is contiguous in shared memory: K, or M of A and N of B. Only 16-bit
/// types have `mn`.
enum class Major : int { k = 0, mn = 1 };

/// A wgmma matrix descriptor: how an operand lies in shared memory.
struct MatrixDescriptor {
  std::uint64_t bits = 0;
};

/// Descriptor of an operand that starts at `shared`: aligned to 16 bytes, and inside of a tile that
/// is aligned to 8 rows of the swizzle's span. A row is an index along M or N of a K-major operand,
/// along K of an MN-major one. 8 rows of span bytes (16 without a swizzle) make a dense block:
///
///   K-major, swizzle       stride_bytes from one block to the next along M or N; K stays within
///                          the rows, leading_bytes is not used
///   K-major, no swizzle    stride_bytes along M or N, leading_bytes along K
///   MN-major, swizzle      leading_bytes along M or N, stride_bytes along K
///   MN-major, no swizzle   stride_bytes along M or N, leading_bytes along K
QUAD_INSTRUCTION MatrixDescriptor matrix_descriptor(void const* shared, Swizzle swizzle,
                                                    unsigned leading_bytes,
                                                    unsigned stride_bytes QUAD_WHERE) {
#ifdef __CUDACC__
  std::uint64_t const address = detail::shared_address(shared);
#else
  std::uint64_t const address = simt::matrix_address(shared, where);
#endif
  std::uint64_t const mode = swizzle == Swizzle::none       ? 0
                             : swizzle == Swizzle::bytes_32 ? 3
                             : swizzle == Swizzle::bytes_64 ? 2
                                                            : 1;
  auto const field = [](std::uint64_t bytes) { return (bytes & 0x3FFFF) >> 4; };
  return {field(address) | field(leading_bytes) << 16 | field(stride_bytes) << 32 | mode << 62};
}

/// Descriptor of a K-major operand whose rows are span_of(swizzle) bytes long and follow each
/// other: what a tensor copy with the same swizzle leaves. The next 32 bytes of K: advanced(d, 32).
/// Without a swizzle, boxes of such rows lie `box_bytes` apart along K.
QUAD_INSTRUCTION MatrixDescriptor k_major_descriptor(void const* shared, Swizzle swizzle,
                                                     unsigned box_bytes = 16 QUAD_WHERE) {
  return matrix_descriptor(shared, swizzle, box_bytes, 8 * span_of(swizzle) QUAD_SAME_WHERE);
}

/// Descriptor of an MN-major operand made of boxes (rows are K, span_of(swizzle) bytes of M or N)
/// that lie `box_bytes` apart along M or N: what tensor copies with the same swizzle leave. The
/// next 16 of K: advanced(d, 16 * span_of(swizzle)).
QUAD_INSTRUCTION MatrixDescriptor mn_major_descriptor(void const* shared, Swizzle swizzle,
                                                      unsigned box_bytes QUAD_WHERE) {
  if (swizzle == Swizzle::none) {
    return matrix_descriptor(shared, swizzle, 128, box_bytes QUAD_SAME_WHERE);
  }
  return matrix_descriptor(shared, swizzle, box_bytes, 8 * span_of(swizzle) QUAD_SAME_WHERE);
}

/// The descriptor of the same operand `bytes` further on, a multiple of 16.
QUAD_HD constexpr MatrixDescriptor advanced(MatrixDescriptor descriptor, unsigned bytes) {
  return {descriptor.bits + (bytes >> 4)};
}

/// Row of D, 0 to 63, of accumulator `i` of thread `t` of the warpgroup.
QUAD_HD constexpr int accumulator_row(int t, int i) {
  return t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
}
/// Column of D, 0 to N - 1, of accumulator `i` of thread `t` of the warpgroup.
QUAD_HD constexpr int accumulator_column(int t, int i) { return i / 4 * 8 + t % 4 * 2 + i % 2; }

/// Before the first wgmma, and whenever other instructions have touched its registers. All threads
/// of the warpgroup call it, as they do the following.
QUAD_INSTRUCTION void wgmma_fence(QUAD_ONLY_WHERE) {
#ifdef __CUDACC__
  QUAD_ASM_SM90A("wgmma.fence.sync.aligned;" ::: "memory");
#else
  simt::wgmma_fence(where);
#endif
}

/// Ends the current group: all wgmma of the warpgroup since the last call.
QUAD_INSTRUCTION void wgmma_commit(QUAD_ONLY_WHERE) {
#ifdef __CUDACC__
  QUAD_ASM_SM90A("wgmma.commit_group.sync.aligned;" ::: "memory");
#else
  simt::wgmma_commit(where);
#endif
}

/// Waits for all but the `newest` youngest groups. Accumulators that are complete then must be
/// given, so that the compiler cannot use them before: see the overloads.
template <int newest>
QUAD_INSTRUCTION void wgmma_wait(QUAD_ONLY_WHERE) {
#ifdef __CUDACC__
  QUAD_ASM_SM90A("wgmma.wait_group.sync.aligned %0;" ::"n"(newest) : "memory");
#else
  simt::wgmma_wait(newest, where);
#endif
}

#ifdef __CUDACC__
namespace detail {

/// The compiler takes the registers to change here.
template <int count>
__device__ __forceinline__ void touch(float (&d)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
template <class Word, int count>
__device__ __forceinline__ void touch(Word (&d)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(d[i])::"memory");
}

}  // namespace detail
#endif

/// Before wgmma_fence(), where ordinary instructions have just written accumulators, or A in
/// registers: the compiler has the values in their registers here, and moves no such write in
/// between the wgmma that follow, which would then run one by one. No instruction.
template <class T, int count>
QUAD_INSTRUCTION void wgmma_fence_operand([[maybe_unused]] T (&d)[count]) {
#ifdef __CUDACC__
  detail::touch(d);
#endif
}

template <int newest, class T, int count>
QUAD_INSTRUCTION void wgmma_wait(T (&d)[count] QUAD_WHERE) {
#ifdef __CUDACC__
  wgmma_wait<newest>();
  detail::touch(d);
#else
  (void)d;
  simt::wgmma_wait(newest, where);
#endif
}
template <int newest, class T, int count>
QUAD_INSTRUCTION void wgmma_wait(T (&d)[count], T (&e)[count] QUAD_WHERE) {
#ifdef __CUDACC__
  wgmma_wait<newest>();
  detail::touch(d);
  detail::touch(e);
#else
  (void)d;
  (void)e;
  simt::wgmma_wait(newest, where);
#endif
}

#ifdef __CUDACC__

// The text of wgmma needs every register by number: the accumulators are %0, %1, ..., the other
// operands have the numbers after them. REGISTERS_n lists the first n, OPERANDS_n binds d[0] to
// d[n - 1] to them, and BY_N has a line for each N with the numbers that follow. Only the line of
// the N that a kernel uses is instantiated.
#define QUAD_REGISTERS_2 "%0, %1"
#define QUAD_REGISTERS_4 QUAD_REGISTERS_2 ", %2, %3"
#define QUAD_REGISTERS_6 QUAD_REGISTERS_4 ", %4, %5"
#define QUAD_REGISTERS_8 QUAD_REGISTERS_6 ", %6, %7"
#define QUAD_REGISTERS_10 QUAD_REGISTERS_8 ", %8, %9"
#define QUAD_REGISTERS_12 QUAD_REGISTERS_10 ", %10, %11"
#define QUAD_REGISTERS_14 QUAD_REGISTERS_12 ", %12, %13"
#define QUAD_REGISTERS_16 QUAD_REGISTERS_14 ", %14, %15"
#define QUAD_REGISTERS_20 QUAD_REGISTERS_16 ", %16, %17, %18, %19"
#define QUAD_REGISTERS_24 QUAD_REGISTERS_20 ", %20, %21, %22, %23"
#define QUAD_REGISTERS_28 QUAD_REGISTERS_24 ", %24, %25, %26, %27"
#define QUAD_REGISTERS_32 QUAD_REGISTERS_28 ", %28, %29, %30, %31"
#define QUAD_REGISTERS_36 QUAD_REGISTERS_32 ", %32, %33, %34, %35"
#define QUAD_REGISTERS_40 QUAD_REGISTERS_36 ", %36, %37, %38, %39"
#define QUAD_REGISTERS_44 QUAD_REGISTERS_40 ", %40, %41, %42, %43"
#define QUAD_REGISTERS_48 QUAD_REGISTERS_44 ", %44, %45, %46, %47"
#define QUAD_REGISTERS_52 QUAD_REGISTERS_48 ", %48, %49, %50, %51"
#define QUAD_REGISTERS_56 QUAD_REGISTERS_52 ", %52, %53, %54, %55"
#define QUAD_REGISTERS_60 QUAD_REGISTERS_56 ", %56, %57, %58, %59"
#define QUAD_REGISTERS_64 QUAD_REGISTERS_60 ", %60, %61, %62, %63"
#define QUAD_REGISTERS_72 QUAD_REGISTERS_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define QUAD_REGISTERS_80 QUAD_REGISTERS_72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define QUAD_REGISTERS_88 QUAD_REGISTERS_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define QUAD_REGISTERS_96 QUAD_REGISTERS_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define QUAD_REGISTERS_104 QUAD_REGISTERS_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define QUAD_REGISTERS_112 QUAD_REGISTERS_104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define QUAD_REGISTERS_120 QUAD_REGISTERS_112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define QUAD_REGISTERS_128 QUAD_REGISTERS_120 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define QUAD_OPERANDS_2(c, i) c(d[i]), c(d[(i) + 1])
#define QUAD_OPERANDS_4(c, i) QUAD_OPERANDS_2(c, i), QUAD_OPERANDS_2(c, (i) + 2)
#define QUAD_OPERANDS_6(c, i) QUAD_OPERANDS_4(c, i), QUAD_OPERANDS_2(c, (i) + 4)
#define QUAD_OPERANDS_8(c, i) QUAD_OPERANDS_4(c, i), QUAD_OPERANDS_4(c, (i) + 4)
#define QUAD_OPERANDS_10(c, i) QUAD_OPERANDS_8(c, i), QUAD_OPERANDS_2(c, (i) + 8)
#define QUAD_OPERANDS_12(c, i) QUAD_OPERANDS_8(c, i), QUAD_OPERANDS_4(c, (i) + 8)
#define QUAD_OPERANDS_14(c, i) QUAD_OPERANDS_8(c, i), QUAD_OPERANDS_6(c, (i) + 8)
#define QUAD_OPERANDS_16(c, i) QUAD_OPERANDS_8(c, i), QUAD_OPERANDS_8(c, (i) + 8)
#define QUAD_OPERANDS_20(c, i) QUAD_OPERANDS_16(c, i), QUAD_OPERANDS_4(c, (i) + 16)
#define QUAD_OPERANDS_24(c, i) QUAD_OPERANDS_16(c, i), QUAD_OPERANDS_8(c, (i) + 16)
#define QUAD_OPERANDS_28(c, i) QUAD_OPERANDS_16(c, i), QUAD_OPERANDS_12(c, (i) + 16)
#define QUAD_OPERANDS_32(c, i) QUAD_OPERANDS_16(c, i), QUAD_OPERANDS_16(c, (i) + 16)
#define QUAD_OPERANDS_36(c, i) QUAD_OPERANDS_32(c, i), QUAD_OPERANDS_4(c, (i) + 32)
#define QUAD_OPERANDS_40(c, i) QUAD_OPERANDS_32(c, i), QUAD_OPERANDS_8(c, (i) + 32)
#define QUAD_OPERANDS_44(c, i) QUAD_OPERANDS_32(c, i), QUAD_OPERANDS_12(c, (i) + 32)
#define QUAD_OPERANDS_48(c, i) QUAD_OPERANDS_32(c, i), QUAD_OPERANDS_16(c, (i) + 32)
#define QUAD_OPERANDS_52(c, i) QUAD_OPERANDS_32(c, i), QUAD_OPERANDS_20(c, (i) + 32)
#define QUAD_OPERANDS_56(c, i) QUAD_OPERANDS_32(c, i), QUAD_OPERANDS_24(c, (i) + 32)
#define QUAD_OPERANDS_60(c, i) QUAD_OPERANDS_32(c, i), QUAD_OPERANDS_28(c, (i) + 32)
#define QUAD_OPERANDS_64(c, i) QUAD_OPERANDS_32(c, i), QUAD_OPERANDS_32(c, (i) + 32)
#define QUAD_OPERANDS_72(c, i) QUAD_OPERANDS_64(c, i), QUAD_OPERANDS_8(c, (i) + 64)
#define QUAD_OPERANDS_80(c, i) QUAD_OPERANDS_64(c, i), QUAD_OPERANDS_16(c, (i) + 64)
#define QUAD_OPERANDS_88(c, i) QUAD_OPERANDS_64(c, i), QUAD_OPERANDS_24(c, (i) + 64)
#define QUAD_OPERANDS_96(c, i) QUAD_OPERANDS_64(c, i), QUAD_OPERANDS_32(c, (i) + 64)
#define QUAD_OPERANDS_104(c, i) QUAD_OPERANDS_64(c, i), QUAD_OPERANDS_40(c, (i) + 64)
#define QUAD_OPERANDS_112(c, i) QUAD_OPERANDS_64(c, i), QUAD_OPERANDS_48(c, (i) + 64)
#define QUAD_OPERANDS_120(c, i) QUAD_OPERANDS_64(c, i), QUAD_OPERANDS_56(c, (i) + 64)
#define QUAD_OPERANDS_128(c, i) QUAD_OPERANDS_64(c, i), QUAD_OPERANDS_64(c, (i) + 64)
#define QUAD_WGMMA_WORDS_BY_N(FORM, TYPES, WORD)                                                   \
  if constexpr (N == 8) {                                                                          \
    FORM(TYPES, 8, QUAD_REGISTERS_4, QUAD_OPERANDS_4(WORD, 0), 4, 5, 6, 7, 8, 9, 10);              \
  } else if constexpr (N == 16) {                                                                  \
    FORM(TYPES, 16, QUAD_REGISTERS_8, QUAD_OPERANDS_8(WORD, 0), 8, 9, 10, 11, 12, 13, 14);         \
  } else if constexpr (N == 24) {                                                                  \
    FORM(TYPES, 24, QUAD_REGISTERS_12, QUAD_OPERANDS_12(WORD, 0), 12, 13, 14, 15, 16, 17, 18);     \
  } else if constexpr (N == 32) {                                                                  \
    FORM(TYPES, 32, QUAD_REGISTERS_16, QUAD_OPERANDS_16(WORD, 0), 16, 17, 18, 19, 20, 21, 22);     \
  } else if constexpr (N == 40) {                                                                  \
    FORM(TYPES, 40, QUAD_REGISTERS_20, QUAD_OPERANDS_20(WORD, 0), 20, 21, 22, 23, 24, 25, 26);     \
  } else if constexpr (N == 48) {                                                                  \
    FORM(TYPES, 48, QUAD_REGISTERS_24, QUAD_OPERANDS_24(WORD, 0), 24, 25, 26, 27, 28, 29, 30);     \
  } else if constexpr (N == 56) {                                                                  \
    FORM(TYPES, 56, QUAD_REGISTERS_28, QUAD_OPERANDS_28(WORD, 0), 28, 29, 30, 31, 32, 33, 34);     \
  } else if constexpr (N == 64) {                                                                  \
    FORM(TYPES, 64, QUAD_REGISTERS_32, QUAD_OPERANDS_32(WORD, 0), 32, 33, 34, 35, 36, 37, 38);     \
  } else if constexpr (N == 80) {                                                                  \
    FORM(TYPES, 80, QUAD_REGISTERS_40, QUAD_OPERANDS_40(WORD, 0), 40, 41, 42, 43, 44, 45, 46);     \
  } else if constexpr (N == 96) {                                                                  \
    FORM(TYPES, 96, QUAD_REGISTERS_48, QUAD_OPERANDS_48(WORD, 0), 48, 49, 50, 51, 52, 53, 54);     \
  } else if constexpr (N == 112) {                                                                 \
    FORM(TYPES, 112, QUAD_REGISTERS_56, QUAD_OPERANDS_56(WORD, 0), 56, 57, 58, 59, 60, 61, 62);    \
  } else if constexpr (N == 128) {                                                                 \
    FORM(TYPES, 128, QUAD_REGISTERS_64, QUAD_OPERANDS_64(WORD, 0), 64, 65, 66, 67, 68, 69, 70);    \
  } else if constexpr (N == 144) {                                                                 \
    FORM(TYPES, 144, QUAD_REGISTERS_72, QUAD_OPERANDS_72(WORD, 0), 72, 73, 74, 75, 76, 77, 78);    \
  } else if constexpr (N == 160) {                                                                 \
    FORM(TYPES, 160, QUAD_REGISTERS_80, QUAD_OPERANDS_80(WORD, 0), 80, 81, 82, 83, 84, 85, 86);    \
  } else if constexpr (N == 176) {                                                                 \
    FORM(TYPES, 176, QUAD_REGISTERS_88, QUAD_OPERANDS_88(WORD, 0), 88, 89, 90, 91, 92, 93, 94);    \
  } else if constexpr (N == 192) {                                                                 \
    FORM(TYPES, 192, QUAD_REGISTERS_96, QUAD_OPERANDS_96(WORD, 0), 96, 97, 98, 99, 100, 101, 102); \
  } else if constexpr (N == 208) {                                                                 \
    FORM(TYPES, 208, QUAD_REGISTERS_104, QUAD_OPERANDS_104(WORD, 0), 104, 105, 106, 107, 108, 109, \
         110);                                                                                     \
  } else if constexpr (N == 224) {                                                                 \
    FORM(TYPES, 224, QUAD_REGISTERS_112, QUAD_OPERANDS_112(WORD, 0), 112, 113, 114, 115, 116, 117, \
         118);                                                                                     \
  } else if constexpr (N == 240) {                                                                 \
    FORM(TYPES, 240, QUAD_REGISTERS_120, QUAD_OPERANDS_120(WORD, 0), 120, 121, 122, 123, 124, 125, \
         126);                                                                                     \
  } else if constexpr (N == 256) {                                                                 \
    FORM(TYPES, 256, QUAD_REGISTERS_128, QUAD_OPERANDS_128(WORD, 0), 128, 129, 130, 131, 132, 133, \
         134);                                                                                     \
  }
#define QUAD_WGMMA_F32_BY_N(FORM, TYPES) QUAD_WGMMA_WORDS_BY_N(FORM, TYPES, "+f")
#define QUAD_WGMMA_S32_BY_N(FORM, TYPES) QUAD_WGMMA_WORDS_BY_N(FORM, TYPES, "+r")
#define QUAD_WGMMA_F16_BY_N(FORM, TYPES)                                                        \
  if constexpr (N == 8) {                                                                       \
    FORM(TYPES, 8, QUAD_REGISTERS_2, QUAD_OPERANDS_2("+r", 0), 2, 3, 4, 5, 6, 7, 8);            \
  } else if constexpr (N == 16) {                                                               \
    FORM(TYPES, 16, QUAD_REGISTERS_4, QUAD_OPERANDS_4("+r", 0), 4, 5, 6, 7, 8, 9, 10);          \
  } else if constexpr (N == 24) {                                                               \
    FORM(TYPES, 24, QUAD_REGISTERS_6, QUAD_OPERANDS_6("+r", 0), 6, 7, 8, 9, 10, 11, 12);        \
  } else if constexpr (N == 32) {                                                               \
    FORM(TYPES, 32, QUAD_REGISTERS_8, QUAD_OPERANDS_8("+r", 0), 8, 9, 10, 11, 12, 13, 14);      \
  } else if constexpr (N == 40) {                                                               \
    FORM(TYPES, 40, QUAD_REGISTERS_10, QUAD_OPERANDS_10("+r", 0), 10, 11, 12, 13, 14, 15, 16);  \
  } else if constexpr (N == 48) {                                                               \
    FORM(TYPES, 48, QUAD_REGISTERS_12, QUAD_OPERANDS_12("+r", 0), 12, 13, 14, 15, 16, 17, 18);  \
  } else if constexpr (N == 56) {                                                               \
    FORM(TYPES, 56, QUAD_REGISTERS_14, QUAD_OPERANDS_14("+r", 0), 14, 15, 16, 17, 18, 19, 20);  \
  } else if constexpr (N == 64) {                                                               \
    FORM(TYPES, 64, QUAD_REGISTERS_16, QUAD_OPERANDS_16("+r", 0), 16, 17, 18, 19, 20, 21, 22);  \
  } else if constexpr (N == 80) {                                                               \
    FORM(TYPES, 80, QUAD_REGISTERS_20, QUAD_OPERANDS_20("+r", 0), 20, 21, 22, 23, 24, 25, 26);  \
  } else if constexpr (N == 96) {                                                               \
    FORM(TYPES, 96, QUAD_REGISTERS_24, QUAD_OPERANDS_24("+r", 0), 24, 25, 26, 27, 28, 29, 30);  \
  } else if constexpr (N == 112) {                                                              \
    FORM(TYPES, 112, QUAD_REGISTERS_28, QUAD_OPERANDS_28("+r", 0), 28, 29, 30, 31, 32, 33, 34); \
  } else if constexpr (N == 128) {                                                              \
    FORM(TYPES, 128, QUAD_REGISTERS_32, QUAD_OPERANDS_32("+r", 0), 32, 33, 34, 35, 36, 37, 38); \
  } else if constexpr (N == 144) {                                                              \
    FORM(TYPES, 144, QUAD_REGISTERS_36, QUAD_OPERANDS_36("+r", 0), 36, 37, 38, 39, 40, 41, 42); \
  } else if constexpr (N == 160) {                                                              \
    FORM(TYPES, 160, QUAD_REGISTERS_40, QUAD_OPERANDS_40("+r", 0), 40, 41, 42, 43, 44, 45, 46); \
  } else if constexpr (N == 176) {                                                              \
    FORM(TYPES, 176, QUAD_REGISTERS_44, QUAD_OPERANDS_44("+r", 0), 44, 45, 46, 47, 48, 49, 50); \
  } else if constexpr (N == 192) {                                                              \
    FORM(TYPES, 192, QUAD_REGISTERS_48, QUAD_OPERANDS_48("+r", 0), 48, 49, 50, 51, 52, 53, 54); \
  } else if constexpr (N == 208) {                                                              \
    FORM(TYPES, 208, QUAD_REGISTERS_52, QUAD_OPERANDS_52("+r", 0), 52, 53, 54, 55, 56, 57, 58); \
  } else if constexpr (N == 224) {                                                              \
    FORM(TYPES, 224, QUAD_REGISTERS_56, QUAD_OPERANDS_56("+r", 0), 56, 57, 58, 59, 60, 61, 62); \
  } else if constexpr (N == 240) {                                                              \
    FORM(TYPES, 240, QUAD_REGISTERS_60, QUAD_OPERANDS_60("+r", 0), 60, 61, 62, 63, 64, 65, 66); \
  } else if constexpr (N == 256) {                                                              \
    FORM(TYPES, 256, QUAD_REGISTERS_64, QUAD_OPERANDS_64("+r", 0), 64, 65, 66, 67, 68, 69, 70); \
  }

// A and B in shared memory; 16-bit types say whether they are MN-major.
#define QUAD_WGMMA_SHARED(TYPES, N_, REGISTERS, OPERANDS, x0, x1, x2, x3, x4, x5, x6)              \
  QUAD_ASM_SM90A("{\n.reg .pred p;\nsetp.ne.b32 p, %" #x2                                          \
                 ", 0;\n"                                                                          \
                 "wgmma.mma_async.sync.aligned.m64n" #N_ TYPES " {" REGISTERS "}, %" #x0 ", %" #x1 \
                 ", p, 1, 1, %" #x3 ", %" #x4 ";\n}"                                               \
                 : OPERANDS                                                                        \
                 : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(accumulate)),                    \
                   "n"(static_cast<int>(a_major)), "n"(static_cast<int>(b_major)))
#define QUAD_WGMMA_SHARED_K_MAJOR(TYPES, N_, REGISTERS, OPERANDS, x0, x1, x2, x3, x4, x5, x6)      \
  QUAD_ASM_SM90A("{\n.reg .pred p;\nsetp.ne.b32 p, %" #x2                                          \
                 ", 0;\n"                                                                          \
                 "wgmma.mma_async.sync.aligned.m64n" #N_ TYPES " {" REGISTERS "}, %" #x0 ", %" #x1 \
                 ", p, 1, 1;\n}"                                                                   \
                 : OPERANDS                                                                        \
                 : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(accumulate)))
// Integers have no signs of operands.
#define QUAD_WGMMA_SHARED_S8(TYPES, N_, REGISTERS, OPERANDS, x0, x1, x2, x3, x4, x5, x6)           \
  QUAD_ASM_SM90A("{\n.reg .pred p;\nsetp.ne.b32 p, %" #x2                                          \
                 ", 0;\n"                                                                          \
                 "wgmma.mma_async.sync.aligned.m64n" #N_ TYPES " {" REGISTERS "}, %" #x0 ", %" #x1 \
                 ", p;\n}"                                                                         \
                 : OPERANDS                                                                        \
                 : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(accumulate)))
// A in registers.
#define QUAD_WGMMA_REGISTERS(TYPES, N_, REGISTERS, OPERANDS, x0, x1, x2, x3, x4, x5, x6)  \
  QUAD_ASM_SM90A("{\n.reg .pred p;\nsetp.ne.b32 p, %" #x5                                 \
                 ", 0;\n"                                                                 \
                 "wgmma.mma_async.sync.aligned.m64n" #N_ TYPES " {" REGISTERS "}, {%" #x0 \
                 ", %" #x1 ", %" #x2 ", %" #x3 "}, %" #x4 ", p, 1, 1, %" #x6 ";\n}"       \
                 : OPERANDS                                                               \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits),               \
                   "r"(static_cast<int>(accumulate)), "n"(static_cast<int>(b_major)))
#define QUAD_WGMMA_REGISTERS_K_MAJOR(TYPES, N_, REGISTERS, OPERANDS, x0, x1, x2, x3, x4, x5, x6) \
  QUAD_ASM_SM90A("{\n.reg .pred p;\nsetp.ne.b32 p, %" #x5                                        \
                 ", 0;\n"                                                                        \
                 "wgmma.mma_async.sync.aligned.m64n" #N_ TYPES " {" REGISTERS "}, {%" #x0        \
                 ", %" #x1 ", %" #x2 ", %" #x3 "}, %" #x4 ", p, 1, 1;\n}"                        \
                 : OPERANDS                                                                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits),                      \
                   "r"(static_cast<int>(accumulate)))

#endif

/// The N that wgmma has here; the tensor cores also know the multiples of 8 between.
QUAD_HD constexpr bool is_wgmma_n(int n) {
  return n >= 8 && n <= 256 && n % (n <= 64 ? 8 : 16) == 0;
}

/// f16 operands, f32 accumulators. Without `accumulate`, D = A B.
template <int N, Major a_major = Major::k, Major b_major = Major::k>
QUAD_INSTRUCTION void wgmma_f16(float (&d)[N / 2], MatrixDescriptor a, MatrixDescriptor b,
                                bool accumulate = true QUAD_WHERE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F32_BY_N(QUAD_WGMMA_SHARED, "k16.f32.f16.f16")
#else
  simt::wgmma({simt::WgmmaType::f16, N, a_major == Major::mn, b_major == Major::mn, accumulate}, d,
              a.bits, nullptr, b.bits, where);
#endif
}
/// f16 operands, f32 accumulators; A in registers.
template <int N, Major b_major = Major::k>
QUAD_INSTRUCTION void wgmma_f16(float (&d)[N / 2], unsigned const (&a)[4], MatrixDescriptor b,
                                bool accumulate = true QUAD_WHERE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F32_BY_N(QUAD_WGMMA_REGISTERS, "k16.f32.f16.f16")
#else
  simt::wgmma({simt::WgmmaType::f16, N, false, b_major == Major::mn, accumulate}, d, 0, a, b.bits,
              where);
#endif
}

/// f16 operands and accumulators, of which a register holds two.
template <int N, Major a_major = Major::k, Major b_major = Major::k>
QUAD_INSTRUCTION void wgmma_f16(unsigned (&d)[N / 4], MatrixDescriptor a, MatrixDescriptor b,
                                bool accumulate = true QUAD_WHERE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F16_BY_N(QUAD_WGMMA_SHARED, "k16.f16.f16.f16")
#else
  simt::wgmma(
      {simt::WgmmaType::f16_in_f16, N, a_major == Major::mn, b_major == Major::mn, accumulate}, d,
      a.bits, nullptr, b.bits, where);
#endif
}
/// f16 operands and accumulators, of which a register holds two; A in registers.
template <int N, Major b_major = Major::k>
QUAD_INSTRUCTION void wgmma_f16(unsigned (&d)[N / 4], unsigned const (&a)[4], MatrixDescriptor b,
                                bool accumulate = true QUAD_WHERE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F16_BY_N(QUAD_WGMMA_REGISTERS, "k16.f16.f16.f16")
#else
  simt::wgmma({simt::WgmmaType::f16_in_f16, N, false, b_major == Major::mn, accumulate}, d, 0, a,
              b.bits, where);
#endif
}

/// bf16 operands, f32 accumulators.
template <int N, Major a_major = Major::k, Major b_major = Major::k>
QUAD_INSTRUCTION void wgmma_bf16(float (&d)[N / 2], MatrixDescriptor a, MatrixDescriptor b,
                                 bool accumulate = true QUAD_WHERE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F32_BY_N(QUAD_WGMMA_SHARED, "k16.f32.bf16.bf16")
#else
  simt::wgmma({simt::WgmmaType::bf16, N, a_major == Major::mn, b_major == Major::mn, accumulate}, d,
              a.bits, nullptr, b.bits, where);
#endif
}
/// bf16 operands, f32 accumulators; A in registers.
template <int N, Major b_major = Major::k>
QUAD_INSTRUCTION void wgmma_bf16(float (&d)[N / 2], unsigned const (&a)[4], MatrixDescriptor b,
                                 bool accumulate = true QUAD_WHERE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F32_BY_N(QUAD_WGMMA_REGISTERS, "k16.f32.bf16.bf16")
#else
  simt::wgmma({simt::WgmmaType::bf16, N, false, b_major == Major::mn, accumulate}, d, 0, a, b.bits,
              where);
#endif
}

/// f32 operands of which the tensor cores read the upper 19 bits, f32 accumulators; both K-major.
template <int N>
QUAD_INSTRUCTION void wgmma_tf32(float (&d)[N / 2], MatrixDescriptor a, MatrixDescriptor b,
                                 bool accumulate = true QUAD_WHERE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F32_BY_N(QUAD_WGMMA_SHARED_K_MAJOR, "k8.f32.tf32.tf32")
#else
  simt::wgmma({simt::WgmmaType::tf32, N, false, false, accumulate}, d, a.bits, nullptr, b.bits,
              where);
#endif
}
/// f32 operands of which the tensor cores read the upper 19 bits, f32 accumulators; A in registers.
template <int N>
QUAD_INSTRUCTION void wgmma_tf32(float (&d)[N / 2], unsigned const (&a)[4], MatrixDescriptor b,
                                 bool accumulate = true QUAD_WHERE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F32_BY_N(QUAD_WGMMA_REGISTERS_K_MAJOR, "k8.f32.tf32.tf32")
#else
  simt::wgmma({simt::WgmmaType::tf32, N, false, false, accumulate}, d, 0, a, b.bits, where);
#endif
}

/// e4m3 operands, f32 accumulators, to which the tensor cores of sm_90 add fewer bits than those have:
/// what is cut off is as large as 2^-13 of the largest addend. Both K-major.
template <int N>
QUAD_INSTRUCTION void wgmma_e4m3(float (&d)[N / 2], MatrixDescriptor a, MatrixDescriptor b,
                                 bool accumulate = true QUAD_WHERE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F32_BY_N(QUAD_WGMMA_SHARED_K_MAJOR, "k32.f32.e4m3.e4m3")
#else
  simt::wgmma({simt::WgmmaType::e4m3, N, false, false, accumulate}, d, a.bits, nullptr, b.bits,
              where);
#endif
}
/// The same; A in registers, four elements in each.
template <int N>
QUAD_INSTRUCTION void wgmma_e4m3(float (&d)[N / 2], unsigned const (&a)[4], MatrixDescriptor b,
                                 bool accumulate = true QUAD_WHERE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F32_BY_N(QUAD_WGMMA_REGISTERS_K_MAJOR, "k32.f32.e4m3.e4m3")
#else
  simt::wgmma({simt::WgmmaType::e4m3, N, false, false, accumulate}, d, 0, a, b.bits, where);
#endif
}
/// The same of e5m2, A in shared memory.
template <int N>
QUAD_INSTRUCTION void wgmma_e5m2(float (&d)[N / 2], MatrixDescriptor a, MatrixDescriptor b,
                                 bool accumulate = true QUAD_WHERE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F32_BY_N(QUAD_WGMMA_SHARED_K_MAJOR, "k32.f32.e5m2.e5m2")
#else
  simt::wgmma({simt::WgmmaType::e5m2, N, false, false, accumulate}, d, a.bits, nullptr, b.bits,
              where);
#endif
}

/// s8 operands, s32 accumulators, which wrap around; both K-major. N = 40 and 56 are not among its N.
template <int N>
QUAD_INSTRUCTION void wgmma_s8(std::int32_t (&d)[N / 2], MatrixDescriptor a, MatrixDescriptor b,
                               bool accumulate = true QUAD_WHERE) {
  static_assert(is_wgmma_n(N) && N != 40 && N != 56);
#ifdef __CUDACC__
  QUAD_WGMMA_S32_BY_N(QUAD_WGMMA_SHARED_S8, "k32.s32.s8.s8")
#else
  simt::wgmma({simt::WgmmaType::s8, N, false, false, accumulate}, d, a.bits, nullptr, b.bits,
              where);
#endif
}

}  // namespace quadrille::ptx

#endif  // QUAD_KERNELS
