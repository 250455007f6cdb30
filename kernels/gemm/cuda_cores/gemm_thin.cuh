// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/ptx/copies.cuh"
#include "common/ptx/matrix.cuh"
#include "gemm/gemm_cuda.cuh"
#include "gemm/tensor_cores/gemm_half.cuh"

#include <cstdint>
#include <type_traits>

/// Thin products, whose time is that of their operands' way from memory. The order in which k is
/// summed and the places of rows and columns in the tensor cores' instructions are free. They are
/// chosen such that each lane multiplies just those pieces, of 16 bytes, that it copies itself: these
/// pass through shared memory, which holds more of them on their way than registers could, but no
/// thread waits for another.
namespace quadrille::kernels::gemm::thin {

inline constexpr int kSide = 32;  ///< rows of op(A) and columns of op(B) that a warp multiplies
inline constexpr int kLaneSides = kSide / 8;  ///< of these, those of a lane
inline constexpr int kRings = 192 * 1024;     ///< bytes of shared memory for pieces of all warps

#ifdef QUAD_KERNELS

/// f32 is multiplied as f64, which the tensor cores multiply as quickly as the other cores do f32,
/// without a load of shared memory for each operand; 16-bit types have instructions of their own.
template <class T>
using Sum = std::conditional_t<sizeof(T) == 2, float, double>;
/// What the instructions take: an element, or two that are neighbours along k.
template <class T>
using Word = std::conditional_t<sizeof(T) == 2, std::uint32_t, double>;
/// Of a lane, row or column, for an instruction: four elements.
template <class T>
inline constexpr int kWords = sizeof(T) == 2 ? 2 : 4;

/// Elements of a piece.
template <class T>
inline constexpr int kVector = 16 / static_cast<int>(sizeof(T));
/// k-iterations for which a warp copies at once, 128 bytes of each row, and an instruction's.
template <class T>
inline constexpr int kChunk = 8 * kVector<T>;
inline constexpr int kStep = 16;
template <class T>
inline constexpr int kSteps = kChunk<T> / kStep;

/// Of a chunk's k-iterations, number i of a lane with this t = lane % 4.
template <class T>
__host__ __device__ constexpr int k_of(int t, int i) {
  return i / kVector<T> * (4 * kVector<T>)+t * kVector<T> + i % kVector<T>;
}
/// Whether step `step` of a chunk has any of the first `count` k-iterations of it.
template <class T>
__host__ __device__ constexpr bool has_step(int step, int count) {
  return k_of<T>(0, 4 * step) < count;
}

/// One product as these kernels see it: element (i, j) of A is a[i * lda + j]. C has elements of T,
/// or of f32. Extents fit 32 bits, offsets need not.
template <class T>
struct Product {
  T const* a;
  T const* b;
  void* c;
  std::int64_t lda, ldb, ldc;
  int m, n, k;
  Sum<T> alpha, beta;
  bool is_c_f32;  ///< where T has 16 bits
};

template <class T>
Product<T> product_of(Problem const& problem) {
  auto const narrow = [](std::int64_t extent) { return static_cast<int>(extent); };
  return {static_cast<T const*>(problem.a.data),
          static_cast<T const*>(problem.b.data),
          problem.c.data,
          problem.a.ld,
          problem.b.ld,
          problem.c.ld,
          narrow(problem.m()),
          narrow(problem.n()),
          narrow(problem.k()),
          static_cast<Sum<T>>(problem.alpha),
          static_cast<Sum<T>>(problem.beta),
          problem.c.type == core::DataType::f32};
}

/// How a lane copies and reads its part of kSide rows of op(A), or columns of op(B), for a chunk of k.
/// Along k: they lie as rows in memory. Across: a row in memory has kSide of them for one k.
template <class T, bool kAlongK>
struct Panel {
  /// Across, a lane has no more than kLaneSides neighbours.
  static constexpr int kElements = kAlongK || kVector<T> < kLaneSides ? kVector<T> : kLaneSides;
  static constexpr int kOfLane = kLaneSides * kChunk<T> / 4;  ///< elements
  /// 16-bit elements are moved, not computed with.
  using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t, T>;
  struct alignas(kElements * sizeof(T)) Piece {
    Bits x[kElements];
  };
  using Word = thin::Word<T>;
  static constexpr int kPieces = kOfLane / kElements;

  /// Of a lane's piece, the number of its first row or column, and of its first k-iteration.
  __host__ __device__ static constexpr int side_number(int piece) {
    return kAlongK ? piece % kLaneSides : piece % (kLaneSides / kElements) * kElements;
  }
  __host__ __device__ static constexpr int k_number(int piece) {
    return kAlongK ? piece / kLaneSides * kVector<T> : piece / (kLaneSides / kElements);
  }
  /// Pieces that the first `count` k-iterations of a chunk take, and their bytes for a warp.
  __host__ __device__ static constexpr int pieces_of(int count) {
    int pieces = 0;
    while (pieces < kPieces && has_step<T>(k_number(pieces) / 4, count)) ++pieces;
    return pieces;
  }
  __host__ __device__ static constexpr int bytes_of(int count) {
    return pieces_of(count) * 32 * static_cast<int>(sizeof(Piece));
  }
  /// The row or column that is number i of a lane with this g = lane / 4.
  __device__ static constexpr int side_of(int i, int g) {
    if (kAlongK) return 8 * i + g;
    return i / kElements * (8 * kElements) + g * kElements + i % kElements;
  }

  /// Starts the copies of a lane's pieces. `x`: the operand from the first of `sides` rows or
  /// columns on, `count` k-iterations from k on; zeros outside of these k. Rows and columns outside
  /// may be anything: what is multiplied with them is not part of C. Nor are pieces that steps
  /// without any k-iteration would read. kMax: no chunk has more than so many. kZeroed: `count` is
  /// always the same, and fill_rest() has been called.
  template <int kMax = kChunk<T>, bool kZeroed = false>
  __device__ static void copy(unsigned char* to, T const* x, std::int64_t ld, int sides, int k,
                              int count, int lane) {
    // Are all pieces inside or outside of the operand? A few times fewer instructions then.
    constexpr int kWhole =
        kZeroed ? (kAlongK ? kVector<T> : 1) : (kStep < 4 * kVector<T> ? 4 * kVector<T> : kStep);
    bool const is_whole = (count >= kChunk<T> || count % kWhole == 0) &&
                          (kAlongK || sides >= kSide || sides % kElements == 0);
    int const g = lane >> 2, t = lane & 3;
    Piece* const pieces = reinterpret_cast<Piece*>(to) + lane;
    if (is_whole) {
      int const first_k = k + t * kVector<T>;
      T const* const from = kAlongK ? x + g * ld + first_k : x + first_k * ld + g * kElements;
      T const* row = from;
#pragma unroll
      for (int i = 0; i < pieces_of(kMax); ++i) {
        // Rows are added up: the compiler would multiply for each.
        if (kAlongK) row = i % kLaneSides == 0 ? from : row + 8 * ld;
        if (!has_step<T>(k_number(i) / 4, count) || side_of(side_number(i), g) >= sides) continue;
        if (kZeroed && k_of<T>(t, k_number(i)) >= count) continue;
        if (!kAlongK) row = from + k_of<T>(0, k_number(i)) * ld;
        ptx::cp_async<sizeof(Piece), sizeof(Piece) == 16>(
            pieces + i * 32,
            row + (kAlongK ? k_of<T>(0, k_number(i)) : side_of(side_number(i), 0)));
      }
      return;
    }
    // Not unrolled: addresses of all pieces would take registers from the product.
#pragma unroll 1
    for (int i = 0; i < pieces_of(kMax); ++i) {
      if (!has_step<T>(k_number(i) / 4, count)) continue;
      int const side = side_of(side_number(i), g), at = k_of<T>(t, k_number(i));
      int const left = kAlongK ? count - at : sides - side;
      bool const is_inside = kAlongK ? side < sides : at < count;
      int const elements = is_inside ? min(max(left, 0), kElements) : 0;
      T const* const from = kAlongK ? x + side * ld + k + at : x + (k + at) * ld + side;
      ptx::cp_async_first<sizeof(Piece)>(pieces + i * 32, elements > 0 ? from : x,
                                         elements * static_cast<int>(sizeof(T)));
    }
  }

  /// Zeros in a lane's pieces behind the first `count` k-iterations, which copy() then leaves alone.
  template <int kMax>
  __device__ static void fill_rest(unsigned char* to, int count, int lane) {
    Piece* const pieces = reinterpret_cast<Piece*>(to) + lane;
#pragma unroll
    for (int i = 0; i < pieces_of(kMax); ++i) {
      if (k_of<T>(lane & 3, k_number(i)) >= count) pieces[i * 32] = {};
    }
  }

  /// What a lane multiplies in a step.
  __device__ static void read(unsigned char const* from, int step, int lane,
                              Word (&words)[kLaneSides][kWords<T>]) {
    Piece const* const pieces = reinterpret_cast<Piece const*>(from) + lane;
    Bits x[kLaneSides][4];
    if constexpr (kAlongK) {
#pragma unroll
      for (int i = 0; i < kLaneSides; ++i) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          int const at = 4 * step + e;
          x[i][e] = pieces[(at / kElements * kLaneSides + i) * 32].x[at % kElements];
        }
      }
    } else {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
#pragma unroll
        for (int i = 0; i < kLaneSides; ++i) {
          int const at = (4 * step + e) * (kLaneSides / kElements) + i / kElements;
          x[i][e] = pieces[at * 32].x[i % kElements];
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kLaneSides; ++i) {
#pragma unroll
      for (int w = 0; w < kWords<T>; ++w) {
        if constexpr (sizeof(T) == 2) {
          words[i][w] = x[i][2 * w] | static_cast<std::uint32_t>(x[i][2 * w + 1]) << 16;
        } else {
          words[i][w] = x[i][w];
        }
      }
    }
  }
};

/// sums += a b, 16 x 8 x 16: rows of two numbers i of a lane, columns of one.
template <class T>
__device__ __forceinline__ void multiply(Sum<T> (&accumulators)[4], Word<T> const (&a0)[kWords<T>],
                                         Word<T> const (&a1)[kWords<T>],
                                         Word<T> const (&b)[kWords<T>]) {
  Word<T> a[2 * kWords<T>];
#pragma unroll
  for (int w = 0; w < kWords<T>; ++w) {
    a[2 * w] = a0[w];
    a[2 * w + 1] = a1[w];
  }
  if constexpr (std::is_same_v<T, __half>) {
    ptx::mma_m16n8k16_f16(accumulators, a, b);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    ptx::mma_m16n8k16_bf16(accumulators, a, b);
  } else {
    ptx::mma_m16n8k16_f64(accumulators, a, b);
  }
}

/// kCount neighbours in a row of C.
template <class Out, int kCount>
struct alignas(kCount * sizeof(Out)) Elements {
  Out x[kCount];
};

__device__ inline double widened(double value) { return value; }
template <class Out>
__device__ float widened(Out value) {
  return to_f32(value);
}
template <class Out, class From>
__device__ Out narrowed(From value) {
  if constexpr (sizeof(Out) == 2) {
    return from_f32<Out>(value);
  } else {
    return static_cast<Out>(value);
  }
}

/// Calls f.operator()<Out>() with the type of C.
template <class T, class F>
__device__ void with_out(Product<T> const& p, F const& f) {
  if constexpr (sizeof(T) == 2) {
    if (p.is_c_f32) return f.template operator()<float>();
  }
  f.template operator()<T>();
}

/// One element of C. With beta == 0, C may contain anything and is not read.
template <class T>
__device__ void update_element(Product<T> const& p, int row, int col, Sum<T> sum) {
  with_out(p, [&]<class Out>() {
    Out& c = static_cast<Out*>(p.c)[row * p.ldc + col];
    Sum<T> value = p.alpha * sum;
    if (p.beta != 0) value += p.beta * widened(c);
    c = narrowed<Out>(value);
  });
}

/// Calls launch.operator()<T, kAlongA, kAlongB>(product) with types and layout of a problem.
template <class Launch>
void with_layout(Problem const& problem, Launch const& launch) {
  auto const with_type = [&]<class T>(T) {
    Product<T> const product = product_of<T>(problem);
    if (problem.transpose_a) {
      if (problem.transpose_b) return launch.template operator()<T, false, true>(product);
      return launch.template operator()<T, false, false>(product);
    }
    if (problem.transpose_b) return launch.template operator()<T, true, true>(product);
    launch.template operator()<T, true, false>(product);
  };
  switch (problem.a.type) {
    case core::DataType::f64: return with_type(double{});
    case core::DataType::f32: return with_type(float{});
    case core::DataType::f16: return with_type(__half{});
    default: return with_type(__nv_bfloat16{});
  }
}

#endif  // QUAD_KERNELS

/// What tensor cores multiply without rounding it first.
inline constexpr TypeList kTypes{
    {core::DataType::f64},  {core::DataType::f32},
    {core::DataType::f16},  {core::DataType::f16, core::Compute::f32, core::DataType::f32},
    {core::DataType::bf16}, {core::DataType::bf16, core::Compute::f32, core::DataType::f32}};

}  // namespace quadrille::kernels::gemm::thin
