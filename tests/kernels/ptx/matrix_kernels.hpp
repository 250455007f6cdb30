// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

#include <cstdint>

/// Kernels around the instructions of common/ptx/matrix.cuh. Pointers are to device memory.
namespace quadrille::test {

/// The matrices are the rows of 8 elements of `rows`, taken from the last to the first; registers
/// are by lane. `shift`, in elements, misaligns the rows in shared memory.
void launch_ldmatrix(int count, bool transposed, std::uint16_t const* rows,
                     std::uint32_t* registers, int shift, device::StreamView stream);
void launch_stmatrix(int count, bool transposed, std::uint32_t const* registers,
                     std::uint16_t* rows, int shift, device::StreamView stream);

/// d = c + 2 a b: a is m x k by rows, b is k x 8 (by columns where elements have 16 bits), c and d
/// are m x 8 by rows.
void launch_mma_f16(std::uint16_t const* a, std::uint16_t const* b, float const* c, float* d,
                    device::StreamView stream);
void launch_mma_f16_f16(std::uint16_t const* a, std::uint16_t const* b, std::uint16_t const* c,
                        std::uint16_t* d, device::StreamView stream);
void launch_mma_bf16(std::uint16_t const* a, std::uint16_t const* b, float const* c, float* d,
                     device::StreamView stream);
void launch_mma_s8(std::int8_t const* a, std::int8_t const* b, std::int32_t const* c,
                   std::int32_t* d, device::StreamView stream);
void launch_mma_tf32(int k, std::uint32_t const* a, std::uint32_t const* b, float const* c,
                     float* d, device::StreamView stream);
void launch_mma_f64(int m, int k, double const* a, double const* b, double const* c, double* d,
                    device::StreamView stream);
void launch_to_tf32(float const* values, std::uint32_t* rounded, int n, device::StreamView stream);
/// 4 n values, n words.
void launch_to_e4m3(float const* values, std::uint32_t* rounded, int n, device::StreamView stream);

/// How the matrices of a wmma product lie in memory; the type of a and b.
struct WmmaLayout {
  bool a_by_rows, b_by_rows, c_by_rows;
  unsigned a_stride, b_stride, c_stride;
  bool is_bf16 = false;
};
/// d = a b + c, 16 x 16 x 16, elements of a and b in f16 or bf16, of c and d in f32 or f16; c * 2 where
/// `twice`, by the elements of its fragment.
void launch_wmma(WmmaLayout const& layout, std::uint16_t const* a, std::uint16_t const* b,
                 float const* c, float* d, bool twice, device::StreamView stream);
void launch_wmma(WmmaLayout const& layout, std::uint16_t const* a, std::uint16_t const* b,
                 std::uint16_t const* c, std::uint16_t* d, bool twice, device::StreamView stream);

}  // namespace quadrille::test
