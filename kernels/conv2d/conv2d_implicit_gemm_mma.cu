// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution as a product on the tensor cores whose column matrix is never stored.
///
///   Y = W X_col
///
/// Technique    mma. Slices of the columns and of the filters lie in shared memory with the terms
///              of a position or filter side by side, 64 bytes and 16 of padding, so that ldmatrix
///              reads either as either operand without bank conflicts: outputs that are neighbours
///              in memory are neighbours in a fragment, filters in nhwc and positions in nchw.
///              Where pixels have whole vectors of channels (nhwc), 16 bytes of a tap at a time are
///              copied by cp.async, three slices ahead. Elsewhere elements are gathered through
///              registers while the slice before is multiplied, with the places of the terms from a
///              table of the slice, and stored 16 bytes at a time
/// Before       implicit_gemm
/// Shapes       nchw or nhwc, any extents
/// Work         2 n k p q (c / groups) r s flop; traffic n k p q c r s (s / 128 + s / 128) bytes for
///              elements of s bytes, most of it from caches
/// Launch       256 threads; tiles of 128 positions x 128 filters, or x 64 for up to 64 filters; 22 to
///              80 KiB of shared memory
/// Accuracy     eps (sqrt(c r s) + 2) w for random data; tf32 rounds operands to 11 bits first
#include "common/ptx/copies.cuh"
#include "conv2d/conv2d_mma.cuh"

#include <cstring>

namespace quadrille::kernels::conv2d {
namespace {

constexpr int kThreads = 256;
constexpr int kPositions = 128;  // of a block
constexpr int kPieceBytes = 16;  // copied or stored at once
constexpr int kSliceBytes = 64;  // terms of a position in a slice
constexpr int kRowBytes = kSliceBytes + kPieceBytes;
constexpr int kPieces = kSliceBytes / kPieceBytes;
constexpr int kNarrowFilters = 64;

/// A tile of positions x filters. kVectors: pieces are copied from the image by cp.async.
template <class T, int kFilters_, bool kNchw_, bool kVectors_>
struct Tile {
  using Element = T;
  static constexpr int kFilters = kFilters_;
  static constexpr bool kNchw = kNchw_, kVectors = kVectors_;
  static constexpr int kStages = kVectors ? 4 : 2;
  static constexpr int kTerms = kSliceBytes / static_cast<int>(sizeof(T));
  static constexpr int kEach = kPieceBytes / static_cast<int>(sizeof(T));  // terms of a piece
  static constexpr int kStageBytes = (kPositions + kFilters) * kRowBytes;
  // Rows and columns of the product: what is contiguous in y are its columns.
  static constexpr int kM = kNchw ? kFilters : kPositions, kN = kNchw ? kPositions : kFilters;
  static constexpr int kWarpM = kFilters == kPositions ? 64 : 32, kWarpN = 32;
  static_assert(kM / kWarpM * (kN / kWarpN) * 32 == kThreads);
};

#ifdef QUAD_KERNELS

/// Where a term's pixel lies, from the corner of a window.
struct Place {
  int row, col;
  int offset;  ///< of its channel
};
template <class Tile>
__device__ Place place_of(Operands<typename Tile::Element> const& p, int t) {
  if (t >= p.terms) return {kOutside, 0, 0};  // in no image
  Term const term = term_of<Tile::kNchw>(p, t);
  return {term.row, term.col, term.channel * p.plane};
}

/// 16 bytes of a position's or filter's terms.
template <class T>
struct alignas(kPieceBytes) Piece {
  T value[kPieceBytes / sizeof(T)];
};

/// Piece e of an operand whose rows are `rows` positions or filters: which row, which piece of it.
template <bool kAlongRows, int kRows>
struct PieceAt {
  int row, piece;
  __device__ explicit PieceAt(int e)
      : row{kAlongRows ? e % kRows : e / kPieces}, piece{kAlongRows ? e / kRows : e % kPieces} {}
};

/// What a block multiplies: its group's images and filters, and its windows.
template <class T>
struct Operand {
  T const* x;
  T const* w;
  Window const* windows;
  int filters;  ///< from the block's first one on
};

/// Copies a slice by cp.async.
template <class Tile>
__device__ void copy_slice(Operands<typename Tile::Element> const& p,
                           Operand<typename Tile::Element> const& from, int first,
                           unsigned char* stage) {
  int const thread = static_cast<int>(threadIdx.x);
  // A thread's pieces are all at the same terms.
  int const t = first + thread % kPieces * Tile::kEach;
  Place const place = place_of<Tile>(p, t);
#pragma unroll
  for (int e = thread; e < kPositions * kPieces; e += kThreads) {
    PieceAt<false, kPositions> const at{e};
    Window const window = from.windows[at.row];
    int const row = window.row + place.row, col = window.col + place.col;
    bool const is_there = t < p.terms && is_inside(p, row, col);
    int const offset = window.image + place.offset + (row * p.width + col) * p.pitch;
    ptx::cp_async<kPieceBytes>(stage + at.row * kRowBytes + at.piece * kPieceBytes,
                               is_there ? from.x + offset : from.x, is_there);
  }
  unsigned char* const filters = stage + kPositions * kRowBytes;
#pragma unroll
  for (int e = thread; e < Tile::kFilters * kPieces; e += kThreads) {
    PieceAt<false, Tile::kFilters> const at{e};
    bool const is_there = t < p.terms && at.row < from.filters;
    ptx::cp_async<kPieceBytes>(filters + at.row * kRowBytes + at.piece * kPieceBytes,
                               is_there ? from.w + at.row * p.terms + t : from.w, is_there);
  }
}

/// A slice on its way through registers.
template <class Tile>
class Gathered {
  using T = typename Tile::Element;
  static constexpr int kOfPositions = kPositions * kPieces / kThreads;
  static constexpr int kOfFilters = Tile::kFilters * kPieces / kThreads;
  // Neighbouring threads read neighbouring words.
  using Position = PieceAt<Tile::kNchw, kPositions>;
  using Filter = PieceAt<false, Tile::kFilters>;

 public:
  __device__ void load(Operands<T> const& p, Operand<T> const& from, Place const* places,
                       int first) {
    int const thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int e = 0; e < kOfPositions; ++e) {
      Position const at{thread + e * kThreads};
      Window const window = from.windows[at.row];
#pragma unroll
      for (int i = 0; i < Tile::kEach; ++i) {
        Place const place = places[at.piece * Tile::kEach + i];
        int const row = window.row + place.row, col = window.col + place.col;
        T value = from_f32<T>(0);
        if (is_inside(p, row, col)) {
          value = from.x[window.image + place.offset + (row * p.width + col) * p.pitch];
        }
        positions_[e].value[i] = value;
      }
    }
#pragma unroll
    for (int e = 0; e < kOfFilters; ++e) {
      Filter const at{thread + e * kThreads};
#pragma unroll
      for (int i = 0; i < Tile::kEach; ++i) {
        int const t = first + at.piece * Tile::kEach + i;
        bool const is_there = t < p.terms && at.row < from.filters;
        filters_[e].value[i] = is_there ? from.w[at.row * p.terms + t] : from_f32<T>(0);
      }
    }
  }

  __device__ void store(unsigned char* stage) const {
    int const thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int e = 0; e < kOfPositions; ++e) {
      Position const at{thread + e * kThreads};
      *reinterpret_cast<Piece<T>*>(stage + at.row * kRowBytes + at.piece * kPieceBytes) =
          positions_[e];
    }
#pragma unroll
    for (int e = 0; e < kOfFilters; ++e) {
      Filter const at{thread + e * kThreads};
      *reinterpret_cast<Piece<T>*>(stage + (kPositions + at.row) * kRowBytes +
                                   at.piece * kPieceBytes) = filters_[e];
    }
  }

 private:
  Piece<T> positions_[kOfPositions], filters_[kOfFilters];
};

/// Operands of mma as it wants them.
template <class T, int count>
__device__ void round_operand(std::uint32_t (&registers)[count]) {
  if constexpr (std::is_same_v<T, float>) {
#pragma unroll
    for (auto& value : registers) value = ptx::to_tf32(__builtin_bit_cast(float, value));
  }
}

/// The accumulators of a warp.
template <class Tile>
class WarpTile {
  using T = typename Tile::Element;
  static constexpr int kRows = Tile::kWarpM / 16, kCols = Tile::kWarpN / 8;

 public:
  __device__ WarpTile()
      : lane_{static_cast<int>(threadIdx.x) % 32},
        m0_{static_cast<int>(threadIdx.x) / 32 / (Tile::kN / Tile::kWarpN) * Tile::kWarpM},
        n0_{static_cast<int>(threadIdx.x) / 32 % (Tile::kN / Tile::kWarpN) * Tile::kWarpN} {}

  __device__ void multiply(unsigned char const* stage) {
    unsigned char const* const positions = stage;
    unsigned char const* const filters = stage + kPositions * kRowBytes;
    // Of 16 rows of A two pieces each; of 8 rows of B two pieces, twice.
    unsigned char const* const a = (Tile::kNchw ? filters : positions) +
                                   (m0_ + lane_ % 16) * kRowBytes + lane_ / 16 * kPieceBytes;
    unsigned char const* const b = (Tile::kNchw ? positions : filters) +
                                   (n0_ + lane_ % 8 + lane_ / 16 * 8) * kRowBytes +
                                   lane_ / 8 % 2 * kPieceBytes;
#pragma unroll
    for (int step = 0; step < kSliceBytes; step += 2 * kPieceBytes) {
      std::uint32_t rows[kRows][4], cols[kCols / 2][4];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        ptx::ldmatrix_x4(rows[i], a + i * 16 * kRowBytes + step);
        round_operand<T>(rows[i]);
      }
#pragma unroll
      for (int j = 0; j < kCols / 2; ++j) {
        ptx::ldmatrix_x4(cols[j], b + j * 16 * kRowBytes + step);
        round_operand<T>(cols[j]);
      }
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int j = 0; j < kCols; ++j) {
          std::uint32_t const col[2]{cols[j / 2][j % 2 * 2], cols[j / 2][j % 2 * 2 + 1]};
          multiply_add<T>(accumulators_[i][j], rows[i], col);
        }
      }
    }
  }

  /// kPairs: in nhwc, two neighbouring outputs begin at a multiple of their size.
  __device__ void store(Operands<T> const& p, Window const* windows, int first_position, int k0,
                        int filters, bool pairs) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kCols; ++j) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          auto const [row, col] = ptx::sum_element(lane_, 2 * half);
          int const m = m0_ + 16 * i + row, n = n0_ + 8 * j + col;
          store_pair(p, windows, first_position, k0, filters, pairs, m, n,
                     accumulators_[i][j][2 * half], accumulators_[i][j][2 * half + 1]);
        }
      }
    }
  }

 private:
  struct alignas(2 * sizeof(T)) Pair {
    T value[2];
  };

  /// Outputs (m, n) and (m, n + 1) of the tile.
  __device__ static void store_pair(Operands<T> const& p, Window const* windows, int first_position,
                                    int k0, int filters, bool pairs, int m, int n, float low,
                                    float high) {
    float const values[2]{low, high};
    if (!Tile::kNchw && pairs && n + 1 < filters && first_position + m < p.positions) {
      T* const y = p.y + windows[m].out + k0 + n;
      *reinterpret_cast<Pair*>(y) = {from_f32<T>(low), from_f32<T>(high)};
      return;
    }
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      int const filter = Tile::kNchw ? m : n + e, position = Tile::kNchw ? n + e : m;
      if (filter < filters && first_position + position < p.positions) {
        p.y[windows[position].out + (k0 + filter) * p.out_plane] = from_f32<T>(values[e]);
      }
    }
  }

  int lane_, m0_, n0_;
  float accumulators_[kRows][kCols][4] = {};
};

template <class Tile>
__global__ void __launch_bounds__(kThreads, 2)
    conv2d_implicit_gemm_mma_kernel(Operands<typename Tile::Element> p, bool pairs) {
  using T = typename Tile::Element;
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  QUAD_SHARED(Window, windows, [kPositions]);
  int const thread = static_cast<int>(threadIdx.x);
  int const group = static_cast<int>(blockIdx.z);
  int const first_filter = static_cast<int>(blockIdx.y) * Tile::kFilters;
  int const first_position = static_cast<int>(blockIdx.x) * kPositions;
  int const k0 = group * p.filters + first_filter;
  if (thread < kPositions) {
    constexpr Window kNowhere{kOutside, 0, 0, 0};
    int const position = first_position + thread;
    windows[thread] = position < p.positions ? window_of(p, position) : kNowhere;
  }
  Operand<T> const from{p.x + group * p.channels * p.plane, p.w + k0 * p.terms, windows,
                        p.filters - first_filter};
  int const slices = divide_up(p.terms, Tile::kTerms);
  auto const stage = [&](int slice) { return shared + slice % Tile::kStages * Tile::kStageBytes; };
  WarpTile<Tile> accumulators;

  if constexpr (Tile::kVectors) {
    __syncthreads();  // all windows are there
    for (int s = 0; s < Tile::kStages - 1; ++s) {
      if (s < slices) copy_slice<Tile>(p, from, s * Tile::kTerms, stage(s));
      ptx::cp_async_commit();
    }
    for (int s = 0; s < slices; ++s) {
      ptx::cp_async_wait<Tile::kStages - 2>();
      __syncthreads();  // the slice is there for all, and all have read the one before
      int const next = s + Tile::kStages - 1;
      if (next < slices) copy_slice<Tile>(p, from, next * Tile::kTerms, stage(next));
      ptx::cp_async_commit();
      accumulators.multiply(stage(s));
    }
  } else {
    QUAD_SHARED(Place, places, [2][Tile::kTerms]);
    auto const find_places = [&](int slice) {
      if (thread < Tile::kTerms) {
        places[slice % 2][thread] = place_of<Tile>(p, slice * Tile::kTerms + thread);
      }
    };
    Gathered<Tile> gathered;
    find_places(0);
    __syncthreads();  // all windows and the first places are there
    if (slices > 0) {
      gathered.load(p, from, places[0], 0);
      gathered.store(stage(0));
    }
    find_places(1);
    for (int s = 0; s < slices; ++s) {
      __syncthreads();  // the slice and the next places are there; all have read those before
      if (s + 1 < slices) {
        gathered.load(p, from, places[(s + 1) % 2], (s + 1) * Tile::kTerms);
      }
      accumulators.multiply(stage(s));
      if (s + 1 < slices) gathered.store(stage(s + 1));
      find_places(s + 2);
    }
  }
  accumulators.store(p, windows, first_position, k0, from.filters, pairs);
}

template <class Tile>
void enqueue(Problem const& problem, device::StreamView stream) {
  using T = typename Tile::Element;
  auto const p = operands<T>(problem);
  dim3 const grid(static_cast<unsigned>(divide_up(p.positions, kPositions)),
                  static_cast<unsigned>(divide_up(p.filters, Tile::kFilters)),
                  static_cast<unsigned>(problem.shape.groups));
  bool const pairs = p.k % 2 == 0 && p.filters % 2 == 0 &&
                     reinterpret_cast<std::uintptr_t>(p.y) % (2 * sizeof(T)) == 0;
  QUAD_LAUNCH(conv2d_implicit_gemm_mma_kernel<Tile>, grid, dim3(kThreads),
              std::size_t{Tile::kStages} * Tile::kStageBytes, stream, p, pairs);
}

template <class T, int kFilters>
void with_layout(Problem const& problem, device::StreamView stream) {
  auto const is_whole = [](void const* data) {
    return reinterpret_cast<std::uintptr_t>(data) % kPieceBytes == 0;
  };
  constexpr std::int64_t kEach = kPieceBytes / sizeof(T);
  bool const has_vectors = problem.shape.group_channels() % kEach == 0 &&
                           is_whole(problem.x.data) && is_whole(problem.w.data);
  if (problem.layout == DataLayout::nchw) {
    enqueue<Tile<T, kFilters, true, false>>(problem, stream);
  } else if (has_vectors) {
    enqueue<Tile<T, kFilters, false, true>>(problem, stream);
  } else {
    enqueue<Tile<T, kFilters, false, false>>(problem, stream);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  with_type(problem, [&]<class T>() {
    if (problem.shape.group_filters() <= kNarrowFilters) {
      with_layout<T, kNarrowFilters>(problem, stream);
    } else {
      with_layout<T, kPositions>(problem, stream);
    }
  });
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& p) {
  bool const fits =
      p.shape.groups <= kMaxGridRows && p.shape.group_filters() <= kMaxGridRows * kNarrowFilters;
  return fits ? few_elements(p) : "takes up to 65535 groups of up to 4194240 filters";
}

}  // namespace

extern constinit Variant<Problem> const implicit_gemm_mma{
    {.name = "implicit_gemm_mma",
     .where = Where::cuda,
     .types = {core::DataType::f16,
               core::DataType::bf16,
               {core::DataType::f32, core::Compute::tf32}},
     .needs = {.compute_capability = 80,
               .shared_bytes = std::size_t{4} * 2 * kPositions * kRowBytes,
               .other = "tensors of less than 2^31 elements, up to 65535 groups"},
     .preference = 30,
     .source = "own",
     .summary = "mma on slices that cp.async copies, or threads gather, from the image"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported}};

}  // namespace quadrille::kernels::conv2d
