// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Matrix instructions of a warp: ldmatrix, stmatrix, mma and wmma.

#include "common/ptx/instruction.cuh"

#ifdef QUAD_KERNELS

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#ifdef __CUDACC__
#include <mma.h>
#else
#include <cmath>
#endif

namespace quadrille::ptx {

// Fragments of the mma instructions: which element of the matrix a lane holds as its element i.
// With g = lane / 4 and t = lane % 4. f16 and bf16 elements lie in pairs in 32-bit registers, the
// even one in the low half, s8 in fours, the first one lowest; tf32 and f64 elements have one
// register each.
//
//   c, d (m x 8)         i = 0, 1: row g, columns 2t, 2t+1;  i = 2, 3: the same in row g + 8
//   a (m x k), 16 bits   pairs in columns 2t, 2t+1 of the rows g, g + 8; then again 8 columns on
//   a (m x k), 8 bits    fours in columns 4t to 4t+3 of the rows g, g + 8; then again 16 columns on
//   a (m x k), wider     column t of the rows g, g + 8; then again 4 columns on.
//                        With m = 8 the one element is at row g, column t
//   b (k x 8), 16 bits   pairs in rows 2t, 2t+1 of column g; then again 8 rows on
//   b (k x 8), 8 bits    fours in rows 4t to 4t+3 of column g; then again 16 rows on
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
  if (bytes == 1) return {lane / 4 + 8 * (i / 4 % 2), 4 * (lane % 4) + i % 4 + 16 * (i / 8)};
  if (bytes == 2) return {lane / 4 + 8 * (i / 2 % 2), 2 * (lane % 4) + i % 2 + 8 * (i / 4)};
  return {lane / 4 + 8 * (i % 2), lane % 4 + 4 * (i / 2)};
}
/// Element i of B that a lane holds; `bytes` is the size of an element.
QUAD_LAYOUT constexpr Element b_element(int bytes, int lane, int i) {
  if (bytes == 1) return {4 * (lane % 4) + i % 4 + 16 * (i / 4), lane / 4};
  if (bytes == 2) return {2 * (lane % 4) + i % 2 + 8 * (i / 2), lane / 4};
  return {lane % 4 + 4 * i, lane / 4};
}

#ifndef __CUDACC__
namespace detail {

/// What one lane passes to ldmatrix or stmatrix.
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
      simt::traffic::access(row, 16, simt::traffic::Kind::load, where);
    } else {
      simt::race::write(const_cast<void*>(row), 16, where);
      simt::traffic::access(row, 16, simt::traffic::Kind::store, where);
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
  QUAD_ASM_SM90(
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
  QUAD_ASM_SM90(
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
  QUAD_ASM_SM90("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
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
  QUAD_ASM_SM90("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(
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
  QUAD_ASM_SM90("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(
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
  QUAD_ASM_SM90("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
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

/// Four numbers as e4m3, rounded to nearest even, the first one lowest; what is too large becomes the largest
/// number. PTX cvt.rn.satfinite.e4m3x2.f32 (sm_89).
QUAD_INSTRUCTION std::uint32_t to_e4m3(float a, float b, float c, float d) {
#ifdef __CUDACC__
  std::uint32_t word = 0;
  QUAD_ASM_SM90(
      "{\n"
      ".reg .b16 low, high;\n"
      "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
      "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
      "mov.b32 %0, {low, high};\n"
      "}"
      : "=r"(word)
      : "f"(a), "f"(b), "f"(c), "f"(d));
  return word;
#else
  constexpr float kMax = 448;
  std::uint32_t word = 0;
  float const values[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    float const value =
        std::isnan(values[i]) ? values[i] : std::fmin(std::fmax(values[i], -kMax), kMax);
    word |= std::uint32_t{core::e4m3{value}.bits} << 8 * i;
  }
  return word;
#endif
}

#ifndef __CUDACC__
namespace detail {

struct Tf32 {
  std::uint32_t bits;
};

// Without branches: the conversions are what the models of the matrix products spend most time on.
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
/// Integers are added modulo 2^32.
QUAD_MODEL_PART std::uint32_t widen(std::int8_t value) { return static_cast<std::uint32_t>(value); }
QUAD_MODEL_PART std::uint32_t widen(std::int32_t value) {
  return static_cast<std::uint32_t>(value);
}
QUAD_MODEL_PART void narrow(float value, float& to) { to = value; }
QUAD_MODEL_PART void narrow(float value, __half& to) { to = __float2half(value); }
QUAD_MODEL_PART void narrow(double value, double& to) { to = value; }
QUAD_MODEL_PART void narrow(std::uint32_t value, std::int32_t& to) {
  to = static_cast<std::int32_t>(value);
}

/// Element i of a lane's registers.
template <class T>
QUAD_MODEL_PART T element(void const* registers, int i) {
  T value;
  std::memcpy(static_cast<void*>(&value),
              static_cast<unsigned char const*>(registers) + sizeof(T) * static_cast<unsigned>(i),
              sizeof(T));
  return value;
}

/// What one lane passes to mma: d += a b.
struct Operands {
  void* d;
  void const* a;
  void const* b;
};

/// kM x 8 += kM x kK times kK x 8. Products of the narrow types are exact in f32; they are
/// added in the order of k, where the tensor cores have an order and a rounding of their own.
template <int kM, int kK, class T, class Accumulator>
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
      c[row][column] = widen(element<Accumulator>(own.d, i));
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
      Accumulator value;
      narrow(c[row][column], value);
      std::memcpy(
          static_cast<unsigned char*>(own.d) + sizeof(Accumulator) * static_cast<unsigned>(i),
          static_cast<void const*>(&value), sizeof(Accumulator));
    }
  }
}

template <int kM, int kK, class T, class Accumulator>
QUAD_SIMT_MODEL void mma(void* d, void const* a, void const* b, char const* what,
                         simt::Place where) {
  Operands argument{d, a, b};
  simt::warp_meet(~0U, multiply<kM, kK, T, Accumulator>, &argument, where, what, false);
}

}  // namespace detail
#endif

/// d += a b, 16 x 8 x 16, f16 with f32 accumulators. PTX mma.m16n8k16.f32.f16.f16.f32.
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

/// d += a b, 16 x 8 x 16, f16 with f16 accumulators. PTX mma.m16n8k16.f16.f16.f16.f16.
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

/// d += a b, 16 x 8 x 16, bf16 with f32 accumulators. PTX mma.m16n8k16.f32.bf16.bf16.f32.
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

/// d += a b, 16 x 8 x 8, tf32 (see to_tf32) with f32 accumulators. PTX
/// mma.m16n8k8.f32.tf32.tf32.f32.
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

/// d += a b, 16 x 8 x 4, tf32 with f32 accumulators. PTX mma.m16n8k4.f32.tf32.tf32.f32.
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

/// d += a b, 16 x 8 x 32, s8 with s32 accumulators, which wrap around. PTX mma.m16n8k32.s32.s8.s8.s32.
QUAD_INSTRUCTION void mma_m16n8k32_s8(std::int32_t (&d)[4], std::uint32_t const (&a)[4],
                                      std::uint32_t const (&b)[2] QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  detail::mma<16, 32, std::int8_t, std::int32_t>(d, a, b, "mma.m16n8k32.s8", where);
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
  QUAD_ASM_SM90(
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
  QUAD_ASM_SM90(
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
  QUAD_ASM_SM90(
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

/// The fragment interface, 16 x 16 x 16, for f16 operands with f16 or f32 accumulators and for bf16
/// operands with f32 accumulators: fragment, fill_fragment, load_matrix_sync, mma_sync, store_matrix_sync as in nvcuda::wmma (PTX wmma). How
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

/// Checks what the manual requires of a matrix in memory; the warp synchronises.
template <class T>
QUAD_SIMT_MODEL void begin_wmma(T const* matrix, unsigned stride, char const* what,
                                simt::Place where) {
  require_alignment(matrix, 32, what, where);
  if (stride * sizeof(T) % 16 != 0) {
    simt::fail(std::string{what} + ": rows must start at multiples of 16 bytes", where);
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

/// What one lane passes to wmma::mma_sync: d = a b + c.
template <class T, class D, class C>
struct WmmaOperands {
  D* d;
  T const* a;
  T const* b;
  C const* c;
};

template <class T, class D, class C>
QUAD_SIMT_MODEL void multiply_wmma(void** lanes, unsigned) {
  float a[16][16], b[16][16], accumulators[16][16];
  for (int lane = 0; lane < 32; ++lane) {
    auto const& own = *static_cast<WmmaOperands<T, D, C> const*>(lanes[lane]);
    for (int i = 0; i < 8; ++i) {
      Element e = wmma_element<wmma::matrix_a>(lane, i);
      a[e.row][e.column] = widen(own.a[i]);
      e = wmma_element<wmma::matrix_b>(lane, i);
      b[e.row][e.column] = widen(own.b[i]);
      e = wmma_element<wmma::accumulator>(lane, i);
      accumulators[e.row][e.column] = widen(own.c[i]);
    }
  }
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < 16; ++k) {
      for (int column = 0; column < 16; ++column) {
        accumulators[row][column] += a[row][k] * b[k][column];
      }
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    auto const& own = *static_cast<WmmaOperands<T, D, C> const*>(lanes[lane]);
    for (int i = 0; i < 8; ++i) {
      Element const e = wmma_element<wmma::accumulator>(lane, i);
      narrow(accumulators[e.row][e.column], own.d[i]);
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

template <class Use, class T, class Layout>
QUAD_SIMT_MODEL void load_matrix_sync(
    fragment<Use, 16, 16, 16, T, Layout>& f, T const* matrix, unsigned stride,
    std::source_location where = std::source_location::current()) {
  detail::begin_wmma(matrix, stride, "wmma.load", where);
  detail::move_wmma<true, Use>(f.x, const_cast<T*>(matrix), stride,
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

template <class T, class D, class A, class B, class C>
QUAD_SIMT_MODEL void mma_sync(fragment<accumulator, 16, 16, 16, D>& d,
                              fragment<matrix_a, 16, 16, 16, T, A> const& a,
                              fragment<matrix_b, 16, 16, 16, T, B> const& b,
                              fragment<accumulator, 16, 16, 16, C> const& c,
                              std::source_location where = std::source_location::current()) {
  detail::WmmaOperands<T, D, C> argument{d.x, a.x, b.x, c.x};
  simt::warp_meet(~0U, detail::multiply_wmma<T, D, C>, &argument, where, "wmma.mma", false);
}

}  // namespace wmma
#endif

}  // namespace quadrille::ptx

#endif  // QUAD_KERNELS
