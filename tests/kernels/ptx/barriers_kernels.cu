// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/ptx/barriers.cuh"
#include "common/ptx/bulk_copies.cuh"
#include "common/ptx/copies.cuh"
#include "kernels/ptx/barriers_kernels.hpp"

namespace quadrille::test {
namespace {

using namespace ptx;  // every line below is about these instructions

constexpr int kWarp = 32;

__global__ void ptx_named_barriers_kernel(int const* in, int* out, int count) {
  constexpr int kFull = 1, kEmpty = 2;
  QUAD_SHARED(int, buffer, [kWarp]);
  int const lane = static_cast<int>(threadIdx.x % kWarp);
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x < kWarp) {
      if (round > 0) bar_sync(kEmpty, count);
      buffer[lane] = in[32 * round + lane];
      bar_arrive(kFull, count);
    } else {
      bar_sync(kFull, count);
      out[32 * round + lane] = 2 * buffer[31 - lane];
      if (round < 2) bar_arrive(kEmpty, count);
    }
  }
}

constexpr int kThreads = 128;
constexpr int kChunk = 256;
constexpr int kStages = 3;

__global__ void bulk_ring_kernel(float const* from, float* to, int chunks, RingMisuse misuse) {
  QUAD_SHARED(MBarrier, full, [kStages]);
  QUAD_SHARED(MBarrier, empty, [kStages]);
  QUAD_DYNAMIC_SHARED(float, ring);
  bool const is_producer = threadIdx.x == kThreads;
  if (is_producer && misuse != RingMisuse::not_initialised) {
    for (int s = 0; s < kStages; ++s) {
      mbarrier_init(&full[s], 1);
      mbarrier_init(&empty[s], kThreads);
    }
    if (misuse != RingMisuse::no_init_fence) fence_mbarrier_init();
  }
  __syncthreads();

  if (is_producer) {
    unsigned const bytes = kChunk * sizeof(float) - (misuse == RingMisuse::odd_size ? 4 : 0);
    for (int i = 0; i < chunks; ++i) {
      int const s = i % kStages;
      unsigned const parity = (i / kStages & 1) ^ (misuse == RingMisuse::wrong_parity ? 1 : 0);
      // Nobody waits for the first round: a new barrier says that the phase before has ended.
      if (misuse != RingMisuse::no_wait_for_empty) mbarrier_wait(&empty[s], parity ^ 1);
      if (misuse == RingMisuse::no_expect_tx) {
        mbarrier_arrive(&full[s]);
      } else {
        mbarrier_arrive_expect_tx(&full[s],
                                  bytes / (misuse == RingMisuse::too_few_expected ? 2 : 1));
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
      if (misuse != RingMisuse::no_wait_for_full) mbarrier_wait(&full[s], i / kStages & 1);
      for (int j = static_cast<int>(threadIdx.x); j < kChunk; j += kThreads) {
        to[i * kChunk + j] = ring[s * kChunk + j] + 1;
      }
      mbarrier_arrive(&empty[s]);
    }
  }
}

constexpr int kPiece = 4;  // floats of a thread's copy, 16 bytes

__global__ void copy_ring_kernel(float const* from, float* to, int chunks, RingMisuse misuse) {
  QUAD_SHARED(MBarrier, full, [kStages]);
  QUAD_SHARED(MBarrier, empty, [kStages]);
  QUAD_SHARED(float, ring, [kStages][kWarp * kPiece]);
  int const lane = static_cast<int>(threadIdx.x % kWarp);
  if (threadIdx.x == 0 && misuse != RingMisuse::not_initialised) {
    for (int s = 0; s < kStages; ++s) {
      mbarrier_init(&full[s], kWarp);
      mbarrier_init(&empty[s], kWarp);
    }
  }
  __syncthreads();

  for (int i = 0; i < chunks; ++i) {
    int const s = i % kStages;
    unsigned const parity = i / kStages & 1;
    if (threadIdx.x < kWarp) {
      if (misuse != RingMisuse::no_wait_for_empty) mbarrier_wait(&empty[s], parity ^ 1);
      int const first = kPiece * lane;
      cp_async<16>(&ring[s][first], from + i * kWarp * kPiece + first);
      if (misuse == RingMisuse::arrives_before_copies) {
        mbarrier_arrive(&full[s]);
      } else {
        cp_async_mbarrier_arrive_noinc(&full[s]);
      }
    } else {
      if (misuse != RingMisuse::no_wait_for_full) mbarrier_wait(&full[s], parity);
      for (int j = 0; j < kPiece; ++j) {  // what four other threads have copied
        to[i * kWarp * kPiece + kWarp * j + lane] = ring[s][kWarp * j + lane] + 1;
      }
      mbarrier_arrive(&empty[s]);
    }
  }
}

}  // namespace

void launch_named_barriers(int const* in, int* out, int count, device::StreamView stream) {
  QUAD_LAUNCH(ptx_named_barriers_kernel, 1, 64, 0, stream, in, out, count);
}

void launch_bulk_ring(float const* from, float* to, int chunks, RingMisuse misuse,
                      device::StreamView stream) {
  QUAD_LAUNCH(bulk_ring_kernel, 1, kThreads + 32, kStages * kChunk * sizeof(float), stream, from,
              to, chunks, misuse);
}

void launch_copy_ring(float const* from, float* to, int chunks, RingMisuse misuse,
                      device::StreamView stream) {
  QUAD_LAUNCH(copy_ring_kernel, 1, 2 * kWarp, 0, stream, from, to, chunks, misuse);
}

}  // namespace quadrille::test
