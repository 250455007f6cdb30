// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product in f64 on the tensor cores (mma), fed by tensor copies.
///
///   C = alpha op(A) op(B) + beta C
///
/// Technique    One thread of a producer warpgroup copies tiles of A and B by tensor copies (TMA)
///              to a ring of stages, from which eight warps multiply. The order in which k is
///              summed and the places of rows and columns in the instruction are free, so they are
///              chosen such that each lane reads 16 bytes at a time, without bank conflicts, that
///              lie in its registers as the instruction takes them: a pair along n of row-major B
///              as rows of the instruction's first operand, a pair along k of row-major A as rows
///              of the second one. So the product is computed transposed, and a lane has neighbours
///              in a row of C. Fragments of the next instructions are read while others multiply,
///              also those of the next stage. Half of the warps are ahead of the others, so that
///              one half multiplies while the other writes C. Tiles that would leave a wave of
///              blocks half empty are split along k where there is scratch (`stream_k`), each warp
///              on its own; where there are few, they are 128 x 64. C is stored by tensor copies
/// Shapes       row-major, any extents, leading dimensions and layouts; the copies fill edges with
///              zeros. Operands A and B whose rows are not aligned to 16 bytes are first copied to
///              scratch memory, where they are
/// Work         2 m n k flop; traffic m n k (8 / 128 + 8 / 128) bytes through the L2 cache, 1.5
///              times that with tiles of 128 x 64, and
///              2 (m k + k n) 8 bytes of device memory where A and B are copied
/// Launch       384 threads, up to 225 KiB of shared memory, one block per multiprocessor; tiles in
///              groups of 8 rows so that blocks that run together share A and B in L2. The producer
///              leaves all but 24 registers to the others, which get 240 (setmaxnreg)
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "common/ptx/bulk_copies.cuh"
#include "common/ptx/copies.cuh"
#include "common/ptx/matrix.cuh"
#include "common/ptx/threads.cuh"
#include "gemm/cuda_cores/gemm_aligned_rows.cuh"
#include "gemm/cuda_cores/gemm_stream_k.cuh"
#include "gemm/hopper/gemm_stage_barriers.cuh"

#include <algorithm>
#include <array>

namespace quadrille::kernels::gemm {

namespace {

using simt_tiles::kThreads;
using simt_tiles::kWarps;

constexpr int kBlockThreads = kThreads + 128;
constexpr int kBM = 128, kBK = 16;
constexpr int kWarpsN = 2;
constexpr int kGroup = 16;                             // rows or columns that a warp reads at once
constexpr int kGroupsM = kBM * kWarpsN / kWarps / 16;  // of a warp
constexpr int kStaged = kGroupsM * kGroup * kGroup;    // elements of C of a warp on their way

/// Tiles of 128 rows.
template <int kColumns, int kLeadStages>
struct Form {
  static constexpr int kBM = gemm::kBM, kBN = kColumns;
  static constexpr int kLead = kLeadStages;  // by which the first four warps are ahead; 0: together
  static constexpr int kGroupsN = kBN / kWarpsN / kGroup;  // of a warp
  static constexpr int kStage = (kBM + kBN) * kBK;         // elements
  static constexpr int kStages = 6 * 2 * 128 * kBK / kStage;
  // Of the larger tile, which takes fewer bytes of shared memory and of the L2 cache for its work.
  static constexpr double kRate = kBN == 128 ? 1 : 0.96;
};
using Large = Form<128, 1>;
using Small = Form<64, 0>;

/// For tiles that are split, and copies of A and B.
std::size_t scratch_bytes(Problem const& problem, device::Facts const& device) {
  return simt_tiles::scratch_bytes(problem, device) + copied_bytes(problem.a) +
         copied_bytes(problem.b);
}

#ifdef QUAD_KERNELS

using simt_tiles::Corner;
using simt_tiles::Plan;
using simt_tiles::Run;

template <class Form>
using Barriers = StageBarriers<Form::kStages>;
template <class Form>
constexpr std::size_t kSharedBytes = sizeof(double) *
                                         (Form::kStages * Form::kStage + kWarps * kStaged) +
                                     sizeof(Barriers<Form>);
template <class Form>
using Runs = simt_tiles::SplitRuns<Form>;

/// How an operand lies in a stage: in boxes with rows of 16 elements. Along k: all its rows or
/// columns of the product are rows, one box for each 16 of k. Across: kBK rows, one box for each 16
/// rows or columns of the product.
template <bool kAlongK, int kSide>
struct OperandStage {
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
  /// `first`: the first element in a stage that this warp reads.
  __device__ FragmentReader(int lane, double const* first) {
    int const p = pair_of(lane >> 2), t = lane & 3;
    int const half = kAlongK ? (p & 2 ? -8 : 8) : 8 * kGroup;  // to the other 8 k-iterations
#pragma unroll
    for (int e = 0; e < 2; ++e) {
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        int const element = 2 * p + (e ^ swap_of(p)), k = 2 * t + (kSwapK ? s ^ t >> 1 : s);
        int const row = kAlongK ? element : k, column = kAlongK ? k : element;
        at_[0][e][s] = first + row * kGroup + ((column / 2 ^ row % 8) * 2 + column % 2);
        at_[1][e][s] = at_[0][e][s] + half;
      }
    }
  }

  /// 1 where a lane takes its elements in the other order.
  __device__ static constexpr int swap_of(int p) { return kSingly && !kAlongK ? p / 4 : 0; }

  /// Goes on in the stage that lies `elements` behind.
  __device__ __forceinline__ void move(int elements) {
#pragma unroll
    for (int i = 0; i < 8; ++i) at_[i / 4][i / 2 % 2][i % 2] += elements;
  }

  /// Element e in k-iteration s is values[e][s].
  __device__ __forceinline__ void read(int group, int k8, double (&values)[2][2]) const {
    auto const& at = at_[kAlongK ? k8 : 0];
    int const offset = kAlongK ? group * (kGroup * kGroup) : (k8 * 8 + group * kBK) * kGroup;
    if constexpr (kSingly) {
#pragma unroll
      for (int i = 0; i < 4; ++i) values[i / 2][i % 2] = at[i / 2][i % 2][offset];
    } else {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        auto const two =
            *reinterpret_cast<double2 const*>((kAlongK ? at[i][0] : at[0][i]) + offset);
        (kAlongK ? values[i][0] : values[0][i]) = two.x;
        (kAlongK ? values[i][1] : values[1][i]) = two.y;
      }
    }
  }

 private:
  double const* at_[2][2][2];
};

/// The product of a warp. Rows of the instruction are columns of C, its columns rows of C.
template <bool kAlongA, bool kAlongB, class Form>
class WarpProduct {
  using ReaderA = FragmentReader<kAlongA, kAlongB || !kAlongA, kAlongB>;
  using ReaderB = FragmentReader<kAlongB, kAlongB, kAlongB>;
  static constexpr int kBN = Form::kBN, kGroupsN = Form::kGroupsN;
  static constexpr int kLast = kGroupsN - 1;
  static_assert(kBK == 16, "the instruction has 16 k-iterations");
  static_assert(kGroupsN % 2 == 0, "the buffers of fragments of B take turns");

 public:
  __device__ WarpProduct(int warp, int lane, double const* stages)
      : warp_{warp},
        lane_{lane},
        group_m_{warp / kWarpsN * kGroupsM},
        group_n_{warp % kWarpsN * kGroupsN},
        a_{lane, stages + group_m_ * (kAlongA ? kGroup * kGroup : kBK * kGroup)},
        b_{lane, stages + kBM * kBK + group_n_ * (kAlongB ? kGroup * kGroup : kBK * kGroup)} {}

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < kGroupsN * kGroupsM * 8; ++i) {
      accumulators_[i / (8 * kGroupsM)][i / 8 % kGroupsM][i / 4 % 2][i % 4] = 0;
    }
  }

  /// Brings C to L2: a lane has a row of this warp, in lines of 128 bytes.
  __device__ void prefetch(Operands<double> const& p, Corner corner) const {
    static_assert(kGroupsM * kGroup == 32);
    double const* const row =
        p.c + (corner.row + group_m_ * kGroup + lane_) * p.ldc + corner.col + group_n_ * kGroup;
#pragma unroll
    for (int i = 0; i < kGroupsN; ++i) ptx::prefetch_l2(row + i * kGroup);
  }

  /// Reads what the first instructions of a stage take, which lies `elements` behind the last one.
  __device__ __forceinline__ void start(int elements) {
    move(elements);
    read_b(0);
#pragma unroll
    for (int q = 0; q < kGroupsM; ++q) read_a(q);
  }

  /// Multiplies a stage, but for its last columns, whose fragments it reads too. The first ones have
  /// been read.
  __device__ __forceinline__ void multiply_first() {
#pragma unroll
    for (int i = 0; i < kLast; ++i) {
      read_b(i + 1);
#pragma unroll
      for (int q = 0; q < kGroupsM; ++q) multiply(i, q);
    }
  }

  /// A word that depends on all fragments that have been read and not yet been taken.
  __device__ __forceinline__ unsigned fragment_bits() const {
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < kGroupsM * 8; ++i) bits ^= upper_half(for_a_[i / 8][i / 4 % 2][i % 4]);
#pragma unroll
    for (int i = 0; i < 16; ++i) bits ^= upper_half(for_b_[i / 8][i % 8]);
    return bits;
  }

  /// The last columns of a stage; reads the first fragments of the next one, which lies `elements`
  /// behind it.
  __device__ __forceinline__ void multiply_last_and_start(int elements) {
    move(elements);
    read_b(0);
#pragma unroll
    for (int q = 0; q < kGroupsM; ++q) {
      multiply(kLast, q);
      read_a(q);
    }
  }
  /// Without a next one in the tile.
  __device__ __forceinline__ void multiply_last() {
#pragma unroll
    for (int q = 0; q < kGroupsM; ++q) multiply(kLast, q);
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
  __device__ static unsigned upper_half(double x) {
    return static_cast<unsigned>(__builtin_bit_cast(std::uint64_t, x) >> 32);
  }

  __device__ __forceinline__ void move(int elements) {
    a_.move(elements);
    b_.move(elements);
  }

  __device__ __forceinline__ void read_a(int q) {
#pragma unroll
    for (int d = 0; d < 2; ++d) {
      double values[2][2];
      a_.read(q, d, values);
#pragma unroll
      for (int i = 0; i < 4; ++i) for_a_[q][i / 2][2 * d + i % 2] = values[i / 2][i % 2];
    }
  }
  __device__ __forceinline__ void read_b(int i) {
#pragma unroll
    for (int d = 0; d < 2; ++d) {
      double values[2][2];
      b_.read(i, d, values);
#pragma unroll
      for (int j = 0; j < 4; ++j) for_b_[i % 2][4 * d + j] = values[j % 2][j / 2];
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
    double const(&accumulators)[4] = accumulators_[i][r / 4][r % 2];
    int const c = r / 2 % 2;
    return {p.alpha * accumulators[c] + p.beta * old.x,
            p.alpha * accumulators[2 + c] + p.beta * old.y};
  }

  /// Calls f(number of a pair, and the pair) for all accumulators of `product`.
  template <class F, class Product>
  __device__ static __forceinline__ void for_accumulators(F const& f, Product& product) {
#pragma unroll
    for (int at = 0; at < 4 * kGroupsM * kGroupsN; ++at) {
      auto& accumulators =
          product.accumulators_[at / (4 * kGroupsM)][at / 4 % kGroupsM][at / 2 % 2];
      f(at, accumulators[at % 2 * 2], accumulators[at % 2 * 2 + 1]);
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
  double accumulators_[kGroupsN][kGroupsM][2][4];
};

/// Starts the copies of all stages, each as soon as it is empty; one thread.
template <bool kAlongA, bool kAlongB, class Form>
__device__ void produce(ptx::TensorMap const& a, ptx::TensorMap const& b, Runs<Form> runs,
                        double* stages, Barriers<Form>& barriers) {
  PipelineState<Form::kStages> state;
  simt_tiles::Run run;
#pragma unroll 1
  while (runs.next(run)) {
    Corner const corner = runs.corner(run.tile);
#pragma unroll 1
    for (int t = run.first; t < run.first + run.count; ++t, state.advance()) {
      ptx::MBarrier* const full = barriers.producer_acquire(state, Form::kStage * sizeof(double));
      double* const stage = stages + state.stage * Form::kStage;
      OperandStage<kAlongA, kBM>::load(stage, a, corner.row, t * kBK, full);
      OperandStage<kAlongB, Form::kBN>::load(stage + kBM * kBK, b, corner.col, t * kBK, full);
    }
  }
}

/// The stages as a warp goes through them. Its barriers are addresses that are ready when the warp
/// comes there, because registers that hold fragments are in use until instructions have read them.
///
/// A stage may be filled again when its fragments are in registers; that they are being read is not
/// enough, because reads wait behind stores of other warps and an arrival does not. So which lane
/// arrives depends on the fragments: on all of them, because the assembler issues the reads of a
/// stage in an order of its own, and instructions that take fragments behind the arrival.
template <class Form>
class StageReader {
 public:
  __device__ StageReader(Barriers<Form>& barriers, int lane)
      : barriers_{barriers}, full_{barriers.full}, empty_{barriers.empty}, lane_{lane} {}

  /// Waits for the next stage, and returns how many elements it lies behind the last one.
  __device__ __forceinline__ int wait() {
    ptx::mbarrier_wait(full_, parity_);
    int const elements =
        full_ == barriers_.full ? (1 - Form::kStages) * Form::kStage : Form::kStage;
    if (++full_ == barriers_.full + Form::kStages) {
      full_ = barriers_.full;
      parity_ ^= 1U;
    }
    return elements;
  }

  /// Releases the stage. `bits`: fragment_bits() of this lane.
  __device__ __forceinline__ void release(unsigned bits) {
    __syncwarp();  // all lanes have read it
    // One of two lanes arrives, no matter which, and none before all have their fragments.
    int const arriving = __any_sync(~0U, bits == 1U) ? 1 : 0;
    if (lane_ == arriving) ptx::mbarrier_arrive(empty_);
    if (++empty_ == barriers_.empty + Form::kStages) empty_ = barriers_.empty;
  }

 private:
  Barriers<Form>& barriers_;
  ptx::MBarrier *full_, *empty_;
  unsigned parity_ = 0;
  int lane_;
};

/// Eight warps. `c`: used where rows of C are aligned.
template <bool kAlongA, bool kAlongB, class Form>
__device__ __forceinline__ void consume(Operands<double> const& p, Plan const& plan,
                                        ptx::TensorMap const& c, Runs<Form> runs, int block,
                                        bool c_is_aligned, double* stages,
                                        Barriers<Form>& barriers) {
  constexpr int kStages = Form::kStages, kStage = Form::kStage;
  int const warp = static_cast<int>(threadIdx.x) / 32;
  int const lane = static_cast<int>(threadIdx.x) % 32;
  StageReader<Form> ring{barriers, lane};
  // Before the first stage is the last one.
  WarpProduct<kAlongA, kAlongB, Form> product{warp, lane, stages + (kStages - 1) * kStage};
  constexpr int kLeadBarrier = 1;
  int lead = Form::kLead;
  auto const end_lead = [&] {
    if (lead == 0) return;
    ptx::bar_arrive(kLeadBarrier, kThreads);  // the other warps may start
    lead = 0;
  };
  Run run;
#pragma unroll 1
  while (runs.next(run)) {
    product.clear();
    Corner const corner = runs.corner(run.tile);
    if (p.beta != 0) product.prefetch(p, corner);
    if (lead > 0 && warp >= kWarps / 2) {
      ptx::bar_sync(kLeadBarrier, kThreads);  // the first warps have their lead
      lead = 0;
    }
    if (run.count > 0) {
      product.start(ring.wait());
      product.multiply_first();
      ring.release(product.fragment_bits());
      int t = 1;
      do {
        int const end = lead > 0 ? min(lead, run.count) : run.count;
        // From the last columns of a stage to the first ones of the next, so that the compiler can
        // place reads of fragments between instructions that free and take their registers.
#pragma unroll 1
        for (; t < end; ++t) {
          product.multiply_last_and_start(ring.wait());
          product.multiply_first();
          ring.release(product.fragment_bits());
        }
        end_lead();
      } while (t < run.count);
      product.multiply_last();
    } else {
      end_lead();
    }
    if (run.first + run.count < plan.stages) {
      product.store_partials(plan, block);
      continue;
    }
    if (run.first > 0) product.fix_up(plan, block, run.tile);
    if (c_is_aligned && corner.row + kBM <= p.m && corner.col + Form::kBN <= p.n) {
      product.write(p, c, corner, stages + kStages * kStage + warp * kStaged);
    } else {
      product.write_guarded(p, corner);
    }
  }
  ptx::bulk_wait<0>();
}

template <bool kAlongA, bool kAlongB, class Form>
__global__ void __launch_bounds__(kBlockThreads, 1)
    gemm_dmma_kernel(const __grid_constant__ ptx::TensorMap a,
                     const __grid_constant__ ptx::TensorMap b,
                     const __grid_constant__ ptx::TensorMap c, Operands<double> p, Plan plan,
                     bool c_is_aligned) {
  QUAD_DYNAMIC_SHARED(double, stages);
  auto& barriers =
      *reinterpret_cast<Barriers<Form>*>(stages + Form::kStages * Form::kStage + kWarps * kStaged);
  if (threadIdx.x == 0) barriers.init(1, kWarps);
  int const block = simt_tiles::number_of_block(plan);
  Runs<Form> runs{plan, block};
  __syncthreads();  // the barriers are ready
  if (threadIdx.x >= kThreads) {
    ptx::setmaxnreg_dec<24>();
    if (threadIdx.x == kThreads) {
      ptx::tensor_map_prefetch(a);
      ptx::tensor_map_prefetch(b);
      produce<kAlongA, kAlongB, Form>(a, b, runs, stages, barriers);
    }
  } else {
    ptx::setmaxnreg_inc<240>();
    consume<kAlongA, kAlongB, Form>(p, plan, c, runs, block, c_is_aligned, stages, barriers);
  }
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

template <class Form, bool kAlongA, bool kAlongB>
void launch_layout(Problem const& problem, Plan const& plan, device::StreamView stream) {
  auto const p = operands<double>(problem);
  int const multiprocessors = multiprocessors_of(problem, stream.facts());
  int const blocks =
      plan.split > 0 ? multiprocessors : blocks_of(problem, plan.tiles, multiprocessors);
  Problem loaded = with_aligned_rows<double>(
      problem, simt_tiles::scratch_bytes(problem, stream.facts()), stream);
  if (p.k == 0) {
    // Nothing is loaded, and any matrix has a map.
    auto const address = reinterpret_cast<std::uintptr_t>(p.c) / 16 * 16;
    loaded.a = loaded.b = {reinterpret_cast<void*>(address), core::DataType::f64, 1, 1, 2};
  }
  bool const c_is_aligned = is_aligned(problem.c);
  ptx::TensorMap const map_a = map_of(loaded.a, OperandStage<kAlongA, kBM>::kBoxRows);
  QUAD_LAUNCH((gemm_dmma_kernel<kAlongA, kAlongB, Form>), dim3(static_cast<unsigned>(blocks)),
              dim3(kBlockThreads), kSharedBytes<Form>, stream, map_a,
              map_of(loaded.b, OperandStage<kAlongB, Form::kBN>::kBoxRows),
              c_is_aligned ? map_of(problem.c, kGroupsM * kGroup) : map_a, p, plan, c_is_aligned);
}

template <class Form>
void launch_as(Problem const& problem, Plan const& plan, device::StreamView stream) {
  if (problem.transpose_a) {
    if (problem.transpose_b) return launch_layout<Form, false, true>(problem, plan, stream);
    return launch_layout<Form, false, false>(problem, plan, stream);
  }
  if (problem.transpose_b) return launch_layout<Form, true, true>(problem, plan, stream);
  launch_layout<Form, true, false>(problem, plan, stream);
}

/// How to run a problem with the tiles of a form, and how long that takes.
struct Choice {
  Plan plan;
  double time;  ///< in k-iterations of a tile of 128 x 128
  void (*launch)(Problem const&, Plan const&, device::StreamView);
};

template <class Form>
Choice choice_of(Operands<double> const& p, device::Span<float> scratch, int multiprocessors) {
  constexpr double kStore = 4, kAdd = 1.3;
  Plan plan{};
  plan.tiles_m = divide_up(p.m, kBM);
  plan.tiles_n = divide_up(p.n, Form::kBN);
  plan.tiles = plan.tiles_m * plan.tiles_n;
  plan.stages = divide_up(p.k, kBK);
  double const time = simt_tiles::split_where_quicker(plan, scratch, multiprocessors, kStore, kAdd);
  return {plan, time * kBK * Form::kBM * Form::kBN / (128 * 128) / Form::kRate, launch_as<Form>};
}

/// Takes the form that is quickest.
template <class... Forms>
void launch(Problem const& problem, device::StreamView stream) {
  if (problem.m() == 0 || problem.n() == 0) return;
  require_scratch_for_copies(problem, scratch_bytes(problem, stream.facts()), "dmma");
  auto const p = operands<double>(problem);
  std::array const choices{choice_of<Forms>(p, simt_tiles::scratch_of(problem),
                                            multiprocessors_of(problem, stream.facts()))...};
  Choice const& best = *std::min_element(
      choices.begin(), choices.end(), [](auto const& x, auto const& y) { return x.time < y.time; });
  best.launch(problem, best.plan, stream);
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
               .max_extent = kMaxCudaExtent,
               .tile = {64, 32},
               .other = "scratch for copies (rows not aligned to 16 bytes)"},
     .preference = 40,
     .source = "own",
     .summary = "tensor cores, fed by tensor copies of a producer warp"},
    QUAD_KERNEL_LAUNCH(launch<Large, Small>),
    {.scratch_bytes = scratch_bytes, .notes = {.bounds_multiprocessors = true}}};

}  // namespace quadrille::kernels::gemm
