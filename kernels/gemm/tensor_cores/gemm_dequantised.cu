// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product of few rows of f16 and weights of 8 or 4 bits, as decoding has it.
///
///   C = alpha A W + beta C,  W(l, j) = factor(l / 128, j) * whole number (l, j)
///
/// Technique    the time is that of reading the weights once. Tensor cores multiply 16 columns of W by 8
///              rows of A, so that the few rows fill an instruction. The order of k in a sum is free:
///              a lane takes the 16 bytes that lie together in memory, and the same k of A. Whole
///              numbers become f16 without conversions: their bits are put behind the exponent of 1024,
///              which is then subtracted. Products of a group of 128 are added in f32, and that sum
///              is multiplied by the factor: no weight is rounded. The warps of a block have every
///              fourth group of the same columns and add their sums up in shared memory; small blocks,
///              of which all multiprocessors have several, read on while one of them ends
/// Shapes       row-major, W stored n x k; rows of A, W and C of whole 16 bytes; any m, of which 32
///              read the weights
///              together
/// Work         2 m n k flop; traffic n k bytes or half as many, 2 for each 128 of them, and A for each
///              32 columns, which caches hold
/// Launch       128 threads, up to 4 blocks a multiprocessor; 18 KiB of shared memory at most
/// Accuracy     as the product in f16 with sums in f32, of the numbers times their factors
#include "common/ptx/matrix.cuh"
#include "gemm/tensor_cores/gemm_half_rows.cuh"

#include <cstring>
#include <string>

namespace quadrille::kernels::gemm {
namespace {

constexpr int kCols = 32;     // of W, for a block: two instructions have 16 each
constexpr int kMaxTiles = 4;  // of 8 rows of A

#ifdef QUAD_KERNELS

constexpr int kInstructions = kCols / 16;
constexpr int kWarps = 4;
/// Groups on their way to a warp: of as many bytes.
template <int kBits>
constexpr int kAhead = 8 / kBits;
constexpr int kPitch = 36;  // of a row of sums in shared memory: its writes have no bank conflicts
constexpr int kGroup = static_cast<int>(kScaled);
constexpr int kPairs = kGroup / 4 / 2;  // of a group, for each lane of a row

struct Weighted {
  HalfOperands<__half> product;  ///< b is unused
  unsigned char const* weights;
  __half const* factors;
  std::int64_t ld_weights, ld_factors;
};

/// What a lane has of a group of weights.
template <int kBits>
struct Piece {
  static constexpr int kValues = 128 / kBits;  ///< in 16 bytes
  static constexpr int kWords = kBits;         ///< for 32 values
  std::uint32_t words[kInstructions][2][kWords];
  float factors[kInstructions][2];

  /// Where value `v` of lane `t` of a row is in its group: lanes have 16 bytes beside each other.
  __device__ static constexpr int k_of(int t, int v) {
    return v / kValues * (4 * kValues) + t * kValues + v % kValues;
  }

  /// Zeros beyond the last column and k.
  __device__ void load(Weighted const& p, int col, int group, int lane) {
    int const g = lane >> 2, t = lane & 3;
#pragma unroll
    for (int i = 0; i < kInstructions; ++i) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        int const row = col + i * 16 + side * 8 + g;
        bool const is_there = row < p.product.n && group * kGroup < p.product.k;
        factors[i][side] = is_there ? __half2float(p.factors[group * p.ld_factors + row]) : 0.0F;
#pragma unroll
        for (int v = 0; v < 32; v += kValues) {
          int const k = group * kGroup + k_of(t, v);
          uint4 value{};
          if (is_there && k < p.product.k) {
            value = *reinterpret_cast<uint4 const*>(p.weights + row * p.ld_weights + k * kBits / 8);
          }
          std::uint32_t(&to)[kWords] = words[i][side];
          to[v * kBits / 32] = value.x;
          to[v * kBits / 32 + 1] = value.y;
          to[v * kBits / 32 + 2] = value.z;
          to[v * kBits / 32 + 3] = value.w;
        }
      }
    }
  }
};

__device__ inline std::uint32_t scaled_and_shifted(std::uint32_t pair, float factor, float shift) {
  __half2 halves;
  std::memcpy(static_cast<void*>(&halves), &pair, sizeof halves);
  halves = __hfma2(halves, __float2half2_rn(factor), __float2half2_rn(shift));
  std::memcpy(&pair, &halves, sizeof halves);
  return pair;
}

/// Eight numbers as four pairs of f16: of 8 bits of neighbours, of 4 bits of n and n + 4, which lie 16
/// bits apart.
template <int kBits>
__device__ void widen(std::uint32_t const* words, std::uint32_t* pairs) {
  constexpr std::uint32_t k1024 = 0x64006400;
  if constexpr (kBits == 8) {
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      // Each byte below one of 0x64.
      std::uint32_t const bytes = words[w] ^ 0x80808080;
      pairs[2 * w] = scaled_and_shifted(__byte_perm(bytes, k1024, 0x5150), 1.0F, -1152.0F);
      pairs[2 * w + 1] = scaled_and_shifted(__byte_perm(bytes, k1024, 0x5352), 1.0F, -1152.0F);
    }
  } else {
    std::uint32_t const low = words[0] ^ 0x88888888, high = low >> 8;
    pairs[0] = scaled_and_shifted((low & 0x000f000f) | k1024, 1.0F, -1032.0F);
    pairs[1] = scaled_and_shifted((low & 0x00f000f0) | k1024, 0.0625F, -72.0F);
    pairs[2] = scaled_and_shifted((high & 0x000f000f) | k1024, 1.0F, -1032.0F);
    pairs[3] = scaled_and_shifted((high & 0x00f000f0) | k1024, 0.0625F, -72.0F);
  }
}

/// The same eight k of a row of A.
template <int kBits>
__device__ void take(uint4 const& values, std::uint32_t* pairs) {
  if constexpr (kBits == 8) {
    pairs[0] = values.x;
    pairs[1] = values.y;
    pairs[2] = values.z;
    pairs[3] = values.w;
  } else {
    pairs[0] = __byte_perm(values.x, values.z, 0x5410);
    pairs[1] = __byte_perm(values.x, values.z, 0x7632);
    pairs[2] = __byte_perm(values.y, values.w, 0x5410);
    pairs[3] = __byte_perm(values.y, values.w, 0x7632);
  }
}

/// Blocks of a multiprocessor, which hide each other's ends: as many as have registers.
template <int kTiles>
constexpr int kBlocks = kTiles <= 1   ? 4
                        : kTiles == 2 ? 3
                                      : 2;

template <int kBits, int kTiles>
__global__ void __launch_bounds__(kWarps * 32, kBlocks<kTiles>)
    gemm_dequantised_kernel(Weighted p) {
  constexpr int kRows = kTiles * 8;  // of A
  QUAD_DYNAMIC_SHARED(float, shared);
  int const warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  int const g = lane >> 2, t = lane & 3;
  int const first_col = static_cast<int>(blockIdx.x) * kCols;
  int const first_row = static_cast<int>(blockIdx.y) * kRows;
  HalfOperands<__half> const& product = p.product;
  int const groups = divide_up(product.k, kGroup);

  float sums[kInstructions][kTiles][4] = {};
  auto const multiply = [&](Piece<kBits> const& piece, int group) {
    std::uint32_t w[kInstructions][2][kPairs];
#pragma unroll
    for (int i = 0; i < kInstructions; ++i) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
#pragma unroll
        for (int v = 0; v < 32; v += 8) {
          widen<kBits>(piece.words[i][side] + v * kBits / 32, w[i][side] + v / 2);
        }
      }
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      int const row = first_row + tile * 8 + g;
      std::uint32_t x[kPairs];
#pragma unroll
      for (int v = 0; v < 32; v += 8) {
        int const k = group * kGroup + Piece<kBits>::k_of(t, v);
        uint4 values{};
        if (row < product.m && k < product.k) {
          values = *reinterpret_cast<uint4 const*>(product.a + row * product.lda + k);
        }
        take<kBits>(values, x + v / 2);
      }
      float of_group[kInstructions][4] = {};
#pragma unroll
      for (int pair = 0; pair < kPairs; pair += 2) {
#pragma unroll
        for (int i = 0; i < kInstructions; ++i) {
          ptx::mma_m16n8k16_f16(
              of_group[i], {w[i][0][pair], w[i][1][pair], w[i][0][pair + 1], w[i][1][pair + 1]},
              {x[pair], x[pair + 1]});
        }
      }
#pragma unroll
      for (int i = 0; i < kInstructions; ++i) {
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[i][tile][e] += piece.factors[i][e / 2] * of_group[i][e];
      }
    }
  };
  Piece<kBits> ahead[kAhead<kBits>];
#pragma unroll
  for (int i = 0; i < kAhead<kBits>; ++i) ahead[i].load(p, first_col, warp + i * kWarps, lane);
#pragma unroll 1
  for (int group = warp; group < groups; group += kAhead<kBits> * kWarps) {
#pragma unroll
    for (int i = 0; i < kAhead<kBits>; ++i) {
      Piece<kBits> const piece = ahead[i];
      ahead[i].load(p, first_col, group + (i + kAhead<kBits>)*kWarps, lane);
      multiply(piece, group + i * kWarps);  // behind the last group: of zeros
    }
  }

#pragma unroll
  for (int i = 0; i < kInstructions; ++i) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        int const row = tile * 8 + 2 * t + e % 2, col = i * 16 + e / 2 * 8 + g;
        shared[(warp * kRows + row) * kPitch + col] = sums[i][tile][e];
      }
    }
  }
  __syncthreads();
  for (int at = static_cast<int>(threadIdx.x); at < kRows * kCols; at += kWarps * 32) {
    int const row = at / kCols, col = at % kCols;
    if (first_row + row >= product.m || first_col + col >= product.n) continue;
    Vector<float, 1> sum{};
#pragma unroll
    for (int from = 0; from < kWarps; ++from) {
      sum.x[0] += shared[(from * kRows + row) * kPitch + col];
    }
    if (product.is_c_f32) {
      update<float>(product, first_row + row, first_col + col, sum);
    } else {
      update<__half>(product, first_row + row, first_col + col, sum);
    }
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.m() == 0 || problem.n() == 0) return;
  Weighted const p{
      half_operands<__half>(problem), static_cast<unsigned char const*>(problem.b.data),
      static_cast<__half const*>(problem.b_scales.data), problem.b.ld, problem.b_scales.ld};
  auto const run = [&]<int kBits, int kTiles>() {
    dim3 const grid(static_cast<unsigned>(divide_up(p.product.n, kCols)),
                    static_cast<unsigned>(divide_up(p.product.m, kTiles * 8)));
    QUAD_LAUNCH((gemm_dequantised_kernel<kBits, kTiles>), grid, dim3(kWarps * 32),
                sizeof(float) * kWarps * kTiles * 8 * kPitch, stream, p);
  };
  auto const with_tiles = [&]<int kBits>() {
    int const tiles = divide_up(p.product.m, 8);
    if (tiles <= 1) return run.template operator()<kBits, 1>();
    if (tiles <= 2) return run.template operator()<kBits, 2>();
    run.template operator()<kBits, kMaxTiles>();
  };
  if (problem.weights == Weights::i8) return with_tiles.template operator()<8>();
  with_tiles.template operator()<4>();
}

#endif  // QUAD_KERNELS

/// Not of a problem without weights.
std::string unsupported(Problem const& problem) {
  return problem.weights == Weights::none ? "takes weights = \"i8\" or \"i4\" alone" : "";
}

}  // namespace

extern constinit Variant<Problem> const dequantised{
    {.name = "dequantised",
     .where = Where::cuda,
     .types = {core::DataType::f16, {core::DataType::f16, core::Compute::f32, core::DataType::f32}},
     .needs = {.compute_capability = 80,
               .layouts = {Layout::nt},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * 8 * kMaxTiles,
               .other = "weights of 8 or 4 bits"},
     .source = "own",
     .summary = "few rows by weights of 8 or 4 bits, which become f16 in registers"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported, .notes = {.takes_weights = true}}};

}  // namespace quadrille::kernels::gemm
