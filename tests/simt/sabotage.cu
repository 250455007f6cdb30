// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/ptx/barriers.cuh"
#include "common/ptx/bulk_copies.cuh"
#include "common/ptx/copies.cuh"
#include "common/ptx/matrix.cuh"
#include "common/ptx/threads.cuh"
#include "common/simt.cuh"
#include "simt/sabotage.hpp"

namespace quadrille::sabotage {
namespace {

constexpr unsigned kFullMask = 0xFFFFFFFF;

__global__ void vector_add_kernel(Bug bug, float const* a, float const* b, float* sum, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (bug == Bug::missing_tail_guard) {
    sum[i] = a[i] + b[i];
  } else if (i < n && bug == Bug::load_past_the_end) {
    sum[i] = a[i] + b[i + 1];
  } else if (i < n && bug == Bug::store_before_the_beginning) {
    sum[i - 1] = a[i] + b[i];
  } else if (4 * i < n && bug == Bug::misaligned_vector_access) {
    float4 const x = *reinterpret_cast<float4 const*>(a + 4 * i + 1);
    *reinterpret_cast<float4*>(sum + 4 * i) = x;
  } else if (i < n) {
    sum[i] = a[i] + b[i];
  }
}

__global__ void copy_row_kernel(Bug bug, float const* in, float* out, int row, int pitch) {
  std::int64_t const first = static_cast<std::int64_t>(row) * pitch;
  std::int64_t const begin = bug == Bug::index_overflow ? row * pitch : first;
  out[threadIdx.x] = in[begin - first + threadIdx.x];
}

__device__ float warp_sum(Bug bug, float v) {
  unsigned const lane = threadIdx.x % 32;
  unsigned const mask = bug == Bug::lane_outside_its_mask ? 0x0000FFFF : kFullMask;
  for (unsigned delta = 16; delta > 0; delta /= 2) {
    if (bug == Bug::divergent_shuffle && lane >= delta) continue;
    v += __shfl_down_sync(mask, v, delta);
  }
  return v;
}

/// The last of the blocks adds what all have left.
__global__ void block_sum_kernel(Bug bug, float const* x, int n, float* partial, unsigned* counter,
                                 float* sum) {
  QUAD_SHARED(float, values, [256]);
  QUAD_SHARED(bool, last);
  unsigned const t = threadIdx.x;
  int const i = static_cast<int>(blockIdx.x * 256 + t);
  if (i < n) {
    values[t] = x[i];
  } else if (bug != Bug::uninitialised_shared_element) {
    values[t] = 0;
  }
  if (bug == Bug::barrier_after_exit && i >= n) return;
  if (bug == Bug::divergent_barrier && t < 128) {
    __syncthreads();
  } else if (bug != Bug::missing_barrier) {
    __syncthreads();
  }
  for (unsigned half = 128; half >= 32; half /= 2) {
    bool const mine = bug == Bug::shared_load_past_the_end ? t <= half : t < half;
    if (mine) values[t] += values[t + half];
    __syncthreads();
  }
  float v = 0;
  if (bug == Bug::shuffle_with_exited_lanes && t >= 16 && t < 32) return;
  if (t < 32) v = warp_sum(bug, values[t]);
  if (bug == Bug::unprotected_sum_of_blocks) {
    if (t == 0) *sum += v;
    return;
  }
  if (t == 0) {
    partial[blockIdx.x] = v;
    if (bug != Bug::missing_fence_before_the_counter) __threadfence();
    unsigned before = 0;
    if (bug == Bug::counter_without_atomics) {
      before = *counter;
      *counter = before + 1;
    } else {
      before = atomicAdd(counter, 1U);
    }
    last = before == gridDim.x - 1;
    if (bug != Bug::missing_fence_after_the_counter) __threadfence();
  }
  if (bug != Bug::missing_barrier_after_the_flag) __syncthreads();
  if (!last) return;
  if (t < 32) {
    v = warp_sum(bug, t < gridDim.x ? partial[t] : 0);
    if (t == 0) *sum = v;
    if (t == 0) *counter = 0;
  }
}

/// 32 x 8 threads, one tile after the other.
__global__ void transpose_kernel(Bug bug, float const* in, float* out, int rows, int columns) {
  QUAD_SHARED(float, tile, [32][33]);
  int const tile_columns = (columns + 31) / 32;
  int const tiles = (rows + 31) / 32 * tile_columns;
  int const shift = bug == Bug::shared_store_past_the_end ? 1 : 0;
  int const x = static_cast<int>(threadIdx.x);
  int first = static_cast<int>(blockIdx.x);
  if (bug == Bug::two_blocks_write_one_tile) first /= 2;
  for (int i = first; i < tiles; i += static_cast<int>(gridDim.x)) {
    int const row = i / tile_columns * 32;
    int const column = i % tile_columns * 32;
    for (int y = static_cast<int>(threadIdx.y); y < 32; y += 8) {
      if (row + y < rows && column + x < columns) {
        tile[y + shift][x] = in[(row + y) * columns + column + x];
      }
    }
    if (bug == Bug::syncwarp_for_syncthreads) {
      __syncwarp();
    } else {
      __syncthreads();
    }
    for (int y = static_cast<int>(threadIdx.y); y < 32; y += 8) {
      if (column + y < columns && row + x < rows) {
        out[(column + y) * rows + row + x] = tile[x + shift][y];
      }
    }
    // Before the next tile takes the place of this one.
    if (bug != Bug::missing_second_barrier_of_a_tile) __syncthreads();
  }
}

/// 64 threads for 32 x 32 elements, 4 x 4 each; tiles of 8 along k in a double buffer.
__global__ void gemm_kernel(Bug bug, float const* a, float const* b, float* c, int n) {
  QUAD_SHARED(float, a_tiles, [2][8][33]);
  QUAD_SHARED(float, b_tiles, [2][8][32]);
  int const t = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * 32;
  int const column = static_cast<int>(blockIdx.x) * 32;
  int const steps = n / 8;

  auto const load = [&](int step) {
    int const stage = step % 2;
    for (int e = t; e < 256; e += 64) {
      ptx::cp_async<4>(&a_tiles[stage][e % 8][e / 8],
                       &a[(row + e / 8) * n + step % steps * 8 + e % 8]);
    }
    ptx::cp_async<16>(&b_tiles[stage][t / 8][t % 8 * 4],
                      &b[(step % steps * 8 + t / 8) * n + column + t % 8 * 4]);
    ptx::cp_async_commit();
  };

  float sums[4][4] = {};
  load(0);
  for (int step = 0; step < steps; ++step) {
    bool const more = step + 1 < steps;
    if (more || bug == Bug::copy_left_in_flight) load(step + 1);
    if (bug == Bug::barrier_before_copy_wait) __syncthreads();
    if (bug == Bug::missing_copy_wait) {
    } else if (more || bug == Bug::lax_copy_wait || bug == Bug::copy_left_in_flight) {
      ptx::cp_async_wait<1>();
    } else {
      ptx::cp_async_wait<0>();
    }
    if (bug != Bug::barrier_before_copy_wait) __syncthreads();
    for (int k = 0; k < 8; ++k) {
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          sums[i][j] += a_tiles[step % 2][k][t / 8 * 4 + i] * b_tiles[step % 2][k][t % 8 * 4 + j];
        }
      }
    }
    // Before the next load takes the place of this tile.
    if (bug != Bug::missing_second_barrier_of_a_double_buffer) __syncthreads();
  }
  if (bug != Bug::copy_left_in_flight) ptx::cp_async_wait<0>();
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      c[(row + t / 8 * 4 + i) * n + column + t % 8 * 4 + j] = sums[i][j];
    }
  }
}

/// Warp 0 fills a ring of two tiles by bulk copies; warps 1 and 2 empty it.
__global__ void ring_kernel(Bug bug, float const* x, float* y, int tiles) {
  QUAD_SHARED(float, stages, [2][kRingTile]);
  QUAD_SHARED(ptx::MBarrier, full, [2]);
  QUAD_SHARED(ptx::MBarrier, empty, [2]);
  int const t = static_cast<int>(threadIdx.x);
  constexpr unsigned kBytes = kRingTile * sizeof(float);
  if (t == 0) {
    for (int s = 0; s < 2; ++s) {
      ptx::mbarrier_init(&full[s], 1);
      ptx::mbarrier_init(&empty[s], 64);
    }
    if (bug != Bug::missing_fence_of_the_mbarriers) ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (bug != Bug::missing_wait_for_previous_kernels) ptx::griddepcontrol_wait();
  for (int i = 0; i < tiles; ++i) {
    int const s = i % 2;
    unsigned const parity = static_cast<unsigned>(i) / 2 % 2;
    if (t == 0) {
      if (i >= 2 && bug != Bug::missing_wait_for_empty) ptx::mbarrier_wait(&empty[s], 1 - parity);
      unsigned expected = kBytes;
      if (bug == Bug::too_few_bytes_expected) expected -= 16;
      if (bug == Bug::too_many_bytes_expected) expected += 16;
      ptx::mbarrier_arrive_expect_tx(&full[s], expected);
      ptx::bulk_load(stages[s], x + i * kRingTile, kBytes, &full[s]);
    } else if (t >= 32) {
      if (bug != Bug::missing_wait_for_full) {
        ptx::mbarrier_wait(&full[s], bug == Bug::wrong_parity ? 1 - parity : parity);
      }
      for (int e = t - 32; e < kRingTile; e += 64) y[i * kRingTile + e] = 2 * stages[s][e];
      ptx::mbarrier_arrive(&empty[s]);
    }
  }
}

/// Warp 0 hands tiles to warp 1 through two buffers. Barriers 1 and 2 say that one is full, 3 and 4
/// that it is empty.
__global__ void relay_kernel(Bug bug, float const* x, float* y, int tiles) {
  QUAD_SHARED(float, buffers, [2][32]);
  int const lane = static_cast<int>(threadIdx.x) % 32;
  int const arriving = bug == Bug::too_few_threads_at_named_barrier ? 32 : 64;
  for (int i = 0; i < tiles; ++i) {
    int const s = i % 2;
    if (threadIdx.x < 32) {
      if (i >= 2) ptx::bar_sync(3 + s, 64);
      buffers[s][lane] = x[i * 32 + lane];
      if (bug != Bug::missing_arrive) ptx::bar_arrive(1 + s, arriving);
    } else {
      if (bug != Bug::missing_named_barrier) {
        ptx::bar_sync(bug == Bug::wrong_named_barrier ? 5 : 1 + s, 64);
      }
      y[i * 32 + lane] = buffers[s][31 - lane];
      if (i + 2 < tiles) ptx::bar_arrive(3 + s, 64);
    }
  }
}

/// Warp 1 loads, warp 0 multiplies. Of each row of two pieces of 16 bytes, the pieces of every
/// other four rows are swapped, so that eight rows lie in different banks.
__global__ void tensor_tile_kernel(Bug bug, __half const* a, __half const* b, float* c) {
  QUAD_SHARED(__half, a_tile, [16][16]);
  QUAD_SHARED(__half, b_tile, [8][16]);
  int const lane = static_cast<int>(threadIdx.x) % 32;
  auto const swizzled = [](int row, int piece) { return 8 * (piece ^ (row / 4 % 2)); };
  if (threadIdx.x >= 32) {
    int const row = lane / 2;
    int const piece = lane % 2;
    *reinterpret_cast<uint4*>(&a_tile[row][swizzled(row, piece)]) =
        *reinterpret_cast<uint4 const*>(a + row * 16 + piece * 8);
    if (row < 8) {
      *reinterpret_cast<uint4*>(&b_tile[row][swizzled(row, piece)]) =
          *reinterpret_cast<uint4 const*>(b + row * 16 + piece * 8);
    }
  }
  if (bug != Bug::missing_barrier_before_ldmatrix) __syncthreads();
  if (threadIdx.x >= 32) return;

  unsigned a_fragment[4], b_fragment[2];
  int const a_row = lane % 16;
  int const b_row = lane % 8;
  int const a_place =
      bug == Bug::wrong_swizzle ? 8 * (lane / 16 ^ a_row / 2 % 2) : swizzled(a_row, lane / 16);
  ptx::ldmatrix_x4(a_fragment, &a_tile[a_row][a_place]);
  if (bug == Bug::transposed_fragment) {
    ptx::ldmatrix_x2_trans(b_fragment, &b_tile[b_row][swizzled(b_row, lane / 8 % 2)]);
  } else {
    ptx::ldmatrix_x2(b_fragment, &b_tile[b_row][swizzled(b_row, lane / 8 % 2)]);
  }
  float sums[4] = {};
  if (bug != Bug::half_a_warp_in_mma || lane < 16) {
    ptx::mma_m16n8k16_f16(sums, a_fragment, b_fragment);
  }
  for (int i = 0; i < 4; ++i) {
    auto const [row, column] = ptx::sum_element(lane, i);
    c[row * 8 + column] = sums[i];
  }
}

__global__ void exchange_kernel(Bug bug, float const* x, float* y) {
  QUAD_SHARED(float, values, [32]);
  unsigned const lane = threadIdx.x;
  values[lane] = x[lane];
  if (bug == Bug::shuffle_for_syncwarp) {
    __shfl_sync(kFullMask, lane, 0);
  } else if (bug == Bug::syncwarp_of_half_warps) {
    __syncwarp(lane < 16 ? 0x0000FFFF : 0xFFFF0000);
  } else if (bug != Bug::no_warp_synchronisation) {
    __syncwarp();
  }
  y[lane] = values[lane ^ 16];
}

__global__ void histogram_kernel(Bug bug, int const* values, int* counts) {
  QUAD_SHARED(int, bins, [8]);
  unsigned const t = threadIdx.x;
  if (t < 8) bins[t] = 0;
  if (bug != Bug::missing_barrier_after_the_zeros) __syncthreads();
  if (bug == Bug::increment_without_atomics) {
    ++bins[values[t]];
  } else {
    atomicAdd(&bins[values[t]], 1);
  }
  __syncthreads();
  if (t < 8) counts[t] = bins[t];
}

}  // namespace

void launch_vector_add(Bug bug, float const* a, float const* b, float* sum, int n,
                       device::StreamView stream) {
  QUAD_LAUNCH(vector_add_kernel, (n + 255) / 256, 256, 0, stream, bug, a, b, sum, n);
}

void launch_copy_row(Bug bug, float const* in, float* out, int row, int pitch,
                     device::StreamView stream) {
  QUAD_LAUNCH(copy_row_kernel, 1, 256, 0, stream, bug, in, out, row, pitch);
}

void launch_block_sum(Bug bug, float const* x, int n, float* partial, unsigned* counter, float* sum,
                      device::StreamView stream) {
  QUAD_LAUNCH(block_sum_kernel, kSumBlocks, 256, 0, stream, bug, x, n, partial, counter, sum);
}

void launch_transpose(Bug bug, float const* in, float* out, int rows, int columns,
                      device::StreamView stream) {
  QUAD_LAUNCH(transpose_kernel, 2, dim3(32, 8), 0, stream, bug, in, out, rows, columns);
}

void launch_gemm(Bug bug, float const* a, float const* b, float* c, int n,
                 device::StreamView stream) {
  QUAD_LAUNCH(gemm_kernel, dim3(static_cast<unsigned>(n / 32), static_cast<unsigned>(n / 32)), 64,
              0, stream, bug, a, b, c, n);
}

void launch_ring(Bug bug, float const* x, float* y, int tiles, device::StreamView stream) {
  QUAD_LAUNCH(ring_kernel,
              (kernels::LaunchShape{.grid = 1, .block = 96, .overlaps_previous = true}), stream,
              bug, x, y, tiles);
}

void launch_relay(Bug bug, float const* x, float* y, int tiles, device::StreamView stream) {
  QUAD_LAUNCH(relay_kernel, 1, 64, 0, stream, bug, x, y, tiles);
}

void launch_tensor_tile(Bug bug, __half const* a, __half const* b, float* c,
                        device::StreamView stream) {
  QUAD_LAUNCH(tensor_tile_kernel, 1, 64, 0, stream, bug, a, b, c);
}

void launch_exchange(Bug bug, float const* x, float* y, device::StreamView stream) {
  QUAD_LAUNCH(exchange_kernel, 1, 32, 0, stream, bug, x, y);
}

void launch_histogram(Bug bug, int const* values, int* counts, device::StreamView stream) {
  QUAD_LAUNCH(histogram_kernel, 1, 256, 0, stream, bug, values, counts);
}

}  // namespace quadrille::sabotage
