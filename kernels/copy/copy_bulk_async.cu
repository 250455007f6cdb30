// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Copy by bulk copies through a ring in shared memory.
///
///   to[i] = from[i]
///
/// Technique    one thread per multiprocessor starts loads of chunks by the copy engine ahead of
///              time and stores each as it arrives: nothing passes through registers, and a handful
///              of instructions move 16 KiB. The bytes in flight depend on the ring, not on the
///              number of threads
/// Shapes       n contiguous bytes; the last n % 16 by other threads
/// Work         2 n bytes
/// Launch       32 threads per block, one block per multiprocessor, a ring of 12 chunks of 16 KiB
///              of shared memory: 8 being loaded, 4 being stored
/// Accuracy     exact
#include "common/ptx/barriers.cuh"
#include "common/ptx/bulk_copies.cuh"
#include "copy/copy.hpp"

#include <algorithm>

namespace quadrille::kernels::copy {
namespace {

constexpr int kThreads = 32;
constexpr unsigned kChunk = 16384;
constexpr int kStages = 12;
constexpr int kLeaving = 4;
constexpr int kArriving = kStages - kLeaving;

#ifdef QUAD_KERNELS

__global__ void __launch_bounds__(kThreads)
    copy_bulk_async_kernel(char* to, char const* from, std::int64_t bytes) {
  QUAD_DYNAMIC_SHARED(char, ring);
  QUAD_SHARED(ptx::MBarrier, full, [kStages]);
  std::int64_t const whole = bytes / 16 * 16;
  std::int64_t const chunks = (whole + kChunk - 1) / kChunk;
  std::int64_t const stride = gridDim.x;
  auto const thread = static_cast<int>(threadIdx.x);

  if (blockIdx.x == 0 && whole + thread < bytes) to[whole + thread] = from[whole + thread];
  if (thread != 0) return;
  for (int stage = 0; stage < kStages; ++stage) ptx::mbarrier_init(&full[stage], 1);
  ptx::fence_mbarrier_init();

  auto const size_of_chunk = [&](std::int64_t chunk) {
    std::int64_t const left = whole - chunk * kChunk;
    return left < kChunk ? static_cast<unsigned>(left) : kChunk;
  };
  // Chunk number `iteration` of this block.
  auto const load = [&](std::int64_t iteration) {
    std::int64_t const chunk = blockIdx.x + iteration * stride;
    if (chunk >= chunks) return;
    int const stage = static_cast<int>(iteration % kStages);
    ptx::mbarrier_arrive_expect_tx(&full[stage], size_of_chunk(chunk));
    ptx::bulk_load<ptx::L2Hint::evict_first>(ring + stage * kChunk, from + chunk * kChunk,
                                             size_of_chunk(chunk), &full[stage]);
  };

  for (std::int64_t iteration = 0; iteration < kArriving; ++iteration) load(iteration);
  for (std::int64_t iteration = 0; blockIdx.x + iteration * stride < chunks; ++iteration) {
    std::int64_t const chunk = blockIdx.x + iteration * stride;
    int const stage = static_cast<int>(iteration % kStages);
    ptx::mbarrier_wait(&full[stage], static_cast<unsigned>(iteration / kStages % 2));
    ptx::bulk_store<ptx::L2Hint::evict_first>(to + chunk * kChunk, ring + stage * kChunk,
                                              size_of_chunk(chunk));
    ptx::bulk_commit();
    // The stage that is loaded next was stored kLeaving iterations ago; later stores may still
    // read.
    ptx::bulk_wait_read<kLeaving>();
    load(iteration + kArriving);
  }
  // Shared memory must live until the last copy has read it.
  ptx::bulk_wait_read<0>();
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.bytes == 0) return;
  std::int64_t const chunks = std::max<std::int64_t>(1, (problem.bytes + kChunk - 1) / kChunk);
  auto const blocks =
      static_cast<unsigned>(std::min<std::int64_t>(chunks, stream.facts().multiprocessors));
  QUAD_LAUNCH(copy_bulk_async_kernel, dim3(blocks), dim3(kThreads), kStages * kChunk, stream,
              static_cast<char*>(problem.to), static_cast<char const*>(problem.from),
              problem.bytes);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const bulk_async{
    {.name = "bulk_async",
     .where = Where::cuda,
     .types = kEveryType,
     .needs = {.compute_capability = 90, .shared_bytes = kStages * kChunk, .alignment = 16},
     .source = "own",
     .summary = "bulk copies through a ring in shared memory"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::copy
