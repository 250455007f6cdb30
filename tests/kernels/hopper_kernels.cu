// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/ptx/barriers.cuh"
#include "common/ptx/bulk_copies.cuh"
#include "common/ptx/wgmma.cuh"
#include "kernels/hopper_kernels.hpp"

#include <cstring>

namespace quadrille::test {
namespace {

using namespace ptx;  // every line below is about these instructions

constexpr int kThreads = 128;
constexpr int kChunk = 256;
constexpr int kStages = 3;

__global__ void bulk_ring_kernel(float const* from, float* to, int chunks, Misuse misuse) {
  QUAD_SHARED(MBarrier, full, [kStages]);
  QUAD_SHARED(MBarrier, empty, [kStages]);
  QUAD_DYNAMIC_SHARED(float, ring);
  bool const is_producer = threadIdx.x == kThreads;
  if (is_producer && misuse != Misuse::not_initialised) {
    for (int s = 0; s < kStages; ++s) {
      mbarrier_init(&full[s], 1);
      mbarrier_init(&empty[s], kThreads);
    }
    if (misuse != Misuse::no_init_fence) fence_mbarrier_init();
  }
  __syncthreads();

  if (is_producer) {
    unsigned const bytes = kChunk * sizeof(float) - (misuse == Misuse::odd_size ? 4 : 0);
    for (int i = 0; i < chunks; ++i) {
      int const s = i % kStages;
      unsigned const parity = (i / kStages & 1) ^ (misuse == Misuse::wrong_parity ? 1 : 0);
      // Nobody waits for the first round: a new barrier says that the phase before has ended.
      if (misuse != Misuse::no_wait_for_empty) mbarrier_wait(&empty[s], parity ^ 1);
      if (misuse == Misuse::no_expect_tx) {
        mbarrier_arrive(&full[s]);
      } else {
        mbarrier_arrive_expect_tx(&full[s], bytes / (misuse == Misuse::too_few_expected ? 2 : 1));
      }
      if (i % 2 == 0) {
        bulk_load(ring + s * kChunk, from + i * kChunk, bytes, &full[s]);
      } else {
        bulk_load<L2Hint::evict_first>(ring + s * kChunk, from + i * kChunk, bytes, &full[s]);
      }
    }
    if (chunks > 0) bulk_prefetch(from, 16);
  } else if (threadIdx.x < kThreads) {
    for (int i = 0; i < chunks; ++i) {
      int const s = i % kStages;
      if (misuse != Misuse::no_wait_for_full) mbarrier_wait(&full[s], i / kStages & 1);
      for (int j = static_cast<int>(threadIdx.x); j < kChunk; j += kThreads) {
        to[i * kChunk + j] = ring[s * kChunk + j] + 1;
      }
      mbarrier_arrive(&empty[s]);
    }
  }
}

__global__ void bulk_store_kernel(float const* from, float* to, bool add, Misuse misuse) {
  QUAD_SHARED(float, tile, [2][kChunk / 2]);
  int const first = static_cast<int>(blockIdx.x) * kChunk;
  int const t = static_cast<int>(threadIdx.x);
  for (int half = 0; half < 2; ++half) tile[half][t] = from[first + half * kThreads + t];
  // The copy engine reads what this thread has stored.
  if (misuse != Misuse::no_proxy_fence) fence_proxy_async();
  __syncthreads();
  if (t == 0) {
    for (int half = 0; half < 2; ++half) {
      float* const target = to + first + half * kThreads;
      if (add) {
        bulk_reduce_add_f32(target, tile[half], kThreads * sizeof(float));
      } else if (half == 0) {
        bulk_store(target, tile[half], kThreads * sizeof(float));
      } else {
        bulk_store<L2Hint::evict_last>(target, tile[half], kThreads * sizeof(float));
      }
      bulk_commit();
    }
    if (misuse == Misuse::overwrite_source) tile[0][0] += 1;
    if (misuse != Misuse::no_store_wait) {
      bulk_wait_read<1>();
      tile[0][0] = -1;
      if (misuse == Misuse::overwrite_source) tile[1][0] += 1;
      bulk_wait<0>();
    }
  }
}

__global__ void tensor_load_kernel(const __grid_constant__ TensorMap map, int row, int column,
                                   unsigned char* tile, unsigned bytes) {
  QUAD_DYNAMIC_SHARED(unsigned char, box);
  QUAD_SHARED(MBarrier, full);
  if (threadIdx.x == 0) {
    tensor_map_prefetch(map);
    tensor_prefetch(map, row, column);
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_expect_tx(&full, bytes);
    tensor_load(box, map, row, column, &full);
    mbarrier_arrive(&full);
  }
  while (!mbarrier_test(&full, 0)) {
  }
  for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) tile[i] = box[i];
  __syncthreads();
  if (threadIdx.x == 0) mbarrier_inval(&full);
}

__global__ void tensor_store_kernel(const __grid_constant__ TensorMap map, int row, int column,
                                    unsigned char const* tile, unsigned bytes, bool add) {
  QUAD_DYNAMIC_SHARED(unsigned char, box);
  for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) box[i] = tile[i];
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    if (add) {
      tensor_reduce_add(map, row, column, box);
    } else {
      tensor_store(map, row, column, box);
    }
    bulk_commit();
    bulk_wait<0>();
  }
}

/// How the operands of a wgmma lie in shared memory.
struct Shape {
  WgmmaType type;
  int n;
  Major a_major, b_major;
  Swizzle swizzle;
  bool a_in_registers;

  QUAD_HD constexpr unsigned size() const { return type == WgmmaType::tf32 ? 4 : 2; }
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
  unsigned const along = major == Major::mn ? span_of(s.swizzle) / s.size() : 8;
  return (rows + along - 1) / along * along;
}

/// Byte of element (row along M or N, k) in an operand of boxes.
QUAD_HD constexpr unsigned place_of(Shape s, Major major, unsigned rows, unsigned row, unsigned k) {
  unsigned const span = span_of(s.swizzle);
  unsigned const fast = (major == Major::k ? k : row) * s.size();
  unsigned const slow = major == Major::k ? row : k;
  unsigned const box_rows = major == Major::k ? rows : s.depth();
  return swizzled(s.swizzle, fast / span * box_rows * span + slow * span + fast % span);
}

/// Descriptor of step `step` of such an operand.
__device__ inline MatrixDescriptor descriptor_of(Shape s, Major major, unsigned rows,
                                                 unsigned char const* operand, unsigned step) {
  unsigned const span = span_of(s.swizzle);
  if (major == Major::mn) {
    return advanced(mn_major_descriptor(operand, s.swizzle, s.depth() * span), step * 16 * span);
  }
  unsigned const byte = step * 32;
  unsigned const box_bytes = rows * span;
  return k_major_descriptor(operand + byte / span * box_bytes + byte % span, s.swizzle, box_bytes);
}

__device__ inline void put(unsigned char* to, std::uint32_t bits, unsigned size) {
  if (size == 4) {
    *reinterpret_cast<std::uint32_t*>(to) = bits;
  } else {
    *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(bits);
  }
}

template <class F, class D, class A>
__device__ void multiply(D& d, A const& a, MatrixDescriptor b, bool accumulate) {
  constexpr Shape s = F::shape;
  if constexpr (s.type == WgmmaType::tf32) {
    wgmma_tf32<s.n>(d, a, b, accumulate);
  } else if constexpr (s.a_in_registers) {
    if constexpr (s.type == WgmmaType::bf16) {
      wgmma_bf16<s.n, s.b_major>(d, a, b, accumulate);
    } else {
      wgmma_f16<s.n, s.b_major>(d, a, b, accumulate);
    }
  } else if constexpr (s.type == WgmmaType::bf16) {
    wgmma_bf16<s.n, s.a_major, s.b_major>(d, a, b, accumulate);
  } else {
    wgmma_f16<s.n, s.a_major, s.b_major>(d, a, b, accumulate);
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

  // Rolled loops: there are many of these kernels to compile.
#pragma unroll 1
  for (unsigned i = t; i < 64 * s.depth(); i += kThreads) {
    put(a_tile + place_of(s, s.a_major, a_rows, i / s.depth(), i % s.depth()), p.a[i], s.size());
  }
#pragma unroll 1
  for (unsigned i = t; i < s.depth() * n; i += kThreads) {
    put(b_tile + place_of(s, s.b_major, b_rows, i % n, i / n), p.b[i], s.size());
  }
  // The tensor cores read what this thread has stored.
  fence_proxy_async();
  __syncthreads();

  constexpr bool kHalves = s.type == WgmmaType::f16_in_f16;
  constexpr int kCount = s.n / (kHalves ? 4 : 2);
  using Register = std::conditional_t<kHalves, unsigned, float>;
  Register d[kCount];
  auto const place = [&](int i) {
    return static_cast<unsigned>(accumulator_row(static_cast<int>(t), i)) * n +
           static_cast<unsigned>(accumulator_column(static_cast<int>(t), i));
  };
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (p.c == nullptr) {
      d[i] = 0;
    } else if constexpr (kHalves) {
      d[i] = p.c[place(2 * i)] | p.c[place(2 * i + 1)] << 16;
    } else {
      memcpy(&d[i], &p.c[place(i)], sizeof(d[i]));
    }
  }

#pragma unroll 1
  for (unsigned step = 0; step < kSteps; ++step) {
    bool const accumulate = step > 0 || p.c != nullptr;
    MatrixDescriptor const b = descriptor_of(s, s.b_major, b_rows, b_tile, step);
    if constexpr (s.a_in_registers) {
      // Two 16-bit elements or one 32-bit element of K = step 32 bytes.
      constexpr unsigned wide = 4 / s.size();
      unsigned a[4];
      for (unsigned i = 0; i < 4; ++i) {
        unsigned const row = t / 32 * 16 + t % 32 / 4 + i % 2 * 8;
        unsigned const k = step * (32 / s.size()) + (i / 2 * 4 + t % 4) * wide;
        a[i] = p.a[row * s.depth() + k];
        if (wide == 2) a[i] |= p.a[row * s.depth() + k + 1] << 16;
      }
      wgmma_fence();
      multiply<F>(d, a, b, accumulate);
      wgmma_commit();
      wgmma_wait<0>(d);  // and overwritten in the next step
    } else {
      wgmma_fence();
      multiply<F>(d, descriptor_of(s, s.a_major, a_rows, a_tile, step), b, accumulate);
      wgmma_commit();
    }
  }
  wgmma_wait<0>(d);

#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if constexpr (kHalves) {
      p.d[place(2 * i)] = d[i] & 0xFFFF;
      p.d[place(2 * i + 1)] = d[i] >> 16;
    } else {
      memcpy(&p.d[place(i)], &d[i], sizeof(d[i]));
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
// All N.
#define QUAD_CASES(type, a, b, registers)                                                          \
  QUAD_CASE(type, 8, a, b, bytes_128, registers), QUAD_CASE(type, 16, a, b, bytes_128, registers), \
      QUAD_CASE(type, 32, a, b, bytes_128, registers),                                             \
      QUAD_CASE(type, 64, a, b, bytes_128, registers),                                             \
      QUAD_CASE(type, 96, a, b, bytes_128, registers),                                             \
      QUAD_CASE(type, 128, a, b, bytes_128, registers),                                            \
      QUAD_CASE(type, 192, a, b, bytes_128, registers),                                            \
      QUAD_CASE(type, 256, a, b, bytes_128, registers)
// Some N.
#define QUAD_SOME(type, a, b, registers)               \
  QUAD_CASE(type, 16, a, b, bytes_128, registers),     \
      QUAD_CASE(type, 96, a, b, bytes_128, registers), \
      QUAD_CASE(type, 256, a, b, bytes_128, registers)
// Other swizzles.
#define QUAD_SWIZZLES(type, n, a, b)                                                \
  QUAD_CASE(type, n, a, b, none, false), QUAD_CASE(type, n, a, b, bytes_32, false), \
      QUAD_CASE(type, n, a, b, bytes_64, false)

constexpr WgmmaCase kCases[] = {
    QUAD_CASES(f16, k, k, false),         QUAD_CASES(f16, mn, mn, false),
    QUAD_SOME(f16, k, mn, false),         QUAD_SOME(f16, mn, k, false),
    QUAD_CASES(f16_in_f16, k, mn, false), QUAD_SOME(f16_in_f16, mn, k, false),
    QUAD_CASES(bf16, k, k, false),        QUAD_CASES(bf16, mn, mn, false),
    QUAD_CASES(tf32, k, k, false),        QUAD_CASES(f16, k, k, true),
    QUAD_SOME(f16, k, mn, true),          QUAD_SOME(f16_in_f16, k, k, true),
    QUAD_SOME(bf16, k, mn, true),         QUAD_SOME(tf32, k, k, true),
    QUAD_SWIZZLES(f16, 64, k, k),         QUAD_SWIZZLES(f16, 32, mn, mn),
    QUAD_SWIZZLES(bf16, 96, k, mn),       QUAD_SWIZZLES(tf32, 64, k, k),
};

__global__ void __launch_bounds__(kThreads)
    wgmma_misuse_kernel(std::uint32_t const* a, std::uint32_t const* b, float* out, Misuse misuse) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  constexpr Shape s{WgmmaType::f16, 64, Major::k, Major::k, Swizzle::bytes_32, false};
  unsigned const t = threadIdx.x;
  for (unsigned i = t; i < 64 * 16; i += kThreads) {
    put(shared + place_of(s, Major::k, 64, i / 16, i % 16), a[i], 2);
    put(shared + 2048 + place_of(s, Major::k, 64, i % 64, i / 64), b[i], 2);
  }
  if (misuse != Misuse::no_proxy_fence) fence_proxy_async();
  __syncthreads();
  float d[32] = {};
  if (misuse != Misuse::no_wgmma_fence) wgmma_fence();
  wgmma_f16<64>(d, k_major_descriptor(shared, s.swizzle),
                k_major_descriptor(shared + 2048, s.swizzle));
  wgmma_commit();
  if (misuse == Misuse::overwrite_operand) {
    put(shared + 16 * t, 0, 2);
  }
  if (misuse == Misuse::use_before_wait) {
    for (int i = 0; i < 32; ++i) out[t * 32 + static_cast<unsigned>(i)] = d[i];
  }
  wgmma_wait<0>(d);
  if (misuse != Misuse::use_before_wait) {
    for (int i = 0; i < 32; ++i) {
      out[accumulator_row(static_cast<int>(t), i) * 64 +
          accumulator_column(static_cast<int>(t), i)] = d[i];
    }
  }
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

void launch_bulk_ring(float const* from, float* to, int chunks, Misuse misuse,
                      device::StreamView stream) {
  QUAD_LAUNCH(bulk_ring_kernel, 1, kThreads + 32, kStages * kChunk * sizeof(float), stream, from,
              to, chunks, misuse);
}

void launch_bulk_store(float const* from, float* to, int blocks, bool add, Misuse misuse,
                       device::StreamView stream) {
  QUAD_LAUNCH(bulk_store_kernel, static_cast<unsigned>(blocks), kThreads, 0, stream, from, to, add,
              misuse);
}

void launch_tensor_load(ptx::Tensor2d const& matrix, int row, int column, unsigned char* tile,
                        unsigned bytes, device::StreamView stream) {
  QUAD_LAUNCH(tensor_load_kernel, 1, kThreads, bytes, stream, ptx::make_tensor_map_2d(matrix), row,
              column, tile, bytes);
}

void launch_tensor_store(ptx::Tensor2d const& matrix, int row, int column,
                         unsigned char const* tile, unsigned bytes, bool add,
                         device::StreamView stream) {
  QUAD_LAUNCH(tensor_store_kernel, 1, kThreads, bytes, stream, ptx::make_tensor_map_2d(matrix), row,
              column, tile, bytes, add);
}

std::span<WgmmaCase const> wgmma_cases() { return kCases; }

void launch_wgmma_misuse(std::uint32_t const* a, std::uint32_t const* b, float* d, Misuse misuse,
                         device::StreamView stream) {
  QUAD_LAUNCH(wgmma_misuse_kernel, 1, kThreads, 4096, stream, a, b, d, misuse);
}

void launch_wgmma_pipeline(ptx::Tensor2d const& a, ptx::Tensor2d const& b, int k, float* d,
                           device::StreamView stream) {
  QUAD_LAUNCH(wgmma_pipeline_kernel, 1, kThreads + 32, kStages * (kTileBytesA + kTileBytesB),
              stream, make_tensor_map_2d(a), make_tensor_map_2d(b), k, d);
}

}  // namespace quadrille::test
