// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
//
// Fragments are filled here by the formulas of the PTX manual, not by the functions of matrix.cuh that
// its models use.

#include "common/ptx/matrix.cuh"
#include "kernels/ptx/matrix_kernels.hpp"

namespace quadrille::test {
namespace {

constexpr unsigned kWarp = 32;

constexpr int kPitch = 24;  // elements, so that rows are aligned to 16 bytes and apart

template <int kCount>
__device__ int row_of_lane(int lane) {
  return lane < 8 * kCount ? (8 * kCount - 1 - lane) * kPitch : 1;  // of the rest it is not used
}

template <int kCount, bool kTransposed>
__global__ void ptx_ldmatrix_kernel(std::uint16_t const* rows, std::uint32_t* registers,
                                    int shift) {
  QUAD_SHARED(std::uint16_t, shared, [kWarp * kPitch]);
  int const lane = static_cast<int>(threadIdx.x);
  for (int j = 0; j < 8; ++j) shared[lane * kPitch + j] = rows[lane * 8 + j];
  __syncthreads();
  std::uint32_t r[kCount];
  std::uint16_t const* const row = &shared[row_of_lane<kCount>(lane) + shift];
  if constexpr (kCount == 1) {
    kTransposed ? ptx::ldmatrix_x1_trans(r, row) : ptx::ldmatrix_x1(r, row);
  } else if constexpr (kCount == 2) {
    kTransposed ? ptx::ldmatrix_x2_trans(r, row) : ptx::ldmatrix_x2(r, row);
  } else {
    kTransposed ? ptx::ldmatrix_x4_trans(r, row) : ptx::ldmatrix_x4(r, row);
  }
  for (int i = 0; i < kCount; ++i) registers[lane * kCount + i] = r[i];
}

template <int kCount, bool kTransposed>
__global__ void ptx_stmatrix_kernel(std::uint32_t const* registers, std::uint16_t* rows,
                                    int shift) {
  QUAD_SHARED(std::uint16_t, shared, [kWarp * kPitch]);
  int const lane = static_cast<int>(threadIdx.x);
  for (int j = 0; j < 8; ++j) shared[lane * kPitch + j] = 0xFFFF;
  __syncthreads();
  std::uint32_t r[kCount];
  for (int i = 0; i < kCount; ++i) r[i] = registers[lane * kCount + i];
  std::uint16_t* const row = &shared[row_of_lane<kCount>(lane) + shift];
  if constexpr (kCount == 1) {
    kTransposed ? ptx::stmatrix_x1_trans(row, r) : ptx::stmatrix_x1(row, r);
  } else if constexpr (kCount == 2) {
    kTransposed ? ptx::stmatrix_x2_trans(row, r) : ptx::stmatrix_x2(row, r);
  } else {
    kTransposed ? ptx::stmatrix_x4_trans(row, r) : ptx::stmatrix_x4(row, r);
  }
  __syncthreads();
  for (int j = 0; j < 8; ++j) rows[lane * 8 + j] = shared[lane * kPitch + j];
}

__device__ std::uint32_t pair(std::uint16_t const* p) {
  return p[0] | static_cast<std::uint32_t>(p[1]) << 16;
}

template <bool kBf16>
__global__ void ptx_mma_16_bit_kernel(std::uint16_t const* a, std::uint16_t const* b,
                                      float const* c, float* d) {
  int const g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
  std::uint32_t const a_pairs[4] = {pair(a + g * 16 + 2 * t), pair(a + (g + 8) * 16 + 2 * t),
                                    pair(a + g * 16 + 2 * t + 8),
                                    pair(a + (g + 8) * 16 + 2 * t + 8)};
  std::uint32_t const b_pairs[2] = {pair(b + g * 16 + 2 * t), pair(b + g * 16 + 2 * t + 8)};
  int const places[4] = {g * 8 + 2 * t, g * 8 + 2 * t + 1, (g + 8) * 8 + 2 * t,
                         (g + 8) * 8 + 2 * t + 1};
  float sum[4] = {c[places[0]], c[places[1]], c[places[2]], c[places[3]]};
  for (int twice = 0; twice < 2; ++twice) {
    if constexpr (kBf16) {
      ptx::mma_m16n8k16_bf16(sum, a_pairs, b_pairs);
    } else {
      ptx::mma_m16n8k16_f16(sum, a_pairs, b_pairs);
    }
  }
  for (int i = 0; i < 4; ++i) d[places[i]] = sum[i];
}

__global__ void ptx_mma_f16_f16_kernel(std::uint16_t const* a, std::uint16_t const* b,
                                       std::uint16_t const* c, std::uint16_t* d) {
  int const g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
  std::uint32_t const a_pairs[4] = {pair(a + g * 16 + 2 * t), pair(a + (g + 8) * 16 + 2 * t),
                                    pair(a + g * 16 + 2 * t + 8),
                                    pair(a + (g + 8) * 16 + 2 * t + 8)};
  std::uint32_t const b_pairs[2] = {pair(b + g * 16 + 2 * t), pair(b + g * 16 + 2 * t + 8)};
  std::uint32_t sum[2] = {pair(c + g * 8 + 2 * t), pair(c + (g + 8) * 8 + 2 * t)};
  for (int twice = 0; twice < 2; ++twice) ptx::mma_m16n8k16_f16(sum, a_pairs, b_pairs);
  for (int i = 0; i < 2; ++i) {
    d[(g + 8 * i) * 8 + 2 * t] = static_cast<std::uint16_t>(sum[i]);
    d[(g + 8 * i) * 8 + 2 * t + 1] = static_cast<std::uint16_t>(sum[i] >> 16);
  }
}

template <int kK>
__global__ void ptx_mma_tf32_kernel(std::uint32_t const* a, std::uint32_t const* b, float const* c,
                                    float* d) {
  int const g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
  std::uint32_t a_registers[kK / 2], b_registers[kK / 4];
  for (int step = 0; step < kK / 4; ++step) {
    a_registers[2 * step] = a[g * kK + t + 4 * step];
    a_registers[2 * step + 1] = a[(g + 8) * kK + t + 4 * step];
    b_registers[step] = b[(t + 4 * step) * 8 + g];
  }
  int const places[4] = {g * 8 + 2 * t, g * 8 + 2 * t + 1, (g + 8) * 8 + 2 * t,
                         (g + 8) * 8 + 2 * t + 1};
  float sum[4] = {c[places[0]], c[places[1]], c[places[2]], c[places[3]]};
  for (int twice = 0; twice < 2; ++twice) {
    if constexpr (kK == 8) {
      ptx::mma_m16n8k8_tf32(sum, a_registers, b_registers);
    } else {
      ptx::mma_m16n8k4_tf32(sum, a_registers, b_registers);
    }
  }
  for (int i = 0; i < 4; ++i) d[places[i]] = sum[i];
}

__global__ void ptx_mma_s8_kernel(std::int8_t const* a, std::int8_t const* b, std::int32_t const* c,
                                  std::int32_t* d) {
  int const g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
  auto const four = [](std::int8_t const* p) {  // p is not aligned
    std::uint32_t bits = 0;
    for (int i = 0; i < 4; ++i) {
      bits |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(p[i])) << 8 * i;
    }
    return bits;
  };
  std::uint32_t const a_fours[4] = {four(a + g * 32 + 4 * t), four(a + (g + 8) * 32 + 4 * t),
                                    four(a + g * 32 + 4 * t + 16),
                                    four(a + (g + 8) * 32 + 4 * t + 16)};
  std::uint32_t const b_fours[2] = {four(b + g * 32 + 4 * t), four(b + g * 32 + 4 * t + 16)};
  std::int32_t sum[4];
  for (int i = 0; i < 4; ++i) sum[i] = c[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2];
  for (int twice = 0; twice < 2; ++twice) ptx::mma_m16n8k32_s8(sum, a_fours, b_fours);
  for (int i = 0; i < 4; ++i) d[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = sum[i];
}

template <int kM, int kK>
__global__ void ptx_mma_f64_kernel(double const* a, double const* b, double const* c, double* d) {
  int const g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
  constexpr int kHalves = kM / 8;
  double a_registers[kHalves * kK / 4], b_registers[kK / 4], sum[2 * kHalves];
  for (int step = 0; step < kK / 4; ++step) {
    for (int half = 0; half < kHalves; ++half) {
      a_registers[kHalves * step + half] = a[(g + 8 * half) * kK + t + 4 * step];
    }
    b_registers[step] = b[(t + 4 * step) * 8 + g];
  }
  for (int i = 0; i < 2 * kHalves; ++i) sum[i] = c[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2];
  for (int twice = 0; twice < 2; ++twice) {
    if constexpr (kM == 8) {
      ptx::mma_m8n8k4_f64(sum, a_registers, b_registers);
    } else if constexpr (kK == 4) {
      ptx::mma_m16n8k4_f64(sum, a_registers, b_registers);
    } else if constexpr (kK == 8) {
      ptx::mma_m16n8k8_f64(sum, a_registers, b_registers);
    } else {
      ptx::mma_m16n8k16_f64(sum, a_registers, b_registers);
    }
  }
  for (int i = 0; i < 2 * kHalves; ++i) d[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = sum[i];
}

__global__ void ptx_to_tf32_kernel(float const* values, std::uint32_t* rounded, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) rounded[i] = ptx::to_tf32(values[i]);
}

__global__ void ptx_to_e4m3_kernel(float const* values, std::uint32_t* rounded, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  float const* const four = values + 4 * i;
  rounded[i] = ptx::to_e4m3(four[0], four[1], four[2], four[3]);
}

template <class T, class ALayout, class BLayout, class Sum>
__global__ void ptx_wmma_kernel(WmmaLayout layout, T const* a, T const* b, Sum const* c, Sum* d,
                                bool twice) {
  namespace wmma = ptx::wmma;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, ALayout> a_part;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, T, BLayout> b_part;
  wmma::fragment<wmma::accumulator, 16, 16, 16, Sum> sum;
  auto const c_layout = layout.c_by_rows ? wmma::mem_row_major : wmma::mem_col_major;
  if (c != nullptr) {
    wmma::load_matrix_sync(sum, c, layout.c_stride, c_layout);
  } else {
    wmma::fill_fragment(sum, static_cast<Sum>(3.0F));
  }
  if (twice) {
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] + sum.x[i];
  }
  wmma::load_matrix_sync(a_part, a, layout.a_stride);
  wmma::load_matrix_sync(b_part, b, layout.b_stride);
  wmma::mma_sync(sum, a_part, b_part, sum);
  wmma::store_matrix_sync(d, sum, layout.c_stride, c_layout);
}

template <class T, class Sum>
void launch_wmma_of(WmmaLayout const& layout, std::uint16_t const* a_bits,
                    std::uint16_t const* b_bits, Sum const* c, Sum* d, bool twice,
                    device::StreamView stream) {
  auto const* const a = reinterpret_cast<T const*>(a_bits);
  auto const* const b = reinterpret_cast<T const*>(b_bits);
  using Row = ptx::wmma::row_major;
  using Column = ptx::wmma::col_major;
  auto const launch = [&](auto kernel) {
    QUAD_LAUNCH(kernel, 1, kWarp, 0, stream, layout, a, b, c, d, twice);
  };
  if (layout.a_by_rows) {
    if (layout.b_by_rows) {
      launch(ptx_wmma_kernel<T, Row, Row, Sum>);
    } else {
      launch(ptx_wmma_kernel<T, Row, Column, Sum>);
    }
  } else {
    if (layout.b_by_rows) {
      launch(ptx_wmma_kernel<T, Column, Row, Sum>);
    } else {
      launch(ptx_wmma_kernel<T, Column, Column, Sum>);
    }
  }
}

}  // namespace

void launch_ldmatrix(int count, bool transposed, std::uint16_t const* rows,
                     std::uint32_t* registers, int shift, device::StreamView stream) {
  auto const plain = count == 1   ? ptx_ldmatrix_kernel<1, false>
                     : count == 2 ? ptx_ldmatrix_kernel<2, false>
                                  : ptx_ldmatrix_kernel<4, false>;
  auto const trans = count == 1   ? ptx_ldmatrix_kernel<1, true>
                     : count == 2 ? ptx_ldmatrix_kernel<2, true>
                                  : ptx_ldmatrix_kernel<4, true>;
  QUAD_LAUNCH((transposed ? trans : plain), 1, kWarp, 0, stream, rows, registers, shift);
}

void launch_stmatrix(int count, bool transposed, std::uint32_t const* registers,
                     std::uint16_t* rows, int shift, device::StreamView stream) {
  auto const plain = count == 1   ? ptx_stmatrix_kernel<1, false>
                     : count == 2 ? ptx_stmatrix_kernel<2, false>
                                  : ptx_stmatrix_kernel<4, false>;
  auto const trans = count == 1   ? ptx_stmatrix_kernel<1, true>
                     : count == 2 ? ptx_stmatrix_kernel<2, true>
                                  : ptx_stmatrix_kernel<4, true>;
  QUAD_LAUNCH((transposed ? trans : plain), 1, kWarp, 0, stream, registers, rows, shift);
}

void launch_mma_f16(std::uint16_t const* a, std::uint16_t const* b, float const* c, float* d,
                    device::StreamView stream) {
  QUAD_LAUNCH(ptx_mma_16_bit_kernel<false>, 1, kWarp, 0, stream, a, b, c, d);
}

void launch_mma_f16_f16(std::uint16_t const* a, std::uint16_t const* b, std::uint16_t const* c,
                        std::uint16_t* d, device::StreamView stream) {
  QUAD_LAUNCH(ptx_mma_f16_f16_kernel, 1, kWarp, 0, stream, a, b, c, d);
}

void launch_mma_bf16(std::uint16_t const* a, std::uint16_t const* b, float const* c, float* d,
                     device::StreamView stream) {
  QUAD_LAUNCH(ptx_mma_16_bit_kernel<true>, 1, kWarp, 0, stream, a, b, c, d);
}

void launch_mma_s8(std::int8_t const* a, std::int8_t const* b, std::int32_t const* c,
                   std::int32_t* d, device::StreamView stream) {
  QUAD_LAUNCH(ptx_mma_s8_kernel, 1, kWarp, 0, stream, a, b, c, d);
}

void launch_mma_tf32(int k, std::uint32_t const* a, std::uint32_t const* b, float const* c,
                     float* d, device::StreamView stream) {
  auto const kernel = k == 4 ? ptx_mma_tf32_kernel<4> : ptx_mma_tf32_kernel<8>;
  QUAD_LAUNCH(kernel, 1, kWarp, 0, stream, a, b, c, d);
}

void launch_mma_f64(int m, int k, double const* a, double const* b, double const* c, double* d,
                    device::StreamView stream) {
  auto const kernel = m == 8   ? ptx_mma_f64_kernel<8, 4>
                      : k == 4 ? ptx_mma_f64_kernel<16, 4>
                      : k == 8 ? ptx_mma_f64_kernel<16, 8>
                               : ptx_mma_f64_kernel<16, 16>;
  QUAD_LAUNCH(kernel, 1, kWarp, 0, stream, a, b, c, d);
}

void launch_to_tf32(float const* values, std::uint32_t* rounded, int n, device::StreamView stream) {
  QUAD_LAUNCH(ptx_to_tf32_kernel, static_cast<unsigned>((n + 127) / 128), 128, 0, stream, values,
              rounded, n);
}

void launch_to_e4m3(float const* values, std::uint32_t* rounded, int n, device::StreamView stream) {
  QUAD_LAUNCH(ptx_to_e4m3_kernel, static_cast<unsigned>((n + 127) / 128), 128, 0, stream, values,
              rounded, n);
}

void launch_wmma(WmmaLayout const& layout, std::uint16_t const* a, std::uint16_t const* b,
                 float const* c, float* d, bool twice, device::StreamView stream) {
  if (layout.is_bf16) {
    launch_wmma_of<__nv_bfloat16>(layout, a, b, c, d, twice, stream);
  } else {
    launch_wmma_of<__half>(layout, a, b, c, d, twice, stream);
  }
}

void launch_wmma(WmmaLayout const& layout, std::uint16_t const* a, std::uint16_t const* b,
                 std::uint16_t const* c, std::uint16_t* d, bool twice, device::StreamView stream) {
  launch_wmma_of<__half>(layout, a, b, reinterpret_cast<__half const*>(c),
                         reinterpret_cast<__half*>(d), twice, stream);
}

}  // namespace quadrille::test
