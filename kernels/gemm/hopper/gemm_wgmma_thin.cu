// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of few rows of 16-bit matrices by `wgmma`, as decoding has it: B is read once.
///
///   C = alpha A B + beta C, as columns of C^T = B^T A^T
///
/// Technique    wgmma has 64 rows, of which a few rows of A would leave most unused, and 8 columns or
///              more: so rows of A are its columns, and columns of B its rows, in either order in
///              memory. The time is that of reading B: a stage is 64 of k for 64 columns of B, or
///              128, and the ring has as many as fit. Where few blocks would have all of C, those of a cluster
///              share the k of a tile and add their sums up in each other's shared memory; where many would,
///              two are on a multiprocessor, and one reads while the other ends. B is the first that L2 lets
///              go, which A and C stay in. Where B is known to be there the ring is filled before the kernel
///              ahead has ended
/// Before       wgmma_specialised
/// Shapes       row-major, A as it is, B as it is or transposed; up to 128 rows; copies fill edges with zeros
/// Work         2 m n k flop, of up to twice as many that are computed; traffic (n k + m k n / 64) 2 bytes
/// Launch       160 threads, or 288, and up to 203 KiB of shared memory, or half of it; clusters of up to 8
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "common/overlap.cuh"
#include "gemm/hopper/gemm_wgmma.cuh"

#include <algorithm>
#include <limits>
#include <string>

namespace quadrille::kernels::gemm {
namespace {

constexpr std::int64_t kMaxThinRows = 128;
constexpr int kMaxParts = 8;  // of k: blocks of a cluster

#ifdef QUAD_KERNELS

/// A tile of C: kColumns rows of it, kRows columns. A multiprocessor has kResident.
template <class T, int kColumns, int kResident>
struct ThinTile {
  static constexpr int kStageK = 64;
  // Each tile reads all of A, which is no more than it reads of B.
  static constexpr int kRows = std::max(64, kColumns);
  using B = StagedOperand<kRows, T>;
  static constexpr int kStageBytes = B::kBytes + kColumns * 128;
  static constexpr int kStages = std::min(12, 200 * 1024 / kResident / kStageBytes);
  static constexpr int kConsumerThreads = 2 * kRows, kThreads = kConsumerThreads + 32;
  using Barriers = StageBarriers<kStages>;
  static constexpr int kBarriers = kStages * kStageBytes;
  static constexpr int kSharedBytes = kBarriers + static_cast<int>(sizeof(Barriers));
  // Sums take the place of stages: kRows for each row of C. Eight rows beside two columns are in all banks.
  static constexpr int kPitch = kRows + 4;
  static_assert(kColumns * kPitch * static_cast<int>(sizeof(float)) <= kBarriers);

  static ptx::TensorMap map_of_a(device::MatrixView const& a) {
    if (a.rows == 0 || a.cols == 0) return {};  // nothing is loaded
    return ptx::make_tensor_map_2d({.data = a.data,
                                    .type = a.type,
                                    .rows = a.rows,
                                    .columns = a.cols,
                                    .leading = a.ld,
                                    .box_rows = kColumns,
                                    .box_columns = kStageK,
                                    .swizzle = ptx::Swizzle::bytes_128});
  }
};

/// Neighbours of a row of C, of which those outside do not count.
template <class Out, class T, int kCount>
__device__ void store_as(HalfOperands<T> const& p, int row, int col,
                         Vector<float, kCount> const& sums) {
  if (col + kCount <= p.n) return update<Out>(p, row, col, sums);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (col + i < p.n) update<Out>(p, row, col + i, Vector<float, 1>{{sums.x[i]}});
  }
}
template <class T, int kCount>
__device__ void store(HalfOperands<T> const& p, int row, int col,
                      Vector<float, kCount> const& sums) {
  p.is_c_f32 ? store_as<float>(p, row, col, sums) : store_as<T>(p, row, col, sums);
}

// Shared memory: stage 0 (columns of B, rows of A), stage 1 ..., full, empty.
template <class T, int kColumns, int kResident, ptx::Major kMajor>
__global__ void __launch_bounds__(ThinTile<T, kColumns, kResident>::kThreads, kResident)
    gemm_wgmma_thin_kernel(const __grid_constant__ ptx::TensorMap a,
                           const __grid_constant__ ptx::TensorMap b, HalfOperands<T> p, int parts,
                           bool has_early_b) {
  using Tile = ThinTile<T, kColumns, kResident>;
  constexpr int kRows = Tile::kRows;
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  auto& barriers = *reinterpret_cast<typename Tile::Barriers*>(shared + Tile::kBarriers);
  int const first_col = static_cast<int>(blockIdx.x) / parts * kRows;
  int const part = static_cast<int>(blockIdx.x) % parts;
  if (threadIdx.x == 0) {
    ptx::tensor_map_prefetch(a);
    ptx::tensor_map_prefetch(b);
    barriers.init(1, Tile::kConsumerThreads / 32);
  }
  __syncthreads();  // the barriers are ready
  int const k_tiles = divide_up(p.k, Tile::kStageK);
  auto const first_tile = [&](int of) {
    return static_cast<int>(static_cast<std::int64_t>(k_tiles) * of / parts);
  };
  int const begin = first_tile(part), end = first_tile(part + 1);
  auto* const sums = reinterpret_cast<float*>(shared);
  PipelineState<Tile::kStages> state;
  ptx::griddepcontrol_launch_dependents();
  bool const is_producer = threadIdx.x == Tile::kConsumerThreads;
  auto const load_b = [&](int t) {
    ptx::MBarrier* const full = barriers.producer_acquire(state, Tile::kStageBytes);
    Tile::B::template load<ptx::L2Hint::evict_first>(shared + state.stage * Tile::kStageBytes, b,
                                                     kMajor, first_col, t * Tile::kStageK, full);
  };
  int const early = has_early_b && is_producer ? min(end, begin + Tile::kStages) : begin;
  if (early > begin) {
    // As much of B as the ring holds, under the kernel before, which has not written it.
    EarlyAccess const allowed;
    PipelineState<Tile::kStages> const first = state;
#pragma unroll 1
    for (int t = begin; t < early; ++t, state.advance()) load_b(t);
    state = first;
  }
  ptx::griddepcontrol_wait();  // nothing else has been read or written before
  if (is_producer) {
#pragma unroll 1
    for (int t = begin; t < end; ++t, state.advance()) {
      if (t >= early) load_b(t);
      ptx::tensor_load(shared + state.stage * Tile::kStageBytes + Tile::B::kBytes, a, 0,
                       t * Tile::kStageK, &barriers.full[state.stage]);
    }
  } else if (threadIdx.x < Tile::kConsumerThreads) {
    int const warpgroup = ptx::warpgroup_number();
    int const thread = static_cast<int>(threadIdx.x) % 128;
    auto const rows = Tile::B::descriptor(shared, kMajor, warpgroup * 64);
    auto const columns = ptx::k_major_descriptor(shared + Tile::B::kBytes, ptx::Swizzle::bytes_128);
    float accumulators[kColumns / 2] = {};
    ptx::wgmma_fence_operand(accumulators);
#pragma unroll 1
    for (int t = begin; t < end; ++t, state.advance()) {
      ptx::mbarrier_wait(&barriers.full[state.stage], state.parity);
      auto const at = static_cast<unsigned>(state.stage * Tile::kStageBytes);
      ptx::wgmma_fence();
#pragma unroll
      for (int step = 0; step < kStageSteps; ++step) {
        auto const left = Tile::B::template at_step<kMajor>(advanced(rows, at), step);
        auto const right = advanced(columns, at + static_cast<unsigned>(step * 32));
        if constexpr (std::is_same_v<T, __half>) {
          ptx::wgmma_f16<kColumns, kMajor>(accumulators, left, right);
        } else {
          ptx::wgmma_bf16<kColumns, kMajor>(accumulators, left, right);
        }
      }
      ptx::wgmma_commit();
      // At once, unlike where tensor cores are the limit: the next stage, which is waited for, is filled
      // when this one is empty.
      ptx::wgmma_wait<0>();
      if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&barriers.empty[state.stage]);
    }
    ptx::wgmma_wait<0>(accumulators);
    ptx::bar_sync(1, Tile::kConsumerThreads);  // nobody reads a stage any more
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) {
      int const row = warpgroup * 64 + ptx::accumulator_row(thread, i);
      sums[ptx::accumulator_column(thread, i) * Tile::kPitch + row] = accumulators[i];
    }
  }
  auto const meet = [&] {
    if (parts == 1) return __syncthreads();
    __syncwarp();  // the instructions take whole warps
    ptx::cluster_arrive();
    ptx::cluster_wait();
  };
  meet();  // all sums are there
  // Four neighbours for each thread at a time, of all blocks on their way before the first is added.
  constexpr int kEach = 4;
  int const share = kRows / parts;
#pragma unroll 1
  for (int e = static_cast<int>(threadIdx.x) * kEach; e < share * p.m;
       e += Tile::kThreads * kEach) {
    int const at = e / share * Tile::kPitch + part * share + e % share;
    Vector<float, kEach> of_parts[kMaxParts]{};
#pragma unroll
    for (int from = 0; from < kMaxParts; ++from) {
      if (from >= parts) continue;
      float* const other = parts == 1 ? sums : ptx::cluster_map(sums, static_cast<unsigned>(from));
      of_parts[from] = *reinterpret_cast<Vector<float, kEach> const*>(other + at);
    }
    Vector<float, kEach> sum{};
#pragma unroll
    for (int from = 0; from < kMaxParts; ++from) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) sum.x[i] += of_parts[from].x[i];
    }
    store(p, e / share, first_col + part * share + e % share, sum);
  }
  meet();  // nobody reads this block's sums any more
}

template <class T, int kColumns, int kResident, ptx::Major kMajor>
void launch_tiles(Problem const& problem, int parts, device::StreamView stream) {
  using Tile = ThinTile<T, kColumns, kResident>;
  auto const p = half_operands<T>(problem);
  int const tiles = divide_up(p.n, Tile::kRows);
  QUAD_LAUNCH((gemm_wgmma_thin_kernel<T, kColumns, kResident, kMajor>),
              (LaunchShape{.grid = static_cast<unsigned>(tiles * parts),
                           .block = Tile::kThreads,
                           .shared_bytes = Tile::kSharedBytes,
                           .cluster = parts,
                           .overlaps_previous = true}),
              stream, Tile::map_of_a(problem.a), Tile::B::map_of(problem.b, kMajor), p, parts,
              problem.has_early_b);
}

/// Parts of k, and blocks on a multiprocessor.
struct Division {
  int parts = 1, resident = 1;
};
/// The one with which the multiprocessor that reads most reads least; of equals with small clusters.
Division division_of(int tiles, int k_tiles, int multiprocessors) {
  constexpr int kMinStages = 4;
  Division best;
  double least = std::numeric_limits<double>::infinity();
  for (int const most : {2, kMaxParts}) {
    for (int const resident : {2, 1}) {
      for (int parts = 1; parts <= most && k_tiles >= parts * kMinStages; parts *= 2) {
        int const blocks = tiles * parts, room = multiprocessors * resident;
        // Where blocks follow others, the next must read while the one before ends. A cluster lies in a part of
        // the chip, of 16 or 18 multiprocessors, some of which larger ones leave unused: of those that do not fit
        // at once, a few would take as long as all before them.
        bool const is_slow =
            blocks > room ? resident == 1 || parts > 2 : parts > 2 && blocks > room / 8 * 7;
        if (is_slow) continue;
        double const load = static_cast<double>(divide_up(blocks, room) * resident) / parts;
        if (load < least) best = {parts, resident};
        least = std::min(least, load);
      }
    }
  }
  return best;
}

template <class T, int kColumns, ptx::Major kMajor>
void launch_as(Problem const& problem, device::StreamView stream) {
  using Tile = ThinTile<T, kColumns, 1>;
  auto const [parts, resident] = division_of(
      divide_up(static_cast<int>(problem.n()), Tile::kRows),
      divide_up(static_cast<int>(problem.k()), Tile::kStageK), stream.facts().multiprocessors);
  resident == 2 ? launch_tiles<T, kColumns, 2, kMajor>(problem, parts, stream)
                : launch_tiles<T, kColumns, 1, kMajor>(problem, parts, stream);
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.m() == 0 || problem.n() == 0) return;
  auto const with_columns = [&]<class T, ptx::Major kMajor>() {
    std::int64_t const m = problem.m();
    auto const launch = m <= 8    ? launch_as<T, 8, kMajor>
                        : m <= 16 ? launch_as<T, 16, kMajor>
                        : m <= 32 ? launch_as<T, 32, kMajor>
                        : m <= 64 ? launch_as<T, 64, kMajor>
                                  : launch_as<T, 128, kMajor>;
    launch(problem, stream);
  };
  auto const with = [&]<class T>() {
    problem.transpose_b ? with_columns.template operator()<T, ptx::Major::k>()
                        : with_columns.template operator()<T, ptx::Major::mn>();
  };
  problem.a.type == core::DataType::f16 ? with.template operator()<__half>()
                                        : with.template operator()<__nv_bfloat16>();
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& problem) {
  if (problem.m() <= kMaxThinRows) return {};
  return "takes up to " + std::to_string(kMaxThinRows) + " rows of C, which has " +
         std::to_string(problem.m());
}

}  // namespace

extern constinit Variant<Problem> const wgmma_thin{
    {.name = "wgmma_thin",
     .where = Where::cuda,
     .types = {core::DataType::f16,
               {core::DataType::f16, core::Compute::f32, core::DataType::f32},
               core::DataType::bf16,
               {core::DataType::bf16, core::Compute::f32, core::DataType::f32}},
     .needs = {.compute_capability = 90,
               .exact_capability = true,
               .layouts = {Layout::nn, Layout::nt},
               .ld_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .other = "up to 128 rows of C"},
     .preference = 30,
     .source = "own",
     .summary =
         "few rows of A are the columns of wgmma, so that B is read once and nothing is wasted"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported}};

}  // namespace quadrille::kernels::gemm
