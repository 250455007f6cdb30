// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/ptx/clusters.cuh"
#include "kernels/ptx/clusters_kernels.hpp"

namespace quadrille::test {
namespace {

using namespace ptx;  // every line below is about these instructions

__device__ void meet() {
  __syncwarp();  // the instruction takes whole warps
  cluster_arrive();
  cluster_wait();
}

__global__ void exchange_kernel(int const* in, int* out, ClusterMisuse misuse) {
  QUAD_SHARED(int, values, [32]);
  unsigned const i = threadIdx.x;
  unsigned const other = misuse == ClusterMisuse::not_in_cluster ? 2 : cluster_rank() ^ 1;
  values[i] = in[blockIdx.x * 32 + i];
  if (misuse != ClusterMisuse::no_meeting) meet();
  out[blockIdx.x * 32 + i] =
      *cluster_map(&values[i], other) + static_cast<int>(cluster_extents().x) - 2;
  if (misuse != ClusterMisuse::no_last_meeting) meet();
}

/// One warp of each block. Two barriers, because the other may be a phase ahead.
__global__ void relaxed_kernel(int* arrivals) {
  QUAD_SHARED(MBarrier, barriers, [2]);
  if (threadIdx.x == 0) {
    for (MBarrier& barrier : barriers) mbarrier_init(&barrier, 1);
    fence_mbarrier_init();
  }
  __syncwarp();
  cluster_arrive_relaxed();
  cluster_wait();
  if (threadIdx.x == 0) {
    for (MBarrier& barrier : barriers) {
      mbarrier_arrive_cluster_relaxed(&barrier, cluster_rank() ^ 1);
      mbarrier_wait_cluster_relaxed(&barrier, 0);
    }
    arrivals[cluster_rank()] = 2;
  }
  meet();
}

constexpr int kThreads = 64;
constexpr int kRows = 16, kColumns = 32;
constexpr int kChunk = kRows * kColumns;
constexpr int kStages = 2;
constexpr unsigned kChunkBytes = kChunk * sizeof(float);
constexpr int kWarp = 32;

__global__ void multicast_ring_kernel(const __grid_constant__ TensorMap from, float* to, int chunks,
                                      ClusterMisuse misuse) {
  QUAD_SHARED(MBarrier, full, [kStages]);
  QUAD_SHARED(MBarrier, empty, [kStages]);
  QUAD_DYNAMIC_SHARED(float, ring);
  unsigned const rank = cluster_rank();
  bool const is_producer = threadIdx.x == kThreads;
  bool const arrives = misuse != ClusterMisuse::no_remote_arrive;
  if (is_producer) {
    for (int s = 0; s < kStages; ++s) {
      mbarrier_init(&full[s], 1);
      mbarrier_init(&empty[s], arrives ? 2 * kThreads : kThreads);
    }
    fence_mbarrier_init();
  }
  if (misuse == ClusterMisuse::no_meeting) {
    __syncthreads();
  } else {
    meet();
  }

  if (is_producer) {
    for (int i = 0; i < chunks; ++i) {
      int const s = i % kStages;
      unsigned const parity = i / kStages & 1;
      if (misuse == ClusterMisuse::wait_of_block) {
        mbarrier_wait(&empty[s], parity ^ 1);
      } else {
        mbarrier_wait_cluster(&empty[s], parity ^ 1);
      }
      mbarrier_arrive_expect_tx(&full[s], kChunkBytes);
      int const row = static_cast<int>(rank) * kRows / 2;
      float* const half = ring + s * kChunk + row * kColumns;
      if (i % 2 == 0) {
        tensor_load_multicast(half, from, i * kRows + row, 0, &full[s], 3);
      } else {
        tensor_load_multicast<L2Hint::evict_first>(half, from, i * kRows + row, 0, &full[s], 3);
      }
    }
  } else if (threadIdx.x < kThreads) {
    for (int i = 0; i < chunks; ++i) {
      int const s = i % kStages;
      mbarrier_wait(&full[s], i / kStages & 1);
      for (int j = static_cast<int>(threadIdx.x); j < kChunk; j += kThreads) {
        to[(static_cast<int>(rank) * chunks + i) * kChunk + j] = ring[s * kChunk + j] + 1;
      }
      mbarrier_arrive(&empty[s]);
      if (!arrives) continue;
      if (i % 2 == 0) {
        mbarrier_arrive_cluster(&empty[s], rank ^ 1);
      } else {
        __syncwarp();
        bool const is_first = threadIdx.x % kWarp == 0;
        unsigned const count = misuse == ClusterMisuse::too_many_arrivals ? 3 * kThreads : kWarp;
        if (is_first) mbarrier_arrive_cluster(&empty[s], rank ^ 1, count);
      }
    }
  }
  if (misuse != ClusterMisuse::no_last_meeting) meet();
}

__global__ void bulk_exchange_kernel(int const* in, int* out, ClusterMisuse misuse) {
  QUAD_SHARED(int, mine, [2 * kWarp]);
  QUAD_SHARED(int, others, [kWarp]);
  QUAD_SHARED(MBarrier, full);
  unsigned const i = threadIdx.x;
  unsigned const other = misuse == ClusterMisuse::not_in_cluster ? 2 : cluster_rank() ^ 1;
  mine[kWarp + i] = in[blockIdx.x * kWarp + i];
  if (misuse != ClusterMisuse::no_proxy_fence) fence_proxy_async();
  if (i == 0) {
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
  }
  meet();
  if (i == 0) {
    unsigned const bytes = kWarp * sizeof(int) - (misuse == ClusterMisuse::odd_size ? 4 : 0);
    mbarrier_arrive_expect_tx(&full, bytes);
    bulk_copy_cluster(others, mine + kWarp, bytes, &full, other);
    if (misuse == ClusterMisuse::overwrites_source) mine[kWarp] += 1;
  }
  if (misuse == ClusterMisuse::no_last_meeting) return;
  mbarrier_wait(&full, 0);
  out[blockIdx.x * kWarp + i] = others[i];
  meet();  // the other block has what it reads of this one
}

}  // namespace

void launch_exchange(int const* in, int* out, int blocks, ClusterMisuse misuse,
                     device::StreamView stream) {
  QUAD_LAUNCH(
      exchange_kernel,
      (kernels::LaunchShape{.grid = static_cast<unsigned>(blocks), .block = 32, .cluster = 2}),
      stream, in, out, misuse);
}

void launch_relaxed(int* arrivals, device::StreamView stream) {
  QUAD_LAUNCH(relaxed_kernel, (kernels::LaunchShape{.grid = 2, .block = 32, .cluster = 2}), stream,
              arrivals);
}

void launch_multicast_ring(float const* from, float* to, int chunks, ClusterMisuse misuse,
                           device::StreamView stream) {
  auto const map = make_tensor_map_2d({.data = from,
                                       .type = core::DataType::f32,
                                       .rows = chunks * kRows,
                                       .columns = kColumns,
                                       .leading = kColumns,
                                       .box_rows = kRows / 2,
                                       .box_columns = kColumns});
  QUAD_LAUNCH(
      multicast_ring_kernel,
      (kernels::LaunchShape{
          .grid = 2, .block = kThreads + 32, .shared_bytes = kStages * kChunkBytes, .cluster = 2}),
      stream, map, to, chunks, misuse);
}

void launch_bulk_exchange(int const* in, int* out, int blocks, ClusterMisuse misuse,
                          device::StreamView stream) {
  QUAD_LAUNCH(
      bulk_exchange_kernel,
      (kernels::LaunchShape{.grid = static_cast<unsigned>(blocks), .block = kWarp, .cluster = 2}),
      stream, in, out, misuse);
}

}  // namespace quadrille::test
