// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Many small matrix products in one launch.
///
///   C_g = alpha op(A_g) op(B_g) + beta C_g for each group g, with rows of its own
///
/// Technique    a product that one block computes in a microsecond costs several when it is launched
///              alone. So the third extent of the grid counts the products, and as many blocks as
///              fit on a multiprocessor hide each other's loads. Tiles are small, so that small products
///              fill them: 32 x 32 or 64 x 64, 4 x 4 for a thread. The next k-tile is loaded to
///              registers under the multiply-adds of this one, and stored to the other of two buffers
/// Shapes       row-major, any layouts, extents, leading dimensions and alignment; up to 65535 groups
/// Work         2 m n k flop for each group; A and B are read once where one tile has all of C
/// Launch       64 or 256 threads, up to 36 KiB of shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/gemm_cuda.cuh"

#include <algorithm>

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

constexpr int kThreadTile = 4;  // rows and columns of a thread
constexpr int kDepth = 16;      // of a k-tile

/// An operand of a group: element (i, l) is data[i * across + l * along], i along the rows or columns of C.
template <class T>
struct Lines {
  T const* data;
  std::int64_t across, along;
  int count, depth;
};

/// A k-tile of kTile lines in turn: those that lie beside each other in memory are loaded by neighbours.
template <class T, int kTile>
class TileLoader {
  static constexpr int kThreads = kTile / kThreadTile * (kTile / kThreadTile);
  static constexpr int kEach = kTile * kDepth / kThreads;

 public:
  static constexpr int kPitch = kTile + 4;

  __device__ TileLoader(Lines<T> const& lines, int first) : lines_{lines}, first_{first} {}

  __device__ void load(int depth) {
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      auto const [i, l] = place(e);
      bool const is_there = first_ + i < lines_.count && depth + l < lines_.depth;
      values_[e] =
          is_there ? lines_.data[(first_ + i) * lines_.across + (depth + l) * lines_.along] : T{};
    }
  }
  __device__ void store(T (&tile)[kDepth][kPitch]) const {
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      auto const [i, l] = place(e);
      tile[l][i] = values_[e];
    }
  }

 private:
  struct Place {
    int i, l;
  };
  __device__ Place place(int e) const {
    int const at = e * kThreads + static_cast<int>(threadIdx.x);
    if (lines_.along == 1) return {at / kDepth, at % kDepth};
    return {at % kTile, at / kTile};
  }

  Lines<T> lines_;
  int first_;
  T values_[kEach];
};

template <class T, int kTile>
__global__ void __launch_bounds__(kTile / kThreadTile * (kTile / kThreadTile))
    gemm_batched_kernel(Operands<T> p, std::int64_t const* first_rows, bool transposed_a,
                        bool transposed_b) {
  using Loader = TileLoader<T, kTile>;
  QUAD_SHARED(T, tile_a, [2][kDepth][Loader::kPitch]);
  QUAD_SHARED(T, tile_b, [2][kDepth][Loader::kPitch]);
  auto const group = static_cast<std::int64_t>(blockIdx.z);
  std::int64_t const first = first_rows == nullptr ? 0 : first_rows[group];
  if (first_rows != nullptr) p.m = static_cast<int>(first_rows[group + 1] - first);
  int const row = static_cast<int>(blockIdx.y) * kTile, col = static_cast<int>(blockIdx.x) * kTile;
  if (row >= p.m) return;  // of another group
  p.c += first * p.ldc;
  T const* const b = p.b + group * (transposed_b ? p.n : p.k) * p.ldb;
  Loader a_loader{transposed_a ? Lines<T>{p.a + first, 1, p.lda, p.m, p.k}
                               : Lines<T>{p.a + first * p.lda, p.lda, 1, p.m, p.k},
                  row};
  Loader b_loader{transposed_b ? Lines<T>{b, p.ldb, 1, p.n, p.k} : Lines<T>{b, 1, p.ldb, p.n, p.k},
                  col};
  constexpr int kAcross = kTile / kThreadTile;  // threads
  int const my_row = static_cast<int>(threadIdx.x) / kAcross * kThreadTile;
  int const my_col = static_cast<int>(threadIdx.x) % kAcross * kThreadTile;
  T accumulators[kThreadTile][kThreadTile] = {};
  a_loader.load(0);
  b_loader.load(0);
  int buffer = 0;
#pragma unroll 1
  for (int depth = 0; depth < p.k; depth += kDepth, buffer ^= 1) {
    a_loader.store(tile_a[buffer]);
    b_loader.store(tile_b[buffer]);
    __syncthreads();  // the k-tile is complete, and all have read the one before the last
    a_loader.load(depth + kDepth);
    b_loader.load(depth + kDepth);
#pragma unroll
    for (int l = 0; l < kDepth; ++l) {
      T from_a[kThreadTile], from_b[kThreadTile];
#pragma unroll
      for (int e = 0; e < kThreadTile; ++e) {
        from_a[e] = tile_a[buffer][l][my_row + e];
        from_b[e] = tile_b[buffer][l][my_col + e];
      }
#pragma unroll
      for (int i = 0; i < kThreadTile; ++i) {
#pragma unroll
        for (int j = 0; j < kThreadTile; ++j) accumulators[i][j] += from_a[i] * from_b[j];
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kThreadTile; ++i) {
#pragma unroll
    for (int j = 0; j < kThreadTile; ++j) {
      int const c_row = row + my_row + i, c_col = col + my_col + j;
      if (c_row < p.m && c_col < p.n) update(p, c_row, c_col, accumulators[i][j]);
    }
  }
}

template <class T, int kTile>
void launch_tiles(Problem const& problem, std::int64_t rows, device::StreamView stream) {
  constexpr unsigned kThreads = kTile / kThreadTile * (kTile / kThreadTile);
  auto const p = operands<T>(problem);
  dim3 const grid(static_cast<unsigned>(divide_up(p.n, kTile)),
                  static_cast<unsigned>((rows + kTile - 1) / kTile),
                  static_cast<unsigned>(problem.groups.count));
  QUAD_LAUNCH((gemm_batched_kernel<T, kTile>), grid, dim3(kThreads), 0, stream, p,
              problem.groups.first_rows_on_device, problem.transpose_a, problem.transpose_b);
}

template <class T>
void launch_as(Problem const& problem, device::StreamView stream) {
  if (problem.m() == 0 || problem.n() == 0) return;
  std::int64_t rows = 0;  // of the largest group
  for (std::int64_t g = 0; g < problem.groups.count; ++g) {
    rows = std::max(rows, problem.rows_of_group(g));
  }
  auto const tiles = [&](std::int64_t edge) {
    return (rows + edge - 1) / edge * ((problem.n() + edge - 1) / edge) * problem.groups.count;
  };
  // Large tiles read less, where there are enough to fill all multiprocessors twice.
  bool const is_large =
      std::min(rows, problem.n()) > 32 && tiles(64) >= 2 * stream.facts().multiprocessors;
  (is_large ? launch_tiles<T, 64> : launch_tiles<T, 32>)(problem, rows, stream);
}

void launch(Problem const& problem, device::StreamView stream) {
  (problem.a.type == core::DataType::f64 ? launch_as<double> : launch_as<float>)(problem, stream);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const batched{
    {.name = "batched",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.max_extent = kMaxCudaExtent, .max_rows = kMaxTileRows * 32},
     .preference = 5,
     .source = "own",
     .summary = "tiles of 32 or 64; a grid of all products of a batch"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.takes_groups = true}}};

}  // namespace quadrille::kernels::gemm
