// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the products of 16-bit matrices on the tensor cores share: a configuration in one place, the
/// layouts of shared memory, copies of k-tiles of A and B, the product of a warp by `wmma` or by
/// `mma`, and the way of the result to C. Each technique has a main loop of its own.
///
/// A block computes kConfig.bm x kConfig.bn elements of C, a warp warp_m x warp_n of them. k advances
/// in k-tiles of bk, which are copied at once, and in steps of 16, which are multiplied at once. Of B,
/// a k-tile lies in shared memory as it does in memory: bk rows of bn elements, or bn rows of bk where
/// B is transposed.

#include "common/ptx/copies.cuh"
#include "common/ptx/matrix.cuh"
#include "common/small_float.cuh"

namespace quadrille::kernels::gemm {

/// What keeps rows that are read at once out of the same banks of shared memory: nothing; 16 bytes
/// behind each row; the 16-byte pieces of a row rotated by a number of pieces that differs in
/// neighbouring rows; or that number as an exclusive or with the number of the piece.
enum class SmemLayout { linear, padded, rotated, xor_swizzled };
/// Where fragments of the next step are read while this one multiplies: nowhere; in a k-tile; in a
/// k-tile and from its last step to the first one of the next k-tile.
enum class FragmentDoubleBuffer { none, in_k_tile, across_k_tiles };
/// How accumulators reach C: from registers; through 16 rows in shared memory for each warp, padded
/// or rotated, from which a lane stores 16 bytes; or through the whole tile of the block in shared
/// memory, padded or rotated, of which a warp stores whole rows, another part than it computed. That
/// takes accumulators in f16: tiles of f32 go by 16 rows, since some GPUs have no memory for them.
enum class Epilogue { direct, padded, rotated, block_padded, block_rotated };

/// The constants of a product.
struct HalfConfig {
  int bm = 256, bn = 128, bk = 32;
  int warp_m = 64, warp_n = 64;
  bool is_wmma = false;
  SmemLayout layout = SmemLayout::linear;
  int stages = 1;  ///< k-tiles in shared memory
  FragmentDoubleBuffer fragment_double_buffer = FragmentDoubleBuffer::none;
  int raster =
      16;  ///< blocks side by side that run together: they share rows of A and columns of B
  Epilogue epilogue = Epilogue::block_padded;
  /// Blocks of a multiprocessor, for which the compiler limits registers. With f32 accumulators,
  /// which take twice as many, half of them.
  int blocks = 1;
  /// Where fragments are loaded across k-tiles, copies start in the first step of a k-tile, not in
  /// the last one.
  bool starts_copies_early = false;
  bool copies_through_l1 = false;  ///< cp.async.ca, not .cg
  bool hints_l2_line = true;       ///< cp.async with .L2::128B
  bool operator==(HalfConfig const&) const = default;
};

/// That of a product by `mma`, from numbers.
constexpr HalfConfig half_config(int bm, int bn, int bk, int warp_m, int warp_n, int layout,
                                 int stages, int fragment_double_buffer, int raster, int epilogue,
                                 int blocks) {
  return {bm,
          bn,
          bk,
          warp_m,
          warp_n,
          false,
          static_cast<SmemLayout>(layout),
          stages,
          static_cast<FragmentDoubleBuffer>(fragment_double_buffer),
          raster,
          static_cast<Epilogue>(epilogue),
          blocks};
}

/// What follows from a configuration for types and layout.
struct HalfShape {
  HalfConfig config;
  int sum_bytes;  ///< of an accumulator
  bool is_b_transposed;

  constexpr int warps_n() const { return config.bn / config.warp_n; }
  constexpr int warps() const { return config.bm / config.warp_m * warps_n(); }
  constexpr int threads() const { return warps() * 32; }
  /// Of a multiprocessor.
  constexpr int blocks() const {
    return sum_bytes == 2 || config.blocks == 1 ? config.blocks : config.blocks / 2;
  }
  /// A k-tile of B.
  constexpr int rows_b() const { return is_b_transposed ? config.bn : config.bk; }
  constexpr int cols_b() const { return is_b_transposed ? config.bk : config.bn; }
  /// Elements from row to row of a k-tile, and of C in shared memory.
  constexpr int pitch(int cols) const {
    return cols + (config.layout == SmemLayout::padded ? 8 : 0);
  }
  constexpr bool stores_block() const {
    return sum_bytes == 2 && (config.epilogue == Epilogue::block_padded ||
                              config.epilogue == Epilogue::block_rotated);
  }
  constexpr SmemLayout epilogue_layout() const {
    return config.epilogue == Epilogue::padded || config.epilogue == Epilogue::block_padded
               ? SmemLayout::padded
               : SmemLayout::rotated;
  }
  constexpr int epilogue_cols() const { return stores_block() ? config.bn : config.warp_n; }
  constexpr int epilogue_pitch() const {
    return epilogue_cols() + (epilogue_layout() == SmemLayout::padded ? 8 : 0);
  }
  /// Elements of a k-tile of A, behind which that of B begins, and of both.
  constexpr int elements_a() const { return config.bm * pitch(config.bk); }
  constexpr int stage_elements() const { return elements_a() + rows_b() * pitch(cols_b()); }
  constexpr int shared_bytes() const {
    int const ring = config.stages * stage_elements() * 2;
    int const epilogue_rows = stores_block() ? config.bm : warps() * 16;
    int const epilogue_bytes =
        config.epilogue == Epilogue::direct ? 0 : epilogue_rows * epilogue_pitch() * sum_bytes;
    return ring > epilogue_bytes ? ring : epilogue_bytes;
  }

  constexpr bool is_allowed() const {
    HalfConfig const& c = config;
    constexpr int kMax = 1024;  // so that products fit an int
    if (c.layout < SmemLayout::linear || c.layout > SmemLayout::xor_swizzled ||
        c.fragment_double_buffer < FragmentDoubleBuffer::none ||
        c.fragment_double_buffer > FragmentDoubleBuffer::across_k_tiles ||
        c.epilogue < Epilogue::direct || c.epilogue > Epilogue::block_rotated) {
      return false;
    }
    if (c.bm < 1 || c.bm > kMax || c.bn < 1 || c.bn > kMax || c.bk < 16 || c.bk > kMax ||
        c.warp_m < 16 || c.warp_n < 16 || c.stages < 1 || c.stages > 64 || c.raster < 1 ||
        c.blocks < 1 || c.blocks > 32) {
      return false;
    }
    bool const is_whole = c.bm % c.warp_m == 0 && c.bn % c.warp_n == 0 && c.warp_m % 16 == 0 &&
                          c.warp_n % 16 == 0 && c.bk % 16 == 0;
    if (!is_whole || threads() > 1024 || shared_bytes() > 227 * 1024) return false;
    if (!copies_whole(c.bm, c.bk) || !copies_whole(rows_b(), cols_b())) return false;
    // Rows whose pieces are swapped have 2, 4, or a multiple of 8 of them.
    bool const has_turns = c.layout == SmemLayout::rotated || c.layout == SmemLayout::xor_swizzled;
    if (has_turns && c.bk != 16 && c.bk != 32 && c.bk % 64 != 0) return false;
    if (c.layout == SmemLayout::xor_swizzled && !is_b_transposed && c.bn % 64 != 0) return false;
    // wmma takes rows one after the other.
    bool const has_even_rows =
        c.epilogue == Epilogue::padded || c.epilogue == Epilogue::block_padded;
    if (c.is_wmma && (has_turns || !has_even_rows)) return false;
    // Warps store as many rows of C, in eights, which have their pieces at the same places.
    if (stores_block() && c.bm % (8 * warps()) != 0) return false;
    // A k-tile begins with the registers that the one before it began with.
    return c.fragment_double_buffer != FragmentDoubleBuffer::across_k_tiles ||
           (c.bk % 32 == 0 && c.stages > 1);
  }

 private:
  /// All threads copy as many pieces of 8 elements, in passes of whole rows and of 8 rows at least.
  constexpr bool copies_whole(int rows, int cols) const {
    int const pieces = cols / 8;
    if (threads() % pieces != 0) return false;
    int const at_once = threads() / pieces;
    return at_once % 8 == 0 && rows % at_once == 0;
  }
};

#ifdef QUAD_KERNELS

/// What products of T are added up in, and what C is stored as where it is not that.
template <class T>
struct SumOf {
  using Type = float;
  using Stored = T;
};
template <>
struct SumOf<signed char> {
  using Type = int;
  using Stored = int;
};

/// One product as these kernels see it: element (i, j) of A is a[i * lda + j]; B is transposed where
/// the kernel says so. C has elements of T, or of f32. Extents fit 32 bits, offsets need not.
template <class T>
struct HalfOperands {
  using Sum = SumOf<T>::Type;

  T const* a;
  T const* b;
  void* c;
  std::int64_t lda, ldb, ldc;
  int m, n, k;
  Sum alpha, beta;
  bool is_c_f32;
};

/// Elements that are loaded and stored at once.
template <class T, int kCount>
struct alignas(kCount * sizeof(T) < 16 ? kCount * sizeof(T) : 16) Vector {
  T x[kCount];
};

/// C = alpha accumulators + beta C for neighbours in a row, from `col` on. With beta == 0, C may
/// contain anything and is not read.
template <class Out, class T, class Sum, int kCount>
__device__ void update(HalfOperands<T> const& p, int row, int col,
                       Vector<Sum, kCount> const& accumulators) {
  auto* const c =
      reinterpret_cast<Vector<Out, kCount>*>(static_cast<Out*>(p.c) + row * p.ldc + col);
  Vector<Out, kCount> values{};
  if (p.beta != 0) values = *c;
#pragma unroll
  for (int e = 0; e < kCount; ++e) {
    float value = p.alpha * to_f32(accumulators.x[e]);
    if (p.beta != 0) value += p.beta * to_f32(values.x[e]);
    values.x[e] = from_f32<Out>(value);
  }
  *c = values;
}

/// Rows of kCols elements in shared memory, in pieces of 8. What an instruction reads at once is a
/// piece of each of eight neighbouring rows, the first a multiple of 8. Rows that lie a multiple of 8
/// apart have their pieces at the same places.
template <int kCols, SmemLayout kLayout>
struct SharedRows {
  static constexpr int kPieces = kCols / 8;
  static constexpr int kPitch = kCols + (kLayout == SmemLayout::padded ? 8 : 0);
  static_assert(kCols % 8 == 0);

  /// Of an element: its row and column.
  __device__ static int offset(int row, int col) {
    auto const piece = static_cast<unsigned>(col) / 8;
    return row * kPitch + static_cast<int>(place(static_cast<unsigned>(row), piece) * 8) + col % 8;
  }

 private:
  /// Rows in 128 bytes, which is once all banks.
  static constexpr unsigned kRowsOfLine = kPieces >= 8 ? 1 : 8 / kPieces;
  static constexpr unsigned kMask = kPieces >= 8 ? 7 : kPieces - 1;

  __device__ static unsigned place(unsigned row, unsigned piece) {
    unsigned const turn = row % 8 / kRowsOfLine;
    if constexpr (kLayout == SmemLayout::rotated) return (piece + turn) % kPieces;
    if constexpr (kLayout == SmemLayout::xor_swizzled) return piece ^ (turn & kMask);
    return piece;
  }
};

/// A configuration for types and layout: T of A and B, Sum of the accumulators.
template <HalfConfig kConfigOfTile, class T, class SumOfTile, bool kIsBTransposed>
struct HalfTile {
  using Type = T;
  using Sum = SumOfTile;
  static constexpr HalfConfig kConfig = kConfigOfTile;
  static constexpr bool kTransposedB = kIsBTransposed;
  static constexpr HalfShape kShape{kConfig, static_cast<int>(sizeof(Sum)), kTransposedB};
  static_assert(kShape.is_allowed());
  static_assert(sizeof(T) == 2 && (sizeof(Sum) == 4 || std::is_same_v<T, Sum>));
  static constexpr int kWarpsN = kShape.warps_n();
  static constexpr int kThreads = kShape.threads();
  static constexpr int kBlocks = kShape.blocks();
  static constexpr int kSteps = kConfig.bk / 16;  // of a k-tile

  static constexpr int kRowsB = kShape.rows_b();
  using RowsA = SharedRows<kConfig.bk, kConfig.layout>;
  using RowsB = SharedRows<kShape.cols_b(), kConfig.layout>;
  static constexpr int kB = kShape.elements_a();  // where B begins in a stage
  static constexpr int kStageElements = kShape.stage_elements();
  /// Rows of C.
  using EpilogueTile = SharedRows<kShape.epilogue_cols(), kShape.epilogue_layout()>;
  static constexpr bool kStoresBlock = kShape.stores_block();
  static constexpr int kRowsOfWarp = kConfig.bm / kShape.warps();  // that it stores of a block
  static constexpr int kSharedBytes = kShape.shared_bytes();
  static_assert(RowsA::kPitch == kShape.pitch(kConfig.bk) &&
                RowsB::kPitch == kShape.pitch(kShape.cols_b()) &&
                EpilogueTile::kPitch == kShape.epilogue_pitch());
};

/// The first row and column of the block in C. Blocks go in slabs of `raster` columns of blocks, row
/// by row, in every other slab from the last row to the first: blocks that run together, also where
/// one slab ends and the next begins, share rows of A in L2.
struct BlockCorner {
  int row, col;

  template <class Tile, class T>
  __device__ static BlockCorner of(HalfOperands<T> const& p) {
    return of_tile<Tile>(p, static_cast<int>(blockIdx.x));
  }

  /// The same for the number of a tile where a block has several.
  template <class Tile, class T>
  __device__ static BlockCorner of_tile(HalfOperands<T> const& p, int block) {
    constexpr auto kConfig = Tile::kConfig;
    int const tiles_m = (p.m + kConfig.bm - 1) / kConfig.bm;
    int const tiles_n = (p.n + kConfig.bn - 1) / kConfig.bn;
    int const raster = kConfig.raster < tiles_n ? kConfig.raster : tiles_n;
    int const slab = block / (raster * tiles_m);
    int const in_slab = block - slab * raster * tiles_m;
    int const left = tiles_n - slab * raster;
    int const width = left < raster ? left : raster;
    int const y = in_slab / width;
    int const x = in_slab - y * width;
    return {(slab % 2 == 0 ? y : tiles_m - 1 - y) * kConfig.bm, (slab * raster + x) * kConfig.bn};
  }
};

/// Copies tiles of kRows x kCols elements of one matrix to SharedRows, by all threads: each has every
/// kRowsAtOnce-th row of one column of pieces.
template <class T, int kRows, class Rows, int kThreads>
class TileCopy {
 public:
  /// `from` is the first element of the first tile.
  __device__ TileCopy(T const* from, std::int64_t ld)
      : row_{static_cast<int>(threadIdx.x) / Rows::kPieces},
        col_{static_cast<int>(threadIdx.x) % Rows::kPieces * 8},
        step_{kRowsAtOnce * ld},
        from_{from + row_ * ld + col_} {}

  /// Elements beyond the rows and columns that are left are zeros.
  template <bool kL2Line, bool kThroughL1>
  __device__ void start(T* to, int rows_left, int cols_left) const {
    T const* from = from_;
    to += Rows::offset(row_, col_);
#pragma unroll
    for (int r = 0; r < kCopies; ++r, from += step_) {
      ptx::cp_async<16, kL2Line, kThroughL1>(
          to + r * kRowsAtOnce * Rows::kPitch, from,
          row_ + r * kRowsAtOnce < rows_left && col_ < cols_left);
    }
  }

  static constexpr int kRowsAtOnce = kThreads / Rows::kPieces;
  static_assert(kRowsAtOnce % 8 == 0);
  static constexpr int kCopies = kRows / kRowsAtOnce;
  /// The same through registers.
  __device__ void load(uint4 (&pieces)[kCopies], int rows_left, int cols_left) const {
    T const* from = from_;
#pragma unroll
    for (int r = 0; r < kCopies; ++r, from += step_) {
      bool const inside = row_ + r * kRowsAtOnce < rows_left && col_ < cols_left;
      pieces[r] = inside ? *reinterpret_cast<uint4 const*>(from) : uint4{};
    }
  }
  __device__ void store(T* to, uint4 const (&pieces)[kCopies]) const {
    to += Rows::offset(row_, col_);
#pragma unroll
    for (int r = 0; r < kCopies; ++r) {
      *reinterpret_cast<uint4*>(to + r * kRowsAtOnce * Rows::kPitch) = pieces[r];
    }
  }

  __device__ void advance(std::int64_t elements) { from_ += elements; }

 private:
  int row_, col_;
  std::int64_t step_;
  T const* from_;
};

/// The k-tiles of A and B that a block multiplies, one after the other.
template <class Tile>
class KTiles {
 public:
  using T = typename Tile::Type;

  __device__ KTiles(HalfOperands<T> const& p, BlockCorner corner)
      : a_{p.a + corner.row * p.lda, p.lda},
        b_{p.b + (Tile::kTransposedB ? corner.col * p.ldb : corner.col), p.ldb},
        ldb_{p.ldb},
        rows_left_{p.m - corner.row},
        cols_left_{p.n - corner.col},
        k_left_{p.k} {}

  /// Starts the copies of the next k-tile; after the last one does nothing.
  __device__ void start(T* stage) {
    if (k_left_ <= 0) return;
    constexpr bool kL2Line = kConfig.hints_l2_line, kThroughL1 = kConfig.copies_through_l1;
    a_.template start<kL2Line, kThroughL1>(stage, rows_left_, k_left_);
    b_.template start<kL2Line, kThroughL1>(stage + Tile::kB,
                                           Tile::kTransposedB ? cols_left_ : k_left_,
                                           Tile::kTransposedB ? k_left_ : cols_left_);
    advance();
  }

  /// Copies the next k-tile, of which there is one, through registers.
  __device__ void copy(T* stage) {
    uint4 of_a[CopyA::kCopies], of_b[CopyB::kCopies];
    a_.load(of_a, rows_left_, k_left_);
    b_.load(of_b, Tile::kTransposedB ? cols_left_ : k_left_,
            Tile::kTransposedB ? k_left_ : cols_left_);
    a_.store(stage, of_a);
    b_.store(stage + Tile::kB, of_b);
    advance();
  }

 private:
  static constexpr HalfConfig kConfig = Tile::kConfig;
  using CopyA = TileCopy<T, kConfig.bm, typename Tile::RowsA, Tile::kThreads>;
  using CopyB = TileCopy<T, Tile::kRowsB, typename Tile::RowsB, Tile::kThreads>;

  __device__ void advance() {
    a_.advance(kConfig.bk);
    b_.advance(Tile::kTransposedB ? kConfig.bk : kConfig.bk * ldb_);
    k_left_ -= kConfig.bk;
  }

  CopyA a_;
  CopyB b_;
  std::int64_t ldb_;
  int rows_left_, cols_left_, k_left_;
};

template <class T>
__device__ void exchange(T& x, T& y) {
  T const old = x;
  x = y;
  y = old;
}

/// Where a warp and a lane are in their block.
template <class Tile>
struct WarpPlace {
  int warp = static_cast<int>(threadIdx.x) / 32;
  int lane = static_cast<int>(threadIdx.x) % 32;
  int row = warp / Tile::kWarpsN * Tile::kConfig.warp_m;  // of the warp tile
  int col = warp % Tile::kWarpsN * Tile::kConfig.warp_n;
};

/// Calls f(i, j) for each tile of a warp: there and back, so that each shares a fragment with the
/// one before.
template <int kM, int kN, class F>
__device__ __forceinline__ void for_tiles(F const& f) {
#pragma unroll
  for (int i = 0; i < kM; ++i) {
#pragma unroll
    for (int jj = 0; jj < kN; ++jj) f(i, i % 2 == 0 ? jj : kN - 1 - jj);
  }
}

/// The product of a warp by `wmma`, 16 x 16 x 16.
template <class Tile>
class WmmaWarp {
  static constexpr int kM = Tile::kConfig.warp_m / 16, kN = Tile::kConfig.warp_n / 16;
  using T = typename Tile::Type;
  using Sum = typename Tile::Sum;
  template <class Use, class Of, class Layout = void>
  using Fragment = ptx::wmma::fragment<Use, 16, 16, 16, Of, Layout>;
  using RowMajor = ptx::wmma::row_major;
  using LayoutB =
      std::conditional_t<Tile::kTransposedB, ptx::wmma::col_major, ptx::wmma::row_major>;

 public:
  struct Fragments {
    Fragment<ptx::wmma::matrix_a, T, RowMajor> a[kM];
    Fragment<ptx::wmma::matrix_b, T, LayoutB> b[kN];
  };

  __device__ WmmaWarp() {
    for_tiles<kM, kN>(
        [&](int i, int j) { ptx::wmma::fill_fragment(accumulators_[i][j], Sum(0.0F)); });
  }

  __device__ void load(Fragments& f, T const* stage, int step) const {
#pragma unroll
    for (int i = 0; i < kM; ++i) {
      ptx::wmma::load_matrix_sync(
          f.a[i], stage + Tile::RowsA::offset(place_.row + i * 16, step * 16), Tile::RowsA::kPitch);
    }
    T const* const b = stage + Tile::kB;
#pragma unroll
    for (int j = 0; j < kN; ++j) {
      int const n = place_.col + j * 16;
      ptx::wmma::load_matrix_sync(f.b[j],
                                  b + (Tile::kTransposedB ? Tile::RowsB::offset(n, step * 16)
                                                          : Tile::RowsB::offset(step * 16, n)),
                                  Tile::RowsB::kPitch);
    }
  }

  __device__ void multiply(Fragments const& f) {
    for_tiles<kM, kN>([&](int i, int j) {
      ptx::wmma::mma_sync(accumulators_[i][j], f.a[i], f.b[j], accumulators_[i][j]);
    });
  }

  /// Stores 16 rows of accumulators in a Tile::EpilogueTile, from column `first` on.
  __device__ void store(Sum* epilogue_tile, int i, int first) const {
#pragma unroll
    for (int j = 0; j < kN; ++j) {
      ptx::wmma::store_matrix_sync(epilogue_tile + first + j * 16, accumulators_[i][j],
                                   Tile::EpilogueTile::kPitch, ptx::wmma::mem_row_major);
    }
  }

 private:
  WarpPlace<Tile> place_;
  Fragment<ptx::wmma::accumulator, Sum> accumulators_[kM][kN];
};

/// The accumulators of an mma m16n8k16 that a lane has, and its instruction.
template <class T, class Sum>
struct Mma;
template <>
struct Mma<__half, __half> {
  std::uint32_t accumulators[2] = {};
  __device__ void add(std::uint32_t const (&a)[4], std::uint32_t const (&b)[2]) {
    ptx::mma_m16n8k16_f16(accumulators, a, b);
  }
  /// Two neighbours of the first or second eight rows; to shared memory as they are.
  __device__ void store(__half* to, int half) const {
    *reinterpret_cast<std::uint32_t*>(to) = accumulators[half];
  }
  __device__ Vector<__half, 2> pair(int half) const {
    return __builtin_bit_cast(Vector<__half, 2>, accumulators[half]);
  }
};
template <>
struct Mma<__half, float> {
  float accumulators[4] = {};
  __device__ void add(std::uint32_t const (&a)[4], std::uint32_t const (&b)[2]) {
    ptx::mma_m16n8k16_f16(accumulators, a, b);
  }
  __device__ void store(float* to, int half) const {
    *reinterpret_cast<Vector<float, 2>*>(to) = pair(half);
  }
  __device__ Vector<float, 2> pair(int half) const {
    return {{accumulators[2 * half], accumulators[2 * half + 1]}};
  }
};
template <>
struct Mma<__nv_bfloat16, float> {
  float accumulators[4] = {};
  __device__ void add(std::uint32_t const (&a)[4], std::uint32_t const (&b)[2]) {
    ptx::mma_m16n8k16_bf16(accumulators, a, b);
  }
  __device__ void store(float* to, int half) const {
    *reinterpret_cast<Vector<float, 2>*>(to) = pair(half);
  }
  __device__ Vector<float, 2> pair(int half) const {
    return {{accumulators[2 * half], accumulators[2 * half + 1]}};
  }
};

/// The product of a warp by `mma` m16n8k16.
template <class Tile>
class MmaWarp {
  static constexpr int kM = Tile::kConfig.warp_m / 16, kN = Tile::kConfig.warp_n / 8;
  using T = typename Tile::Type;
  using Sum = typename Tile::Sum;

 public:
  struct Fragments {
    std::uint32_t a[kM][4];
    std::uint32_t b[kN][2];
  };

  __device__ void load(Fragments& f, T const* stage, int step) const {
    int const lane = place_.lane;
    T const* const a =
        stage + Tile::RowsA::offset(place_.row + lane % 16, step * 16 + lane / 16 * 8);
#pragma unroll
    for (int i = 0; i < kM; ++i) ptx::ldmatrix_x4(f.a[i], a + i * 16 * Tile::RowsA::kPitch);
    // Two fragments, 16 columns, at once.
    T const* const b = stage + Tile::kB;
#pragma unroll
    for (int j = 0; j < kN; j += 2) {
      std::uint32_t two[4];
      if constexpr (Tile::kTransposedB) {
        int const n = place_.col + lane / 16 * 8 + lane % 8;
        ptx::ldmatrix_x4(two, b + Tile::RowsB::offset(n, step * 16 + lane / 8 % 2 * 8) +
                                  j * 8 * Tile::RowsB::kPitch);
      } else {
        int const n = place_.col + j * 8 + lane / 16 * 8;
        ptx::ldmatrix_x4_trans(
            two, b + Tile::RowsB::offset(lane % 16, n) + step * 16 * Tile::RowsB::kPitch);
      }
      f.b[j][0] = two[0];
      f.b[j][1] = two[1];
      f.b[j + 1][0] = two[2];
      f.b[j + 1][1] = two[3];
    }
  }

  __device__ void multiply(Fragments const& f) {
    for_tiles<kM, kN>([&](int i, int j) { accumulators_[i][j].add(f.a[i], f.b[j]); });
  }

  /// Stores 16 rows of accumulators in a Tile::EpilogueTile, from column `first` on.
  __device__ void store(Sum* epilogue_tile, int i, int first) const {
#pragma unroll
    for (int j = 0; j < kN; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        auto const [row, col] = ptx::sum_element(place_.lane, 2 * half);
        accumulators_[i][j].store(
            epilogue_tile + Tile::EpilogueTile::offset(row, first + j * 8 + col), half);
      }
    }
  }

  /// Updates C from registers.
  template <class Out>
  __device__ void write(HalfOperands<T> const& p, BlockCorner corner) const {
#pragma unroll
    for (int i = 0; i < kM; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        auto const [row, col] = ptx::sum_element(place_.lane, 2 * half);
        int const c_row = corner.row + place_.row + i * 16 + row;
        int const c_col = corner.col + place_.col + col;
#pragma unroll
        for (int j = 0; j < kN; ++j) {
          if (c_row < p.m && c_col + j * 8 < p.n) {
            update<Out>(p, c_row, c_col + j * 8, accumulators_[i][j].pair(half));
          }
        }
      }
    }
  }

 private:
  WarpPlace<Tile> place_;
  Mma<T, Sum> accumulators_[kM][kN];
};

template <class Tile>
using Warp = std::conditional_t<Tile::kConfig.is_wmma, WmmaWarp<Tile>, MmaWarp<Tile>>;

/// Updates kRows rows and kCols columns of C from `epilogue tile`, which is a SharedRows, by a warp: a lane has
/// 16 bytes at a time.
template <class Out, class Rows, int kCols, int kRows, class T, class Sum>
__device__ void write_epilogue_tile(HalfOperands<T> const& p, int row, int col,
                                    Sum const* epilogue_tile) {
  constexpr int kCount = 16 / static_cast<int>(sizeof(Out));
  constexpr int kVectors = kCols / kCount;  // of a row
#pragma unroll 1
  for (int e = static_cast<int>(threadIdx.x) % 32; e < kRows * kVectors; e += 32) {
    int const i = e / kVectors, j = e % kVectors * kCount;
    if (row + i < p.m && col + j < p.n) {
      update<Out>(
          p, row + i, col + j,
          *reinterpret_cast<Vector<Sum, kCount> const*>(epilogue_tile + Rows::offset(i, j)));
    }
  }
}

/// The same for elements of C of either type. f16 accumulators have C in f16.
template <class Rows, int kCols, int kRows = 16, class T, class Sum>
__device__ void write_epilogue_tile(HalfOperands<T> const& p, int row, int col,
                                    Sum const* epilogue_tile) {
  if constexpr (sizeof(Sum) == 4) {
    if (p.is_c_f32)
      return write_epilogue_tile<float, Rows, kCols, kRows>(p, row, col, epilogue_tile);
  }
  write_epilogue_tile<T, Rows, kCols, kRows>(p, row, col, epilogue_tile);
}

/// Updates C by all threads, where the ring is no longer read.
template <class Tile>
__device__ void write(HalfOperands<typename Tile::Type> const& p, BlockCorner corner,
                      Warp<Tile> const& warp, typename Tile::Type* shared) {
  using T = typename Tile::Type;
  using Sum = typename Tile::Sum;
  constexpr HalfConfig kConfig = Tile::kConfig;
  if constexpr (kConfig.epilogue == Epilogue::direct) {
    if constexpr (sizeof(Sum) == 4) {
      if (p.is_c_f32) return warp.template write<float>(p, corner);
    }
    warp.template write<T>(p, corner);
  } else {
    using Rows = typename Tile::EpilogueTile;
    WarpPlace<Tile> const place;
    Sum* const epilogue_tiles = reinterpret_cast<Sum*>(shared);
    __syncthreads();  // all have read the last k-tile
    if constexpr (Tile::kStoresBlock) {
#pragma unroll
      for (int i = 0; i < kConfig.warp_m / 16; ++i) {
        warp.store(epilogue_tiles + (place.row + i * 16) * Rows::kPitch, i, place.col);
      }
      __syncthreads();  // the tile is complete
      int const row = place.warp * Tile::kRowsOfWarp;
      write_epilogue_tile<Rows, kConfig.bn, Tile::kRowsOfWarp>(p, corner.row + row, corner.col,
                                                               epilogue_tiles + row * Rows::kPitch);
    } else {
      Sum* const epilogue_tile = epilogue_tiles + place.warp * 16 * Rows::kPitch;
#pragma unroll
      for (int i = 0; i < kConfig.warp_m / 16; ++i) {
        warp.store(epilogue_tile, i, 0);
        __syncwarp();
        write_epilogue_tile<Rows, kConfig.warp_n>(p, corner.row + place.row + i * 16,
                                                  corner.col + place.col, epilogue_tile);
        __syncwarp();
      }
    }
  }
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
