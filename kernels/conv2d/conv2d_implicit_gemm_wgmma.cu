// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution as a product by `wgmma` whose column matrix is never stored.
///
///   Y = X_col W^T, in nhwc a row for each position
///
/// Technique    `wgmma_persistent` of gemm, whose first operand are columns that the copy engine
///              makes (im2col mode): one thread names a window, a tap and a channel, and 128 pixels
///              x 128 bytes of channels, those of the tap in the windows from there on, are copied
///              to shared memory, swizzled as wgmma reads them; padding is zero. No thread computes
///              an address of a pixel or moves one. A stage of the ring is a tap and 128 bytes of
///              channels; a pair of blocks shares filters by multicast, and outputs are stored by
///              tensor copies under the next tile, or by warps where those of a position do not
///              begin and end with a piece of 16 bytes. In nchw, images and filters are transposed
///              to scratch memory before, and outputs from there after
/// Shapes       nchw or nhwc
/// Work         2 n k p q (c / groups) r s flop, with channels of a group rounded up to 128 bytes; traffic
///              n k p q (c / groups) r s (e / 256 + e / 256) bytes through the L2 cache for elements of
///              e bytes and p x q outputs of an image, in narrower tiles up to 2.5 times as many; in
///              nchw also twice each tensor
/// Launch       one for each group; clusters of 2 blocks of 384 threads, up to 225 KiB of shared memory,
///              one block per multiprocessor. Registers as in `wgmma_specialised` of gemm. Transposes:
///              256 threads, 8 or 16 KiB of shared memory
/// Accuracy     eps (sqrt(c r s) + 2) w for random data; the copies round operands of tf32 to 11
///              bits first, to nearest. A weight that is not finite may make NaN of what would be
///              infinite
#include "conv2d/conv2d_cuda.cuh"
#include "gemm/hopper/gemm_wgmma.cuh"

#include <algorithm>

namespace quadrille::kernels::conv2d {
namespace {

using gemm::WgmmaConfig;

constexpr std::int64_t kAlignment = 256;  // of tensors in scratch memory, bytes

/// The tensors of nchw in nhwc, behind the counters of the scratch memory.
struct NhwcCopies {
  std::size_t x, w, y;  ///< where they begin
  std::size_t end;

  explicit NhwcCopies(Problem const& p)
      : x{gemm::kScratchCounters * sizeof(std::uint32_t)},
        w{x + bytes_of(p.x)},
        y{w + bytes_of(p.w)},
        end{y + bytes_of(p.y)} {}

 private:
  static std::size_t bytes_of(device::MatrixView const& view) {
    auto const bytes = view.rows * view.cols * static_cast<std::int64_t>(core::size_of(view.type));
    return static_cast<std::size_t>((bytes + kAlignment - 1) / kAlignment * kAlignment);
  }
};

#ifdef QUAD_KERNELS

// Rows of tiles are positions. A warp of the narrowest, for layers of few filters, has one epilogue tile.
using gemm::kMiddle, gemm::kNarrow, gemm::kWide;
constexpr WgmmaConfig kNarrowest = [] {
  WgmmaConfig config = gemm::kSlim;
  config.epilogue_tiles = 1;
  return config;
}();

/// A group's convolution as the kernel sees it.
template <class T>
struct Columns {
  T* y;     ///< of the group
  int ldc;  ///< from position to position in y
  int positions, filters, channels;
  int r, s, stride, padding, dilation;
  Divisor by_image, by_out_w;  ///< of a position: outputs of an image, then of a line

  template <class Tile>
  __device__ int k_tiles() const {
    return r * s * divide_up(channels, Tile::kStageK);
  }
  /// The product, for what gemm knows of it: A and B come by maps, C is y in the type T; alpha 1, beta 0.
  QUAD_HD gemm::HalfOperands<T> product() const {
    return {nullptr, nullptr, y, 0, 0, ldc, positions, filters, 0, 1, 0, false};
  }
};

/// The tap and channels of a stage, in the order in which filters have them: channels, columns, rows.
template <class Tile, class T>
struct StageTap {
  int row = 0, col = 0, channel = 0;
  int filter_begin = 0;  ///< of the tap, in a filter

  __device__ __forceinline__ void advance(Columns<T> const& p) {
    channel += Tile::kStageK;
    if (channel < p.channels) return;
    channel = 0;
    filter_begin += p.channels;
    if (++col < p.s) return;
    col = 0;
    ++row;
  }
};

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    conv2d_implicit_gemm_wgmma_kernel(const __grid_constant__ ptx::TensorMap x,
                                      const __grid_constant__ ptx::TensorMap w,
                                      const __grid_constant__ ptx::TensorMap y, bool copies_store_y,
                                      Columns<typename Tile::Type> p) {
  constexpr WgmmaConfig kConfig = Tile::kConfig;
  using Tiles = gemm::ClusterTiles<Tile>;
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  if (threadIdx.x == 0 && copies_store_y) ptx::tensor_map_prefetch(y);
  gemm::WgmmaRing<Tile> ring{shared, x, w};
  auto const product = p.product();
  int const pairs = Tiles::count(product);  // of tiles, one a block, below each other
  int const first = static_cast<int>(blockIdx.x) / kConfig.cluster;
  int const step = static_cast<int>(gridDim.x) / kConfig.cluster;
  int const k_tiles = p.template k_tiles<Tile>();  // of a tile of Y
  typename gemm::WgmmaRing<Tile>::State state;     // goes on from tile to tile
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();  // nothing has been read or written before
  if (threadIdx.x >= Tile::kConsumerThreads) {
    ptx::setmaxnreg_dec<40>();
    if (threadIdx.x == Tile::kConsumerThreads) {
      int const rank = ring.rank();
#pragma unroll 1
      for (int pair = first; pair < pairs; pair += step) {
        auto const corner = Tiles::corner(product, pair);
        // The first position of the tile; divisions are a multiplication and a shift.
        int const image = p.by_image.quotient(corner.row);
        int const in_image = p.by_image.remainder(corner.row, image);
        int const row = p.by_out_w.quotient(in_image);
        int const col = p.by_out_w.remainder(in_image, row);
        int const top = row * p.stride - p.padding, left = col * p.stride - p.padding;
        StageTap<Tile, typename Tile::Type> tap;
#pragma unroll 1
        for (int t = 0; t < k_tiles; ++t, state.advance()) {
          // Expects A and both halves of B, one from the other block of the cluster.
          auto const stage = ring.producer_acquire(state);
          // One copy of im2col mode, dilation d:
          //   shared row 0     window at (top, left) of the image         its pixel (+ row d, + col d)
          //   shared row 1     window one stride to the right             the same pixel of it
          //   ...              next line of outputs, then next image      padding and beyond the last: zeros
          //   shared row 127   128 bytes each: channels from tap.channel on
          ptx::tensor_load_pixels(stage.a, x, {image, top, left, tap.channel},
                                  {static_cast<std::uint16_t>(tap.row * p.dilation),
                                   static_cast<std::uint16_t>(tap.col * p.dilation)},
                                  stage.full);
          // Where channels end inside of a stage, the filter's box runs on into the next tap's weights. The
          // pixels have zeros there, so these add nothing.
          Tile::B::load(stage.b, w, ptx::Major::k, corner.col, tap.filter_begin + tap.channel,
                        stage.full, rank);
          tap.advance(p);
        }
      }
      ring.producer_tail(state);
    }
  } else {
    ptx::setmaxnreg_inc<232>();
    constexpr gemm::Majors kMajors{ptx::Major::k, ptx::Major::k};
    gemm::WgmmaWarpgroup<Tile> warpgroup{shared, kMajors};
#pragma unroll 1
    for (int pair = first; pair < pairs; pair += step) {
      if (k_tiles == 0) warpgroup.clear();
      int before = 0;  // the stage whose products were started last
#pragma unroll 1
      for (int t = 0; t < k_tiles; ++t, state.advance()) {
        ring.consumer_wait(state);
        warpgroup.template multiply<ptx::Major::k, ptx::Major::k>(state.stage, t > 0);
        ptx::wgmma_wait<1>();  // those of the k-tile before are complete
        if (t > 0) ring.consumer_release(before);
        before = state.stage;
      }
      warpgroup.finish();
      if (k_tiles > 0) ring.consumer_release(before);
      // As in wgmma_persistent: by epilogue tiles, stored under the next tile's products.
      warpgroup.write(product, Tiles::corner(product, pair), shared, copies_store_y ? &y : nullptr);
    }
    if (threadIdx.x % 32 == 0) ptx::bulk_wait_read<0>();
  }
}

/// A group of a problem in nhwc: its part of each tensor.
struct Group {
  device::MatrixView w;  ///< its filters
  device::MatrixView y;  ///< its outputs, a row for each position
  ptx::ImageTensor x;
};
Group group_of(Problem const& p, std::int64_t number, int pixels, int channels) {
  Shape const& z = p.shape;
  auto const size = static_cast<std::int64_t>(core::size_of(p.x.type));
  auto const at = [&](device::MatrixView const& view, std::int64_t element) {
    return static_cast<std::byte*>(view.data) + element * size;
  };
  std::int64_t const c = z.group_channels(), k = z.group_filters();
  auto const narrow = [](std::int64_t x) { return static_cast<int>(x); };
  auto const last = [&](std::int64_t taps) { return narrow(z.padding - (taps - 1) * z.dilation); };
  return {{at(p.w, number * k * z.terms()), p.w.type, k, z.terms(), z.terms()},
          {at(p.y, number * k), p.y.type, z.n * z.positions(), k, z.k},
          {.data = at(p.x, number * c),
           .type = p.x.type,
           .images = z.n,
           .rows = z.h,
           .columns = z.w,
           .channels = c,
           .pixel = z.c,
           .first_row = narrow(-z.padding),
           .first_column = narrow(-z.padding),
           .last_row = last(z.r),
           .last_column = last(z.s),
           .step = narrow(z.stride),
           .box_pixels = static_cast<unsigned>(pixels),
           .box_channels = static_cast<unsigned>(channels),
           .swizzle = ptx::Swizzle::bytes_128,
           .rounds_to_tf32 = p.x.type == core::DataType::f32}};
}

/// A problem in nhwc.
template <WgmmaConfig kConfig, class T>
void launch(Problem const& problem, device::StreamView stream) {
  using Tile = gemm::WgmmaTile<kConfig, T>;
  auto const p = operands<T>(problem);
  for (std::int64_t number = 0; number < problem.shape.groups; ++number) {
    Group const group = group_of(problem, number, kConfig.bm, Tile::kStageK);
    Columns<T> const columns{static_cast<T*>(group.y.data),
                             p.k,
                             p.positions,
                             p.filters,
                             p.channels,
                             p.r,
                             p.s,
                             p.stride,
                             p.padding,
                             p.dilation,
                             p.by_image,
                             p.by_out_w};
    int const clusters = std::min(gemm::ClusterTiles<Tile>::count(columns.product()),
                                  stream.facts().multiprocessors / kConfig.cluster);
    bool const has_terms = p.terms > 0;  // or nothing is loaded
    bool const copies_store_y = Tile::copies_c(group.y);
    QUAD_LAUNCH(conv2d_implicit_gemm_wgmma_kernel<Tile>,
                (LaunchShape{.grid = static_cast<unsigned>(clusters * kConfig.cluster),
                             .block = Tile::kThreads,
                             .shared_bytes = Tile::kSharedBytes,
                             .cluster = kConfig.cluster,
                             .overlaps_previous = true}),
                stream, has_terms ? ptx::make_image_map(group.x) : ptx::TensorMap{},
                Tile::B::map_of(group.w, ptx::Major::k),
                copies_store_y ? Tile::map_of_c(group.y) : ptx::TensorMap{}, copies_store_y,
                columns);
  }
}

template <class T>
void launch_nhwc(Problem const& problem, device::StreamView stream) {
  constexpr auto kKinds = gemm::persistent_kinds<Problem>(
      launch<kWide, T>, launch<kMiddle, T>, launch<kNarrow, T>, launch<kNarrowest, T>);
  Shape const& z = problem.shape;
  std::int64_t const tap_bytes = static_cast<std::int64_t>(sizeof(T)) * z.group_channels();
  int const multiprocessors = stream.facts().multiprocessors;
  auto const cycles = [&](gemm::WgmmaKind<Problem> const& kind) {
    return gemm::persistent_cycles(kind, z.n * z.positions(), z.group_filters(),
                                   z.r * z.s * ((tap_bytes + 127) / 128), multiprocessors);
  };
  gemm::launch_quickest(kKinds, cycles, problem, stream);
}

constexpr int kSide = 64;  // of a tile that is transposed
constexpr int kTransposeThreads = 256;

/// to[b][j][i] = from[b][i][j] of matrices with `rows` x `cols` elements, a block for each tile.
template <class T>
__global__ void __launch_bounds__(kTransposeThreads)
    conv2d_transpose_kernel(T const* from, T* to, int rows, int cols, Divisor by_tiles,
                            Divisor by_tile_cols) {
  // Elements of a column lie in different banks.
  QUAD_SHARED(T, tile, [kSide][kSide + 4 / sizeof(T)]);
  constexpr int kWarps = kTransposeThreads / 32;
  int const block = static_cast<int>(blockIdx.x);
  int const matrix = by_tiles.quotient(block), in_matrix = by_tiles.remainder(block, matrix);
  int const tile_row = by_tile_cols.quotient(in_matrix);
  int const first_row = tile_row * kSide;
  int const first_col = by_tile_cols.remainder(in_matrix, tile_row) * kSide;
  int const warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  int const offset = matrix * rows * cols;
  // All loads are on their way before the first is waited for.
  T values[kSide / kWarps][kSide / 32];
#pragma unroll
  for (int e = 0; e < kSide / kWarps; ++e) {
#pragma unroll
    for (int f = 0; f < kSide / 32; ++f) {
      int const row = first_row + warp + e * kWarps, col = first_col + lane + f * 32;
      bool const is_there = row < rows && col < cols;
      values[e][f] = is_there ? from[offset + row * cols + col] : from_f32<T>(0);
    }
  }
#pragma unroll
  for (int e = 0; e < kSide / kWarps; ++e) {
#pragma unroll
    for (int f = 0; f < kSide / 32; ++f) tile[warp + e * kWarps][lane + f * 32] = values[e][f];
  }
  __syncthreads();  // the tile is there
#pragma unroll
  for (int e = 0; e < kSide / kWarps; ++e) {
#pragma unroll
    for (int f = 0; f < kSide / 32; ++f) {
      int const i = lane + f * 32, j = warp + e * kWarps;
      int const row = first_row + i, col = first_col + j;
      if (row < rows && col < cols) to[offset + col * rows + row] = tile[i][j];
    }
  }
}

template <class T>
void transpose(void const* from, void* to, std::int64_t matrices, std::int64_t rows,
               std::int64_t cols, device::StreamView stream) {
  auto const tiles_of = [](std::int64_t extent) {
    return static_cast<int>((extent + kSide - 1) / kSide);
  };
  int const tiles = tiles_of(rows) * tiles_of(cols);
  if (matrices * tiles == 0) return;
  QUAD_LAUNCH(conv2d_transpose_kernel<T>, dim3(static_cast<unsigned>(matrices * tiles)),
              dim3(kTransposeThreads), 0, stream, static_cast<T const*>(from), static_cast<T*>(to),
              static_cast<int>(rows), static_cast<int>(cols), Divisor{tiles},
              Divisor{tiles_of(cols)});
}

/// By way of nhwc.
template <class T>
void launch_nchw(Problem const& problem, device::StreamView stream) {
  Shape const& z = problem.shape;
  NhwcCopies const copies{problem};
  QUAD_REQUIRE(problem.scratch_bytes >= copies.end,
               "conv2d/implicit_gemm_wgmma: too little scratch memory; ask scratch_bytes()");
  auto* const scratch = static_cast<std::byte*>(problem.scratch);
  Problem nhwc = problem;
  nhwc.layout = DataLayout::nhwc;
  nhwc.x.data = scratch + copies.x;
  nhwc.w.data = scratch + copies.w;
  nhwc.y.data = scratch + copies.y;
  transpose<T>(problem.x.data, nhwc.x.data, z.n, z.c, z.h * z.w, stream);
  transpose<T>(problem.w.data, nhwc.w.data, z.k, z.group_channels(), z.r * z.s, stream);
  launch_nhwc<T>(nhwc, stream);
  transpose<T>(nhwc.y.data, problem.y.data, z.n, z.positions(), z.k, stream);
}

void launch_best(Problem const& problem, device::StreamView stream) {
  with_type(problem, [&]<class T>() {
    if (problem.layout == DataLayout::nchw) {
      launch_nchw<T>(problem, stream);
    } else {
      launch_nhwc<T>(problem, stream);
    }
  });
}

#endif  // QUAD_KERNELS

std::size_t scratch_bytes(Problem const& p, device::Facts const& /*device*/) {
  return p.layout == DataLayout::nchw ? NhwcCopies{p}.end : 0;
}

constexpr int kMaxCorner = 127;  // of an image map
constexpr int kMaxStep = 8;
constexpr std::int64_t kMaxPixel = 255;  // into a window

std::string unsupported(Problem const& p) {
  Shape const& z = p.shape;
  auto const size = static_cast<std::int64_t>(core::size_of(p.x.type));
  if (z.group_channels() * size % 16 != 0) {
    return size == 2 ? "takes channels of a group in whole 16 bytes: multiples of 8"
                     : "takes channels of a group in whole 16 bytes: multiples of 4";
  }
  auto const reaches_far = [&](std::int64_t taps) {
    std::int64_t const pixel = (taps - 1) * z.dilation;
    return pixel > kMaxPixel || z.padding - pixel > kMaxCorner ||
           pixel - z.padding > kMaxCorner + 1;
  };
  if (z.stride > kMaxStep || z.padding > kMaxCorner + 1 || reaches_far(z.r) || reaches_far(z.s)) {
    return "takes strides up to 8, and windows of up to 256 pixels each way that begin and end up "
           "to "
           "128 pixels from the image's corners";
  }
  auto const is_aligned = [](device::MatrixView const& view) {
    return reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0;
  };
  if (p.layout == DataLayout::nhwc && !(is_aligned(p.x) && is_aligned(p.w))) {
    return "takes x and w aligned to 16 bytes in nhwc";
  }
  return few_elements(p);
}

}  // namespace

extern constinit Variant<Problem> const implicit_gemm_wgmma{
    {.name = "implicit_gemm_wgmma",
     .where = Where::cuda,
     .types = {core::DataType::f16,
               core::DataType::bf16,
               {core::DataType::f32, core::Compute::tf32}},
     .needs = {.compute_capability = 90,
               .exact_capability = true,
               .other =
                   "channels of a group in whole 16 bytes, x and w aligned to 16 bytes in nhwc, "
                   "strides up to 8, windows of up to 256 pixels each way and within 127 of the "
                   "image, tensors of less than "
                   "2^31 elements, scratch in nchw"},
     .preference = 35,
     .source = "own",
     .summary = "wgmma on columns that the copy engine makes of the image"},
    QUAD_KERNEL_LAUNCH(launch_best),
    {.unsupported = unsupported, .scratch_bytes = scratch_bytes}};

}  // namespace quadrille::kernels::conv2d
