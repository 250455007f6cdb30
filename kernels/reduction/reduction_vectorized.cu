// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reduction with a grid stride and 16-byte loads, and three ways to join the blocks' values.
///
///   s = sum x[i], sum x[i] y[i], sum x[i]^2, min x[i] or max x[i]
///
/// Technique    as many blocks as are resident, each thread with eight 16-byte loads in flight and
///              an accumulator for each: the loop runs at the rate of memory, and what follows it
///              costs once per block, not once per 512 elements. 128 KiB of loads are in flight on
///              a multiprocessor; the 2048 threads of `shuffle` have 16 KiB of f32.
///                  tile      | t0 t1 ... t511 | t0 t1 ... t511 | ...   8 x 512 groups of 16 bytes
///                              a[0], sum[0]     a[1], sum[1]
///                  block 0   tile 0, tile g, tile 2 g, ...             g blocks in the grid
///                  block 1   tile 1, tile g + 1, ...
///              `vectorized` stores the values of blocks for a second kernel, which joins them.
///              `one_launch`: each block counts itself done after storing its value, and the last
///              one joins all in the order of the blocks, so the bits do not depend on who is last.
///              A second kernel would cost more than the whole reduction of a short vector; a very
///              short one has a single block, and no counter. Reproducible: a block of threads per
///              virtual block, 256 lanes in 256 threads, the fixed order of
///              common/virtual_blocks.hpp: the bits of the host.
///              `cluster`, for short vectors, has no counter in global memory: all blocks are one
///              cluster, so that they run together, and store their values in the shared memory of
///              the first. The blocks' first meeting, without which none may write to another,
///              takes place while the elements are on their way. But a cluster starts when a group
///              of multiprocessors has room for all of its blocks, and these share the group's way
///              to memory, which costs as much as the counter does: `one_launch` is no slower
/// Before       shuffle; one_launch starts from vectorized, cluster from one_launch
/// Shapes       x, y: n contiguous elements, any n, any alignment; y of a dot product is read by
///              single elements where it is not aligned as x is. cluster: n up to 2^20, as 16
///              multiprocessors have a ninth of the memory's rate
/// Work         n s bytes read (2 n s for dot)
/// Launch       512 threads per block, at most 2 blocks per multiprocessor, whose values are in
///              scratch memory; vectorized: then one block of 1024; reproducible: 256 threads, at
///              most 8 blocks per multiprocessor; cluster: 1024 threads, 1, 2, 4, 8 or 16 blocks
///              (not portable: GPUs of sm_90 have room for 16, later ones may not)
/// Accuracy     4 eps sqrt(n) sum|x| with eps of the accumulator for uniform data; at worst
///              (n / (2^19 multiprocessors) + 30) eps / 2 sum|x|, of cluster (n / 2^16 + 64)
///              eps / 2 sum|x|; min, max exact; i32 exact below 2^53
#include "common/ptx/clusters.cuh"
#include "reduction/reduction_device.cuh"

namespace quadrille::kernels::reduction {
namespace {

constexpr int kThreads = 512;
constexpr int kClusterThreads = 1024;
constexpr unsigned kMaxClusterBlocks = 16;
constexpr std::int64_t kMaxClusterElements = std::int64_t{1} << 20;

#ifdef QUAD_KERNELS

/// Loads in flight: half as many groups where each is two loads.
template <Operation op>
constexpr int kLoadsInFlight = op == Operation::dot ? 4 : 8;

/// A thread's share of the 16-byte groups [0, groups) of x and y, which are distributed over blocks
/// cyclically, `tile` at a time, at most kTileGroups. All loads of a tile are issued before the first
/// is used, each into an accumulator of its own; they are a constant distance apart, so that one
/// address serves all.
template <Operation op, class Acc, int kBlock, bool kAlignedY, class T>
__device__ inline Acc reduce_groups(T const* x, [[maybe_unused]] T const* y, std::int64_t groups,
                                    std::int64_t tile) {
  constexpr int kWide = 16 / sizeof(T), kFlight = kLoadsInFlight<op>;
  static_assert((kFlight & (kFlight - 1)) == 0, "accumulators are joined in halves");
  constexpr std::int64_t kTile = kTileGroups<kBlock, kFlight>;
  Acc sum[kFlight];
#pragma unroll
  for (int f = 0; f < kFlight; ++f) sum[f] = identity<op, Acc>();
  auto const accumulate_wide = [](Acc& into, Wide<T> const& v, [[maybe_unused]] Wide<T> const& w) {
#pragma unroll
    for (int j = 0; j < kWide; ++j) {
      into = accumulate<op>(into, v.item[j], op == Operation::dot ? w.item[j] : v.item[j]);
    }
  };
  for (std::int64_t begin = blockIdx.x * tile; begin < groups; begin += gridDim.x * tile) {
    std::int64_t const left = groups - begin < tile ? groups - begin : tile;
    T const* const from_x = x + (begin + threadIdx.x) * kWide;
    [[maybe_unused]] T const* const from_y = y + (begin + threadIdx.x) * kWide;
    Wide<T> a[kFlight];
    Wide<T> b[kFlight];
    if (left == kTile) {
#pragma unroll
      for (int f = 0; f < kFlight; ++f) {
        a[f] = load_wide<true>(from_x + f * kBlock * kWide);
        if constexpr (op == Operation::dot) {
          b[f] = load_wide<kAlignedY>(from_y + f * kBlock * kWide);
        }
      }
#pragma unroll
      for (int f = 0; f < kFlight; ++f) accumulate_wide(sum[f], a[f], b[f]);
    } else {
      // A short tile: what there is, also at once.
      int const mine = static_cast<int>(left) - static_cast<int>(threadIdx.x);
#pragma unroll
      for (int f = 0; f < kFlight; ++f) {
        if (f * kBlock < mine) {
          a[f] = load_wide<true>(from_x + f * kBlock * kWide);
          if constexpr (op == Operation::dot) {
            b[f] = load_wide<kAlignedY>(from_y + f * kBlock * kWide);
          }
        }
      }
#pragma unroll
      for (int f = 0; f < kFlight; ++f) {
        if (f * kBlock < mine) accumulate_wide(sum[f], a[f], b[f]);
      }
    }
  }
#pragma unroll
  for (int half = kFlight / 2; half > 0; half /= 2) {
#pragma unroll
    for (int f = 0; f < half; ++f) sum[f] = combine<op>(sum[f], sum[f + half]);
  }
  return sum[0];
}

/// The same of the elements [0, n): 16-byte loads of x wherever it starts, single elements before the
/// first boundary and after the last.
template <Operation op, class Acc, int kBlock, class T>
__device__ inline Acc reduce_elements(T const* x, T const* y, std::int64_t n, std::int64_t tile) {
  constexpr int kWide = 16 / sizeof(T);
  std::int64_t const head = unaligned_head(x, n);
  std::int64_t const groups = (n - head) / kWide;
  Acc sum;
  if (op != Operation::dot || reinterpret_cast<std::uintptr_t>(y + head) % 16 == 0) {
    sum = reduce_groups<op, Acc, kBlock, true>(x + head, y + head, groups, tile);
  } else {
    sum = reduce_groups<op, Acc, kBlock, false>(x + head, y + head, groups, tile);
  }
  std::int64_t const e = threadIdx.x;
  if (blockIdx.x == 0 && e < n - groups * kWide) {
    sum = accumulate_at<op>(sum, x, y, e < head ? e : e + groups * kWide);
  }
  return sum;
}

template <Operation op, class T, class Acc>
__global__ void __launch_bounds__(kThreads, 2)
    reduction_vectorized_kernel(T const* x, T const* y, std::int64_t n, Acc* partials) {
  constexpr std::int64_t kTile = kTileGroups<kThreads, kLoadsInFlight<op>>;
  Acc sum = reduce_elements<op, Acc, kThreads>(x, y, n, kTile);
  sum = block_reduce<op, kThreads>(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

template <Operation op, class T, class Acc>
__global__ void __launch_bounds__(kThreads, 2)
    reduction_one_launch_kernel(T const* x, T const* y, std::int64_t n, std::int64_t tile,
                                Acc* partials, unsigned* finished, double* result) {
  // changed: the host chooses the tile, so that many blocks share a short vector
  Acc sum = reduce_elements<op, Acc, kThreads>(x, y, n, tile);
  sum = block_reduce<op, kThreads>(sum);
  // changed: the last block takes the place of the second kernel
  finish_in_last_block<op, kThreads>(sum, partials, finished, n, result);
}

template <Operation op, class T, class Acc>
__global__ void __launch_bounds__(kClusterThreads)
    reduction_cluster_kernel(T const* x, T const* y, std::int64_t n, std::int64_t tile,
                             double* result) {
  QUAD_SHARED(Acc, of_block, [kMaxClusterBlocks]);
  ptx::cluster_arrive();
  Acc sum = reduce_elements<op, Acc, kClusterThreads>(x, y, n, tile);
  sum = block_reduce<op, kClusterThreads>(sum);
  // changed: values go to the shared memory of the cluster's first block
  ptx::cluster_wait();  // the first block is there
  if (threadIdx.x == 0) *ptx::cluster_map(&of_block[blockIdx.x], 0) = sum;
  ptx::cluster_arrive();
  if (blockIdx.x > 0) return;
  ptx::cluster_wait();  // all blocks have stored their values
  if (threadIdx.x >= 32) return;
  sum = warp_reduce<op>(threadIdx.x < gridDim.x ? of_block[threadIdx.x] : identity<op, Acc>());
  if (threadIdx.x == 0) *result = result_of<op>(sum, n);
}

/// one_launch, reproducible.
template <Operation op, class T>
__global__ void __launch_bounds__(kLanes)
    reduction_blocks_kernel(T const* x, T const* y, std::int64_t global_n, std::int64_t block_first,
                            std::int64_t block_count, double* blocks) {
  QUAD_SHARED(double, lanes, [kLanes]);
  unsigned const lane = threadIdx.x;
  std::int64_t const origin = block_begin(global_n, block_first);
  for (std::int64_t b = blockIdx.x; b < block_count; b += gridDim.x) {
    std::int64_t const begin = block_begin(global_n, block_first + b) - origin;
    std::int64_t const end = block_begin(global_n, block_first + b + 1) - origin;
    double sum = start<op, double>();
    // Loads do not wait for the additions, which must be in order: eight are in flight.
#pragma unroll 8
    for (std::int64_t i = begin + lane; i < end; i += kLanes) sum = accumulate_at<op>(sum, x, y, i);
    lanes[lane] = sum;
    __syncthreads();
    for (unsigned half = kLanes / 2; half >= 32; half /= 2) {
      if (lane < half) lanes[lane] = combine<op>(lanes[lane], lanes[lane + half]);
      __syncthreads();  // the next step reads what this one wrote
    }
    if (lane < 32) {
      sum = warp_reduce<op>(lanes[lane]);
      if (lane == 0) blocks[b] = canonical(sum);
    }
    __syncthreads();  // the next virtual block overwrites the lanes
  }
}

void launch_vectorized(Problem const& problem, device::StreamView stream) {
  require_scratch(problem);
  auto const resident = static_cast<unsigned>(2 * stream.facts().multiprocessors);
  visit_all(problem, [&]<Operation op, class T, class Acc>() {
    constexpr std::int64_t kEach =
        kTileGroups<kThreads, kLoadsInFlight<op>> * std::int64_t{16 / sizeof(T)};
    unsigned const blocks = std::min(blocks_for(problem.n, kEach), resident);
    QUAD_LAUNCH((reduction_vectorized_kernel<op, T, Acc>), dim3(blocks), dim3(kThreads), 0, stream,
                first_of<T>(problem), second_of<op, T>(problem), problem.n,
                partials_of<Acc>(problem));
    launch_finish<op, Acc>(problem, blocks, stream);
  });
}

/// How blocks share the 16-byte groups.
struct Grid {
  unsigned blocks = 1;
  std::int64_t tile = kClusterThreads;
};

/// One block as long as it is faster than several and their final step; then blocks take few groups
/// at a time, so that many share the work, and more where all resident blocks have enough.
Grid one_launch_grid(std::int64_t groups, std::int64_t largest_tile, int multiprocessors) {
  constexpr std::int64_t kSingleBlockGroups = 4096;
  if (groups <= kSingleBlockGroups) return {1, largest_tile};
  auto const resident = static_cast<unsigned>(2 * multiprocessors);
  std::int64_t tile = 2 * kThreads;
  while (tile < largest_tile && blocks_for(groups, tile) > resident) tile *= 2;
  return {std::min(blocks_for(groups, tile), resident), tile};
}

/// Blocks, a power of two, with one 16-byte group a thread as long as they are not too many; then
/// more groups.
Grid cluster_grid(std::int64_t groups, std::int64_t largest_tile) {
  Grid grid;
  while (grid.blocks < kMaxClusterBlocks && grid.blocks * grid.tile < groups) grid.blocks *= 2;
  while (grid.tile < largest_tile && grid.blocks * grid.tile < groups) grid.tile *= 2;
  return grid;
}

void launch_blocks(Problem const& p, device::StreamView stream) {
  if (p.block_count == 0) return;
  auto const grid = static_cast<unsigned>(
      std::min<std::int64_t>(p.block_count, 8 * stream.facts().multiprocessors));
  visit(p, [&]<Operation op, class T>() {
    QUAD_LAUNCH((reduction_blocks_kernel<op, T>), dim3(grid), dim3(kLanes), 0, stream,
                first_of<T>(p), second_of<op, T>(p), p.global_n, p.block_first, p.block_count,
                p.blocks);
  });
}

void launch_one(Problem const& problem, device::StreamView stream) {
  if (problem.reproducible) return launch_blocks(problem, stream);
  require_scratch(problem);
  int const multiprocessors = stream.facts().multiprocessors;
  visit_all(problem, [&]<Operation op, class T, class Acc>() {
    auto const [blocks, tile] =
        one_launch_grid(problem.n / std::int64_t{16 / sizeof(T)},
                        kTileGroups<kThreads, kLoadsInFlight<op>>, multiprocessors);
    QUAD_LAUNCH((reduction_one_launch_kernel<op, T, Acc>), dim3(blocks), dim3(kThreads), 0, stream,
                first_of<T>(problem), second_of<op, T>(problem), problem.n, tile,
                partials_of<Acc>(problem), counter_of(problem), problem.result);
  });
}

void launch_cluster(Problem const& problem, device::StreamView stream) {
  visit_all(problem, [&]<Operation op, class T, class Acc>() {
    auto const [blocks, tile] = cluster_grid(problem.n / std::int64_t{16 / sizeof(T)},
                                             kTileGroups<kClusterThreads, kLoadsInFlight<op>>);
    LaunchShape const shape{.grid = dim3(blocks),
                            .block = dim3(kClusterThreads),
                            .cluster = dim3(blocks),
                            .non_portable_cluster = blocks > 8};
    QUAD_LAUNCH((reduction_cluster_kernel<op, T, Acc>), shape, stream, first_of<T>(problem),
                second_of<op, T>(problem), problem.n, tile, problem.result);
  });
}

#endif  // QUAD_KERNELS

/// Of 16 blocks with at least 4 accumulators in each thread.
double chain_of_cluster(double n, device::Facts const&) {
  return n / (kMaxClusterBlocks * kClusterThreads * 4.0) + 64;
}

std::string unsupported_by_cluster(Problem const& problem) {
  if (problem.n > kMaxClusterElements) {
    return "takes up to " + std::to_string(kMaxClusterElements) + " elements, not " +
           std::to_string(problem.n);
  }
  return plain_only(problem);
}

}  // namespace

extern constinit Variant<Problem> const vectorized{
    {.name = "vectorized",
     .where = Where::cuda,
     .types = kReductionTypes,
     .needs = {.other = "not reproducible"},
     .source = "own",
     .summary = "grid stride, eight 16-byte loads in flight"},
    QUAD_KERNEL_LAUNCH(launch_vectorized),
    {.unsupported = plain_only, .notes = {.chain = chain_of_grid<4096>}}};

extern constinit Variant<Problem> const one_launch{
    {.name = "one_launch",
     .where = Where::cuda,
     .types = kReductionTypes,
     .preference = 20,
     .source = "own",
     .summary = "the last block to finish joins all, in a fixed order"},
    QUAD_KERNEL_LAUNCH(launch_one),
    {.notes = {.chain = chain_of_grid<2048>}}};

extern constinit Variant<Problem> const cluster{
    {.name = "cluster",
     .where = Where::cuda,
     .types = kReductionTypes,
     .needs = {.compute_capability = 90,
               .exact_capability = true,
               .other = "up to 2^20 elements, not reproducible"},
     .source = "own",
     .summary = "one cluster of up to 16 blocks joins in its shared memory"},
    QUAD_KERNEL_LAUNCH(launch_cluster),
    {.unsupported = unsupported_by_cluster, .notes = {.chain = chain_of_cluster}}};

}  // namespace quadrille::kernels::reduction
