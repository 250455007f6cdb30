// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Instructions that C++ cannot say, one named function each, with its model for the interpreter
/// beside it: inline PTX for nvcc, calls of kernels/simt for g++. tests/kernels/ptx_test.cpp holds
/// both against the same expected bits.
///
/// Pointers are generic; where an instruction needs shared memory, the pointer must point there.
/// Functions named after `.sync.aligned` instructions (matrices, elect_one) take the whole warp.
/// Under g++ every function that can be misused has a last parameter, the place of the call.

#include "common/simt.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#ifdef __CUDACC__

#include <mma.h>

#define QUAD_INSTRUCTION __device__ __forceinline__
#define QUAD_LAYOUT __host__ __device__
#define QUAD_WHERE

#else

#include "simt/engine.hpp"
#include "simt/race.hpp"

#include <atomic>
#include <cmath>
#include <cstring>
#include <source_location>
#include <string>

#define QUAD_INSTRUCTION QUAD_SIMT_MODEL inline
/// Parts of models that are called for every element.
#define QUAD_LAYOUT __attribute__((no_sanitize("undefined")))
#define QUAD_MODEL_PART inline __attribute__((no_sanitize("thread,undefined"), always_inline))
/// The place of the call, as last parameter of an instruction.
#define QUAD_WHERE , std::source_location where = std::source_location::current()

#endif

namespace quadrille::ptx {

// Fragments of the mma instructions: which element of the matrix a lane holds as its element i.
// With g = lane / 4 and t = lane % 4. f16 and bf16 elements lie in pairs in 32-bit registers, the
// even one in the low half; tf32 and f64 elements have one register each.
//
//   sum (m x 8)          i = 0, 1: row g, columns 2t, 2t+1;  i = 2, 3: the same in row g + 8
//   a (m x k), 16 bits   pairs in columns 2t, 2t+1 of the rows g, g + 8; then again 8 columns on
//   a (m x k), wider     column t of the rows g, g + 8; then again 4 columns on.
//                        With m = 8 the one element is at row g, column t
//   b (k x 8), 16 bits   pairs in rows 2t, 2t+1 of column g; then again 8 rows on
//   b (k x 8), wider     row t of column g; then again 4 rows on

/// An element of a matrix.
struct Element {
  int row, column;
};
/// Element i of the accumulator that a lane holds; the same for all shapes and types.
QUAD_LAYOUT constexpr Element sum_element(int lane, int i) {
  return {lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2};
}
/// Element i of A that a lane holds; `bytes` is the size of an element.
QUAD_LAYOUT constexpr Element a_element(int bytes, int lane, int i) {
  if (bytes == 2) return {lane / 4 + 8 * (i / 2 % 2), 2 * (lane % 4) + i % 2 + 8 * (i / 4)};
  return {lane / 4 + 8 * (i % 2), lane % 4 + 4 * (i / 2)};
}
/// Element i of B that a lane holds; `bytes` is the size of an element.
QUAD_LAYOUT constexpr Element b_element(int bytes, int lane, int i) {
  if (bytes == 2) return {2 * (lane % 4) + i % 2 + 8 * (i / 2), lane / 4};
  return {lane % 4 + 4 * i, lane / 4};
}

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

/// Starts a copy of 4, 8 or 16 bytes from global to shared memory; zeros, and no read of the
/// source, when not valid. 16 bytes bypass L1. PTX cp.async.{ca,cg}.shared.global.
template <int kBytes>
QUAD_INSTRUCTION void cp_async(void* to, void const* from, bool valid = true QUAD_WHERE) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
#ifdef __CUDACC__
  int const source_bytes = valid ? kBytes : 0;
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(detail::shared_address(to)),
                 "l"(from), "r"(source_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(detail::shared_address(to)),
                 "l"(from), "n"(kBytes), "r"(source_bytes)
                 : "memory");
  }
#else
  detail::require_alignment(to, kBytes, "cp.async to shared memory", where);
  detail::require_alignment(valid ? from : nullptr, kBytes, "cp.async from global memory", where);
  simt::async_copy(to, from, valid ? kBytes : 0, kBytes, where);
#endif
}

/// Closes the group of this thread's copies since the last commit. PTX cp.async.commit_group.
QUAD_INSTRUCTION void cp_async_commit() {
#ifdef __CUDACC__
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  simt::async_copy_commit();
#endif
}

/// Waits until at most the kNewest youngest groups of this thread are in flight; other threads see
/// the data after a barrier. PTX cp.async.wait_group.
template <int kNewest>
QUAD_INSTRUCTION void cp_async_wait() {
  static_assert(kNewest >= 0);
#ifdef __CUDACC__
  asm volatile("cp.async.wait_group %0;" ::"n"(kNewest) : "memory");
#else
  simt::async_copy_wait(kNewest);
#endif
}

/// Waits for all copies of this thread, committed or not. PTX cp.async.wait_all.
QUAD_INSTRUCTION void cp_async_wait_all() {
#ifdef __CUDACC__
  asm volatile("cp.async.wait_all;" ::: "memory");
#else
  simt::async_copy_commit();
  simt::async_copy_wait(0);
#endif
}

#ifndef __CUDACC__
namespace detail {

/// What one lane hands to ldmatrix or stmatrix.
struct MatrixRow {
  unsigned char* row;
  std::uint32_t* registers;
};

/// Moves kCount 8 x 8 matrices of 16-bit elements between rows, 8 addresses each, and registers.
template <int kCount, bool kTransposed, bool kLoad>
QUAD_SIMT_MODEL void move_matrices(void** lanes, unsigned) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int matrix = 0; matrix < kCount; ++matrix) {
      std::uint32_t& pair = static_cast<MatrixRow*>(lanes[lane])->registers[matrix];
      for (int half = 0; half < 2; ++half) {
        int const row = kTransposed ? 2 * (lane % 4) + half : lane / 4;
        int const column = kTransposed ? lane / 4 : 2 * (lane % 4) + half;
        unsigned char* const element =
            static_cast<MatrixRow*>(lanes[8 * matrix + row])->row + 2 * column;
        auto* const bytes = reinterpret_cast<unsigned char*>(&pair) + 2 * half;
        if constexpr (kLoad) {
          std::memcpy(bytes, element, 2);
        } else {
          std::memcpy(element, bytes, 2);
        }
      }
    }
  }
}

template <int kCount, bool kTransposed, bool kLoad>
QUAD_SIMT_MODEL void matrices(std::uint32_t* registers, void const* row, simt::Place where) {
  char const* const what = kLoad ? "ldmatrix" : "stmatrix";
  if (simt::current->lane < 8 * kCount) {
    require_alignment(row, 16, what, where);
    simt::shared_offset(row, where);
    if constexpr (kLoad) {
      simt::race::read(row, 16, where);
    } else {
      simt::race::write(const_cast<void*>(row), 16, where);
    }
  }
  MatrixRow argument{static_cast<unsigned char*>(const_cast<void*>(row)), registers};
  simt::warp_meet(~0U, move_matrices<kCount, kTransposed, kLoad>, &argument, where, what, false);
}

}  // namespace detail
#endif

/// Loads one 8 x 8 matrix of 16-bit elements: lane r < 8 has the address of row r (16 bytes,
/// aligned); lane l gets the elements 2 (l % 4), + 1 of row l / 4. PTX ldmatrix.x1.
QUAD_INSTRUCTION void ldmatrix_x1(std::uint32_t (&r)[1], void const* row QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(detail::shared_address(row))
               : "memory");
#else
  detail::matrices<1, false, true>(r, row, where);
#endif
}

/// Loads two matrices, rows from lanes 0 to 7 and 8 to 15. PTX ldmatrix.x2.
QUAD_INSTRUCTION void ldmatrix_x2(std::uint32_t (&r)[2], void const* row QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(detail::shared_address(row))
               : "memory");
#else
  detail::matrices<2, false, true>(r, row, where);
#endif
}

/// Loads four matrices, rows from eight lanes each. PTX ldmatrix.x4.
QUAD_INSTRUCTION void ldmatrix_x4(std::uint32_t (&r)[4], void const* row QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(detail::shared_address(row))
               : "memory");
#else
  detail::matrices<4, false, true>(r, row, where);
#endif
}

/// Loads one transposed matrix: lane l gets column l / 4, rows 2 (l % 4), + 1.
/// PTX ldmatrix.x1.trans.
QUAD_INSTRUCTION void ldmatrix_x1_trans(std::uint32_t (&r)[1], void const* row QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(detail::shared_address(row))
               : "memory");
#else
  detail::matrices<1, true, true>(r, row, where);
#endif
}

/// Loads two transposed matrices. PTX ldmatrix.x2.trans.
QUAD_INSTRUCTION void ldmatrix_x2_trans(std::uint32_t (&r)[2], void const* row QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(detail::shared_address(row))
               : "memory");
#else
  detail::matrices<2, true, true>(r, row, where);
#endif
}

/// Loads four transposed matrices. PTX ldmatrix.x4.trans.
QUAD_INSTRUCTION void ldmatrix_x4_trans(std::uint32_t (&r)[4], void const* row QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(detail::shared_address(row))
               : "memory");
#else
  detail::matrices<4, true, true>(r, row, where);
#endif
}

/// Stores one 8 x 8 matrix of 16-bit elements, the reverse of ldmatrix_x1. PTX stmatrix.x1.
QUAD_INSTRUCTION void stmatrix_x1(void* row, std::uint32_t const (&r)[1] QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(detail::shared_address(row)),
      "r"(r[0])
      : "memory");
#else
  detail::matrices<1, false, false>(const_cast<std::uint32_t*>(r), row, where);
#endif
}

/// Stores two matrices. PTX stmatrix.x2.
QUAD_INSTRUCTION void stmatrix_x2(void* row, std::uint32_t const (&r)[2] QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(detail::shared_address(row)),
      "r"(r[0]), "r"(r[1])
      : "memory");
#else
  detail::matrices<2, false, false>(const_cast<std::uint32_t*>(r), row, where);
#endif
}

/// Stores four matrices. PTX stmatrix.x4.
QUAD_INSTRUCTION void stmatrix_x4(void* row, std::uint32_t const (&r)[4] QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   detail::shared_address(row)),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
#else
  detail::matrices<4, false, false>(const_cast<std::uint32_t*>(r), row, where);
#endif
}

/// Stores one matrix transposed, the reverse of ldmatrix_x1_trans. PTX stmatrix.x1.trans.
QUAD_INSTRUCTION void stmatrix_x1_trans(void* row, std::uint32_t const (&r)[1] QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(
                   detail::shared_address(row)),
               "r"(r[0])
               : "memory");
#else
  detail::matrices<1, true, false>(const_cast<std::uint32_t*>(r), row, where);
#endif
}

/// Stores two matrices transposed. PTX stmatrix.x2.trans.
QUAD_INSTRUCTION void stmatrix_x2_trans(void* row, std::uint32_t const (&r)[2] QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(
                   detail::shared_address(row)),
               "r"(r[0]), "r"(r[1])
               : "memory");
#else
  detail::matrices<2, true, false>(const_cast<std::uint32_t*>(r), row, where);
#endif
}

/// Stores four matrices transposed. PTX stmatrix.x4.trans.
QUAD_INSTRUCTION void stmatrix_x4_trans(void* row, std::uint32_t const (&r)[4] QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   detail::shared_address(row)),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
#else
  detail::matrices<4, true, false>(const_cast<std::uint32_t*>(r), row, where);
#endif
}

/// Rounds to tf32 (10 bits of mantissa), to nearest, ties away from zero; the result is an operand
/// of the tf32 mma. NaN loses the low bits of its payload: with nothing but these it becomes
/// infinity. PTX cvt.rna.tf32.f32.
QUAD_INSTRUCTION std::uint32_t to_tf32(float value) {
#ifdef __CUDACC__
  std::uint32_t rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(value));
  return rounded;
#else
  auto const bits = __builtin_bit_cast(std::uint32_t, value);
  if (!std::isfinite(value)) return bits & 0xFFFFE000U;
  return (bits + 0x1000U) & 0xFFFFE000U;
#endif
}

#ifndef __CUDACC__
namespace detail {

struct Tf32 {
  std::uint32_t bits;
};

// Without branches: the conversions are what the models of the matrix products spend time on.
QUAD_MODEL_PART float widen(__half value) {
  auto const bits = static_cast<std::uint32_t>(__builtin_bit_cast(std::uint16_t, value));
  std::uint32_t const magnitude = bits & 0x7FFFU;
  // Exponents of f16 moved to those of f32 by 2^112, which also normalises subnormals.
  float const scaled = __builtin_bit_cast(float, magnitude << 13) * 0x1p112F;
  std::uint32_t const special = magnitude >= 0x7C00U ? 0x7F800000U : 0U;
  return __builtin_bit_cast(
      float, __builtin_bit_cast(std::uint32_t, scaled) | special | (bits & 0x8000U) << 16);
}
QUAD_MODEL_PART float widen(__nv_bfloat16 value) {
  auto const bits = static_cast<std::uint32_t>(__builtin_bit_cast(std::uint16_t, value));
  return __builtin_bit_cast(float, bits << 16);
}
/// The tensor cores ignore the low 13 bits.
QUAD_MODEL_PART float widen(Tf32 value) {
  return __builtin_bit_cast(float, value.bits & 0xFFFFE000U);
}
QUAD_MODEL_PART float widen(float value) { return value; }
QUAD_MODEL_PART double widen(double value) { return value; }
QUAD_MODEL_PART void narrow(float value, float& to) { to = value; }
QUAD_MODEL_PART void narrow(float value, __half& to) { to = __float2half(value); }
QUAD_MODEL_PART void narrow(double value, double& to) { to = value; }

/// Element i of a lane's registers.
template <class T>
QUAD_MODEL_PART T element(void const* registers, int i) {
  T value;
  std::memcpy(static_cast<void*>(&value),
              static_cast<unsigned char const*>(registers) + sizeof(T) * static_cast<unsigned>(i),
              sizeof(T));
  return value;
}

/// What one lane hands to mma: d += a b.
struct Operands {
  void* d;
  void const* a;
  void const* b;
};

/// kM x 8 += kM x kK times kK x 8. Products of the narrow types are exact in f32; sums are in the
/// order of k, where the tensor cores have an order and a rounding of their own.
template <int kM, int kK, class T, class Sum>
__attribute__((no_sanitize("thread,undefined"))) void multiply(void** lanes, unsigned) {
  using Wide = decltype(widen(T{}));
  Wide a[kM][kK], b[kK][8], c[kM][8];
  for (int lane = 0; lane < 32; ++lane) {
    Operands const& own = *static_cast<Operands const*>(lanes[lane]);
    for (int i = 0; i < kM * kK / 32; ++i) {
      auto const [row, column] = a_element(sizeof(T), lane, i);
      a[row][column] = widen(element<T>(own.a, i));
    }
    for (int i = 0; i < kK / 4; ++i) {
      auto const [row, column] = b_element(sizeof(T), lane, i);
      b[row][column] = widen(element<T>(own.b, i));
    }
    for (int i = 0; i < kM / 4; ++i) {
      auto const [row, column] = sum_element(lane, i);
      c[row][column] = widen(element<Sum>(own.d, i));
    }
  }
  for (int row = 0; row < kM; ++row) {
    for (int k = 0; k < kK; ++k) {
      for (int column = 0; column < 8; ++column) {
        if constexpr (std::is_same_v<Wide, double>) {
          c[row][column] = std::fma(a[row][k], b[k][column], c[row][column]);
        } else {
          c[row][column] += a[row][k] * b[k][column];
        }
      }
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    Operands const& own = *static_cast<Operands const*>(lanes[lane]);
    for (int i = 0; i < kM / 4; ++i) {
      auto const [row, column] = sum_element(lane, i);
      Sum value;
      narrow(c[row][column], value);
      std::memcpy(static_cast<unsigned char*>(own.d) + sizeof(Sum) * static_cast<unsigned>(i),
                  static_cast<void const*>(&value), sizeof(Sum));
    }
  }
}

template <int kM, int kK, class T, class Sum>
QUAD_SIMT_MODEL void mma(void* d, void const* a, void const* b, char const* what,
                         simt::Place where) {
  Operands argument{d, a, b};
  simt::warp_meet(~0U, multiply<kM, kK, T, Sum>, &argument, where, what, false);
}

}  // namespace detail
#endif

/// d += a b, 16 x 8 x 16, f16 with sums in f32. PTX mma.m16n8k16.f32.f16.f16.f32.
QUAD_INSTRUCTION void mma_m16n8k16_f16(float (&d)[4], std::uint32_t const (&a)[4],
                                       std::uint32_t const (&b)[2] QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  detail::mma<16, 16, __half, float>(d, a, b, "mma.m16n8k16.f16", where);
#endif
}

/// d += a b, 16 x 8 x 16, f16 with sums in f16. PTX mma.m16n8k16.f16.f16.f16.f16.
QUAD_INSTRUCTION void mma_m16n8k16_f16(std::uint32_t (&d)[2], std::uint32_t const (&a)[4],
                                       std::uint32_t const (&b)[2] QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
      "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
      : "+r"(d[0]), "+r"(d[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  detail::mma<16, 16, __half, __half>(d, a, b, "mma.m16n8k16.f16.f16", where);
#endif
}

/// d += a b, 16 x 8 x 16, bf16 with sums in f32. PTX mma.m16n8k16.f32.bf16.bf16.f32.
QUAD_INSTRUCTION void mma_m16n8k16_bf16(float (&d)[4], std::uint32_t const (&a)[4],
                                        std::uint32_t const (&b)[2] QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  detail::mma<16, 16, __nv_bfloat16, float>(d, a, b, "mma.m16n8k16.bf16", where);
#endif
}

/// d += a b, 16 x 8 x 8, tf32 (see to_tf32) with sums in f32. PTX mma.m16n8k8.f32.tf32.tf32.f32.
QUAD_INSTRUCTION void mma_m16n8k8_tf32(float (&d)[4], std::uint32_t const (&a)[4],
                                       std::uint32_t const (&b)[2] QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  detail::mma<16, 8, detail::Tf32, float>(d, a, b, "mma.m16n8k8.tf32", where);
#endif
}

/// d += a b, 16 x 8 x 4, tf32 with sums in f32. PTX mma.m16n8k4.f32.tf32.tf32.f32.
QUAD_INSTRUCTION void mma_m16n8k4_tf32(float (&d)[4], std::uint32_t const (&a)[2],
                                       std::uint32_t const (&b)[1] QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]));
#else
  detail::mma<16, 4, detail::Tf32, float>(d, a, b, "mma.m16n8k4.tf32", where);
#endif
}

/// d += a b, 8 x 8 x 4, f64. PTX mma.m8n8k4.f64.
QUAD_INSTRUCTION void mma_m8n8k4_f64(double (&d)[2], double const (&a)[1],
                                     double const (&b)[1] QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(d[0]), "+d"(d[1])
               : "d"(a[0]), "d"(b[0]));
#else
  detail::mma<8, 4, double, double>(d, a, b, "mma.m8n8k4.f64", where);
#endif
}

/// d += a b, 16 x 8 x 4, f64, sm_90. PTX mma.m16n8k4.f64.
QUAD_INSTRUCTION void mma_m16n8k4_f64(double (&d)[4], double const (&a)[2],
                                      double const (&b)[1] QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
      "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(b[0]));
#else
  detail::mma<16, 4, double, double>(d, a, b, "mma.m16n8k4.f64", where);
#endif
}

/// d += a b, 16 x 8 x 8, f64, sm_90. PTX mma.m16n8k8.f64.
QUAD_INSTRUCTION void mma_m16n8k8_f64(double (&d)[4], double const (&a)[4],
                                      double const (&b)[2] QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
  detail::mma<16, 8, double, double>(d, a, b, "mma.m16n8k8.f64", where);
#endif
}

/// d += a b, 16 x 8 x 16, f64, sm_90. PTX mma.m16n8k16.f64.
QUAD_INSTRUCTION void mma_m16n8k16_f64(double (&d)[4], double const (&a)[8],
                                       double const (&b)[4] QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, "
      "{%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
        "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#else
  detail::mma<16, 16, double, double>(d, a, b, "mma.m16n8k16.f64", where);
#endif
}

/// The fragment interface, for f16 operands, 16 x 16 x 16, and sums in f16 or f32: fragment,
/// fill_fragment, load_matrix_sync, mma_sync, store_matrix_sync as in nvcuda::wmma (PTX wmma). How
/// elements lie in a fragment is unspecified and differs between GPU and interpreter; kernels may
/// change all x[i] alike.
#ifdef __CUDACC__
namespace wmma = nvcuda::wmma;
#else
namespace wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

/// The part of a 16 x 16 matrix that one lane holds.
template <class Use, int kM, int kN, int kK, class T, class Layout = void>
struct fragment {
  static_assert(kM == 16 && kN == 16 && kK == 16);
  static constexpr int num_elements = 8;
  using element_type = T;
  T x[num_elements];
};

}  // namespace wmma

namespace detail {

/// Element i of a wmma fragment: two halves of 8 columns, each as in mma.m16n8k16.
template <class Use>
QUAD_SIMT_MODEL Element wmma_element(int lane, int i) {
  if constexpr (std::is_same_v<Use, wmma::matrix_a>) return a_element(2, lane, i);
  Element element =
      std::is_same_v<Use, wmma::matrix_b> ? b_element(2, lane, i % 4) : sum_element(lane, i % 4);
  element.column += 8 * (i / 4);
  return element;
}

/// Checks what the manual asks of a matrix in memory; the warp meets.
template <class T>
QUAD_SIMT_MODEL void begin_wmma(T const* matrix, unsigned stride, char const* what,
                                simt::Place where) {
  require_alignment(matrix, 32, what, where);
  if (stride * sizeof(T) % 16 != 0) {
    simt::fail(std::string{what} + ": rows must begin at multiples of 16 bytes", where);
  }
  simt::warp_meet(~0U, nullptr, nullptr, where, what, false);
}

template <bool kLoad, class Use, class T>
QUAD_SIMT_MODEL void move_wmma(T (&x)[8], T* matrix, unsigned stride, bool by_rows,
                               simt::Place where) {
  for (int i = 0; i < 8; ++i) {
    auto const [row, column] = wmma_element<Use>(static_cast<int>(simt::current->lane), i);
    T* const place = matrix + (by_rows ? row : column) * static_cast<std::ptrdiff_t>(stride) +
                     (by_rows ? column : row);
    if constexpr (kLoad) {
      simt::race::read(place, sizeof(T), where);
      std::memcpy(static_cast<void*>(&x[i]), static_cast<void const*>(place), sizeof(T));
    } else {
      simt::race::write(place, sizeof(T), where);
      std::memcpy(static_cast<void*>(place), static_cast<void const*>(&x[i]), sizeof(T));
    }
  }
}

/// What one lane hands to wmma::mma_sync: d = a b + c.
template <class D, class C>
struct WmmaOperands {
  D* d;
  __half const* a;
  __half const* b;
  C const* c;
};

template <class D, class C>
QUAD_SIMT_MODEL void multiply_wmma(void** lanes, unsigned) {
  float a[16][16], b[16][16], sum[16][16];
  for (int lane = 0; lane < 32; ++lane) {
    auto const& own = *static_cast<WmmaOperands<D, C> const*>(lanes[lane]);
    for (int i = 0; i < 8; ++i) {
      Element e = wmma_element<wmma::matrix_a>(lane, i);
      a[e.row][e.column] = widen(own.a[i]);
      e = wmma_element<wmma::matrix_b>(lane, i);
      b[e.row][e.column] = widen(own.b[i]);
      e = wmma_element<wmma::accumulator>(lane, i);
      sum[e.row][e.column] = widen(own.c[i]);
    }
  }
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < 16; ++k) {
      for (int column = 0; column < 16; ++column) sum[row][column] += a[row][k] * b[k][column];
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    auto const& own = *static_cast<WmmaOperands<D, C> const*>(lanes[lane]);
    for (int i = 0; i < 8; ++i) {
      Element const e = wmma_element<wmma::accumulator>(lane, i);
      narrow(sum[e.row][e.column], own.d[i]);
    }
  }
}

}  // namespace detail

namespace wmma {

template <class Use, int kM, int kN, int kK, class T, class Layout>
QUAD_SIMT_MODEL void fill_fragment(fragment<Use, kM, kN, kK, T, Layout>& f,
                                   std::type_identity_t<T> const& value) {
  for (T& x : f.x) x = value;
}

template <class Use, class Layout>
QUAD_SIMT_MODEL void load_matrix_sync(
    fragment<Use, 16, 16, 16, __half, Layout>& f, __half const* matrix, unsigned stride,
    std::source_location where = std::source_location::current()) {
  detail::begin_wmma(matrix, stride, "wmma.load", where);
  detail::move_wmma<true, Use>(f.x, const_cast<__half*>(matrix), stride,
                               std::is_same_v<Layout, row_major>, where);
}

template <class T>
QUAD_SIMT_MODEL void load_matrix_sync(
    fragment<accumulator, 16, 16, 16, T>& f, T const* matrix, unsigned stride, layout_t layout,
    std::source_location where = std::source_location::current()) {
  detail::begin_wmma(matrix, stride, "wmma.load.c", where);
  detail::move_wmma<true, accumulator>(f.x, const_cast<T*>(matrix), stride, layout == mem_row_major,
                                       where);
}

template <class T>
QUAD_SIMT_MODEL void store_matrix_sync(
    T* matrix, fragment<accumulator, 16, 16, 16, T> const& f, unsigned stride, layout_t layout,
    std::source_location where = std::source_location::current()) {
  detail::begin_wmma(matrix, stride, "wmma.store.d", where);
  detail::move_wmma<false, accumulator>(const_cast<T(&)[8]>(f.x), matrix, stride,
                                        layout == mem_row_major, where);
}

template <class D, class A, class B, class C>
QUAD_SIMT_MODEL void mma_sync(fragment<accumulator, 16, 16, 16, D>& d,
                              fragment<matrix_a, 16, 16, 16, __half, A> const& a,
                              fragment<matrix_b, 16, 16, 16, __half, B> const& b,
                              fragment<accumulator, 16, 16, 16, C> const& c,
                              std::source_location where = std::source_location::current()) {
  detail::WmmaOperands<D, C> argument{d.x, a.x, b.x, c.x};
  simt::warp_meet(~0U, detail::multiply_wmma<D, C>, &argument, where, "wmma.mma", false);
}

}  // namespace wmma
#endif

/// Loads 4, 8 or 16 bytes that are read once and that this kernel never writes (nor a kernel beside
/// it). PTX ld.global.nc.L1::no_allocate. It spares L1, which shares its memory with shared memory,
/// the lines; unlike ld.cs (__ldcs, see load_evict_first) it leaves L2 its usual order, so that
/// data that fit there stay for the next kernel.
template <class T>
QUAD_INSTRUCTION T load_streaming(T const* p QUAD_WHERE) {
#ifdef __CUDACC__
  detail::Bits<T> bits;
  // Volatile, so that no load moves above a barrier or griddepcontrol.wait.
  if constexpr (sizeof(T) == 4) {
    asm volatile("ld.global.nc.L1::no_allocate.b32 %0, [%1];" : "=r"(bits) : "l"(p));
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("ld.global.nc.L1::no_allocate.b64 %0, [%1];" : "=l"(bits) : "l"(p));
  } else {
    asm volatile("ld.global.nc.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
                 : "l"(p));
  }
  return __builtin_bit_cast(T, bits);
#else
  detail::require_alignment(p, sizeof(detail::Bits<T>), "ld.global.nc", where);
  simt::race::read(p, sizeof(T), where);
  T value;
  std::memcpy(static_cast<void*>(&value), static_cast<void const*>(p), sizeof(T));
  return value;
#endif
}

/// Loads 4, 8 or 16 bytes that are read once, also where the kernel writes them later; the lines
/// are the first to leave L1 and L2. PTX ld.global.cs.
template <class T>
QUAD_INSTRUCTION T load_evict_first(T const* p QUAD_WHERE) {
#ifdef __CUDACC__
  detail::Bits<T> bits;
  if constexpr (sizeof(T) == 4) {
    asm volatile("ld.global.cs.b32 %0, [%1];" : "=r"(bits) : "l"(p) : "memory");
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("ld.global.cs.b64 %0, [%1];" : "=l"(bits) : "l"(p) : "memory");
  } else {
    asm volatile("ld.global.cs.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
                 : "l"(p)
                 : "memory");
  }
  return __builtin_bit_cast(T, bits);
#else
  detail::require_alignment(p, sizeof(detail::Bits<T>), "ld.global.cs", where);
  simt::race::read(p, sizeof(T), where);
  T value;
  std::memcpy(static_cast<void*>(&value), static_cast<void const*>(p), sizeof(T));
  return value;
#endif
}

/// Stores 4, 8 or 16 bytes that nobody reads soon; the lines are the first to leave L2.
/// PTX st.global.cs.
template <class T>
QUAD_INSTRUCTION void store_streaming(T* p, std::type_identity_t<T> const& value QUAD_WHERE) {
#ifdef __CUDACC__
  auto const bits = __builtin_bit_cast(detail::Bits<T>, value);
  if constexpr (sizeof(T) == 4) {
    asm volatile("st.global.cs.b32 [%0], %1;" ::"l"(p), "r"(bits) : "memory");
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("st.global.cs.b64 [%0], %1;" ::"l"(p), "l"(bits) : "memory");
  } else {
    asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(bits.x), "r"(bits.y),
                 "r"(bits.z), "r"(bits.w)
                 : "memory");
  }
#else
  detail::require_alignment(p, sizeof(detail::Bits<T>), "st.global.cs", where);
  simt::race::write(p, sizeof(T), where);
  std::memcpy(static_cast<void*>(p), static_cast<void const*>(&value), sizeof(T));
#endif
}

/// Brings the line to L1; any address is allowed. PTX prefetch.global.L1.
QUAD_INSTRUCTION void prefetch_l1([[maybe_unused]] void const* p) {
#ifdef __CUDACC__
  asm volatile("prefetch.global.L1 [%0];" ::"l"(p));
#endif
}

/// Brings the line to L2; any address is allowed. PTX prefetch.global.L2.
QUAD_INSTRUCTION void prefetch_l2([[maybe_unused]] void const* p) {
#ifdef __CUDACC__
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#endif
}

// Atomics, named as in CUDA, by order and scope: <order> is relaxed, acquire, release or acq_rel,
// <scope> cta, gpu or sys. Addresses in global or shared memory.
//
//   T atomic_add_<order>_<scope>(T* p, T v)              u32 s32 u64 f32 f64   atom.add
//   T atomic_min_<order>_<scope>(T* p, T v), _max_       u32 s32 u64 s64       atom.{min,max}
//   T atomic_exchange_<order>_<scope>(T* p, T v)         4 or 8 bytes          atom.exch
//   T atomic_compare_and_swap_<order>_<scope>(T* p, T expected, T v)           atom.cas
//                                                        4 or 8 bytes, compares bits
//   all of these return the value before
//   void red_add_<order>_<scope>(T* p, T v), red_min_, red_max_   <order> relaxed, release   red
//   T load_<order>_<scope>(T const* p)          4 or 8 bytes, <order> relaxed, acquire       ld
//   void store_<order>_<scope>(T* p, T v)       4 or 8 bytes, <order> relaxed, release       st

#ifdef __CUDACC__

namespace detail {
template <class T>
constexpr bool is_word_v = std::is_integral_v<T> && sizeof(T) == 4;
template <class T>
constexpr bool is_long_v = std::is_integral_v<T> && sizeof(T) == 8;
}  // namespace detail

#define QUAD_PTX_ADD(order, scope)                                                   \
  template <class T>                                                                 \
  QUAD_INSTRUCTION T atomic_add_##order##_##scope(T* p, std::type_identity_t<T> v) { \
    T old;                                                                           \
    if constexpr (std::is_same_v<T, float>) {                                        \
      asm volatile("atom." #order "." #scope ".add.f32 %0, [%1], %2;"                \
                   : "=f"(old)                                                       \
                   : "l"(p), "f"(v)                                                  \
                   : "memory");                                                      \
    } else if constexpr (std::is_same_v<T, double>) {                                \
      asm volatile("atom." #order "." #scope ".add.f64 %0, [%1], %2;"                \
                   : "=d"(old)                                                       \
                   : "l"(p), "d"(v)                                                  \
                   : "memory");                                                      \
    } else if constexpr (detail::is_word_v<T>) {                                     \
      asm volatile("atom." #order "." #scope ".add.u32 %0, [%1], %2;"                \
                   : "=r"(old)                                                       \
                   : "l"(p), "r"(v)                                                  \
                   : "memory");                                                      \
    } else {                                                                         \
      static_assert(detail::is_long_v<T>);                                           \
      asm volatile("atom." #order "." #scope ".add.u64 %0, [%1], %2;"                \
                   : "=l"(old)                                                       \
                   : "l"(p), "l"(v)                                                  \
                   : "memory");                                                      \
    }                                                                                \
    return old;                                                                      \
  }

#define QUAD_PTX_MIN_MAX(op, order, scope)                                              \
  template <class T>                                                                    \
  QUAD_INSTRUCTION T atomic_##op##_##order##_##scope(T* p, std::type_identity_t<T> v) { \
    T old;                                                                              \
    if constexpr (detail::is_word_v<T> && std::is_signed_v<T>) {                        \
      asm volatile("atom." #order "." #scope "." #op ".s32 %0, [%1], %2;"               \
                   : "=r"(old)                                                          \
                   : "l"(p), "r"(v)                                                     \
                   : "memory");                                                         \
    } else if constexpr (detail::is_word_v<T>) {                                        \
      asm volatile("atom." #order "." #scope "." #op ".u32 %0, [%1], %2;"               \
                   : "=r"(old)                                                          \
                   : "l"(p), "r"(v)                                                     \
                   : "memory");                                                         \
    } else if constexpr (detail::is_long_v<T> && std::is_signed_v<T>) {                 \
      asm volatile("atom." #order "." #scope "." #op ".s64 %0, [%1], %2;"               \
                   : "=l"(old)                                                          \
                   : "l"(p), "l"(v)                                                     \
                   : "memory");                                                         \
    } else {                                                                            \
      static_assert(detail::is_long_v<T>);                                              \
      asm volatile("atom." #order "." #scope "." #op ".u64 %0, [%1], %2;"               \
                   : "=l"(old)                                                          \
                   : "l"(p), "l"(v)                                                     \
                   : "memory");                                                         \
    }                                                                                   \
    return old;                                                                         \
  }

#define QUAD_PTX_EXCHANGE(order, scope)                                                   \
  template <class T>                                                                      \
  QUAD_INSTRUCTION T atomic_exchange_##order##_##scope(T* p, std::type_identity_t<T> v) { \
    auto const bits = __builtin_bit_cast(detail::Bits<T>, v);                             \
    detail::Bits<T> old;                                                                  \
    if constexpr (sizeof(T) == 4) {                                                       \
      asm volatile("atom." #order "." #scope ".exch.b32 %0, [%1], %2;"                    \
                   : "=r"(old)                                                            \
                   : "l"(p), "r"(bits)                                                    \
                   : "memory");                                                           \
    } else {                                                                              \
      asm volatile("atom." #order "." #scope ".exch.b64 %0, [%1], %2;"                    \
                   : "=l"(old)                                                            \
                   : "l"(p), "l"(bits)                                                    \
                   : "memory");                                                           \
    }                                                                                     \
    return __builtin_bit_cast(T, old);                                                    \
  }                                                                                       \
  template <class T>                                                                      \
  QUAD_INSTRUCTION T atomic_compare_and_swap_##order##_##scope(                           \
      T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v) {                \
    auto const expected_bits = __builtin_bit_cast(detail::Bits<T>, expected);             \
    auto const bits = __builtin_bit_cast(detail::Bits<T>, v);                             \
    detail::Bits<T> old;                                                                  \
    if constexpr (sizeof(T) == 4) {                                                       \
      asm volatile("atom." #order "." #scope ".cas.b32 %0, [%1], %2, %3;"                 \
                   : "=r"(old)                                                            \
                   : "l"(p), "r"(expected_bits), "r"(bits)                                \
                   : "memory");                                                           \
    } else {                                                                              \
      asm volatile("atom." #order "." #scope ".cas.b64 %0, [%1], %2, %3;"                 \
                   : "=l"(old)                                                            \
                   : "l"(p), "l"(expected_bits), "l"(bits)                                \
                   : "memory");                                                           \
    }                                                                                     \
    return __builtin_bit_cast(T, old);                                                    \
  }

#define QUAD_PTX_RED(order, scope)                                                             \
  template <class T>                                                                           \
  QUAD_INSTRUCTION void red_add_##order##_##scope(T* p, std::type_identity_t<T> v) {           \
    if constexpr (std::is_same_v<T, float>) {                                                  \
      asm volatile("red." #order "." #scope ".add.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory"); \
    } else if constexpr (std::is_same_v<T, double>) {                                          \
      asm volatile("red." #order "." #scope ".add.f64 [%0], %1;" ::"l"(p), "d"(v) : "memory"); \
    } else if constexpr (detail::is_word_v<T>) {                                               \
      asm volatile("red." #order "." #scope ".add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); \
    } else {                                                                                   \
      static_assert(detail::is_long_v<T>);                                                     \
      asm volatile("red." #order "." #scope ".add.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); \
    }                                                                                          \
  }

#define QUAD_PTX_RED_MIN_MAX(op, order, scope)                                                     \
  template <class T>                                                                               \
  QUAD_INSTRUCTION void red_##op##_##order##_##scope(T* p, std::type_identity_t<T> v) {            \
    if constexpr (detail::is_word_v<T> && std::is_signed_v<T>) {                                   \
      asm volatile("red." #order "." #scope "." #op ".s32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); \
    } else if constexpr (detail::is_word_v<T>) {                                                   \
      asm volatile("red." #order "." #scope "." #op ".u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); \
    } else if constexpr (detail::is_long_v<T> && std::is_signed_v<T>) {                            \
      asm volatile("red." #order "." #scope "." #op ".s64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); \
    } else {                                                                                       \
      static_assert(detail::is_long_v<T>);                                                         \
      asm volatile("red." #order "." #scope "." #op ".u64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); \
    }                                                                                              \
  }

#define QUAD_PTX_LOAD(order, scope)                                                            \
  template <class T>                                                                           \
  QUAD_INSTRUCTION T load_##order##_##scope(T const* p) {                                      \
    detail::Bits<T> bits;                                                                      \
    if constexpr (sizeof(T) == 4) {                                                            \
      asm volatile("ld." #order "." #scope ".b32 %0, [%1];" : "=r"(bits) : "l"(p) : "memory"); \
    } else {                                                                                   \
      asm volatile("ld." #order "." #scope ".b64 %0, [%1];" : "=l"(bits) : "l"(p) : "memory"); \
    }                                                                                          \
    return __builtin_bit_cast(T, bits);                                                        \
  }

#define QUAD_PTX_STORE(order, scope)                                                         \
  template <class T>                                                                         \
  QUAD_INSTRUCTION void store_##order##_##scope(T* p, std::type_identity_t<T> v) {           \
    auto const bits = __builtin_bit_cast(detail::Bits<T>, v);                                \
    if constexpr (sizeof(T) == 4) {                                                          \
      asm volatile("st." #order "." #scope ".b32 [%0], %1;" ::"l"(p), "r"(bits) : "memory"); \
    } else {                                                                                 \
      asm volatile("st." #order "." #scope ".b64 [%0], %1;" ::"l"(p), "l"(bits) : "memory"); \
    }                                                                                        \
  }

#define QUAD_PTX_FENCE(scope)                               \
  QUAD_INSTRUCTION void fence_acq_rel_##scope() {           \
    asm volatile("fence.acq_rel." #scope ";" ::: "memory"); \
  }

#else

namespace detail {

enum class Order { relaxed, acquire, release, acq_rel };
enum class Scope { cta, gpu, sys };
enum class Update { add, min, max, exchange, compare_and_swap };

/// Stands for an address of device memory in the eyes of one block: what is released at the scope
/// of a block reaches that block alone, as does what is released at any address that is not of
/// device memory.
QUAD_SIMT_MODEL inline void const* key_in_block(void const* p) {
  if (simt::is_shared(p)) return p;
  return reinterpret_cast<void const*>(~reinterpret_cast<std::uintptr_t>(p));
}
QUAD_SIMT_MODEL inline void release(void const* p, Order order, Scope scope) {
  if (!simt::race::enabled() || order == Order::relaxed || order == Order::acquire) return;
  void const* const in_block = key_in_block(p);
  simt::race::release(in_block);
  if (scope != Scope::cta && in_block != p) simt::race::release(p);
}
QUAD_SIMT_MODEL inline void acquire(void const* p, Order order, Scope scope) {
  if (!simt::race::enabled() || order == Order::relaxed || order == Order::release) return;
  void const* const in_block = key_in_block(p);
  simt::race::acquire(in_block);
  if (scope != Scope::cta && in_block != p) simt::race::acquire(p);
}

template <Update kUpdate, class T>
QUAD_SIMT_MODEL T updated(T old, T value) {
  if constexpr (kUpdate == Update::add) {
    // Wraps around where the type is signed.
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Bits<T>>(old) + static_cast<Bits<T>>(value));
    } else {
      return old + value;
    }
  } else if constexpr (kUpdate == Update::min) {
    return value < old ? value : old;
  } else if constexpr (kUpdate == Update::max) {
    return old < value ? value : old;
  } else {
    return value;
  }
}

template <class T>
QUAD_SIMT_MODEL bool same_bits(T a, T b) {
  return __builtin_bit_cast(Bits<T>, a) == __builtin_bit_cast(Bits<T>, b);
}

/// Replaces the value and returns the one before. Blocks share one operating system thread, so that
/// nothing comes between the two.
template <Update kUpdate, class T>
QUAD_SIMT_MODEL T update(T* p, T value, T expected, Order order, Scope scope, simt::Place where) {
  if constexpr (kUpdate == Update::min || kUpdate == Update::max) {
    static_assert(std::is_integral_v<T>);
  } else if constexpr (kUpdate == Update::add) {
    static_assert(std::is_arithmetic_v<T>);
  }
  require_alignment(p, sizeof(T), "atomic", where);
  simt::preempt();
  simt::race::atomic_access(p, sizeof(T), true, where);
  T const old = *p;
  acquire(p, order, scope);
  if (kUpdate != Update::compare_and_swap || same_bits(old, expected)) {
    release(p, order, scope);
    *p = updated<kUpdate, T>(old, value);
  }
  // Nothing changed: a loop that waits for somebody else may be around this.
  if (same_bits(old, *p)) simt::yield(where);
  return old;
}

template <class T>
QUAD_SIMT_MODEL T load(T const* p, Order order, Scope scope, simt::Place where) {
  require_alignment(p, sizeof(T), "atomic load", where);
  simt::yield(where);  // a loop around this waits for somebody else
  simt::race::atomic_access(p, sizeof(T), false, where);
  acquire(p, order, scope);
  return *p;
}

template <class T>
QUAD_SIMT_MODEL void store(T* p, T value, Order order, Scope scope, simt::Place where) {
  require_alignment(p, sizeof(T), "atomic store", where);
  simt::preempt();
  simt::race::atomic_access(p, sizeof(T), true, where);
  release(p, order, scope);
  *p = value;
}

}  // namespace detail

#define QUAD_PTX_UPDATE(op, order, scope)                                                          \
  template <class T>                                                                               \
  QUAD_INSTRUCTION T atomic_##op##_##order##_##scope(T* p, std::type_identity_t<T> v QUAD_WHERE) { \
    return detail::update<detail::Update::op, T>(p, v, T{}, detail::Order::order,                  \
                                                 detail::Scope::scope, where);                     \
  }
#define QUAD_PTX_ADD(order, scope) QUAD_PTX_UPDATE(add, order, scope)
#define QUAD_PTX_MIN_MAX(op, order, scope) QUAD_PTX_UPDATE(op, order, scope)
#define QUAD_PTX_EXCHANGE(order, scope)                                               \
  QUAD_PTX_UPDATE(exchange, order, scope)                                             \
  template <class T>                                                                  \
  QUAD_INSTRUCTION T atomic_compare_and_swap_##order##_##scope(                       \
      T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v QUAD_WHERE) { \
    return detail::update<detail::Update::compare_and_swap, T>(                       \
        p, v, expected, detail::Order::order, detail::Scope::scope, where);           \
  }
#define QUAD_PTX_RED_MIN_MAX(op, order, scope)                                                     \
  template <class T>                                                                               \
  QUAD_INSTRUCTION void red_##op##_##order##_##scope(T* p, std::type_identity_t<T> v QUAD_WHERE) { \
    detail::update<detail::Update::op, T>(p, v, T{}, detail::Order::order, detail::Scope::scope,   \
                                          where);                                                  \
  }
#define QUAD_PTX_RED(order, scope) QUAD_PTX_RED_MIN_MAX(add, order, scope)
#define QUAD_PTX_LOAD(order, scope)                                               \
  template <class T>                                                              \
  QUAD_INSTRUCTION T load_##order##_##scope(T const* p QUAD_WHERE) {              \
    return detail::load<T>(p, detail::Order::order, detail::Scope::scope, where); \
  }
#define QUAD_PTX_STORE(order, scope)                                                          \
  template <class T>                                                                          \
  QUAD_INSTRUCTION void store_##order##_##scope(T* p, std::type_identity_t<T> v QUAD_WHERE) { \
    detail::store<T>(p, v, detail::Order::order, detail::Scope::scope, where);                \
  }
#define QUAD_PTX_FENCE(scope)                                      \
  QUAD_INSTRUCTION void fence_acq_rel_##scope() {                  \
    simt::race::fence(detail::Scope::scope != detail::Scope::cta); \
    simt::preempt();                                               \
  }

#endif

#define QUAD_PTX_ATOMICS(order, scope) \
  QUAD_PTX_ADD(order, scope)           \
  QUAD_PTX_MIN_MAX(min, order, scope)  \
  QUAD_PTX_MIN_MAX(max, order, scope)  \
  QUAD_PTX_EXCHANGE(order, scope)
#define QUAD_PTX_REDS(order, scope)       \
  QUAD_PTX_RED(order, scope)              \
  QUAD_PTX_RED_MIN_MAX(min, order, scope) \
  QUAD_PTX_RED_MIN_MAX(max, order, scope)
#define QUAD_PTX_SCOPE(scope)      \
  QUAD_PTX_ATOMICS(relaxed, scope) \
  QUAD_PTX_ATOMICS(acquire, scope) \
  QUAD_PTX_ATOMICS(release, scope) \
  QUAD_PTX_ATOMICS(acq_rel, scope) \
  QUAD_PTX_REDS(relaxed, scope)    \
  QUAD_PTX_REDS(release, scope)    \
  QUAD_PTX_LOAD(relaxed, scope)    \
  QUAD_PTX_LOAD(acquire, scope)    \
  QUAD_PTX_STORE(relaxed, scope)   \
  QUAD_PTX_STORE(release, scope)   \
  QUAD_PTX_FENCE(scope)

QUAD_PTX_SCOPE(cta)
QUAD_PTX_SCOPE(gpu)
QUAD_PTX_SCOPE(sys)

#undef QUAD_PTX_SCOPE
#undef QUAD_PTX_REDS
#undef QUAD_PTX_ATOMICS
#undef QUAD_PTX_ADD
#undef QUAD_PTX_MIN_MAX
#undef QUAD_PTX_EXCHANGE
#undef QUAD_PTX_RED
#undef QUAD_PTX_RED_MIN_MAX
#undef QUAD_PTX_LOAD
#undef QUAD_PTX_STORE
#undef QUAD_PTX_FENCE
#undef QUAD_PTX_UPDATE

/// Waits at barrier `id` (0 to 15; 0 is that of __syncthreads) for `threads` threads, a multiple of
/// 32, those that only arrive included; whole warps. PTX bar.sync.
QUAD_INSTRUCTION void bar_sync(int id, int threads QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
#else
  simt::barrier(id, static_cast<unsigned>(threads), where, "bar.sync");
#endif
}

/// Counts as arrived at barrier `id` of `threads` threads, without waiting. PTX bar.arrive.
QUAD_INSTRUCTION void bar_arrive(int id, int threads QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
#else
  simt::barrier(id, static_cast<unsigned>(threads), where, "bar.arrive", false, true);
#endif
}

/// True for one lane of `mask`, always the same one. PTX elect.sync.
QUAD_INSTRUCTION bool elect_one(unsigned mask = 0xFFFFFFFFU QUAD_WHERE) {
#ifdef __CUDACC__
  std::uint32_t elected;
  asm volatile(
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

/// Asks for kRegisters registers per thread, more than before; all warps of the warpgroup.
/// PTX setmaxnreg.inc (sm_90a).
template <int kRegisters>
QUAD_INSTRUCTION void setmaxnreg_inc() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
#ifdef __CUDACC__
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
#endif
}

/// Gives registers back until kRegisters per thread are left; all warps of the warpgroup.
/// PTX setmaxnreg.dec (sm_90a).
template <int kRegisters>
QUAD_INSTRUCTION void setmaxnreg_dec() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
#ifdef __CUDACC__
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
#endif
}

/// Lets the next kernel of the stream start, if it was launched to overlap.
/// PTX griddepcontrol.launch_dependents.
QUAD_INSTRUCTION void griddepcontrol_launch_dependents() {
#ifdef __CUDACC__
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Waits until the kernels before this one are complete and their writes visible.
/// PTX griddepcontrol.wait.
QUAD_INSTRUCTION void griddepcontrol_wait() {
#ifdef __CUDACC__
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Picks four of the eight bytes of (b, a), one for each nibble of `selector`; bit 3 of a nibble
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

}  // namespace quadrille::ptx
