// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/exchange_kernels.hpp"
#include "support/exchange_lanes.cuh"
#include "support/exchange_packed.cuh"

namespace quadrille::test {
namespace {

namespace exchange = kernels::exchange;

template <class Does>
__global__ void exchange_ranks_kernel(ExchangeStep const* steps, int count, unsigned* counters) {
  unsigned const rank = blockIdx.x / kBlocksOfRank, block = blockIdx.x % kBlocksOfRank;
  for (int i = 0; i < count; ++i) {
    ExchangeStep const& step = steps[static_cast<int>(rank) * count + i];
    if (!step.is_packed) {
      if (step.combines) {
        exchange::exchange_lanes<Does>(step.problem, block);
      } else {
        exchange::exchange_lanes<exchange::Keep>(step.problem, block);
      }
    } else if (block < step.blocks) {
      if (step.combines) {
        exchange::exchange_packed<Does>(step.problem, block, step.blocks);
      } else {
        exchange::exchange_packed<exchange::Keep>(step.problem, block, step.blocks);
      }
    }
    // The end of a grid and the start of the next, for this rank alone.
    __syncthreads();
    if (threadIdx.x == 0) {
      ptx::atomic_add_acq_rel_gpu(&counters[rank], 1);
      while (ptx::load_acquire_gpu(&counters[rank]) < (i + 1) * kBlocksOfRank) {
      }
    }
    __syncthreads();
  }
}

__global__ void stretches_kernel(exchange::Sizes sizes, std::size_t bytes, Stretch* out) {
  int const lane = static_cast<int>(threadIdx.x);
  auto const [first, count] =
      exchange::stretch(exchange::cut(bytes, sizes), bytes, sizes.lanes, lane, blockIdx.x);
  out[blockIdx.x * blockDim.x + threadIdx.x] = {first, count};
}

template <class Does>
void launch_as(ExchangeStep const* steps, int count, int ranks, unsigned* counters,
               device::StreamView stream) {
  // A cluster is resident as a whole.
  unsigned const blocks = static_cast<unsigned>(ranks) * kBlocksOfRank;
  QUAD_LAUNCH(
      exchange_ranks_kernel<Does>,
      (kernels::LaunchShape{
          .grid = blocks, .block = 64, .cluster = blocks, .non_portable_cluster = blocks > 8}),
      stream, steps, count, counters);
}

}  // namespace

void launch_ranks(ExchangeStep const* steps, int count, int ranks, unsigned* counters,
                  core::DataType type, kernels::Combine op, device::StreamView stream) {
  kernels::visit_combine(type, op, [&]<class T, kernels::Combine kOp>() {
    launch_as<exchange::Fold<T, kOp>>(steps, count, ranks, counters, stream);
  });
}

void launch_stretches(exchange::Sizes const& sizes, std::size_t bytes, Stretch* out,
                      device::StreamView stream) {
  QUAD_LAUNCH(stretches_kernel, exchange::cut(bytes, sizes).steps,
              static_cast<unsigned>(sizes.lanes), 0, stream, sizes, bytes, out);
}

}  // namespace quadrille::test
