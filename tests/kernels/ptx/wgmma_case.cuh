// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/ptx/barriers.cuh"
#include "common/ptx/wgmma.cuh"
#include "kernels/ptx/wgmma_kernels.hpp"

#include <type_traits>

/// A kernel for each shape of wgmma, which takes long to compile: cases are spread over files.
namespace quadrille::test {

using ptx::Major;
using ptx::MatrixDescriptor;
using ptx::Swizzle;

constexpr int kThreads = 128;

/// How the operands of a wgmma lie in shared memory.
struct Shape {
  WgmmaType type;
  int n;
  Major a_major, b_major;
  Swizzle swizzle;
  bool a_in_registers;

  QUAD_HD constexpr unsigned size() const { return bytes_of(type); }
  QUAD_HD constexpr unsigned depth() const { return 256 / size(); }  // K of all steps together
};
constexpr unsigned kSteps = 8;

/// A shape as a type: nvcc 13.0 does not compile kernels whose template arguments are structures.
template <WgmmaType type, int n, Major a, Major b, Swizzle swizzle, bool registers>
struct Fixed {
  static constexpr Shape shape{type, n, a, b, swizzle, registers};
};

/// Rows that boxes of 64, 32, ... elements along M or N need.
QUAD_HD constexpr unsigned padded_rows(Shape s, Major major, unsigned rows) {
  unsigned const along = major == Major::mn ? ptx::span_of(s.swizzle) / s.size() : 8;
  return (rows + along - 1) / along * along;
}

/// Byte of element (row along M or N, k) in an operand of boxes.
QUAD_HD constexpr unsigned place_of(Shape s, Major major, unsigned rows, unsigned row, unsigned k) {
  unsigned const span = ptx::span_of(s.swizzle);
  unsigned const fast = (major == Major::k ? k : row) * s.size();
  unsigned const slow = major == Major::k ? row : k;
  unsigned const box_rows = major == Major::k ? rows : s.depth();
  return ptx::swizzled(s.swizzle, fast / span * box_rows * span + slow * span + fast % span);
}

/// Descriptor of step `step` of such an operand.
__device__ inline MatrixDescriptor descriptor_of(Shape s, Major major, unsigned rows,
                                                 unsigned char const* operand, unsigned step) {
  unsigned const span = ptx::span_of(s.swizzle);
  if (major == Major::mn) {
    return ptx::advanced(ptx::mn_major_descriptor(operand, s.swizzle, s.depth() * span),
                         step * 16 * span);
  }
  unsigned const byte = step * 32;
  unsigned const box_bytes = rows * span;
  return ptx::k_major_descriptor(operand + byte / span * box_bytes + byte % span, s.swizzle,
                                 box_bytes);
}

__device__ inline void put(unsigned char* to, std::uint32_t bits, unsigned size) {
  if (size == 4) {
    *reinterpret_cast<std::uint32_t*>(to) = bits;
  } else if (size == 1) {
    *to = static_cast<unsigned char>(bits);
  } else {
    *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(bits);
  }
}

template <class F, class D, class A>
__device__ void multiply(D& d, A const& a, MatrixDescriptor b, bool accumulate) {
  constexpr Shape s = F::shape;
  if constexpr (s.type == WgmmaType::tf32) {
    ptx::wgmma_tf32<s.n>(d, a, b, accumulate);
  } else if constexpr (s.type == WgmmaType::s8) {
    ptx::wgmma_s8<s.n>(d, a, b, accumulate);
  } else if constexpr (s.type == WgmmaType::e4m3) {
    ptx::wgmma_e4m3<s.n>(d, a, b, accumulate);
  } else if constexpr (s.type == WgmmaType::e5m2) {
    ptx::wgmma_e5m2<s.n>(d, a, b, accumulate);
  } else if constexpr (s.a_in_registers) {
    if constexpr (s.type == WgmmaType::bf16) {
      ptx::wgmma_bf16<s.n, s.b_major>(d, a, b, accumulate);
    } else {
      ptx::wgmma_f16<s.n, s.b_major>(d, a, b, accumulate);
    }
  } else if constexpr (s.type == WgmmaType::bf16) {
    ptx::wgmma_bf16<s.n, s.a_major, s.b_major>(d, a, b, accumulate);
  } else {
    ptx::wgmma_f16<s.n, s.a_major, s.b_major>(d, a, b, accumulate);
  }
}

template <class F>
__global__ void __launch_bounds__(kThreads) wgmma_kernel(WgmmaProblem p) {
  constexpr Shape s = F::shape;
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  constexpr unsigned n = s.n;
  constexpr unsigned a_rows = padded_rows(s, s.a_major, 64);
  constexpr unsigned b_rows = padded_rows(s, s.b_major, n);
  unsigned char* const a_tile = shared;
  unsigned char* const b_tile = shared + a_rows * 256;
  unsigned const t = threadIdx.x;

  // Rolled loops, for the same reason as below.
#pragma unroll 1
  for (unsigned i = t; i < 64 * s.depth(); i += kThreads) {
    put(a_tile + place_of(s, s.a_major, a_rows, i / s.depth(), i % s.depth()), p.a[i], s.size());
  }
#pragma unroll 1
  for (unsigned i = t; i < s.depth() * n; i += kThreads) {
    put(b_tile + place_of(s, s.b_major, b_rows, i % n, i / n), p.b[i], s.size());
  }
  // The tensor cores read what this thread has stored.
  ptx::fence_proxy_async();
  __syncthreads();

  constexpr bool kHalves = s.type == WgmmaType::f16_in_f16;
  constexpr int kCount = s.n / (kHalves ? 4 : 2);
  constexpr bool kIntegers = s.type == WgmmaType::s8;
  using Register =
      std::conditional_t<kHalves, unsigned, std::conditional_t<kIntegers, std::int32_t, float>>;
  Register d[kCount];
  auto const place = [&](int i) {
    int const thread = static_cast<int>(t);
    return ptx::accumulator_row(thread, i) * s.n + ptx::accumulator_column(thread, i);
  };
  // One branch around all, not one for each: there are many of these kernels to compile.
  if (p.c != nullptr) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if constexpr (kHalves) {
        d[i] = p.c[place(2 * i)] | p.c[place(2 * i + 1)] << 16;
      } else if constexpr (kIntegers) {
        d[i] = static_cast<std::int32_t>(p.c[place(i)]);
      } else {
        d[i] = __uint_as_float(p.c[place(i)]);
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) d[i] = 0;
  }

#pragma unroll 1
  for (unsigned step = 0; step < kSteps; ++step) {
    bool const accumulate = step > 0 || p.c != nullptr;
    MatrixDescriptor const b = descriptor_of(s, s.b_major, b_rows, b_tile, step);
    if constexpr (s.a_in_registers) {
      // Four 8-bit elements, two of 16 bits or one of 32, of K = step 32 bytes.
      constexpr unsigned wide = 4 / s.size();
      unsigned a[4];
      for (unsigned i = 0; i < 4; ++i) {
        unsigned const row = t / 32 * 16 + t % 32 / 4 + i % 2 * 8;
        unsigned const k = step * (32 / s.size()) + (i / 2 * 4 + t % 4) * wide;
        a[i] = 0;
        for (unsigned e = 0; e < wide; ++e) {
          a[i] |= p.a[row * s.depth() + k + e] << 8 * s.size() * e;
        }
      }
      ptx::wgmma_fence();
      multiply<F>(d, a, b, accumulate);
      ptx::wgmma_commit();
      ptx::wgmma_wait<0>(d);  // and overwritten in the next step
    } else {
      ptx::wgmma_fence();
      multiply<F>(d, descriptor_of(s, s.a_major, a_rows, a_tile, step), b, accumulate);
      ptx::wgmma_commit();
    }
  }
  ptx::wgmma_wait<0>(d);

#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if constexpr (kHalves) {
      p.d[place(2 * i)] = d[i] & 0xFFFF;
      p.d[place(2 * i + 1)] = d[i] >> 16;
    } else if constexpr (kIntegers) {
      p.d[place(i)] = static_cast<std::uint32_t>(d[i]);
    } else {
      p.d[place(i)] = __float_as_uint(d[i]);
    }
  }
}

template <class F>
void launch_wgmma(WgmmaProblem const& problem, device::StreamView stream) {
  constexpr Shape s = F::shape;
  unsigned const bytes = (padded_rows(s, s.a_major, 64) + padded_rows(s, s.b_major, s.n)) * 256;
  QUAD_LAUNCH((wgmma_kernel<F>), 1, kThreads, bytes, stream, problem);
}

template <class F>
constexpr WgmmaCase case_of() {
  constexpr Shape s = F::shape;
  return {s.type,
          s.n,
          s.a_major == Major::mn,
          s.b_major == Major::mn,
          s.swizzle,
          s.a_in_registers,
          launch_wgmma<F>};
}

#define QUAD_CASE(type, n, a, b, swizzle, registers) \
  case_of<Fixed<WgmmaType::type, n, Major::a, Major::b, Swizzle::swizzle, registers>>()
// Eight N from the least to the greatest.
#define QUAD_CASES(type, a, b, registers)                                                          \
  QUAD_CASE(type, 8, a, b, bytes_128, registers), QUAD_CASE(type, 16, a, b, bytes_128, registers), \
      QUAD_CASE(type, 32, a, b, bytes_128, registers),                                             \
      QUAD_CASE(type, 64, a, b, bytes_128, registers),                                             \
      QUAD_CASE(type, 96, a, b, bytes_128, registers),                                             \
      QUAD_CASE(type, 128, a, b, bytes_128, registers),                                            \
      QUAD_CASE(type, 192, a, b, bytes_128, registers),                                            \
      QUAD_CASE(type, 256, a, b, bytes_128, registers)
// The other N. A in registers takes every number in the line of an N.
#define QUAD_OTHER_N(type)                                                                      \
  QUAD_CASE(type, 24, k, k, bytes_128, true), QUAD_CASE(type, 40, k, k, bytes_128, true),       \
      QUAD_CASE(type, 48, k, k, bytes_128, true), QUAD_CASE(type, 56, k, k, bytes_128, true),   \
      QUAD_CASE(type, 80, k, k, bytes_128, true), QUAD_CASE(type, 112, k, k, bytes_128, true),  \
      QUAD_CASE(type, 144, k, k, bytes_128, true), QUAD_CASE(type, 160, k, k, bytes_128, true), \
      QUAD_CASE(type, 176, k, k, bytes_128, true), QUAD_CASE(type, 208, k, k, bytes_128, true), \
      QUAD_CASE(type, 224, k, k, bytes_128, true), QUAD_CASE(type, 240, k, k, bytes_128, true)
// Some N.
#define QUAD_SOME(type, a, b, registers)               \
  QUAD_CASE(type, 16, a, b, bytes_128, registers),     \
      QUAD_CASE(type, 96, a, b, bytes_128, registers), \
      QUAD_CASE(type, 256, a, b, bytes_128, registers)
// Other swizzles.
#define QUAD_SWIZZLES(type, n, a, b)                                                \
  QUAD_CASE(type, n, a, b, none, false), QUAD_CASE(type, n, a, b, bytes_32, false), \
      QUAD_CASE(type, n, a, b, bytes_64, false)

}  // namespace quadrille::test
