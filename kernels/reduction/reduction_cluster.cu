// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reduction by one cluster of blocks.
///
///   s = sum x[i], sum x[i] y[i], sum x[i]^2, min x[i] or max x[i]
///
/// Technique    for short vectors, without the counter in global memory: all blocks are one
///              cluster, so that they run together, and each stores its value in the shared memory
///              of the first, which joins them in the order of the blocks. The blocks' first
///              meeting, without which none may write to another, takes place while the elements
///              are on their way. No scratch memory, no atomic addition; but a cluster starts when
///              a group of multiprocessors has room for all of its blocks, and these share the
///              group's way to memory, which costs as much as the counter does: `one_launch` is no
///              slower
/// Before       one_launch
/// Shapes       x, y: n contiguous elements, n up to 2^20, as 16 multiprocessors have a ninth of
///              the memory's rate, any alignment; y of a dot product is read by single elements
///              where it is not aligned as x is
/// Work         n s bytes read (2 n s for dot)
/// Launch       1024 threads per block, 1, 2, 4, 8 or 16 blocks (not portable: GPUs of sm_90 have
///              room for 16, later ones may not)
/// Accuracy     at worst (n / 2^16 + 64) eps / 2 sum|x| with eps of the accumulator; min, max exact;
///              i32 exact below 2^53
#include "common/ptx/clusters.cuh"
#include "reduction/reduction_device.cuh"

namespace quadrille::kernels::reduction {
namespace {

constexpr int kThreads = 1024;
constexpr unsigned kMaxBlocks = 16;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 20;

/// Of 16 blocks with at least 4 accumulators in each thread.
double chain_of_cluster(double n, device::Facts const&) {
  return n / (kMaxBlocks * kThreads * 4.0) + 64;
}

std::string unsupported(Problem const& problem) {
  if (problem.n > kMaxElements) {
    return "takes up to " + std::to_string(kMaxElements) + " elements, not " +
           std::to_string(problem.n);
  }
  return plain_only(problem);
}

#ifdef QUAD_KERNELS

template <Operation op, class T, class Acc>
__global__ void __launch_bounds__(kThreads)
    reduction_cluster_kernel(T const* x, T const* y, std::int64_t n, std::int64_t tile,
                             double* result) {
  QUAD_SHARED(Acc, of_block, [kMaxBlocks]);
  ptx::cluster_arrive();
  Acc sum = reduce_share<op, Acc, kThreads, kLoadsInFlight<op>>(x, y, n, tile);
  sum = fold_block<op, kThreads>(sum);
  ptx::cluster_wait();  // the first block is there
  if (threadIdx.x == 0) *ptx::cluster_map(&of_block[blockIdx.x], 0) = sum;
  ptx::cluster_arrive();
  if (blockIdx.x > 0) return;
  ptx::cluster_wait();  // all blocks have stored their values
  if (threadIdx.x >= 32) return;
  sum = warp_reduce<op>(threadIdx.x < gridDim.x ? of_block[threadIdx.x] : identity<op, Acc>());
  if (threadIdx.x == 0) *result = result_of<op>(sum, n);
}

/// Blocks, a power of two, with one 16-byte group a thread as long as they are not too many; then
/// more groups.
struct Shape {
  unsigned blocks = 1;
  std::int64_t tile = kThreads;
};
Shape shape_of(std::int64_t groups, std::int64_t largest_tile) {
  Shape shape;
  while (shape.blocks < kMaxBlocks && shape.blocks * shape.tile < groups) shape.blocks *= 2;
  while (shape.tile < largest_tile && shape.blocks * shape.tile < groups) shape.tile *= 2;
  return shape;
}

void launch(Problem const& problem, device::StreamView stream) {
  visit_all(problem, [&]<Operation op, class T, class Acc>() {
    auto const [blocks, tile] = shape_of(problem.n / std::int64_t{16 / sizeof(T)},
                                         kTileGroups<kThreads, kLoadsInFlight<op>>);
    LaunchShape const shape{.grid = dim3(blocks),
                            .block = dim3(kThreads),
                            .cluster = dim3(blocks),
                            .non_portable_cluster = blocks > 8};
    QUAD_LAUNCH((reduction_cluster_kernel<op, T, Acc>), shape, stream, first_of<T>(problem),
                second_of<op, T>(problem), problem.n, tile, problem.result);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const cluster{
    {.name = "cluster",
     .where = Where::cuda,
     .types = kReductionTypes,
     .needs = {.compute_capability = 90,
               .exact_capability = true,
               .other = "up to 2^20 elements, not reproducible"},
     .source = "own",
     .summary = "one cluster of up to 16 blocks joins in its shared memory"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported, .notes = {.chain = chain_of_cluster}}};

}  // namespace quadrille::kernels::reduction
