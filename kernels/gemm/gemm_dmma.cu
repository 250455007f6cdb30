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
///              row of C. Fragments of the next instructions are read while others multiply. Tiles
///              that would leave a wave of blocks half empty are split along k (`stream_k`), each
///              warp on its own. C is stored by tensor copies
/// Shapes       row-major, any extents, leading dimensions and layouts; the copies fill edges with
///              zeros. Operands A and B whose rows are not aligned to 16 bytes are first copied to
///              scratch memory, where they are
/// Types        f64, accumulators f64
/// Work         2 m n k flop; traffic m n k (8 / 128 + 8 / 128) bytes through the L2 cache, and
///              2 (m k + k n) 8 bytes of device memory where A and B are copied
/// Constraints  extents below 2^31 - 1024; needs sm_90, and scratch for copies; tiles are split only
///              where there is scratch
/// Launch       384 threads, up to 225 KiB of shared memory, one block per multiprocessor; tiles in
///              groups of 8 rows so that blocks that run together share A and B in L2. The producer
///              leaves all but 24 registers to the others, which get 240 (setmaxnreg)
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
/// Source       own
#include "common/ptx/bulk_copies.cuh"
#include "common/ptx/copies.cuh"
#include "common/ptx/matrix.cuh"
#include "common/ptx/threads.cuh"
#include "gemm/gemm_stage_barriers.cuh"
#include "gemm/gemm_stream_k.cuh"

#include <algorithm>

namespace quadrille::kernels::gemm {

namespace {

using simt_tiles::kThreads;
using simt_tiles::kWarps;

constexpr int kBlockThreads = kThreads + 128;
constexpr int kBM = 128, kBN = 128, kBK = 16;
constexpr int kStage = (kBM + kBN) * kBK;  // elements
constexpr int kStages = 6;
constexpr int kWarpsN = 2;
constexpr int kGroup = 16;                             // rows or columns that a warp reads at once
constexpr int kGroupsM = kBM * kWarpsN / kWarps / 16;  // of a warp
constexpr int kGroupsN = kBN / kWarpsN / 16;
constexpr int kStaged = kGroupsM * kGroup * kGroup;  // elements of C of a warp on their way

/// Whether rows are aligned to 16 bytes, as tensor copies require.
bool is_aligned(device::MatrixView const& x) {
  return x.ld % 2 == 0 && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
}

/// Of a copy with rows aligned to 128 bytes.
std::int64_t copied_ld(device::MatrixView const& x) { return (x.cols + 15) / 16 * 16; }
std::size_t copied_bytes(device::MatrixView const& x) {
  return is_aligned(x) ? 0 : static_cast<std::size_t>(x.rows * copied_ld(x)) * sizeof(double);
}

/// For tiles that are split, and copies of A and B.
std::size_t scratch_bytes(Problem const& problem, device::Facts const& device) {
  return simt_tiles::scratch_bytes(problem, device) + copied_bytes(problem.a) +
         copied_bytes(problem.b);
}

#ifdef QUAD_KERNELS

using simt_tiles::Corner;
using simt_tiles::Plan;
using simt_tiles::Run;

using Barriers = StageBarriers<kStages>;
constexpr std::size_t kSharedBytes =
    sizeof(double) * (kStages * kStage + kWarps * kStaged) + sizeof(Barriers);

struct TileShape {
  static constexpr int kBM = gemm::kBM, kBN = gemm::kBN;
};
using Runs = simt_tiles::SplitRuns<TileShape>;
static_assert(simt_tiles::kPartials * sizeof(float) == kBM * kBN * sizeof(double),
              "partials of a block, in scratch memory");

/// How an operand lies in a stage: in boxes with rows of 16 elements. Along k: 128 rows and columns
/// of the product are rows, one box for each 16 of k. Across: kBK rows, one box for each 16 rows or
/// columns of the product.
template <bool kAlongK>
struct OperandStage {
  static constexpr int kSide = 128;
  static constexpr int kBoxRows = kAlongK ? kSide : kBK;
  static constexpr int kBoxes = kAlongK ? kBK / kGroup : kSide / kGroup;

  __device__ static void load(double* to, ptx::TensorMap const& map, int outer, int k,
                              ptx::MBarrier* full) {
#pragma unroll 1
    for (int box = 0; box < kBoxes; ++box) {
      int const row = kAlongK ? outer : k, column = (kAlongK ? k : outer) + box * kGroup;
      ptx::tensor_load(to + box * kBoxRows * kGroup, map, row, column, full);
    }
  }
};

/// A lane has, of 16 rows or columns of the product in 8 k-iterations, elements 2 p and 2 p + 1 in
/// k-iterations 2 t and 2 t + 1, where p is pair_of(lane / 4) and t is lane % 4.
__device__ constexpr int pair_of(int g) { return g / 2 ^ (g & 1 ? 7 : 0); }

/// Reads these from a stage, where the swizzle puts piece i, of 16 bytes, of row r where piece
/// i ^ (r % 8) would be.
///
/// By 16 bytes, two k-iterations along k, two elements across: eight lanes that read at once are two
/// neighbours g, g + 1 with four t each. Along k they read pieces t, or t + 4, of rows 2 p and
/// 2 p ^ 6, which differ in bit 2 of the piece's place; across, pieces p and p ^ 3 of rows 2 t, which
/// differ in bit 0.
///
/// Singly, where the registers of an instruction would be side by side the other way: 16 lanes that
/// read at once have four p and four t. Along k, places of t and t ^ 2 meet in rows 2 p and 2 p ^ 2:
/// so lanes with t >= 2 take their k-iterations in the other order, in both operands (kSwapK).
/// Across, those of p and p ^ 2 meet: one of them takes its elements in the other order.
template <bool kAlongK, bool kSingly, bool kSwapK>
class FragmentReader {
 public:
  __device__ explicit FragmentReader(int lane) {
    int const p = pair_of(lane >> 2), t = lane & 3;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        int const element = 2 * p + (e ^ swap_of(p)), k = 2 * t + (kSwapK ? s ^ t >> 1 : s);
        int const row = kAlongK ? element : k, column = kAlongK ? k : element;
        offset_[e][s] = row * kGroup + ((column / 2 ^ row % 8) * 2 + column % 2);
      }
    }
  }

  /// 1 where a lane takes its elements in the other order.
  __device__ static constexpr int swap_of(int p) { return kSingly && !kAlongK ? p / 4 : 0; }

  /// Element e in k-iteration s is values[e][s].
  __device__ __forceinline__ void read(double const* operand, int group, int k8,
                                       double (&values)[2][2]) const {
    operand += kAlongK ? k8 / 2 * (128 * kGroup) + group * (kGroup * kGroup)
                       : k8 * (8 * kGroup) + group * (kBK * kGroup);
    int const half = kAlongK ? k8 % 2 * 8 : 0;  // of a row
    if constexpr (kSingly) {
#pragma unroll
      for (int i = 0; i < 4; ++i) values[i / 2][i % 2] = operand[offset_[i / 2][i % 2] ^ half];
    } else {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        int const offset = kAlongK ? offset_[i][0] : offset_[0][i];
        auto const two = *reinterpret_cast<double2 const*>(operand + (offset ^ half));
        (kAlongK ? values[i][0] : values[0][i]) = two.x;
        (kAlongK ? values[i][1] : values[1][i]) = two.y;
      }
    }
  }

 private:
  int offset_[2][2];
};

/// The product of a warp. Rows of the instruction are columns of C, its columns rows of C.
template <bool kAlongA, bool kAlongB>
class WarpProduct {
  using ReaderA = FragmentReader<kAlongA, kAlongB || !kAlongA, kAlongB>;
  using ReaderB = FragmentReader<kAlongB, kAlongB, kAlongB>;
  static_assert(kBK == 16, "the instruction has 16 k-iterations");
  static_assert(kGroupsN % 2 == 0, "the buffers of fragments of B take turns");

 public:
  __device__ explicit WarpProduct(int warp, int lane)
      : warp_{warp},
        lane_{lane},
        group_m_{warp / kWarpsN * kGroupsM},
        group_n_{warp % kWarpsN * kGroupsN},
        a_{lane},
        b_{lane} {}

  /// Brings C to L2: a lane has a row of this warp, in lines of 128 bytes.
  __device__ void prefetch(Operands<double> const& p, Corner corner) const {
    static_assert(kGroupsM * kGroup == 32);
    double const* const row =
        p.c + (corner.row + group_m_ * kGroup + lane_) * p.ldc + corner.col + group_n_ * kGroup;
#pragma unroll
    for (int i = 0; i < kGroupsN; ++i) ptx::prefetch_l2(row + i * kGroup);
  }

  /// Reads what the first instructions of a tile take.
  __device__ void start(double const* stage) {
    read_b(stage, 0, 0);
#pragma unroll
    for (int q = 0; q < kGroupsM; ++q) read_a(stage, q);
  }

  /// Multiplies a stage, but for its last columns. The first fragments have been read.
  __device__ __forceinline__ void multiply_first(double const* stage) {
#pragma unroll
    for (int i = 0; i + 1 < kGroupsN; ++i) {
      read_b(stage, i + 1, (i + 1) % 2);
#pragma unroll
      for (int q = 0; q < kGroupsM; ++q) multiply(i, q);
    }
  }
  /// The last columns; reads the first fragments of the next stage, if there is one.
  __device__ __forceinline__ void multiply_last(double const* next, bool has_next) {
    if (has_next) read_b(next, 0, 0);
#pragma unroll
    for (int q = 0; q < kGroupsM; ++q) {
      multiply(kGroupsN - 1, q);
      if (has_next) read_a(next, q);
    }
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

  /// Updates C, where the tile lies inside of it and its rows are aligned to 16 bytes, by tensor
  /// copies: stores of a warp would keep its neighbour's reads of shared memory waiting until L2 has
  /// taken them. `staged`: kStaged elements for this warp.
  __device__ void write(Operands<double> const& p, ptx::TensorMap const& map, Corner corner,
                        double* staged) const {
    int const g = lane_ >> 2, t = lane_ & 3;
    int const first_row = corner.row + group_m_ * kGroup;
#pragma unroll
    for (int i = 0; i < kGroupsN; ++i) {
      int const col = corner.col + (group_n_ + i) * kGroup;
      // All are read before any is written, so that reads overlap.
      double2 old[4 * kGroupsM] = {};
      if (p.beta != 0) {
        double const* const from = p.c + first_row * p.ldc + col + 2 * pair_of(g);
#pragma unroll
        for (int r = 0; r < 4 * kGroupsM; ++r) {
          old[r] = *reinterpret_cast<double2 const*>(from + row_of(r, t) * p.ldc);
        }
      }
      if (lane_ == 0) ptx::bulk_wait_read<0>();
      __syncwarp();  // what was staged has been copied
#pragma unroll
      for (int r = 0; r < 4 * kGroupsM; ++r) {
        int const row = row_of(r, t);
        *reinterpret_cast<double2*>(staged + row * kGroup + (pair_of(g) ^ row % 8) * 2) =
            result(p, i, r, old[r]);
      }
      ptx::fence_proxy_async();
      __syncwarp();  // all is staged
      if (lane_ == 0) {
        ptx::tensor_store(map, first_row, col, staged);
        ptx::bulk_commit();
      }
    }
  }

  /// The same where the tile may end outside of C, and for rows of any alignment.
  __device__ void write_guarded(Operands<double> const& p, Corner corner) const {
    int const g = lane_ >> 2, t = lane_ & 3;
#pragma unroll
    for (int r = 0; r < 4 * kGroupsM; ++r) {
      int const row = corner.row + group_m_ * kGroup + row_of(r, t);
      int const first_col = corner.col + group_n_ * kGroup + 2 * pair_of(g);
      double* const to = p.c + row * p.ldc;
      double2 old[kGroupsN] = {};
      if (p.beta != 0 && row < p.m) {
#pragma unroll
        for (int i = 0; i < kGroupsN; ++i) {
          int const col = first_col + i * kGroup;
          if (col < p.n) old[i].x = to[col];
          if (col + 1 < p.n) old[i].y = to[col + 1];
        }
      }
#pragma unroll
      for (int i = 0; i < kGroupsN; ++i) {
        int const col = first_col + i * kGroup;
        double2 const value = result(p, i, r, old[i]);
        if (row < p.m && col < p.n) to[col] = value.x;
        if (row < p.m && col + 1 < p.n) to[col + 1] = value.y;
      }
    }
  }

 private:
  __device__ __forceinline__ void read_a(double const* stage, int q) {
#pragma unroll
    for (int d = 0; d < 2; ++d) {
      double values[2][2];
      a_.read(stage, group_m_ + q, d, values);
#pragma unroll
      for (int i = 0; i < 4; ++i) for_a_[q][i / 2][2 * d + i % 2] = values[i / 2][i % 2];
    }
  }
  __device__ __forceinline__ void read_b(double const* stage, int i, int buffer) {
#pragma unroll
    for (int d = 0; d < 2; ++d) {
      double values[2][2];
      b_.read(stage + kBM * kBK, group_n_ + i, d, values);
#pragma unroll
      for (int j = 0; j < 4; ++j) for_b_[buffer][4 * d + j] = values[j % 2][j / 2];
    }
  }

  __device__ __forceinline__ void multiply(int i, int q) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      ptx::mma_m16n8k16_f64(accumulators_[i][q][e], for_b_[i % 2], for_a_[q][e]);
    }
  }

  /// Of this warp's rows, the one of a lane's r-th pair.
  __device__ static int row_of(int r, int t) {
    int const p = pair_of(2 * t + r / 2 % 2);
    return r / 4 * kGroup + 2 * p + (r % 2 ^ ReaderA::swap_of(p));
  }
  /// New elements of C for the r-th pair in column group i.
  __device__ double2 result(Operands<double> const& p, int i, int r, double2 old) const {
    double const(&sums)[4] = accumulators_[i][r / 4][r % 2];
    int const c = r / 2 % 2;
    return {p.alpha * sums[c] + p.beta * old.x, p.alpha * sums[2 + c] + p.beta * old.y};
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
  ReaderA a_;
  ReaderB b_;
  double for_a_[kGroupsM][2][4];
  double for_b_[2][8];
  double accumulators_[kGroupsN][kGroupsM][2][4] = {};
};

/// One thread.
template <bool kAlongA, bool kAlongB>
__device__ void produce(ptx::TensorMap const& a, ptx::TensorMap const& b, Runs runs, double* stages,
                        Barriers& barriers) {
  simt_tiles::fill_stages(barriers, runs, kStage * sizeof(double),
                          [&](int number, Corner corner, int t, ptx::MBarrier* full) {
                            double* const stage = stages + number * kStage;
                            OperandStage<kAlongA>::load(stage, a, corner.row, t * kBK, full);
                            OperandStage<kAlongB>::load(stage + kBM * kBK, b, corner.col, t * kBK,
                                                        full);
                          });
}

/// Eight warps. `c`: used where rows of C are aligned.
template <bool kAlongA, bool kAlongB>
__device__ __forceinline__ void consume(Operands<double> const& p, Plan const& plan,
                                        ptx::TensorMap const& c, Runs runs, int block,
                                        bool c_is_aligned, double* stages, Barriers& barriers) {
  int const warp = static_cast<int>(threadIdx.x) / 32;
  int const lane = static_cast<int>(threadIdx.x) % 32;
  Turn<kStages> turn;
  Run run;
#pragma unroll 1
  while (runs.next(run)) {
    WarpProduct<kAlongA, kAlongB> product{warp, lane};
    Corner const corner = runs.corner(run.tile);
    if (p.beta != 0) product.prefetch(p, corner);
    if (run.count > 0) {
      ptx::mbarrier_wait(&barriers.full[turn.stage], turn.parity);
      product.start(stages + turn.stage * kStage);
    }
#pragma unroll 1
    for (int t = 1; t <= run.count; ++t) {
      int const stage = turn.stage;
      product.multiply_first(stages + stage * kStage);
      turn.advance();
      bool const has_next = t < run.count;
      if (has_next) ptx::mbarrier_wait(&barriers.full[turn.stage], turn.parity);
      product.multiply_last(stages + turn.stage * kStage, has_next);
      __syncwarp();  // all lanes have read the stage
      if (lane == 0) ptx::mbarrier_arrive(&barriers.empty[stage]);
    }
    if (run.first + run.count < plan.stages) {
      product.store_partials(plan, block);
      continue;
    }
    if (run.first > 0) product.fix_up(plan, block, run.tile);
    if (c_is_aligned && corner.row + kBM <= p.m && corner.col + kBN <= p.n) {
      product.write(p, c, corner, stages + kStages * kStage + warp * kStaged);
    } else {
      product.write_guarded(p, corner);
    }
  }
  ptx::bulk_wait<0>();
}

template <bool kAlongA, bool kAlongB>
__global__ void __launch_bounds__(kBlockThreads, 1)
    gemm_dmma_kernel(const __grid_constant__ ptx::TensorMap a,
                     const __grid_constant__ ptx::TensorMap b,
                     const __grid_constant__ ptx::TensorMap c, Operands<double> p, Plan plan,
                     bool c_is_aligned) {
  QUAD_DYNAMIC_SHARED(double, stages);
  auto& barriers = *reinterpret_cast<Barriers*>(stages + kStages * kStage + kWarps * kStaged);
  if (threadIdx.x == 0) barriers.init(1, kWarps);
  int const block = simt_tiles::number_of_block(plan);
  Runs runs{plan, block};
  __syncthreads();  // the barriers are ready
  if (threadIdx.x >= kThreads) {
    ptx::setmaxnreg_dec<24>();
    if (threadIdx.x == kThreads) {
      ptx::tensor_map_prefetch(a);
      ptx::tensor_map_prefetch(b);
      produce<kAlongA, kAlongB>(a, b, runs, stages, barriers);
    }
  } else {
    ptx::setmaxnreg_inc<240>();
    consume<kAlongA, kAlongB>(p, plan, c, runs, block, c_is_aligned, stages, barriers);
  }
}

constexpr int kCopyColumns = 4;  // of a thread

/// Blocks in x have columns, in y rows in turn.
__global__ void __launch_bounds__(kThreads)
    gemm_dmma_align_kernel(double const* from, std::int64_t ld, double* to, std::int64_t to_ld,
                           int rows, int cols) {
  int const first = static_cast<int>(blockIdx.x * kCopyColumns * kThreads + threadIdx.x);
#pragma unroll 1
  for (int row = static_cast<int>(blockIdx.y); row < rows; row += static_cast<int>(gridDim.y)) {
    double values[kCopyColumns];
#pragma unroll
    for (int i = 0; i < kCopyColumns; ++i) {
      if (first + i * kThreads < cols) values[i] = from[row * ld + first + i * kThreads];
    }
#pragma unroll
    for (int i = 0; i < kCopyColumns; ++i) {
      if (first + i * kThreads < cols) to[row * to_ld + first + i * kThreads] = values[i];
    }
  }
}

/// The matrix, or its copy in scratch memory that begins at `free`, which moves on.
device::MatrixView aligned(device::MatrixView const& x, std::byte*& free,
                           device::StreamView stream) {
  if (is_aligned(x) || x.rows == 0 || x.cols == 0) return x;
  device::MatrixView copy = x;
  copy.data = free;
  copy.ld = copied_ld(x);
  free += copied_bytes(x);
  dim3 const grid(
      static_cast<unsigned>(divide_up(static_cast<int>(x.cols), kCopyColumns * kThreads)),
      static_cast<unsigned>(std::min(x.rows, kMostTileRows)));
  QUAD_LAUNCH(gemm_dmma_align_kernel, grid, dim3(kThreads), 0, stream,
              static_cast<double const*>(x.data), x.ld, static_cast<double*>(copy.data), copy.ld,
              static_cast<int>(x.rows), static_cast<int>(x.cols));
  return copy;
}

ptx::TensorMap map_of(device::MatrixView const& x, int box_rows) {
  return ptx::make_tensor_map_2d({.data = x.data,
                                  .type = core::DataType::f64,
                                  .rows = x.rows,
                                  .columns = x.cols,
                                  .leading = x.ld,
                                  .box_rows = static_cast<unsigned>(box_rows),
                                  .box_columns = kGroup,
                                  .swizzle = ptx::Swizzle::bytes_128});
}

/// Splits tiles along k where that takes less time than a last wave that is not full: those of that
/// wave alone, among many blocks each where they are few, or with another wave, which then share
/// less of A and B in L2.
Plan plan_of(Operands<double> const& p, device::Span<float> scratch, int multiprocessors) {
  // In stages: partials of a block through the L2 cache, there and back.
  constexpr double kStore = 4, kAdd = 1.3;
  Plan plan{};
  plan.tiles_m = divide_up(p.m, kBM);
  plan.tiles_n = divide_up(p.n, kBN);
  plan.tiles = plan.tiles_m * plan.tiles_n;
  plan.stages = divide_up(p.k, kBK);
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

template <bool kAlongA, bool kAlongB>
void launch_as(Problem const& problem, device::StreamView stream) {
  auto const p = operands<double>(problem);
  int const multiprocessors = stream.facts().multiprocessors;
  Plan const plan = plan_of(p, simt_tiles::scratch_of(problem), multiprocessors);
  int const blocks = plan.split > 0 ? multiprocessors : std::min(plan.tiles, multiprocessors);
  auto* free =
      static_cast<std::byte*>(problem.scratch) + simt_tiles::scratch_bytes(problem, stream.facts());
  device::MatrixView a = aligned(problem.a, free, stream);
  device::MatrixView b = aligned(problem.b, free, stream);
  if (p.k == 0) {
    // Nothing is loaded, and any matrix has a map.
    auto const address = reinterpret_cast<std::uintptr_t>(p.c) / 16 * 16;
    a = b = {reinterpret_cast<void*>(address), core::DataType::f64, 1, 1, 2};
  }
  bool const c_is_aligned = is_aligned(problem.c);
  ptx::TensorMap const map_a = map_of(a, OperandStage<kAlongA>::kBoxRows);
  QUAD_LAUNCH((gemm_dmma_kernel<kAlongA, kAlongB>), dim3(static_cast<unsigned>(blocks)),
              dim3(kBlockThreads), kSharedBytes, stream, map_a,
              map_of(b, OperandStage<kAlongB>::kBoxRows),
              c_is_aligned ? map_of(problem.c, kGroupsM * kGroup) : map_a, p, plan, c_is_aligned);
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.m() == 0 || problem.n() == 0) return;
  std::size_t const bytes = scratch_bytes(problem, stream.facts());
  bool const copies = copied_bytes(problem.a) + copied_bytes(problem.b) > 0;
  QUAD_REQUIRE(!copies || problem.scratch_bytes >= bytes,
               "gemm/dmma: needs " + std::to_string(bytes) +
                   " bytes of scratch memory where rows are not aligned to 16 bytes");
  if (problem.transpose_a) {
    if (problem.transpose_b) return launch_as<false, true>(problem, stream);
    return launch_as<false, false>(problem, stream);
  }
  if (problem.transpose_b) return launch_as<true, true>(problem, stream);
  launch_as<true, false>(problem, stream);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const dmma{
    {.name = "dmma",
     .where = Where::cuda,
     .types = {core::DataType::f64},
     // Half a tile each way, because places in the order of tiles go up to twice their number.
     .needs = {.compute_capability = 90,
               .shared_bytes = 225 << 10,
               .most_extent = kMostCudaExtent,
               .tile = {64, 64}},
     .preference = 40,
     .source = "own",
     .summary = "tensor cores, fed by tensor copies of a producer warp"},
    QUAD_KERNEL_LAUNCH(launch),
    {.scratch_bytes = scratch_bytes}};

}  // namespace quadrille::kernels::gemm
