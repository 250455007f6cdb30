// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/ptx/barriers.cuh"
#include "common/ptx/bulk_copies.cuh"
#include "common/ptx/threads.cuh"
#include "common/ptx/wgmma.cuh"
#include "kernels/ptx/wgmma_case.cuh"

namespace quadrille::test {
namespace {

using namespace ptx;  // most lines below are about these instructions

constexpr WgmmaCase kCases[] = {
    QUAD_CASES(f16_in_f16, k, mn, false),
    QUAD_SOME(f16_in_f16, mn, k, false),
    QUAD_SOME(f16_in_f16, k, k, true),
    QUAD_CASES(bf16, k, k, false),
    QUAD_CASES(bf16, mn, mn, false),
    QUAD_SOME(bf16, k, mn, true),
    QUAD_SWIZZLES(bf16, 96, k, mn),
    QUAD_CASES(tf32, k, k, false),
    QUAD_SOME(tf32, k, k, true),
    QUAD_SWIZZLES(tf32, 64, k, k),
    QUAD_CASES(s8, k, k, false),
    QUAD_SWIZZLES(s8, 48, k, k),
    QUAD_CASES(e4m3, k, k, false),
    QUAD_CASE(e4m3, 160, k, k, bytes_128, false),
    QUAD_SOME(e4m3, k, k, true),
    QUAD_SOME(e5m2, k, k, false),
    QUAD_OTHER_N(f16_in_f16),
    QUAD_CASE(bf16, 208, mn, mn, bytes_128, false),
    QUAD_CASE(tf32, 160, k, k, bytes_128, false),
};

constexpr int kStages = 3;

__global__ void __launch_bounds__(kThreads)
    wgmma_misuse_kernel(std::uint32_t const* a, std::uint32_t const* b, float* out,
                        WgmmaMisuse misuse) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  constexpr Shape s{WgmmaType::f16, 64, Major::k, Major::k, Swizzle::bytes_32, false};
  unsigned const t = threadIdx.x;
  for (unsigned i = t; i < 64 * 16; i += kThreads) {
    put(shared + place_of(s, Major::k, 64, i / 16, i % 16), a[i], 2);
    put(shared + 2048 + place_of(s, Major::k, 64, i % 64, i / 64), b[i], 2);
  }
  if (misuse != WgmmaMisuse::no_proxy_fence) fence_proxy_async();
  __syncthreads();
  float d[32] = {};
  if (misuse != WgmmaMisuse::no_fence) wgmma_fence();
  wgmma_f16<64>(d, k_major_descriptor(shared, s.swizzle),
                k_major_descriptor(shared + 2048, s.swizzle));
  wgmma_commit();
  if (misuse == WgmmaMisuse::overwrite_operand) {
    put(shared + 16 * t, 0, 2);
  }
  if (misuse == WgmmaMisuse::use_before_wait) {
    for (int i = 0; i < 32; ++i) out[t * 32 + static_cast<unsigned>(i)] = d[i];
  }
  wgmma_wait<0>(d);
  if (misuse != WgmmaMisuse::use_before_wait) {
    for (int i = 0; i < 32; ++i) {
      out[accumulator_row(static_cast<int>(t), i) * 64 +
          accumulator_column(static_cast<int>(t), i)] = d[i];
    }
  }
}

// Both elements of an array have one value. Behind the fence the compiler does not know that: in
// its PTX, prmt has two registers for them.
__global__ void wgmma_fence_operand_kernel(float const* values, std::uint32_t* out) {
  float const value = values[threadIdx.x];
  float d[2] = {value, value};
  unsigned a[2] = {__float_as_uint(value), __float_as_uint(value)};
  wgmma_fence_operand(d);
  wgmma_fence_operand(a);
  out[threadIdx.x] = prmt(__float_as_uint(d[0]), __float_as_uint(d[1]), 0x7610);
  out[kThreads + threadIdx.x] = prmt(a[0], a[1], 0x1076);
}

constexpr int kTileK = 64;  // 128 bytes of f16
constexpr int kPipelineN = 128;
constexpr unsigned kTileBytesA = 64 * 128;
constexpr unsigned kTileBytesB = kPipelineN * 128;

__global__ void __launch_bounds__(kThreads + 32)
    wgmma_pipeline_kernel(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                          int k, float* out) {
  QUAD_DYNAMIC_SHARED(unsigned char, ring);
  QUAD_SHARED(MBarrier, full, [kStages]);
  QUAD_SHARED(MBarrier, empty, [kStages]);
  unsigned const t = threadIdx.x;
  if (t == 0) {
    for (int s = 0; s < kStages; ++s) {
      mbarrier_init(&full[s], 1);
      mbarrier_init(&empty[s], kThreads);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  int const steps = (k + kTileK - 1) / kTileK;
  auto const a_tile = [&](int i) { return ring + i % kStages * (kTileBytesA + kTileBytesB); };
  auto const parity = [](int i) { return static_cast<unsigned>(i / kStages & 1); };

  if (t == kThreads) {
    for (int i = 0; i < steps; ++i) {
      MBarrier* const barrier = &full[i % kStages];
      mbarrier_wait(&empty[i % kStages], parity(i) ^ 1);
      mbarrier_arrive_expect_tx(barrier, kTileBytesA + kTileBytesB);
      tensor_load(a_tile(i), a, 0, i * kTileK, barrier);
      tensor_load<L2Hint::evict_last>(a_tile(i) + kTileBytesA, b, 0, i * kTileK, barrier);
    }
  } else if (t < kThreads) {
    float d[kPipelineN / 2];
    for (int i = 0; i < kPipelineN / 2; ++i) d[i] = 0;
    for (int i = 0; i < steps; ++i) {
      mbarrier_wait(&full[i % kStages], parity(i));
      auto const first = k_major_descriptor(a_tile(i), Swizzle::bytes_128);
      auto const second = k_major_descriptor(a_tile(i) + kTileBytesA, Swizzle::bytes_128);
      wgmma_fence();
      for (unsigned j = 0; j < 4; ++j) {
        wgmma_f16<kPipelineN>(d, advanced(first, 32 * j), advanced(second, 32 * j));
      }
      wgmma_commit();
      // The group before this one has read its tile.
      wgmma_wait<1>();
      if (i > 0) mbarrier_arrive(&empty[(i - 1) % kStages]);
    }
    wgmma_wait<0>(d);
    for (int i = 0; i < kPipelineN / 2; ++i) {
      out[accumulator_row(static_cast<int>(t), i) * kPipelineN +
          accumulator_column(static_cast<int>(t), i)] = d[i];
    }
  }
}

}  // namespace

std::span<WgmmaCase const> wgmma_other_cases() { return kCases; }

void launch_wgmma_misuse(std::uint32_t const* a, std::uint32_t const* b, float* d,
                         WgmmaMisuse misuse, device::StreamView stream) {
  QUAD_LAUNCH(wgmma_misuse_kernel, 1, kThreads, 4096, stream, a, b, d, misuse);
}

void launch_wgmma_fence_operand(float const* values, std::uint32_t* out,
                                device::StreamView stream) {
  QUAD_LAUNCH(wgmma_fence_operand_kernel, 1, kThreads, 0, stream, values, out);
}

void launch_wgmma_pipeline(ptx::Tensor2d const& a, ptx::Tensor2d const& b, int k, float* d,
                           device::StreamView stream) {
  QUAD_LAUNCH(wgmma_pipeline_kernel, 1, kThreads + 32, kStages * (kTileBytesA + kTileBytesB),
              stream, make_tensor_map_2d(a), make_tensor_map_2d(b), k, d);
}

}  // namespace quadrille::test
