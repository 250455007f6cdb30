// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/ptx/barriers.cuh"
#include "common/ptx/copies.cuh"
#include "common/simt.cuh"
#include "simt/engine_kernels.hpp"

namespace quadrille::test {
namespace {

constexpr int kTile = 64;
constexpr int kDepth = 16;

__global__ void __launch_bounds__(256)
    product_kernel(float const* a, float const* b, float* c, int n) {
  QUAD_SHARED(float, a_tile, [kDepth][kTile + 4]);
  QUAD_SHARED(float, b_tile, [kDepth][kTile]);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * kTile;
  int const column = static_cast<int>(blockIdx.x) * kTile;
  float sums[4][4] = {};
  for (int k = 0; k < n; k += kDepth) {
    for (int i = thread; i < kTile * kDepth; i += 256) {
      a_tile[i % kDepth][i / kDepth] = a[(row + i / kDepth) * n + k + i % kDepth];
      b_tile[i / kTile][i % kTile] = b[(k + i / kTile) * n + column + i % kTile];
    }
    __syncthreads();
    for (int j = 0; j < kDepth; ++j) {
      float4 const x = *reinterpret_cast<float4 const*>(&a_tile[j][thread / 16 * 4]);
      float4 const y = *reinterpret_cast<float4 const*>(&b_tile[j][thread % 16 * 4]);
      float const xs[4] = {x.x, x.y, x.z, x.w};
      float const ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
      for (int p = 0; p < 4; ++p) {
#pragma unroll
        for (int q = 0; q < 4; ++q) sums[p][q] += xs[p] * ys[q];
      }
    }
    __syncthreads();
  }
  for (int p = 0; p < 4; ++p) {
    for (int q = 0; q < 4; ++q) {
      c[(row + thread / 16 * 4 + p) * n + column + thread % 16 * 4 + q] = sums[p][q];
    }
  }
}

__global__ void sum_kernel(float const* x, std::int64_t n, float* partial, unsigned* counter,
                           float* sum) {
  QUAD_SHARED(float, warp_sums, [32]);
  QUAD_SHARED(bool, is_last);
  float mine = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    mine += x[i];
  }
  for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(~0U, mine, step);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0;
    for (unsigned i = 0; i < blockDim.x / 32; ++i) total += warp_sums[i];
    partial[blockIdx.x] = total;
    __threadfence();
    is_last = atomicAdd(counter, 1U) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    float total = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) total += partial[i];
    *sum += total;
    *counter = 0;
  }
}

__global__ void async_copy_kernel(float const* from, float* to, int tiles) {
  QUAD_DYNAMIC_SHARED(float4, stages);
  auto const fetch = [&](int tile) {
    if (tile < tiles) {
      ptx::cp_async<16>(&stages[tile % 2 * 64 + static_cast<int>(threadIdx.x)],
                        from + (tile * 64 + static_cast<int>(threadIdx.x)) * 4);
    }
    ptx::cp_async_commit();
  };
  fetch(0);
  for (int tile = 0; tile < tiles; ++tile) {
    fetch(tile + 1);
    ptx::cp_async_wait<1>();
    __syncthreads();
    unsigned const mirror = 63 - threadIdx.x;
    reinterpret_cast<float4*>(to)[tile * 64 + static_cast<int>(mirror)] =
        stages[tile % 2 * 64 + static_cast<int>(mirror)];
    __syncthreads();
  }
  ptx::cp_async_wait<0>();
}

__global__ void barriers_kernel(int n) {
  for (int i = 0; i < n; ++i) __syncthreads();
}

__global__ void order_kernel(unsigned* counter, unsigned* order) {
  order[atomicAdd(counter, 1U)] = blockIdx.x * blockDim.x + threadIdx.x;
}

__global__ void chain_kernel(unsigned* flags) {
  if (blockIdx.x + 1 < gridDim.x) {
    while (atomicAdd(&flags[blockIdx.x + 1], 0U) == 0) {
    }
  }
  __threadfence();
  atomicExch(&flags[blockIdx.x], 1U);
}

__global__ void producer_kernel(int* out, int rounds) {
  QUAD_SHARED(int, slot, [32]);
  int const lane = static_cast<int>(threadIdx.x % 32);
  bool const produces = threadIdx.x < 32;
  for (int i = 0; i < rounds; ++i) {
    if (produces) {
      ptx::bar_sync(2, 64);  // the slot is empty
      slot[lane] = 32 * i + lane;
      ptx::bar_arrive(1, 64);
    } else {
      ptx::bar_arrive(2, 64);
      ptx::bar_sync(1, 64);  // the slot is full
      out[32 * i + lane] = slot[31 - lane] + 2 * lane - 31;
      __syncwarp();
    }
  }
}

// One mistake each.

__global__ void divergent_barrier_kernel() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void early_exit_kernel() {
  if (threadIdx.x == 5) return;
  __syncthreads();
}

__global__ void not_in_mask_kernel(float* memory) {
  memory[threadIdx.x] = __shfl_sync(0x0000FFFFU, 1.0F, 0);
}

__global__ void exited_lane_kernel(float* memory) {
  if (threadIdx.x == 3) return;
  __syncthreads_count(0);
  memory[threadIdx.x] = __shfl_sync(~0U, 1.0F, 0);
}

__global__ void dead_lane_kernel(float* memory) { memory[threadIdx.x] = __shfl_sync(~0U, 1.0F, 0); }

__global__ void read_outside_mask_kernel(float* memory) {
  if (threadIdx.x < 16) memory[threadIdx.x] = __shfl_down_sync(0xFFFFU, 1.0F, 8);
}

__global__ void other_collective_kernel(float* memory) {
  if (threadIdx.x < 16) {
    memory[threadIdx.x] = __shfl_sync(~0U, 1.0F, 0);
  } else {
    memory[threadIdx.x] = static_cast<float>(__ballot_sync(~0U, 1));
  }
}

__global__ void lane_missing_kernel() {
  if (threadIdx.x != 7) __syncwarp();
  __syncthreads();
}

__global__ void static_shared_kernel() {
  QUAD_SHARED(float, first, [6 * 1024]);
  QUAD_SHARED(float, second, [6 * 1024 + 1]);
  first[0] = second[0] = 0;
}

__global__ void all_shared_kernel() {
  QUAD_SHARED(float, array, [1024]);
  array[0] = 0;
}

__global__ void nothing_kernel() {}

__global__ void forgotten_copy_kernel(float const* memory) {
  QUAD_SHARED(float, array, [4]);
  ptx::cp_async<16>(array, memory);
  ptx::cp_async_commit();
}

__global__ void misaligned_copy_kernel(float const* memory) {
  QUAD_SHARED(float, array, [4]);
  ptx::cp_async<16>(array, memory + 1);
  ptx::cp_async_commit();
  ptx::cp_async_wait<0>();
}

__global__ void copy_to_global_kernel(float* memory) {
  ptx::cp_async<16>(memory, memory + 16);
  ptx::cp_async_commit();
  ptx::cp_async_wait<0>();
}

__global__ void misaligned_load_kernel(float* memory) {
  float4 const value = *reinterpret_cast<float4 const*>(memory + 1);
  memory[0] = value.x;
}

__global__ void shared_index_kernel(float* memory, int i) {
  QUAD_SHARED(float, array, [4][8]);
  memory[0] = array[0][i];
}

__global__ void behind_shared_kernel(int i) {
  QUAD_SHARED(float, array, [32]);
  float* const p = array;
  p[i] = 1;
}

__global__ void behind_dynamic_kernel(int i) {
  QUAD_DYNAMIC_SHARED(float, array);
  array[i] = 1;
}

__global__ void behind_buffer_kernel(float* memory, int i) { memory[i] = 1; }

__global__ void spin_kernel(unsigned* flag) {
  while (atomicAdd(flag, 0U) != 1) {
  }
}

__global__ void barrier_counts_kernel() { ptx::bar_sync(1, threadIdx.x < 32 ? 64 : 96); }

__global__ void barrier_multiple_kernel() { ptx::bar_sync(1, 48); }

__global__ void null_kernel(float* memory) { memory[0] = 1; }

#define QUAD_MISTAKE(kernel, threads, bytes, message, ...)                            \
  {                                                                                   \
#kernel,                                                                            \
        [](device::StreamView stream, [[maybe_unused]] float* memory) {                 \
          QUAD_LAUNCH((kernel), dim3(1), threads, bytes, stream __VA_OPT__(, ) __VA_ARGS__); \
        },                                                                              \
        message \
  }

Mistake const kMistakes[] = {
    QUAD_MISTAKE(divergent_barrier_kernel, 64, 0,
                 "divergent barrier: other threads of the block wait at engine_kernels.cu:"),
    QUAD_MISTAKE(early_exit_kernel, 64, 0,
                 "hang, no thread can go on: 1 have exited (first: block (0,0,0) thread (5,0,0)); "
                 "63 wait in __syncthreads (engine_kernels.cu:"),
    QUAD_MISTAKE(not_in_mask_kernel, 32, 0,
                 "__shfl_sync: lane 16 calls and is not in its mask 0x0000ffff", memory),
    QUAD_MISTAKE(exited_lane_kernel, 32, 0, "31 wait in __syncthreads_count", memory),
    QUAD_MISTAKE(dead_lane_kernel, 20, 0,
                 "names lanes that have exited or do not exist (0xfff00000)", memory),
    QUAD_MISTAKE(read_outside_mask_kernel, 32, 0,
                 "lane 8 reads lane 16, which is not in mask 0x0000ffff", memory),
    QUAD_MISTAKE(other_collective_kernel, 32, 0, " with mask 0xffffffff meets lane ", memory),
    QUAD_MISTAKE(lane_missing_kernel, 32, 0, "31 wait in __syncwarp (engine_kernels.cu:"),
    QUAD_MISTAKE(static_shared_kernel, 32, 0,
                 "49156 bytes of static shared memory with 'second'; at most 49152 are allowed"),
    QUAD_MISTAKE(all_shared_kernel, 32, 226 * 1024,
                 "4096 bytes of static shared memory with 'array' and 231424 of dynamic"),
    QUAD_MISTAKE(nothing_kernel, 32, 227 * 1024 + 1,
                 "232449 bytes of dynamic shared memory; at most 232448"),
    QUAD_MISTAKE(nothing_kernel, dim3(32, 33), 0, "a block of 32 x 33 x 1 threads"),
    QUAD_MISTAKE(nothing_kernel, dim3(1, 1, 65), 0, "a block of 1 x 1 x 65 threads"),
    QUAD_MISTAKE(nothing_kernel, dim3(0), 0, "a block of 0 x 1 x 1 threads"),
    QUAD_MISTAKE(forgotten_copy_kernel, 1, 0,
                 "the thread ends while a cp.async of its is in flight", memory),
    QUAD_MISTAKE(misaligned_copy_kernel, 1, 0, "not aligned", memory),
    QUAD_MISTAKE(copy_to_global_kernel, 1, 0,
                 "a pointer that is not into the shared memory of this block", memory),
    QUAD_MISTAKE(behind_shared_kernel, 1, 0,
                 "something was written 0 bytes behind the end of array", 32),
    QUAD_MISTAKE(behind_dynamic_kernel, 1, 64,
                 "something was written 4 bytes behind the end of the dynamic shared memory", 17),
    QUAD_MISTAKE(behind_buffer_kernel, 1, 0,
                 "something was written 0 bytes behind the end of a buffer of 256 bytes", memory,
                 64),
    QUAD_MISTAKE(behind_buffer_kernel, 1, 0,
                 "something was written 4 bytes before a buffer of 256 bytes", memory, -1),
    QUAD_MISTAKE(spin_kernel, 64, 0,
                 "hang, no thread can go on: 64 wait in a polling loop (engine_kernels.cu:",
                 reinterpret_cast<unsigned*>(memory)),
    QUAD_MISTAKE(barrier_counts_kernel, 96, 0, "threads at barrier 1, where others expect"),
    QUAD_MISTAKE(barrier_multiple_kernel, 64, 0, "48 threads are not a multiple of 32"),
    QUAD_MISTAKE(misaligned_load_kernel, 1, 0, "misaligned access", memory),
    QUAD_MISTAKE(shared_index_kernel, 1, 0, "index 8 is out of bounds of 'float [8]'", memory, 8),
    QUAD_MISTAKE(null_kernel, 1, 0, "access through a null pointer", nullptr),
};

}  // namespace

void launch_product(float const* a, float const* b, float* c, int n, device::StreamView stream) {
  auto const tiles = static_cast<unsigned>(n / kTile);
  QUAD_LAUNCH((product_kernel), dim3(tiles, tiles), 256, 0, stream, a, b, c, n);
}
void launch_sum(float const* x, std::int64_t n, float* partial, unsigned* counter, float* sum,
                int blocks, device::StreamView stream) {
  QUAD_LAUNCH((sum_kernel), static_cast<unsigned>(blocks), 128, 0, stream, x, n, partial, counter,
              sum);
}
void launch_async_copy(float const* from, float* to, int tiles, device::StreamView stream) {
  QUAD_LAUNCH((async_copy_kernel), 1, 64, 2 * 64 * sizeof(float4), stream, from, to, tiles);
}
void launch_barriers(int n, int threads, device::StreamView stream) {
  QUAD_LAUNCH((barriers_kernel), 1, static_cast<unsigned>(threads), 0, stream, n);
}
void launch_order(unsigned* counter, unsigned* order, int blocks, int threads,
                  device::StreamView stream) {
  QUAD_LAUNCH((order_kernel), static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0,
              stream, counter, order);
}
void launch_chain(unsigned* flags, int blocks, device::StreamView stream) {
  QUAD_LAUNCH((chain_kernel), static_cast<unsigned>(blocks), 1, 0, stream, flags);
}
void launch_producer(int* out, int rounds, device::StreamView stream) {
  QUAD_LAUNCH((producer_kernel), 1, 64, 0, stream, out, rounds);
}

std::span<Mistake const> mistakes() { return kMistakes; }

}  // namespace quadrille::test
