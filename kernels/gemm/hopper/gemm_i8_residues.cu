// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of f64 or f32 matrices by products in i8 of their residues (Ozaki scheme II).
///
///   C = alpha op(A) op(B) + beta C
///
/// Technique    tensor cores multiply i8 thirty times as fast as f64. So A and B become whole numbers, by a
///              power of two for each row of A and column of B, and these residues for 14 moduli (7 in
///              f32), bytes. Residues of the product for a modulus are those of the residues' product,
///              which i32 holds; all of them together are the product (gemm_moduli.hpp). Four kernels:
///
///   exponents     a warp reads a row, or 32 columns: the norm says by what power of two it is scaled
///   residues      32 rows x 128 of k by way of shared memory, to 16 bytes of each modulus a thread
///   products      wgmma_persistent over the tiles of all moduli in one launch. Sums in i32 never leave the
///                 multiprocessor: a thread reduces those that it has modulo the modulus and stores 64
///                 bytes of a row, as they lie in its registers
///   C             four elements a thread, from a word of each modulus: sums of residues times limbs of 40
///                 bits are exact in f64
///
/// Before       wgmma_persistent
/// Shapes       row-major, A and B as they are or transposed, any extents up to k = 65536, any leading
///              dimensions and alignment
/// Work         2 m n k flop, for which tensor cores do 14 (7) times as many in i8; memory: A and B twice, a
///              byte for each element and modulus of A, B and C twice
/// Launch       products: as wgmma_persistent, without epilogue tiles in shared memory
/// Accuracy     1.5 eps |a| |b| of a row and a column, as the sum in the type itself, and whole numbers
///              exact; rows and columns of any scale. Those with infinities or NaN become NaN
#include "gemm/gemm_moduli.hpp"
#include "gemm/hopper/gemm_wgmma.cuh"

#include <algorithm>
#include <string>

namespace quadrille::kernels::gemm {
namespace {

// 128 x 256 of the residues of C for one modulus, two of them below each other in a cluster.
constexpr WgmmaConfig kConfig{.epilogue_tiles = 0, .cluster = 2};
constexpr std::int64_t kLineUnit = 256;  // rows of residues of A and of B, which fill tiles
constexpr std::int64_t kDepthUnit = 128;

int count_of(Problem const& p) {
  return p.moduli > 0 ? p.moduli : core::emulating_products(p.c.type);
}

/// Where everything is in scratch memory, in bytes.
struct Places {
  std::int64_t rows, cols, depth;  ///< of residues
  std::size_t a_exponents, b_exponents, a, b, c, end;

  explicit Places(Problem const& p) {
    auto const up = [](std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; };
    rows = up(p.m(), kLineUnit);
    cols = up(p.n(), kLineUnit);
    depth = up(p.k(), kDepthUnit);
    std::int64_t const moduli = count_of(p);
    a_exponents = kScratchCounters * sizeof(float);
    auto const behind = [](std::size_t at, std::int64_t bytes) {
      return at + static_cast<std::size_t>(bytes);
    };
    b_exponents = behind(a_exponents, rows * 4);
    a = behind(b_exponents, cols * 4);
    b = behind(a, moduli * rows * depth);
    c = behind(b, moduli * cols * depth);
    end = behind(c, moduli * rows * cols);
  }
};

std::size_t scratch_bytes(Problem const& problem, device::Facts const& /*device*/) {
  return Places{problem}.end;
}

#ifdef QUAD_KERNELS

constexpr int kFewModuli = 7;  // of f32
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
/// Of a block that has 32 lines for itself.
constexpr int kWarpsOfLines = 32;

/// Rows of op(A), or columns of op(B): element l of line i is at [i * line + l * step], one of which is 1.
template <class T>
struct Lines {
  T const* data;
  std::int64_t line, step;
  int count, depth;
};

/// Lines whose elements follow each other, one for each warp; or else 32 lines beside each other.
template <class T, bool kAlongDepth>
__global__ void __launch_bounds__(kAlongDepth ? kThreads : kWarpsOfLines * 32)
    gemm_i8_exponents_kernel(Lines<T> x, int* exponents, const __grid_constant__ Moduli moduli) {
  auto const lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  auto const block = static_cast<int>(blockIdx.x);
  int const line = kAlongDepth ? block * kWarps + warp : block * 32 + lane;
  Squares squares;
  if (line < x.count) {
    constexpr int kStep = kAlongDepth ? 32 : kWarpsOfLines;
    T const* const from = x.data + line * x.line;
#pragma unroll 8
    for (int l = kAlongDepth ? lane : warp; l < x.depth; l += kStep) {
      squares.add(static_cast<double>(from[l * x.step]));
    }
  }
  if constexpr (kAlongDepth) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      squares.big += __shfl_xor_sync(~0U, squares.big, distance);
      squares.middle += __shfl_xor_sync(~0U, squares.middle, distance);
      squares.small += __shfl_xor_sync(~0U, squares.small, distance);
    }
    if (lane == 0 && line < x.count) exponents[line] = exponent_of(squares, moduli);
  } else {
    QUAD_SHARED(Squares, parts, [kWarpsOfLines][32]);
    parts[warp][lane] = squares;
    __syncthreads();  // all parts are here
    if (warp > 0 || line >= x.count) return;
    for (int other = 1; other < kWarpsOfLines; ++other) {
      squares.big += parts[other][lane].big;
      squares.middle += parts[other][lane].middle;
      squares.small += parts[other][lane].small;
    }
    exponents[line] = exponent_of(squares, moduli);
  }
}

constexpr int kTileLines = 32;
constexpr int kPieces = static_cast<int>(kDepthUnit) / 16;
/// Elements from a line of the tile to the next: an odd number, and one more behind each 16, so that neither
/// those who store a column nor those who read pieces meet in a bank.
constexpr int kPitch = kPieces * 17 + 1;

/// 32 lines x 128 of the depth to residues of each modulus, `lines` x `depth` bytes. Beyond the matrix
/// they are 0.
template <class T, bool kAlongDepth>
__global__ void __launch_bounds__(kThreads)
    gemm_i8_residues_kernel(Lines<T> x, int const* exponents, std::uint8_t* residues, int lines,
                            int depth, const __grid_constant__ Moduli moduli) {
  QUAD_SHARED(T, tile, [kTileLines * kPitch]);
  auto const thread = static_cast<int>(threadIdx.x);
  int const first_l = static_cast<int>(blockIdx.x) * static_cast<int>(kDepthUnit);
  // A warp stores 64 bytes of eight lines.
  int const line = thread / 4 % 32, piece = thread % 4 + thread / 128 * 4;
#pragma unroll 1
  for (int first = static_cast<int>(blockIdx.y) * kTileLines; first < lines;
       first += static_cast<int>(gridDim.y) * kTileLines) {
#pragma unroll 4
    for (int e = thread; e < kTileLines * static_cast<int>(kDepthUnit); e += kThreads) {
      int const i = kAlongDepth ? e / static_cast<int>(kDepthUnit) : e % kTileLines;
      int const l = kAlongDepth ? e % static_cast<int>(kDepthUnit) : e / kTileLines;
      bool const is_inside = first + i < x.count && first_l + l < x.depth;
      tile[i * kPitch + l + l / 16] =
          is_inside ? x.data[(first + i) * x.line + (first_l + l) * x.step] : T{0};
    }
    __syncthreads();  // the tile is here
    int const exponent = first + line < x.count ? exponents[first + line] : kNotFinite;
    PowerOfTwo const power{exponent == kNotFinite ? 0 : exponent};
    std::uint32_t low[16], high[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      auto const element = static_cast<double>(tile[line * kPitch + piece * 17 + i]);
      std::uint64_t const whole = shifted_whole(exponent == kNotFinite ? 0 : element, power);
      low[i] = static_cast<std::uint32_t>(whole);
      high[i] = static_cast<std::uint32_t>(whole >> 32);
    }
    std::uint8_t* to = residues + (first + line) * std::int64_t{depth} + first_l + piece * 16;
#pragma unroll 1
    for (int t = 0; t < moduli.count; ++t, to += std::int64_t{lines} * depth) {
      Modulus const& m = moduli.moduli[t];
      Vector<std::uint32_t, 4> words;
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        std::uint32_t bytes[4];
#pragma unroll
        for (int byte = 0; byte < 4; ++byte) {
          int const i = word * 4 + byte;
          std::uint32_t const sum =
              __dp4a(low[i], m.low_weights, __dp4a(high[i], m.high_weights, m.offset));
          bytes[byte] = sum - __umulhi(sum, m.reciprocal) * m.value;
        }
        std::uint32_t const both = __byte_perm(bytes[0], bytes[1], 0x0040);
        std::uint32_t const others = __byte_perm(bytes[2], bytes[3], 0x0040);
        // 128 less, as bytes with signs.
        words.x[word] = __byte_perm(both, others, 0x5410) ^ 0x80808080U;
      }
      *reinterpret_cast<Vector<std::uint32_t, 4>*>(to) = words;
    }
    __syncthreads();  // all have read it
  }
}

using Tile = WgmmaTile<kConfig, std::int8_t>;

/// Residues of C for all moduli from those of A and B. `p`: the product for one of them, whose tiles are
/// whole; its A and B are not used.
///
/// Of each 256 bytes of a row those of a thread, 64, lie at 16 of each 64: four threads store 64 bytes side
/// by side. column_of() finds them again.
__global__ void __launch_bounds__(Tile::kThreads, 1)
    gemm_i8_products_kernel(const __grid_constant__ ptx::TensorMap a,
                            const __grid_constant__ ptx::TensorMap b, HalfOperands<std::int8_t> p,
                            const __grid_constant__ Moduli moduli) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  WgmmaRing<Tile> ring{shared, a, b};
  constexpr auto k = ptx::Major::k;
  int const k_tiles = p.k / Tile::kStageK;
  int const pairs = ClusterTiles<Tile>::count(p);
  int const first = static_cast<int>(blockIdx.x) / kConfig.cluster;
  int const step = static_cast<int>(gridDim.x) / kConfig.cluster;
  typename WgmmaRing<Tile>::State state;
  if (threadIdx.x >= Tile::kConsumerThreads) {
    ptx::setmaxnreg_dec<40>();
    if (threadIdx.x == Tile::kConsumerThreads) {
      int const rank = ring.rank();
#pragma unroll 1
      for (int pair = first; pair < pairs * moduli.count; pair += step) {
        auto const corner = ClusterTiles<Tile>::corner(p, pair % pairs);
        int const row = pair / pairs * p.m + corner.row, col = pair / pairs * p.n + corner.col;
#pragma unroll 1
        for (int t = 0; t < k_tiles; ++t, state.advance()) {
          auto const stage = ring.producer_acquire(state);
          Tile::A::load(stage.a, a, k, row, t * Tile::kStageK, stage.full);
          Tile::B::load(stage.b, b, k, col, t * Tile::kStageK, stage.full, rank);
        }
      }
      ring.producer_tail(state);
    }
  } else {
    ptx::setmaxnreg_inc<232>();
    WgmmaWarpgroup<Tile> warpgroup{shared, {k, k}};
    auto const lane = static_cast<int>(threadIdx.x) % 32;
    int const row =
        WgmmaWarpgroup<Tile>::row() + static_cast<int>(threadIdx.x) / 32 % 4 * 16 + lane / 4;
#pragma unroll 1
    for (int pair = first; pair < pairs * moduli.count; pair += step) {
      int before = 0;
#pragma unroll 1
      for (int t = 0; t < k_tiles; ++t, state.advance()) {
        ring.consumer_wait(state);
        warpgroup.template multiply<k, k>(state.stage, t > 0);
        ptx::wgmma_wait<1>();
        if (t > 0) ring.consumer_release(before);
        before = state.stage;
      }
      warpgroup.finish();
      ring.consumer_release(before);

      auto const corner = ClusterTiles<Tile>::corner(p, pair % pairs);
      Modulus const& m = moduli.moduli[pair / pairs];
      auto const value = static_cast<int>(m.value);
      auto const& sums = warpgroup.accumulators(0);
#pragma unroll
      for (int half = 0; half < 2; ++half) {  // rows 8 apart
        std::uint8_t* const to =
            static_cast<std::uint8_t*>(p.c) +
            (std::int64_t{pair / pairs} * p.m + corner.row + row + half * 8) * p.ldc + corner.col +
            lane % 4 * 16;
#pragma unroll
        for (int part = 0; part < 4; ++part) {
          Vector<std::uint32_t, 4> words;
#pragma unroll
          for (int word = 0; word < 4; ++word) {
            std::uint32_t bytes[4];
#pragma unroll
            for (int byte = 0; byte < 4; ++byte) {
              int const column = part * 16 + word * 4 + byte;  // of the 64 that this thread has
              int const sum = sums[column / 2 * 4 + half * 2 + column % 2];
              int const times = __mulhi(sum, m.wide_reciprocal) >> 6;
              bytes[byte] = static_cast<std::uint32_t>(sum - times * value);
            }
            words.x[word] = __byte_perm(__byte_perm(bytes[0], bytes[1], 0x0040),
                                        __byte_perm(bytes[2], bytes[3], 0x0040), 0x5410);
          }
          *reinterpret_cast<Vector<std::uint32_t, 4>*>(to + part * 64) = words;
        }
      }
    }
  }
}

/// Of the first two bytes of word `number` in a row of residues of C; the other two are 8 columns further on.
__device__ inline int column_of(int number) {
  int const word = number % 4, lane = number / 4 % 4, part = number / 16 % 4;
  return number / 64 * 256 + part * 64 + word * 16 + lane * 2;
}

/// C as it is stored.
template <class T>
struct Target {
  T* c;
  std::int64_t ld;
  int rows, cols;
  double alpha, beta;
};

/// C from its residues, `rows` x `cols` for each of at most kMaxCount moduli: a word of a row a thread.
template <class T, int kMaxCount>
__global__ void __launch_bounds__(kThreads)
    gemm_i8_restore_kernel(Target<T> p, std::uint8_t const* residues, int rows, int cols,
                           int const* a_exponents, int const* b_exponents,
                           const __grid_constant__ Moduli moduli) {
  using Pair = Vector<T, 2>;
  int const words = cols / 4;
  std::int64_t const number = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  auto const row = static_cast<int>(number / words);
  int const word = static_cast<int>(number % words);
  if (row >= p.rows) return;
  std::uint32_t bytes[kMaxCount];
#pragma unroll
  for (int t = 0; t < kMaxCount; ++t) {
    if (t >= moduli.count) break;
    bytes[t] = *reinterpret_cast<std::uint32_t const*>(
        residues + (std::int64_t{t} * rows + row) * cols + word * 4);
  }
  int const a_exponent = moduli.count > 0 ? a_exponents[row] : 0;
  bool const has_pairs = p.ld % 2 == 0 && reinterpret_cast<std::uintptr_t>(p.c) % sizeof(Pair) == 0;
#pragma unroll
  for (int pair = 0; pair < 2; ++pair) {
    int const col = column_of(word) + pair * 8;
    if (col >= p.cols) continue;
    int const count = min(2, p.cols - col);
    T* const c = p.c + row * p.ld + col;
    Pair values;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (i >= count) break;
      int const b_exponent = moduli.count > 0 ? b_exponents[col + i] : 0;
      bool const is_finite = a_exponent != kNotFinite && b_exponent != kNotFinite;
      double sum = restored<kMaxCount>(moduli, is_finite ? a_exponent + b_exponent : 0, [&](int t) {
        // The bits of 2^52 + the byte.
        auto const byte = static_cast<int>(bytes[t] >> (16 * pair + 8 * i) & 0xFF);
        return __hiloint2double(0x43300000, byte) - 0x1p52;
      });
      if (!is_finite) sum = __longlong_as_double(0x7FF8000000000000);
      double const old = p.beta == 0 ? 0 : p.beta * static_cast<double>(c[i]);
      values.x[i] = static_cast<T>(p.alpha * sum + old);
    }
    if (has_pairs && count == 2) {
      *reinterpret_cast<Pair*>(c) = values;
    } else {
      c[0] = values.x[0];
      if (count == 2) c[1] = values.x[1];
    }
  }
}

/// Rows of op(A), or columns of op(B), to exponents and residues.
template <class T>
void enqueue_residues(device::MatrixView const& x, bool along_depth, int* exponents,
                      std::uint8_t* residues, std::int64_t lines, std::int64_t depth,
                      Moduli const& moduli, device::StreamView stream) {
  auto const with = [&]<bool kAlongDepth>() {
    auto const count = static_cast<int>(kAlongDepth ? x.rows : x.cols);
    Lines<T> const of{static_cast<T const*>(x.data), kAlongDepth ? x.ld : 1, kAlongDepth ? 1 : x.ld,
                      count, static_cast<int>(kAlongDepth ? x.cols : x.rows)};
    QUAD_LAUNCH((gemm_i8_exponents_kernel<T, kAlongDepth>),
                dim3(static_cast<unsigned>(divide_up(count, kAlongDepth ? kWarps : 32))),
                dim3(kAlongDepth ? kThreads : kWarpsOfLines * 32), 0, stream, of, exponents,
                moduli);
    dim3 const grid(static_cast<unsigned>(depth / kDepthUnit),
                    static_cast<unsigned>(std::min(lines / kTileLines, kMaxTileRows)));
    QUAD_LAUNCH((gemm_i8_residues_kernel<T, kAlongDepth>), grid, dim3(kThreads), 0, stream, of,
                exponents, residues, static_cast<int>(lines), static_cast<int>(depth), moduli);
  };
  if (along_depth) {
    with.template operator()<true>();
  } else {
    with.template operator()<false>();
  }
}

template <class T, int kMaxCount>
void enqueue(Problem const& problem, Places const& at, Moduli const& moduli,
             device::StreamView stream) {
  auto const scratch = [&]<class Element>(std::size_t place, Element) {
    return reinterpret_cast<Element*>(static_cast<std::byte*>(problem.scratch) + place);
  };
  int* const a_exponents = scratch(at.a_exponents, int{});
  int* const b_exponents = scratch(at.b_exponents, int{});
  std::uint8_t* const c = scratch(at.c, std::uint8_t{});
  if (moduli.count > 0) {
    std::uint8_t* const a = scratch(at.a, std::uint8_t{});
    std::uint8_t* const b = scratch(at.b, std::uint8_t{});
    enqueue_residues<T>(problem.a, !problem.transpose_a, a_exponents, a, at.rows, at.depth, moduli,
                        stream);
    enqueue_residues<T>(problem.b, problem.transpose_b, b_exponents, b, at.cols, at.depth, moduli,
                        stream);
    auto const map_of = [&]<class Operand>(std::uint8_t* data, std::int64_t lines, Operand) {
      return Operand::map_of({data, core::DataType::i8, moduli.count * lines, at.depth, at.depth},
                             ptx::Major::k);
    };
    HalfOperands<std::int8_t> p{};
    p.c = c;
    p.ldc = at.cols;
    p.m = static_cast<int>(at.rows);
    p.n = static_cast<int>(at.cols);
    p.k = static_cast<int>(at.depth);
    int const clusters = blocks_of(problem, ClusterTiles<Tile>::count(p) * moduli.count,
                                   multiprocessors_of(problem, stream.facts()) / kConfig.cluster);
    QUAD_LAUNCH(gemm_i8_products_kernel,
                (LaunchShape{.grid = static_cast<unsigned>(clusters * kConfig.cluster),
                             .block = Tile::kThreads,
                             .shared_bytes = Tile::kSharedBytes,
                             .cluster = kConfig.cluster}),
                stream, map_of(a, at.rows, Tile::A{}), map_of(b, at.cols, Tile::B{}), p, moduli);
  }
  Target<T> const target{
      static_cast<T*>(problem.c.data), problem.c.ld,  static_cast<int>(problem.m()),
      static_cast<int>(problem.n()),   problem.alpha, problem.beta};
  std::int64_t const words = problem.m() * (at.cols / 4);
  QUAD_LAUNCH((gemm_i8_restore_kernel<T, kMaxCount>),
              dim3(static_cast<unsigned>((words + kThreads - 1) / kThreads)), dim3(kThreads), 0,
              stream, target, c, static_cast<int>(at.rows), static_cast<int>(at.cols), a_exponents,
              b_exponents, moduli);
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.m() == 0 || problem.n() == 0) return;
  Places const at{problem};
  QUAD_REQUIRE(problem.scratch_bytes >= at.end, "gemm/i8_residues: needs " +
                                                    std::to_string(at.end) +
                                                    " bytes of scratch memory for residues");
  Moduli const& moduli = moduli_of(problem.k() == 0 ? 0 : count_of(problem));
  bool const has_few = moduli.count <= kFewModuli;
  if (problem.c.type == core::DataType::f64) {
    (has_few ? enqueue<double, kFewModuli> : enqueue<double, kMaxModuli>)(problem, at, moduli,
                                                                          stream);
  } else {
    (has_few ? enqueue<float, kFewModuli> : enqueue<float, kMaxModuli>)(problem, at, moduli,
                                                                        stream);
  }
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const i8_residues{
    {.name = "i8_residues",
     .where = Where::cuda,
     .types = {{core::DataType::f64, core::Compute::emulated},
               {core::DataType::f32, core::Compute::emulated}},
     .needs = {.compute_capability = 90,
               .exact_capability = true,
               .max_extent = kMaxCudaExtent,
               .tile = {kConfig.bm, kConfig.bn},
               .other = "k up to 65536; scratch for a byte for each modulus and element"},
     .preference = 40,
     .source = "own, after Ozaki, Uchino, Imamura 2025",
     .summary = "residues of eight bits, their products in i8 by wgmma in one launch"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = emulated_unsupported, .scratch_bytes = scratch_bytes}};

}  // namespace quadrille::kernels::gemm
