// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product in f64 on the tensor cores (mma), fed by tensor copies.
///
///   C = alpha op(A) op(B) + beta C
///
/// Technique    One thread of a producer warpgroup copies tiles of A and B by tensor copies (TMA)
///              to a ring of stages, from which eight warps multiply. The order in which k is summed
///              and the places of rows and columns in the instruction are free, so they are chosen
///              such that each lane reads 16 bytes at a time, without bank conflicts, that lie in
///              its registers as the instruction takes them: a pair along n of row-major B as rows
///              of the instruction's first operand, a pair along k of row-major A as rows of the
///              second one. So the product is computed transposed, and a lane has neighbours in a
///              row of C. Fragments of the next instructions are read while others multiply. The
///              second four warps start some stages after the first four, one of each on each
///              quarter of a multiprocessor, and stay behind: while one group writes its part of a
///              tile, the other has stages left to multiply. Tiles that would leave a wave of
///              blocks half empty are split along k (`stream_k`), each warp on its own
/// Shapes       row-major, any extents; the copies fill edges with zeros
/// Types        f64, accumulators f64
/// Work         2 m n k flop; traffic m n k (8 / 128 + 8 / 128) bytes through the L2 cache
/// Constraints  A, B and C aligned to 16 bytes, leading dimensions even; extents below 2^31 - 1024;
///              needs sm_90; tiles are split only where there is scratch
/// Launch       384 threads, up to 225 KiB of shared memory, one block per multiprocessor; tiles in
///              groups of 8 rows so that blocks that run together share A and B in L2. The producer
///              leaves all but 24 registers to the others, which get 240 (setmaxnreg)
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
/// Source       own
#include "common/ptx/bulk_copies.cuh"
#include "common/ptx/matrix.cuh"
#include "common/ptx/threads.cuh"
#include "gemm/gemm_stage_barriers.cuh"
#include "gemm/gemm_stream_k.cuh"

#include <algorithm>

namespace quadrille::kernels::gemm {

/// What shapes the code of a variant.
struct DmmaConfig {
  static constexpr int kBM = 128, kBN = 128;

  int depth = 8;   ///< of the mma instruction
  int stages = 7;  ///< of the ring
  int lead = 4;    ///< stages by which the first four warps are ahead; 0: together
  bool transpose_a = false, transpose_b = false;

  QUAD_HD constexpr int bk() const { return depth == 16 ? 32 : 16; }
  QUAD_HD constexpr int stage_elements() const { return (kBM + kBN) * bk(); }
  constexpr std::size_t shared_bytes() const {
    return static_cast<std::size_t>(stages) *
           (static_cast<std::size_t>(stage_elements()) * sizeof(double) +
            2 * sizeof(std::uint64_t));
  }
};

namespace {

using simt_tiles::kThreads;
using simt_tiles::kWarps;

constexpr int kBlockThreads = kThreads + 128;
constexpr int kBM = DmmaConfig::kBM, kBN = DmmaConfig::kBN;
constexpr int kWarpsN = 2;
constexpr int kGroup = 16;                             // rows or columns that a warp reads at once
constexpr int kGroupsM = kBM * kWarpsN / kWarps / 16;  // of a warp
constexpr int kGroupsN = kBN / kWarpsN / 16;

#ifdef QUAD_KERNELS

using simt_tiles::Corner;
using simt_tiles::Plan;
using simt_tiles::Run;

template <DmmaConfig kConfig>
using Barriers = StageBarriers<kConfig.stages>;
template <DmmaConfig kConfig>
using RingTurn = Turn<kConfig.stages>;

struct TileShape {
  static constexpr int kBM = gemm::kBM, kBN = gemm::kBN;
};
using Runs = simt_tiles::SplitRuns<TileShape>;
static_assert(simt_tiles::kPartials * sizeof(float) == kBM * kBN * sizeof(double),
              "partials of a block, in scratch memory");

/// How an operand lies in a stage: in boxes with rows of 16 elements. Along k: 128 rows and columns
/// of the product are rows, one box for each 16 of k. Across: kBK rows, one box for each 16 rows or
/// columns of the product.
template <bool kAlongK, int kBK>
struct OperandStage {
  static constexpr int kSide = 128;
  static constexpr int kBoxRows = kAlongK ? kSide : kBK;
  static constexpr int kBoxes = kAlongK ? kBK / kGroup : kSide / kGroup;

  __device__ static void load(double* to, ptx::TensorMap const& map, int outer, int k,
                              ptx::MBarrier* full) {
#pragma unroll 1
    for (int box = 0; box < kBoxes; ++box, to += kBoxRows * kGroup) {
      if constexpr (kAlongK) {
        ptx::tensor_load(to, map, outer, k + box * kGroup, full);
      } else {
        ptx::tensor_load(to, map, k, outer + box * kGroup, full);
      }
    }
  }
};

/// A lane's part of 16 rows or columns of the product in 8 k-iterations: of each, it has rows or
/// columns pair_of(lane / 4) and the one after, in k-iterations 2 (lane % 4) and the one after.
///
/// The swizzle puts piece p, of 16 bytes, of row r where piece p ^ (r % 8) would be. Eight lanes
/// that read at once are two neighbours g, g + 1 with four t each. Along k they read pieces t, or
/// t + 4, of rows 2 p and 2 p ^ 6: these differ in bit 2 of the piece's place. Across they read
/// pieces p and p ^ 3 of rows 2 t: these differ in bit 0.
__device__ constexpr int pair_of(int g) { return (g & 4) | ((g >> 1 & 1) ^ (g & 1 ? 3 : 0)); }

template <bool kAlongK, int kBK>
class FragmentReader {
 public:
  __device__ explicit FragmentReader(int lane) {
    int const p = pair_of(lane >> 2), t = lane & 3;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      int const row = kAlongK ? 2 * p + i : 2 * t + i;
      int const piece = kAlongK ? t : p;
      offset_[i] = row * kGroup + (piece ^ (row & 7)) * 2;
    }
  }

  /// Two reads of 16 bytes each: values[i] has both k-iterations of element i along k, both elements
  /// of k-iteration i across.
  __device__ __forceinline__ void read(double const* operand, int group, int k8,
                                       double2 (&values)[2]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      int const offset = kAlongK ? (offset_[i] ^ (k8 % 2 * 8)) + k8 / 2 * (128 * kGroup) +
                                       group * (kGroup * kGroup)
                                 : offset_[i] + k8 * (8 * kGroup) + group * (kBK * kGroup);
      values[i] = *reinterpret_cast<double2 const*>(operand + offset);
    }
  }

 private:
  int offset_[2];
};

/// The product of a warp. Rows of the instruction are columns of C, its columns rows of C.
template <DmmaConfig kConfig>
class WarpProduct {
  static constexpr int kBK = kConfig.bk();
  static constexpr int kDeep = kConfig.depth == 16 ? 2 : 1;  // fragments of 8 k-iterations at once
  static constexpr int kSteps = kBK / (8 * kDeep);
  static constexpr bool kAlongA = !kConfig.transpose_a, kAlongB = kConfig.transpose_b;
  static constexpr int kSideA = kBM * kBK;  // elements of A in a stage
  static_assert(kSteps == 2 && kGroupsN % 2 == 0, "buffers of fragments take turns");
  // Deep fragments of A have one buffer, and are replaced after their last use.
  static constexpr int kBuffersA = kDeep == 1 ? 2 : 1;

 public:
  __device__ explicit WarpProduct(int warp, int lane)
      : warp_{warp},
        lane_{lane},
        group_m_{warp / kWarpsN * kGroupsM},
        group_n_{warp % kWarpsN * kGroupsN},
        a_{lane},
        b_{lane} {}

  /// Reads what the first instructions of a tile take.
  __device__ void start(double const* stage) {
    read_b(stage, 0, 0, 0);
#pragma unroll
    for (int q = 0; q < kGroupsM; ++q) read_a(stage, 0, q, 0);
  }

  /// Multiplies a stage, but for its last step. The first fragments have been read.
  __device__ __forceinline__ void multiply_first(double const* stage) {
    multiply(stage, 0, stage, true);
  }
  /// The last step; reads the first fragments of the next stage, if there is one.
  __device__ __forceinline__ void multiply_last(double const* stage, double const* next,
                                                bool has_next) {
    multiply(stage, kSteps - 1, next, has_next);
  }

  /// Stores the accumulators for the block that has the end of the tile.
  __device__ void store_partials(Plan const& plan, int block) const {
    double2* const to = partials(plan, block);
    for_accumulators([&](int at, double x, double y) { to[at * 32] = double2{x, y}; }, *this);
    __syncwarp();  // all partials are written
    if (lane_ == 0) ptx::red_add_release_gpu(plan.is_ready + block, 1U << warp_);
  }

  /// Adds those of the blocks that have the stages of the tile before this one's.
  __device__ void fix_up(Plan const& plan, int block, int tile) {
    int other = block;
    do {
      --other;
      unsigned* const is_ready = plan.is_ready + other;
      if (lane_ == 0) {
        while ((ptx::load_acquire_gpu(is_ready) >> warp_ & 1U) == 0) {
        }
      }
      __syncwarp();  // the partials are there
      double2 const* const from = partials(plan, other);
      for_accumulators(
          [&](int at, double& x, double& y) {
            double2 const partial = from[at * 32];
            x += partial.x;
            y += partial.y;
          },
          *this);
      __syncwarp();  // all have read them
      if (lane_ == 0) ptx::red_add_relaxed_gpu(is_ready, 0U - (1U << warp_));
    } while (plan.first_of(other) > tile * plan.stages);
  }

  /// Updates C.
  __device__ void write(Operands<double> const& p, Corner corner) const {
    if (corner.row + kBM <= p.m && corner.col + kBN <= p.n) {
      write<false>(p, corner);
    } else {
      write<true>(p, corner);
    }
  }

 private:
  __device__ __forceinline__ void read_a(double const* stage, int step, int q, int buffer) {
#pragma unroll
    for (int d = 0; d < kDeep; ++d) {
      double2 values[2];
      a_.read(stage, group_m_ + q, step * kDeep + d, values);
      // Of element e, both k-iterations.
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        for_a_[buffer][q][e][2 * d] = kAlongA ? values[e].x : (e == 0 ? values[0].x : values[0].y);
        for_a_[buffer][q][e][2 * d + 1] =
            kAlongA ? values[e].y : (e == 0 ? values[1].x : values[1].y);
      }
    }
  }
  __device__ __forceinline__ void read_b(double const* stage, int step, int i, int buffer) {
#pragma unroll
    for (int d = 0; d < kDeep; ++d) {
      double2 values[2];
      b_.read(stage + kSideA, group_n_ + i, step * kDeep + d, values);
      // Of k-iteration s, both elements.
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        for_b_[buffer][4 * d + 2 * s] =
            kAlongB ? (s == 0 ? values[0].x : values[0].y) : values[s].x;
        for_b_[buffer][4 * d + 2 * s + 1] =
            kAlongB ? (s == 0 ? values[1].x : values[1].y) : values[s].y;
      }
    }
  }

  /// One step of a stage. Reads one group of columns ahead, and rows one step ahead.
  __device__ __forceinline__ void multiply(double const* stage, int step, double const* next,
                                           bool has_next) {
#pragma unroll
    for (int i = 0; i < kGroupsN; ++i) {
      int const ahead = (step + 1) % 2;
      if (i + 1 < kGroupsN) {
        read_b(stage, step, i + 1, (i + 1) % 2);
      } else if (has_next) {
        read_b(next, ahead, 0, 0);
      }
      if (kBuffersA == 2 && i < kGroupsM && has_next) read_a(next, ahead, i, ahead);
#pragma unroll
      for (int q = 0; q < kGroupsM; ++q) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          multiply_add(accumulators_[i][q][e], for_b_[i % 2], for_a_[step % kBuffersA][q][e]);
        }
        if (kBuffersA == 1 && i + 1 == kGroupsN && has_next) read_a(next, ahead, q, 0);
      }
    }
  }

  __device__ static __forceinline__ void multiply_add(double (&sums)[4],
                                                      double const (&x)[4 * kDeep],
                                                      double const (&y)[2 * kDeep]) {
    if constexpr (kConfig.depth == 16) {
      ptx::mma_m16n8k16_f64(sums, x, y);
    } else if constexpr (kConfig.depth == 8) {
      ptx::mma_m16n8k8_f64(sums, x, y);
    } else {
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        ptx::mma_m16n8k4_f64(sums, {x[2 * s], x[2 * s + 1]}, {y[s]});
      }
    }
  }

  /// Guarded: the tile may end outside of C.
  template <bool kGuarded>
  __device__ __forceinline__ void write(Operands<double> const& p, Corner corner) const {
    int const t = lane_ & 3;
    int const col = corner.col + group_n_ * kGroup + 2 * pair_of(lane_ >> 2);
    auto const is_whole = [&](int row, int i) {
      return !kGuarded || (row < p.m && col + i * kGroup + 1 < p.n);
    };
    auto const is_half = [&](int row, int i) {
      return kGuarded && row < p.m && col + i * kGroup + 1 == p.n;
    };
#pragma unroll
    for (int pair = 0; pair < 2 * kGroupsM; ++pair) {
      int const q = pair / 2, c = pair % 2;
      int const row = corner.row + (group_m_ + q) * kGroup + 2 * pair_of(2 * t + c);
      double* const to = p.c + row * p.ldc + col;
      // All are read before any is written, so that reads overlap.
      double2 old[2][kGroupsN] = {};
      if (p.beta != 0) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
#pragma unroll
          for (int i = 0; i < kGroupsN; ++i) {
            double const* const from = to + e * p.ldc + i * kGroup;
            if (is_whole(row + e, i)) {
              old[e][i] = *reinterpret_cast<double2 const*>(from);
            } else if (is_half(row + e, i)) {
              old[e][i].x = *from;
            }
          }
        }
      }
#pragma unroll
      for (int e = 0; e < 2; ++e) {
#pragma unroll
        for (int i = 0; i < kGroupsN; ++i) {
          double const(&sums)[4] = accumulators_[i][q][e];
          double2 const value{p.alpha * sums[c] + p.beta * old[e][i].x,
                              p.alpha * sums[2 + c] + p.beta * old[e][i].y};
          double* const at = to + e * p.ldc + i * kGroup;
          if (is_whole(row + e, i)) {
            *reinterpret_cast<double2*>(at) = value;
          } else if (is_half(row + e, i)) {
            *at = value.x;
          }
        }
      }
    }
  }

  /// Calls f(number of a pair, and the pair) for all accumulators of `product`.
  template <class F, class Product>
  __device__ static __forceinline__ void for_accumulators(F const& f, Product& product) {
#pragma unroll
    for (int at = 0; at < 4 * kGroupsM * kGroupsN; ++at) {
      auto& sums = product.accumulators_[at / (4 * kGroupsM)][at / 4 % kGroupsM][at / 2 % 2];
      f(at, sums[at % 2 * 2], sums[at % 2 * 2 + 1]);
    }
  }
  /// This lane's first pair of those of a block. Each warp has its own, so warps need not meet.
  __device__ double2* partials(Plan const& plan, int block) const {
    constexpr int kPairs = kBM * kBN / 2;
    return reinterpret_cast<double2*>(plan.partials) + std::int64_t{block} * kPairs +
           warp_ * (kPairs / kWarps) + lane_;
  }

  int warp_, lane_, group_m_, group_n_;
  FragmentReader<kAlongA, kBK> a_;
  FragmentReader<kAlongB, kBK> b_;
  double for_a_[kBuffersA][kGroupsM][2][2 * kDeep];
  double for_b_[2][4 * kDeep];
  double accumulators_[kGroupsN][kGroupsM][2][4] = {};
};

/// One thread.
template <DmmaConfig kConfig>
__device__ void produce(ptx::TensorMap const& a, ptx::TensorMap const& b, Runs runs, double* stages,
                        Barriers<kConfig>& barriers) {
  constexpr int kBK = kConfig.bk();
  RingTurn<kConfig> turn;
  Run run;
#pragma unroll 1
  while (runs.next(run)) {
    Corner const corner = runs.corner(run.tile);
#pragma unroll 1
    for (int t = run.first; t < run.first + run.count; ++t, turn.advance()) {
      double* const stage = stages + turn.stage * kConfig.stage_elements();
      ptx::MBarrier* const full = &barriers.full[turn.stage];
      ptx::mbarrier_wait(&barriers.empty[turn.stage], turn.parity ^ 1U);
      ptx::mbarrier_arrive_expect_tx(full, kConfig.stage_elements() * sizeof(double));
      OperandStage<!kConfig.transpose_a, kBK>::load(stage, a, corner.row, t * kBK, full);
      OperandStage<kConfig.transpose_b, kBK>::load(stage + kBM * kBK, b, corner.col, t * kBK, full);
    }
  }
}

/// A configuration as a type: nvcc cannot name a kernel by a value of a class.
template <DmmaConfig kConfigOfTile>
struct DmmaTile {
  static constexpr DmmaConfig kConfig = kConfigOfTile;
};

template <class Tile>
__global__ void __launch_bounds__(kBlockThreads, 1)
    gemm_dmma_kernel(const __grid_constant__ ptx::TensorMap a,
                     const __grid_constant__ ptx::TensorMap b, Operands<double> p, Plan plan) {
  constexpr DmmaConfig kConfig = Tile::kConfig;
  QUAD_DYNAMIC_SHARED(double, stages);
  auto& barriers =
      *reinterpret_cast<Barriers<kConfig>*>(stages + kConfig.stages * kConfig.stage_elements());
  int const warp = static_cast<int>(threadIdx.x) / 32;
  int const lane = static_cast<int>(threadIdx.x) % 32;
  if (threadIdx.x == 0) barriers.init(1, kWarps);
  int const block = simt_tiles::number_of_block(plan);
  Runs runs{plan, block};
  __syncthreads();  // the barriers are ready
  if (warp >= kWarps) {
    ptx::setmaxnreg_dec<24>();
    if (threadIdx.x == kThreads) {
      ptx::tensor_map_prefetch(a);
      ptx::tensor_map_prefetch(b);
      produce<kConfig>(a, b, runs, stages, barriers);
    }
    return;
  }
  ptx::setmaxnreg_inc<240>();

  constexpr int kLead = 1;  // named barrier: the second group of warps may start
  bool const is_second = warp >= kWarps / 2;
  int lead = kConfig.lead;
  RingTurn<kConfig> turn;
  Run run;
#pragma unroll 1
  while (runs.next(run)) {
    WarpProduct<kConfig> product{warp, lane};
    if (is_second && lead > 0) {
      ptx::bar_sync(kLead, kThreads);
      lead = 0;
    }
    if (run.count > 0) {
      ptx::mbarrier_wait(&barriers.full[turn.stage], turn.parity);
      product.start(stages + turn.stage * kConfig.stage_elements());
    }
#pragma unroll 1
    for (int t = 1; t <= run.count; ++t) {
      int const stage = turn.stage;
      product.multiply_first(stages + stage * kConfig.stage_elements());
      turn.advance();
      bool const has_next = t < run.count;
      if (has_next) ptx::mbarrier_wait(&barriers.full[turn.stage], turn.parity);
      product.multiply_last(stages + stage * kConfig.stage_elements(),
                            stages + turn.stage * kConfig.stage_elements(), has_next);
      __syncwarp();  // all lanes have read the stage
      if (lane == 0) ptx::mbarrier_arrive(&barriers.empty[stage]);
      if (lead > 0 && --lead == 0) ptx::bar_arrive(kLead, kThreads);
    }
    if (lead > 0) {  // a short run
      ptx::bar_arrive(kLead, kThreads);
      lead = 0;
    }
    if (run.first + run.count < plan.stages) {
      product.store_partials(plan, block);
      continue;
    }
    if (run.first > 0) product.fix_up(plan, block, run.tile);
    product.write(p, runs.corner(run.tile));
  }
}

ptx::TensorMap map_of(device::MatrixView const& x, bool is_along_k, int bk) {
  return ptx::make_tensor_map_2d({.data = x.data,
                                  .type = core::DataType::f64,
                                  .rows = x.rows,
                                  .columns = x.cols,
                                  .leading = x.ld,
                                  .box_rows = static_cast<unsigned>(is_along_k ? 128 : bk),
                                  .box_columns = kGroup,
                                  .swizzle = ptx::Swizzle::bytes_128});
}

/// Splits tiles along k where that takes less time than a last wave that is not full: those of that
/// wave alone, among many blocks each where they are few, or with another wave, which then share
/// less of A and B in L2.
template <DmmaConfig kConfig>
Plan plan_of(Operands<double> const& p, device::Span<float> scratch, int multiprocessors) {
  // In stages: partials of a block through the L2 cache, there and back.
  constexpr double kStore = 64.0 / kConfig.bk(), kAdd = 20.0 / kConfig.bk();
  Plan plan{};
  plan.tiles_m = divide_up(p.m, kBM);
  plan.tiles_n = divide_up(p.n, kBN);
  plan.tiles = plan.tiles_m * plan.tiles_n;
  plan.stages = divide_up(p.k, kConfig.bk());
  int const waves = plan.tiles / multiprocessors, rest = plan.tiles % multiprocessors;
  if (rest == 0) return plan;
  double time = static_cast<double>(waves + 1) * plan.stages;
  for (int wave = 0; wave <= std::min(waves, 1); ++wave) {
    int const split = rest + wave * multiprocessors;
    double const blocks_of_a_tile = static_cast<double>(multiprocessors) / split;
    double const split_time = (waves - wave + 1 / blocks_of_a_tile) * plan.stages + kStore +
                              kAdd * (blocks_of_a_tile + 1);
    if (split_time < time && simt_tiles::split_tiles(plan, split, scratch, multiprocessors)) {
      time = split_time;
    }
  }
  return plan;
}

template <DmmaConfig kConfig>
void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<double>(problem);
  if (p.m == 0 || p.n == 0) return;
  int const multiprocessors = stream.facts().multiprocessors;
  Plan const plan = plan_of<kConfig>(p, simt_tiles::scratch_of(problem), multiprocessors);
  int const blocks = plan.split > 0 ? multiprocessors : std::min(plan.tiles, multiprocessors);
  // Without k-iterations nothing is loaded, and any matrix has a map.
  device::MatrixView const& a = p.k == 0 ? problem.c : problem.a;
  device::MatrixView const& b = p.k == 0 ? problem.c : problem.b;
  QUAD_LAUNCH(gemm_dmma_kernel<DmmaTile<kConfig>>, dim3(static_cast<unsigned>(blocks)),
              dim3(kBlockThreads), kConfig.shared_bytes(), stream,
              map_of(a, !kConfig.transpose_a, kConfig.bk()),
              map_of(b, kConfig.transpose_b, kConfig.bk()), p, plan);
}

#endif  // QUAD_KERNELS

constexpr VariantInfo row(std::string_view name, int preference, std::string_view summary) {
  return {.name = name,
          .where = Where::cuda,
          .types = {core::DataType::f64},
          // Half a tile each way, because places in the order of tiles go up to twice their number.
          .needs = {.compute_capability = 90,
                    .layouts = {Layout::nn},
                    .ld_bytes = 16,
                    .alignment = 16,
                    .most_extent = kMostCudaExtent,
                    .tile = {64, 64}},
          .preference = preference,
          .source = "own",
          .summary = summary};
}

constexpr DmmaConfig kK8{};
constexpr DmmaConfig kK16{.depth = 16, .stages = 3, .lead = 1};
constexpr DmmaConfig kK4{.depth = 4};
constexpr DmmaConfig kTogether{.lead = 0};

}  // namespace

extern constinit Variant<Problem> const dmma{
    row("dmma", 40, "tensor cores, fed by tensor copies of a producer warp"),
    QUAD_KERNEL_LAUNCH(launch<kK8>),
    {.scratch_bytes = simt_tiles::scratch_bytes}};

extern constinit Variant<Problem> const dmma_k16{row("dmma_k16", 0, "dmma with m16n8k16"),
                                                 QUAD_KERNEL_LAUNCH(launch<kK16>),
                                                 {.scratch_bytes = simt_tiles::scratch_bytes}};

extern constinit Variant<Problem> const dmma_k4{row("dmma_k4", 0, "dmma with m16n8k4"),
                                                QUAD_KERNEL_LAUNCH(launch<kK4>),
                                                {.scratch_bytes = simt_tiles::scratch_bytes}};

extern constinit Variant<Problem> const dmma_together{
    row("dmma_together", 0, "dmma with all warps at the same stage"),
    QUAD_KERNEL_LAUNCH(launch<kTogether>),
    {.scratch_bytes = simt_tiles::scratch_bytes}};

}  // namespace quadrille::kernels::gemm
