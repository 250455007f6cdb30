// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product in tf32 by `wgmma` of an operand in registers.
///
///   C = alpha op(A) op(B) + beta C
///
/// Technique    wgmma reads f32 from shared memory only where k is contiguous: not of row-major B,
///              nor of transposed A. Its first operand may be in registers, in any order that loads
///              can make. So row-major B is the first operand of C^T = B^T A^T; where both are
///              transposed, A is that of C. (Layout nt needs no registers: `wgmma_persistent` takes
///              it as it is.) A lane has neighbours as rows g and g + 8 of the instruction, and
///              reads so that no two lanes meet in a bank: see FragmentReader. The fragments of
///              half a stage are loaded while the products of the one before run. Pairs of
///              accumulators go to shared memory as neighbours in a row of C. Tiles that would
///              leave a wave of clusters half empty are split along k where there is scratch
///              (`stream_k`), each warp on its own. The copy engine rounds A and B to tf32 on the
///              way, to nearest; the tensor cores would cut off. Where rows of C do not begin and
///              end with a piece of 16 bytes, warps store them, because copies would write the
///              whole piece
/// Before       wgmma_persistent
/// Shapes       row-major, layouts nn, tn and tt; copies fill edges with zeros and cut C off
/// Work         2 m n k flop; traffic 4 m n k (1 / 256 + 1 / 256) bytes through the L2 cache, and 8 bytes
///              of device memory for each element that is copied first
/// Launch       clusters of 2 blocks of 384 threads, up to 226 KiB of shared memory, one block per
///              multiprocessor. Registers as in `wgmma_specialised`
/// Accuracy     inputs 2^-11 each, then k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/cuda_cores/gemm_stream_k.cuh"
#include "gemm/hopper/gemm_wgmma.cuh"

#include <algorithm>
#include <cmath>

namespace quadrille::kernels::gemm {
namespace {

/// None of the operands is K-major: A is copied.
KMajorCopies copies_of(Problem const& problem) {
  return {.a = problem.transpose_a && !problem.transpose_b};
}
/// For tiles that are split, and the copy of A.
std::size_t scratch_bytes(Problem const& problem, device::Facts const& device) {
  std::size_t const split = simt_tiles::scratch_bytes(problem, device);
  return std::max(split, copies_of(problem).bytes(problem, split));
}

#ifdef QUAD_KERNELS

using simt_tiles::Plan;
using simt_tiles::Run;
using simt_tiles::SplitRuns;

/// Half a stage of this thread's part of the operand in registers.
constexpr int kSteps = kStageSteps / 2;
using Fragments = unsigned[kSteps][4];

/// How a warp reads 16 rows of the operand in registers from a stage: lane 4 g + q has rows 2 g and
/// 2 g + 1, as g and g + 8 of the instruction, at k-iterations q and q + 4 of each step. The swizzle
/// puts piece i, of 16 bytes, of line l, of 128 bytes, where piece i ^ (l % 8) would be. Lines are
/// k-iterations, of 32 rows each. 16 lanes read at once, 8 bytes each, in two neighbouring pieces, so
/// half of them must read from lines that differ in bit 2.
class FragmentReader {
 public:
  __device__ FragmentReader() {
    int const warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    int const g = lane / 4, q = lane % 4;
    is_swapped_ = g / 2 % 2 == 1;
    int const piece = warp % 2 * 4 + g / 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      int const k = q + (is_swapped_ == (i == 0) ? 4 : 0);
      offset_[i] = warp / 2 * kBoxBytes + k * 128 + (piece ^ k) * 16 + g % 2 * 8;
    }
  }

  /// Of the 16 rows, the one that is the `i`-th of a lane for the instruction.
  __device__ static int row(int g, int i) { return g * 2 + i; }

  __device__ __forceinline__ void read(unsigned char const* stage, int half,
                                       Fragments& fragments) const {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      int const line = (half * kSteps + step) * 8;
      auto const first = at(stage, offset_[0] + line * 128);
      auto const second = at(stage, offset_[1] + line * 128);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        fragments[step][i] = is_swapped_ ? second.x[i] : first.x[i];
        fragments[step][2 + i] = is_swapped_ ? first.x[i] : second.x[i];
      }
    }
  }

 private:
  using Pair = Vector<unsigned, 2>;
  static constexpr int kBoxBytes = 32 * 128;

  __device__ static Pair at(unsigned char const* stage, int offset) {
    return *reinterpret_cast<Pair const*>(stage + offset);
  }

  bool is_swapped_;
  int offset_[2];
};

/// The product of a warpgroup: 64 rows of a tile.
template <class Tile, bool kIsTransposed>
class RegisterProduct {
  /// 16 rows and 32 columns of the tile on their way to C.
  using CEpilogueTile = EpilogueTile<float, kIsTransposed ? 32 : 16>;
  using Pair = typename CEpilogueTile::Pair;
  static constexpr int kAccumulators = Tile::kAccumulators;

 public:
  __device__ explicit RegisterProduct(unsigned char* shared)
      : shared_{shared}, other_{Tile::B::descriptor(shared + Tile::A::kBytes, ptx::Major::k, 0)} {}

  /// Not by the first wgmma, for which the compiler would keep the accumulators of the last tile.
  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < kAccumulators; ++i) accumulators_[i] = 0;
  }

  __device__ __forceinline__ void read(int stage, int half, Fragments& fragments) const {
    reader_.read(shared_ + stage * Tile::kStageBytes, half, fragments);
  }
  /// Starts the products of half a stage, which are one group.
  __device__ __forceinline__ void multiply(int stage, int half, Fragments const& fragments) {
    auto const other = advanced(other_, static_cast<unsigned>(stage * Tile::kStageBytes));
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      ptx::wgmma_tf32<Tile::kConfig.bn>(
          accumulators_, fragments[step],
          Tile::B::template at_step<ptx::Major::k>(other, half * kSteps + step));
    }
    ptx::wgmma_commit();
  }
  __device__ __forceinline__ void finish() { ptx::wgmma_wait<0>(accumulators_); }

  /// Updates C. `corner`: of the tile.
  __device__ void write(HalfOperands<float> const& p, BlockCorner corner,
                        ptx::TensorMap const* c) const {
    int const warp = static_cast<int>(threadIdx.x) / 32;
    bool const is_first = threadIdx.x % 32 == 0;
    constexpr int kEpilogueTiles = Tile::kConfig.epilogue_tiles;
    static_assert(kAccumulators / kAccumulatorsOfEpilogueTile % kEpilogueTiles ==
                  0);  // from tile to tile too they take turns
    unsigned char* const epilogue_tiles =
        shared_ + Tile::kEpilogueTiles + warp * kEpilogueTiles * kEpilogueTileBytes;
#pragma unroll
    for (int number = 0; number < kAccumulators / kAccumulatorsOfEpilogueTile; ++number) {
      CEpilogueTile const epilogue_tile{epilogue_tiles +
                                        number % kEpilogueTiles * kEpilogueTileBytes};
      int const row = corner.row + warp * 16, col = corner.col + number * 32;
      int const c_row = kIsTransposed ? col : row, c_col = kIsTransposed ? row : col;
      if (c != nullptr && is_first) ptx::bulk_wait_read<kEpilogueTiles - 1>();
      __syncwarp();  // the epilogue tile is free
      if (p.beta != 0) {
        epilogue_tile.load(p, c_row, c_col);
        __syncwarp();  // all of it is here
      }
      update(epilogue_tile, accumulators_ + number * kAccumulatorsOfEpilogueTile, p.alpha, p.beta);
      if (c != nullptr) ptx::fence_proxy_async();
      __syncwarp();  // all of it is here
      if (c == nullptr) {
        epilogue_tile.store(p, c_row, c_col);
      } else if (is_first) {
        ptx::tensor_store(*c, c_row, c_col, epilogue_tile.bytes);
        ptx::bulk_commit();
      }
    }
  }

  /// Stores the accumulators for the cluster that has the end of the tile. Each warp is on its own.
  __device__ void store_partials(Plan const& plan, int cluster) const {
    Quad* const to = partials(plan, cluster);
#pragma unroll
    for (int i = 0; i < kAccumulators; i += 4) {
      to[i * 8] = {
          {accumulators_[i], accumulators_[i + 1], accumulators_[i + 2], accumulators_[i + 3]}};
    }
    __syncwarp();  // all partials are written
    if (threadIdx.x % 32 == 0) ptx::red_add_release_gpu(is_ready(plan, cluster), warp_bit());
  }
  /// Adds those of the clusters that have the stages of the tile before this one's.
  __device__ void fix_up(Plan const& plan, int cluster, int tile) {
    bool const is_first = threadIdx.x % 32 == 0;
    int other = cluster;
    do {
      --other;
      if (is_first) {
        while ((ptx::load_acquire_gpu(is_ready(plan, other)) & warp_bit()) == 0) {
        }
      }
      __syncwarp();  // the partials are there
      Quad const* const from = partials(plan, other);
#pragma unroll
      for (int i = 0; i < kAccumulators; i += 4) {
        Quad const partial = from[i * 8];
#pragma unroll
        for (int e = 0; e < 4; ++e) accumulators_[i + e] += partial.x[e];
      }
      __syncwarp();  // all have read them
      if (is_first) ptx::red_add_relaxed_gpu(is_ready(plan, other), 0U - warp_bit());
    } while (plan.first_of(other) > tile * plan.stages);
  }

  static ptx::TensorMap map_of_c(device::MatrixView const& c) {
    return ptx::make_tensor_map_2d({.data = c.data,
                                    .type = c.type,
                                    .rows = c.rows,
                                    .columns = c.cols,
                                    .leading = c.ld,
                                    .box_rows = kIsTransposed ? 32U : 16U,
                                    .box_columns = CEpilogueTile::kCols,
                                    .swizzle = CEpilogueTile::kSwizzle});
  }
  /// Brings the part of C under a tile to the L2 cache; one thread.
  __device__ static void prefetch(ptx::TensorMap const& c, HalfOperands<float> const& p,
                                  BlockCorner corner) {
    int const rows = kIsTransposed ? p.n : p.m, cols = kIsTransposed ? p.m : p.n;
#pragma unroll 1
    for (int row = corner.row; row < min(corner.row + Tile::kConfig.bm, rows); row += 16) {
#pragma unroll 1
      for (int col = corner.col; col < min(corner.col + Tile::kConfig.bn, cols); col += 32) {
        ptx::tensor_prefetch(c, kIsTransposed ? col : row, kIsTransposed ? row : col);
      }
    }
  }

 private:
  static constexpr int kAccumulatorsOfEpilogueTile = 16;
  using Quad = Vector<float, 4>;

  __device__ static unsigned warp_bit() { return 1U << threadIdx.x / 32; }
  /// Of this block of a cluster.
  __device__ static int block_of(int cluster) {
    return cluster * Tile::kConfig.cluster + static_cast<int>(ptx::cluster_rank());
  }
  __device__ static unsigned* is_ready(Plan const& plan, int cluster) {
    return plan.is_ready + block_of(cluster);
  }
  /// This lane's first partials of its block of a cluster; the next are 32 further on.
  __device__ static Quad* partials(Plan const& plan, int cluster) {
    constexpr std::int64_t kOfWarp = simt_tiles::kPartials / (Tile::kConsumerThreads / 32);
    static_assert(kOfWarp >= kAccumulators * 32);
    auto const warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    return reinterpret_cast<Quad*>(plan.partials + block_of(cluster) * simt_tiles::kPartials +
                                   warp * kOfWarp) +
           lane;
  }

  /// EpilogueTile = alpha sums + beta epilogue tile. Of 8 columns of the tile, a lane has 2 rows and 2 columns in
  /// 4 accumulators. Transposed, rows of the epilogue tile that lie in the same half of all banks are 2 apart,
  /// as a lane's neighbours are: so half of the lanes begin with the other one.
  __device__ static void update(CEpilogueTile const& epilogue_tile, float const* accumulators,
                                float alpha, float beta) {
    int const g = static_cast<int>(threadIdx.x) % 32 / 4, q = static_cast<int>(threadIdx.x) % 4;
    auto const set = [&](int row, int col, float x, float y) {
      Pair& here = epilogue_tile.template at<Pair>(row, col);
      Pair next{{alpha * x, alpha * y}};
      if (beta != 0) {
        Pair const old = here;
        next.x[0] += beta * old.x[0];
        next.x[1] += beta * old.x[1];
      }
      here = next;
    };
#pragma unroll
    for (int e = 0; e < kAccumulatorsOfEpilogueTile; e += 4) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if constexpr (kIsTransposed) {
          bool const is_second = (g / 2 % 2 == 1) == (i == 0);
          set(e * 2 + q * 2 + (is_second ? 1 : 0), g * 2,
              is_second ? accumulators[e + 1] : accumulators[e],
              is_second ? accumulators[e + 3] : accumulators[e + 2]);
        } else {
          set(FragmentReader::row(g, i), e * 2 + q * 2, accumulators[e + 2 * i],
              accumulators[e + 2 * i + 1]);
        }
      }
    }
  }

  unsigned char* shared_;
  FragmentReader reader_;
  ptx::MatrixDescriptor other_;
  float accumulators_[kAccumulators];
};

/// Multiplies the k-tiles of a tile, half a stage at a time: the fragments of the next half are loaded
/// when the half before this one is complete, whose registers they take. Then its stage is free too.
template <class Tile, class Product>
__device__ __forceinline__ void multiply(WgmmaRing<Tile>& ring,
                                         typename WgmmaRing<Tile>::State& state, Product& product,
                                         int k_tiles) {
  product.clear();
  if (k_tiles == 0) return;
  auto const next = [&] {
    int const stage = state.stage;
    ring.consumer_wait(state);
    state.advance();
    return stage;
  };
  Fragments first, second;
  int before = 0, stage = next();
  product.read(stage, 0, first);
#pragma unroll 1
  for (int t = 0; t < k_tiles; ++t) {
    product.multiply(stage, 0, first);
    ptx::wgmma_wait<1>();
    __syncwarp();  // all lanes have loaded their fragments of the stage before
    if (t > 0) ring.consumer_release(before);
    product.read(stage, 1, second);
    product.multiply(stage, 1, second);
    ptx::wgmma_wait<1>();
    before = stage;
    if (t + 1 < k_tiles) {
      stage = next();
      product.read(stage, 0, first);
    }
  }
  product.finish();
  __syncwarp();  // as above
  ring.consumer_release(before);
}

/// The number by which a cluster takes its work: as simt_tiles::number_of_block(). The blocks of the
/// cluster have met.
template <int kCluster>
__device__ int number_of_cluster(Plan const& plan) {
  if (plan.split == 0) return static_cast<int>(blockIdx.x) / kCluster;
  QUAD_SHARED(int, number);
  if (threadIdx.x == 0 && ptx::cluster_rank() == 0) {
    unsigned const started = ptx::atomic_add_relaxed_gpu(plan.started, 1U);
    if (started == gridDim.x / kCluster - 1) ptx::store_relaxed_gpu(plan.started, 0U);
    for (unsigned rank = 0; rank < kCluster; ++rank) {
      *ptx::cluster_map(&number, rank) = static_cast<int>(started);
    }
  }
  __syncwarp();  // the instructions take whole warps
  ptx::cluster_arrive();
  ptx::cluster_wait();  // number is written
  return number;
}

/// `first`: the operand in registers. Transposed: it is B, and tiles are of C^T.
template <class Tile, bool kIsTransposed>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    gemm_wgmma_register_operand_kernel(const __grid_constant__ ptx::TensorMap first,
                                       const __grid_constant__ ptx::TensorMap second,
                                       const __grid_constant__ ptx::TensorMap c,
                                       bool copies_store_c, HalfOperands<float> p, Plan plan) {
  using Product = RegisterProduct<Tile, kIsTransposed>;
  constexpr WgmmaConfig kConfig = Tile::kConfig;
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  if (threadIdx.x == 0 && copies_store_c) ptx::tensor_map_prefetch(c);
  WgmmaRing<Tile> ring{shared, first, second};
  HalfOperands<float> of_tiles = p;
  if (kIsTransposed) {
    of_tiles.m = p.n;
    of_tiles.n = p.m;
  }
  int const cluster = number_of_cluster<kConfig.cluster>(plan);
  Run run;
  typename WgmmaRing<Tile>::State state;  // goes on from run to run
  if (threadIdx.x >= Tile::kConsumerThreads) {
    ptx::setmaxnreg_dec<40>();
    if (threadIdx.x == Tile::kConsumerThreads) {
      SplitRuns<Tile> runs{plan, cluster};
      int const rank = ring.rank();
#pragma unroll 1
      while (runs.next(run)) {
        auto const corner = ClusterTiles<Tile>::corner(of_tiles, run.tile);
#pragma unroll 1
        for (int t = 0; t < run.count; ++t, state.advance()) {
          int const k = (run.first + t) * Tile::kStageK;
          auto const stage = ring.producer_acquire(state);
          Tile::A::load(stage.a, first, ptx::Major::mn, corner.row, k, stage.full);
          Tile::B::load(stage.b, second, ptx::Major::k, corner.col, k, stage.full, rank);
        }
        bool const is_last = run.first + run.count == plan.stages;
        if (p.beta != 0 && copies_store_c && is_last) Product::prefetch(c, p, corner);
      }
      ring.producer_tail(state);
    }
  } else {
    ptx::setmaxnreg_inc<232>();
    SplitRuns<Tile> runs{plan, cluster};
    Product product{shared};
#pragma unroll 1
    while (runs.next(run)) {
      multiply(ring, state, product, run.count);
      if (run.first + run.count < plan.stages) {
        product.store_partials(plan, cluster);
        continue;
      }
      if (run.first > 0) product.fix_up(plan, cluster, run.tile);
      product.write(p, ClusterTiles<Tile>::corner(of_tiles, run.tile),
                    copies_store_c ? &c : nullptr);
    }
    if (threadIdx.x % 32 == 0) ptx::bulk_wait_read<0>();
  }
}

/// What a launch does, and stages that the tensor cores of a multiprocessor are busy for.
struct PlanInTime {
  Plan plan{};
  double stages = 0;
};

PlanInTime plan_of(WgmmaConfig const& config, Problem const& problem, int multiprocessors) {
  constexpr double kStore = 8, kAdd = 2.6;
  auto const p = half_operands<float>(problem);
  bool const is_transposed = !problem.transpose_b;
  Plan plan{};
  plan.cluster = config.cluster;
  plan.tiles_m = divide_up(is_transposed ? p.n : p.m, config.bm * config.cluster);
  plan.tiles_n = divide_up(is_transposed ? p.m : p.n, config.bn);
  plan.tiles = plan.tiles_m * plan.tiles_n;
  plan.stages = divide_up(p.k, 32);
  double const stages = simt_tiles::split_where_quicker(plan, simt_tiles::scratch_of(problem),
                                                        multiprocessors, kStore, kAdd);
  return {plan, stages};
}

template <WgmmaConfig kConfig, bool kIsTransposed>
void launch_as(Problem const& problem, device::StreamView stream) {
  using Tile = WgmmaTile<kConfig, float>;
  using Product = RegisterProduct<Tile, kIsTransposed>;
  auto const [first, second] =
      kIsTransposed ? std::pair{problem.b, problem.a} : std::pair{problem.a, problem.b};
  int const multiprocessors = multiprocessors_of(problem, stream.facts());
  Plan const plan = plan_of(kConfig, problem, multiprocessors).plan;
  int const all = multiprocessors / kConfig.cluster;
  int const clusters = plan.split > 0 ? all : blocks_of(problem, plan.tiles, all);
  bool const copies_store_c = Tile::copies_c(problem.c);
  QUAD_LAUNCH((gemm_wgmma_register_operand_kernel<Tile, kIsTransposed>),
              (LaunchShape{.grid = static_cast<unsigned>(clusters * kConfig.cluster),
                           .block = Tile::kThreads,
                           .shared_bytes = Tile::kSharedBytes,
                           .cluster = kConfig.cluster}),
              stream, Tile::A::map_of(first, ptx::Major::mn),
              Tile::B::map_of(second, ptx::Major::k),
              copies_store_c ? Product::map_of_c(problem.c) : ptx::TensorMap{}, copies_store_c,
              half_operands<float>(problem), plan);
}

template <WgmmaConfig kConfig>
void launch(Problem const& given, device::StreamView stream) {
  if (given.m() == 0 || given.n() == 0) return;
  Problem const problem = copy_operands(given, copies_of(given), stream,
                                        simt_tiles::scratch_bytes(given, stream.facts()));
  if (problem.transpose_b) {
    launch_as<kConfig, false>(problem, stream);
  } else {
    launch_as<kConfig, true>(problem, stream);
  }
}

/// Rows of a tile are those of the operand in registers.
constexpr std::array<WgmmaKind<Problem>, 3> kKinds{{{kWide, 1024, launch<kWide>},
                                                    {kMiddle, 835, launch<kMiddle>},
                                                    {kNarrow, 640, launch<kNarrow>}}};
/// Of a tile beside its stages: storing it.
constexpr double kTileCycles = 1500;

void launch_best(Problem const& problem, device::StreamView stream) {
  int const multiprocessors = multiprocessors_of(problem, stream.facts());
  // All tiles of a multiprocessor, one after the other.
  auto const cycles = [&](WgmmaKind<Problem> const& kind) {
    auto const [plan, stages] = plan_of(kind.config, problem, multiprocessors);
    double const tiles =
        std::ceil(static_cast<double>(plan.tiles) * plan.cluster / multiprocessors);
    return stages * kind.stage_cycles + tiles * kTileCycles;
  };
  launch_quickest(kKinds, cycles, problem, stream);
}

#endif  // QUAD_KERNELS

constexpr VariantInfo in_tf32(VariantInfo info) {
  info = any_rows(info);
  info.types = {{core::DataType::f32, core::Compute::tf32}};
  info.needs.layouts = {Layout::nn, Layout::tn, Layout::tt};
  info.needs.other = "scratch for copies (layout tn, rows not aligned to 16 bytes)";
  return info;
}

}  // namespace

extern constinit Variant<Problem> const wgmma_register_operand{
    in_tf32(row("wgmma_register_operand",
                "wgmma_persistent with an operand in registers, and tiles split along k", kNarrow,
                41)),
    QUAD_KERNEL_LAUNCH(launch_best),
    {.scratch_bytes = scratch_bytes, .notes = {.bounds_multiprocessors = true}}};

}  // namespace quadrille::kernels::gemm
