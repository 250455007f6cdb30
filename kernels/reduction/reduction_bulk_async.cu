// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reduction of tiles that bulk copies load.
///
///   s = sum x[i], sum x[i] y[i], sum x[i]^2, min x[i] or max x[i]
///
/// Technique    one thread makes the copy engine fill a ring of tiles in shared memory; the others
///              only add. What is in flight is bounded by shared memory, not by registers, and does
///              not shrink while threads add: 192 KiB on a multiprocessor whatever the warps do,
///              where `one_launch` has 128 KiB at best. The last block joins the values as there.
///                  stage        0      1      2      3      4      5
///                  copies   | t0   | t1   | t2   | t3   | t4   | t5   |   k = 0 .. 5, no wait
///                           | t6   | t7   | ...    k = 6: waits for empty[0], phase 0
///                  adds     | t0   | t1   | ...    k = 0: waits for full[0], phase 0
///                           | t6   | ...           k = 6: waits for full[0], phase 1
///                  full[s]:  1 arrival, and the bytes of the stage's copies
///                  empty[s]: 8 arrivals, one of each warp that adds, when it has read the stage
/// Before       one_launch
/// Shapes       x, y: n contiguous elements, any n, any alignment of x
/// Work         n s bytes read (2 n s for dot)
/// Launch       256 threads and one warp that copies per block, 6 stages of 16 KiB, at most 2
///              blocks per multiprocessor, whose values are in scratch memory
/// Accuracy     4 eps sqrt(n) sum|x| with eps of the accumulator for uniform data; at worst
///              (n / (2^17 multiprocessors) + 30) eps / 2 sum|x|; min, max exact; i32 exact
///              below 2^53
#include "common/ptx/barriers.cuh"
#include "common/ptx/bulk_copies.cuh"
#include "reduction/reduction_device.cuh"

namespace quadrille::kernels::reduction {
namespace {

constexpr unsigned kConsumers = 256;
constexpr int kThreads = kConsumers + 32;
constexpr unsigned kStages = 6;
constexpr unsigned kStageBytes = 16384;

#ifdef QUAD_KERNELS
/// 16-byte groups of one vector in a stage, which dot shares between x and y.
template <Operation op>
constexpr unsigned kTile = kStageBytes / 16 / (op == Operation::dot ? 2 : 1);

template <Operation op, class T, class Acc>
__global__ void __launch_bounds__(kThreads, 2)
    reduction_bulk_async_kernel(T const* x, T const* y, std::int64_t n, Acc* partials,
                                unsigned* finished, double* result) {
  constexpr bool kDot = op == Operation::dot;
  constexpr std::int64_t kWide = 16 / sizeof(T);
  constexpr unsigned kPerThread = kTile<op> / kConsumers;
  QUAD_DYNAMIC_SHARED(Wide<T>, ring);  // stages of kTile groups of x, then of y
  QUAD_SHARED(ptx::MBarrier, full, [kStages]);
  QUAD_SHARED(ptx::MBarrier, empty, [kStages]);
  unsigned const t = threadIdx.x;
  if (t == 0) {
    for (unsigned s = 0; s < kStages; ++s) {
      ptx::mbarrier_init(&full[s], 1);
      ptx::mbarrier_init(&empty[s], kConsumers / 32);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // the barriers are ready

  std::int64_t const head = unaligned_head(x, n);
  std::int64_t const groups = (n - head) / kWide;
  std::int64_t const tiles = (groups + kTile<op> - 1) / kTile<op>;
  auto const groups_in = [&](std::int64_t tile) {
    std::int64_t const left = groups - tile * kTile<op>;
    return left < kTile<op> ? static_cast<unsigned>(left) : kTile<op>;
  };
  constexpr unsigned kStageGroups = kStageBytes / 16;
  Acc sum = identity<op, Acc>();
  if (t >= kConsumers) {
    // copy: one thread, as far ahead as the ring is long
    unsigned k = 0;
    for (std::int64_t tile = blockIdx.x; t == kConsumers && tile < tiles; tile += gridDim.x, ++k) {
      unsigned const s = k % kStages;
      if (k >= kStages) ptx::mbarrier_wait(&empty[s], (k / kStages - 1) & 1);
      unsigned const bytes = 16 * groups_in(tile);
      std::int64_t const from = head + tile * kTile<op> * kWide;
      Wide<T>* const stage = ring + s * kStageGroups;
      ptx::mbarrier_arrive_expect_tx(&full[s], (kDot ? 2 : 1) * bytes);
      ptx::bulk_load<ptx::L2Hint::evict_first>(stage, x + from, bytes, &full[s]);
      if constexpr (kDot) {
        ptx::bulk_load<ptx::L2Hint::evict_first>(stage + kTile<op>, y + from, bytes, &full[s]);
      }
    }
  } else {
    // add: an accumulator for each of a thread's groups in a tile
    Acc of_group[kPerThread];
#pragma unroll
    for (unsigned g = 0; g < kPerThread; ++g) of_group[g] = identity<op, Acc>();
    unsigned k = 0;
    for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x, ++k) {
      unsigned const s = k % kStages;
      unsigned const count = groups_in(tile);
      Wide<T> const* const stage = ring + s * kStageGroups;
      ptx::mbarrier_wait(&full[s], k / kStages & 1);
#pragma unroll
      for (unsigned g = 0; g < kPerThread; ++g) {
        unsigned const i = g * kConsumers + t;
        if (i < count) {
          Wide<T> const a = stage[i];
          Wide<T> const b = kDot ? stage[kTile<op> + i] : a;
#pragma unroll
          for (int j = 0; j < kWide; ++j) {
            of_group[g] = accumulate<op>(of_group[g], a.item[j], b.item[j]);
          }
        }
      }
      __syncwarp();  // all lanes have read the stage
      if (t % 32 == 0) ptx::mbarrier_arrive(&empty[s]);
    }
#pragma unroll
    for (unsigned g = 0; g < kPerThread; ++g) sum = combine<op>(sum, of_group[g]);
    // the few elements before the first group and after the last
    std::int64_t const edges = n - groups * kWide;
    for (std::int64_t e = blockIdx.x * kConsumers + t; e < edges; e += gridDim.x * kConsumers) {
      sum = accumulate_at<op>(sum, x, y, e < head ? e : e + groups * kWide);
    }
  }
  sum = block_reduce<op, kThreads>(sum);
  finish_in_last_block<op, kThreads>(sum, partials, finished, n, result);
}

void launch(Problem const& problem, device::StreamView stream) {
  require_scratch(problem);
  auto const resident = static_cast<unsigned>(2 * stream.facts().multiprocessors);
  visit_all(problem, [&]<Operation op, class T, class Acc>() {
    constexpr std::int64_t kEach = kTile<op> * std::int64_t{16 / sizeof(T)};
    unsigned const blocks = std::min(blocks_for(problem.n, kEach), resident);
    QUAD_LAUNCH((reduction_bulk_async_kernel<op, T, Acc>), dim3(blocks), dim3(kThreads),
                std::size_t{kStages} * kStageBytes, stream, first_of<T>(problem),
                second_of<op, T>(problem), problem.n, partials_of<Acc>(problem),
                counter_of(problem), problem.result);
  });
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& problem) {
  std::string const reason = plain_only(problem);
  if (!reason.empty()) return reason;
  auto const offset = [](void const* p) { return reinterpret_cast<std::uintptr_t>(p) % 16; };
  bool const alike = problem.operation != Operation::dot || problem.n == 0 ||
                     offset(problem.x) == offset(problem.y);
  return alike ? "" : "needs x and y of dot at the same offset within 16 bytes";
}

}  // namespace

extern constinit Variant<Problem> const bulk_async{
    {.name = "bulk_async",
     .where = Where::cuda,
     .types = kReductionTypes,
     .needs = {.compute_capability = 90, .other = "not reproducible; dot: x and y aligned alike"},
     .source = "own",
     .summary = "ring of tiles filled by bulk copies"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported, .notes = {.chain = chain_of_grid<1024>}}};

}  // namespace quadrille::kernels::reduction
