// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "gemm/gemm.hpp"

#include <algorithm>
#include <cmath>

namespace quadrille::kernels::gemm {
namespace {

using core::DataType;

// What rows need; refusal() knows these.
constexpr std::string_view kAsStored = "NN";
constexpr std::string_view kFours = "NN; multiples of 4; 16-byte alignment";

std::vector<Variant<Problem>> const& table() {
  static std::vector<Variant<Problem>> const rows{
      {{"reference",
        Backend::reference,
        {DataType::f64, DataType::f32, DataType::f16, DataType::bf16, DataType::i32},
        "none",
        "own",
        "three loops, one thread, sums in f64"},
       launch_reference},
      {{"kokkos",
        Backend::kokkos,
        {DataType::f64, DataType::f32, DataType::i32},
        "i32: whole alpha and beta",
        "own, after Goto and van de Geijn 2008",
        "packed panels and register tiles in vectors of the host's width",
        0,
        false,
        true},
       QUAD_KOKKOS_LAUNCH(launch_kokkos)},
      {{"vendor",
        Backend::vendor,
        {DataType::f64, DataType::f32},
        "extents and leading dimensions below 2^31",
        "OpenBLAS, cuBLAS",
        "the vendor's dgemm and sgemm"},
       launch_vendor},
      {{"naive",
        Backend::cuda,
        {DataType::f32, DataType::f64},
        kAsStored,
        "after Boehm 2022",
        "one element of C per thread, uncoalesced"},
       QUAD_CUDA_LAUNCH(launch_naive)},
      {{"naive_flat",
        Backend::cuda,
        {DataType::f32},
        kAsStored,
        "after Boehm 2022",
        "the same from a one-dimensional block"},
       QUAD_CUDA_LAUNCH(launch_naive_flat)},
      {{"coalesced",
        Backend::cuda,
        {DataType::f32},
        kAsStored,
        "after Boehm 2022",
        "a warp along a row of C"},
       QUAD_CUDA_LAUNCH(launch_coalesced)},
      {{"shared_tile",
        Backend::cuda,
        {DataType::f32, DataType::f64},
        kAsStored,
        "after Boehm 2022",
        "32 x 32 tiles in shared memory"},
       QUAD_CUDA_LAUNCH(launch_shared_tile)},
      {{"shared_tile_8",
        Backend::cuda,
        {DataType::f32, DataType::f64},
        kAsStored,
        "after Boehm 2022",
        "8 x 8 tiles in shared memory"},
       QUAD_CUDA_LAUNCH(launch_shared_tile_8)},
      {{"shared_tile_16",
        Backend::cuda,
        {DataType::f32, DataType::f64},
        kAsStored,
        "after Boehm 2022",
        "16 x 16 tiles in shared memory"},
       QUAD_CUDA_LAUNCH(launch_shared_tile_16)},
      {{"thread_tile_1d",
        Backend::cuda,
        {DataType::f32},
        kAsStored,
        "after Boehm 2022",
        "8 sums in a column per thread"},
       QUAD_CUDA_LAUNCH(launch_thread_tile_1d)},
      {{"thread_tile_1d_natural_order",
        Backend::cuda,
        {DataType::f32},
        kAsStored,
        "after Boehm 2022",
        "the same with the loops in the order of the formula"},
       QUAD_CUDA_LAUNCH(launch_thread_tile_1d_natural_order)},
      {{"thread_tile_2d",
        Backend::cuda,
        {DataType::f32, DataType::f64},
        kAsStored,
        "after Boehm 2022",
        "8 x 8 sums per thread"},
       QUAD_CUDA_LAUNCH(launch_thread_tile_2d)},
      {{"thread_tile_2d_strided",
        Backend::cuda,
        {DataType::f32, DataType::f64},
        kAsStored,
        "after a DCU course",
        "8 x 8 sums per thread, 16 apart"},
       QUAD_CUDA_LAUNCH(launch_thread_tile_2d_strided)},
      {{"thread_tile_2d_strided_2x2",
        Backend::cuda,
        {DataType::f32, DataType::f64},
        kAsStored,
        "after a DCU course",
        "2 x 2 sums per thread, 32 apart"},
       QUAD_CUDA_LAUNCH(launch_thread_tile_2d_strided_2x2)},
      {{"thread_tile_2d_strided_16x16",
        Backend::cuda,
        {DataType::f32},
        kAsStored,
        "after a DCU course",
        "16 x 16 sums per thread: more than it has registers"},
       QUAD_CUDA_LAUNCH(launch_thread_tile_2d_strided_16x16)},
      {{"transposed_a",
        Backend::cuda,
        {DataType::f32},
        kAsStored,
        "after Boehm 2022",
        "A by columns in shared memory"},
       QUAD_CUDA_LAUNCH(launch_transposed_a)},
      {{"vectorized",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "16-byte accesses"},
       QUAD_CUDA_LAUNCH(launch_vectorized)},
      {{"vectorized_scalar",
        Backend::cuda,
        {DataType::f32},
        kAsStored,
        "after Boehm 2022",
        "four scalar copies for each 16-byte access"},
       QUAD_CUDA_LAUNCH(launch_vectorized_scalar)},
      {{"swizzled_b",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "B reordered against bank conflicts"},
       QUAD_CUDA_LAUNCH(launch_swizzled_b)},
      {{"padded_b",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "B padded against bank conflicts"},
       QUAD_CUDA_LAUNCH(launch_padded_b)},
      {{"tuned_32x64x16_4x4",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "tile 32 x 64 x 16, 4 x 4 per thread"},
       QUAD_CUDA_LAUNCH(launch_tuned_32x64x16_4x4)},
      {{"tuned_64x64x8_8x8",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "tile 64 x 64 x 8, 8 x 8 per thread"},
       QUAD_CUDA_LAUNCH(launch_tuned_64x64x8_8x8)},
      {{"tuned_64x64x16_4x4",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "tile 64 x 64 x 16, 4 x 4 per thread"},
       QUAD_CUDA_LAUNCH(launch_tuned_64x64x16_4x4)},
      {{"tuned_64x64x16_8x4",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "tile 64 x 64 x 16, 8 x 4 per thread"},
       QUAD_CUDA_LAUNCH(launch_tuned_64x64x16_8x4)},
      {{"tuned_64x128x16_8x8",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "tile 64 x 128 x 16, 8 x 8 per thread"},
       QUAD_CUDA_LAUNCH(launch_tuned_64x128x16_8x8)},
      {{"tuned_128x64x16_8x8",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "tile 128 x 64 x 16, 8 x 8 per thread"},
       QUAD_CUDA_LAUNCH(launch_tuned_128x64x16_8x8)},
      {{"tuned_128x128x8_16x8",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "tile 128 x 128 x 8, 16 x 8 per thread"},
       QUAD_CUDA_LAUNCH(launch_tuned_128x128x8_16x8)},
      {{"tuned_128x128x16_8x8",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "tile 128 x 128 x 16, 8 x 8 per thread"},
       QUAD_CUDA_LAUNCH(launch_tuned_128x128x16_8x8)},
      {{"tuned_128x128x32_8x8",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "tile 128 x 128 x 32, 8 x 8 per thread"},
       QUAD_CUDA_LAUNCH(launch_tuned_128x128x32_8x8)},
      {{"tuned_128x256x16_8x8",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "tile 128 x 256 x 16, 8 x 8 per thread"},
       QUAD_CUDA_LAUNCH(launch_tuned_128x256x16_8x8)},
      {{"tuned_128x256x16_8x16",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "tile 128 x 256 x 16, 8 x 16 per thread"},
       QUAD_CUDA_LAUNCH(launch_tuned_128x256x16_8x16)},
      {{"tuned_256x128x16_16x8",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "tile 256 x 128 x 16, 16 x 8 per thread"},
       QUAD_CUDA_LAUNCH(launch_tuned_256x128x16_16x8)},
      {{"warp_tile",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "a tile for each warp"},
       QUAD_CUDA_LAUNCH(launch_warp_tile)},
      {{"warp_tile_block_swizzle",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "blocks in bands for the L2 cache"},
       QUAD_CUDA_LAUNCH(launch_warp_tile_block_swizzle)},
      {{"double_buffer_split",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "half of a block loads, half computes"},
       QUAD_CUDA_LAUNCH(launch_double_buffer_split)},
      {{"double_buffer_async",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "asynchronous copies to two pairs of tiles"},
       QUAD_CUDA_LAUNCH(launch_double_buffer_async)},
      {{"double_buffer_pingpong",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "two pairs of tiles, one barrier"},
       QUAD_CUDA_LAUNCH(launch_double_buffer_pingpong)},
      {{"double_buffer_prefetch",
        Backend::cuda,
        {DataType::f32},
        kFours,
        "after Boehm 2022",
        "next tiles and values loaded under the products"},
       QUAD_CUDA_LAUNCH(launch_double_buffer_prefetch)},
      {{"split_k",
        Backend::cuda,
        {DataType::f32},
        "NN; multiples of 4; 16-byte alignment; scratch",
        "own",
        "k split among blocks, partial sums in scratch"},
       QUAD_CUDA_LAUNCH(launch_split_k)},
      {{"simt_async",
        Backend::cuda,
        {DataType::f32},
        kAsStored,
        "own",
        "ring of asynchronous copies, 8 x 16 sums per thread, chosen tiles"},
       QUAD_CUDA_LAUNCH(launch_simt_async)},
      {{"simt_async_128x256",
        Backend::cuda,
        {DataType::f32},
        kAsStored,
        "own",
        "simt_async with tiles of 128 x 256"},
       QUAD_CUDA_LAUNCH(launch_simt_async_128x256)},
      {{"simt_async_128x128",
        Backend::cuda,
        {DataType::f32},
        kAsStored,
        "own",
        "simt_async with tiles of 128 x 128"},
       QUAD_CUDA_LAUNCH(launch_simt_async_128x128)},
      {{"simt_async_64x128",
        Backend::cuda,
        {DataType::f32},
        kAsStored,
        "own",
        "simt_async with tiles of 64 x 128"},
       QUAD_CUDA_LAUNCH(launch_simt_async_64x128)},
      {{"simt_async_64x64",
        Backend::cuda,
        {DataType::f32},
        kAsStored,
        "own",
        "simt_async with tiles of 64 x 64"},
       QUAD_CUDA_LAUNCH(launch_simt_async_64x64)},
  };
  return rows;
}

void require_matrix(device::MatrixView const& x, char const* name) {
  QUAD_REQUIRE(x.rows >= 0 && x.cols >= 0, std::string{"gemm: "} + name + " has a negative extent");
  QUAD_REQUIRE(x.ld >= x.cols, std::string{"gemm: the leading dimension of "} + name +
                                   " is below its columns; rows would overlap");
}

}  // namespace

std::span<Variant<Problem> const> variants() { return table(); }

std::string refusal(VariantInfo const& variant, bool is_transposed, std::int64_t n,
                    std::int64_t k) {
  if (is_transposed && variant.needs.find(kAsStored) != std::string_view::npos) {
    return "takes A and B as they are (layout \"nn\"); use variant 'vendor'";
  }
  if ((n % 4 != 0 || k % 4 != 0) && variant.needs.find(kFours) != std::string_view::npos) {
    return "needs n and k in multiples of 4; use variant 'simt_async'";
  }
  return {};
}

void require_consistent(Problem const& problem) {
  require_matrix(problem.a, "A");
  require_matrix(problem.b, "B");
  require_matrix(problem.c, "C");
  QUAD_REQUIRE(problem.a.type == problem.c.type && problem.b.type == problem.c.type,
               "gemm: A, B and C differ in type");
  std::int64_t const m = problem.transpose_a ? problem.a.cols : problem.a.rows;
  std::int64_t const n = problem.transpose_b ? problem.b.rows : problem.b.cols;
  std::int64_t const k = problem.transpose_b ? problem.b.cols : problem.b.rows;
  QUAD_REQUIRE(m == problem.m(), "gemm: op(A) and C differ in rows");
  QUAD_REQUIRE(n == problem.n(), "gemm: op(B) and C differ in columns");
  QUAD_REQUIRE(k == problem.k(), "gemm: columns of op(A) differ from rows of op(B)");
}

double error_bound(DataType type, double k, double weight) {
  return core::epsilon_of(type) * (std::sqrt(k) + 2) * weight;
}

void launch_vendor(Problem const& problem, device::StreamView stream) {
  if (stream.device().kind() == device::Kind::host) return launch_vendor_host(problem, stream);
#ifdef QUADRILLE_CUBLAS
  launch_vendor_cuda(problem, stream);
#else
  core::fail("gemm/vendor: this build has no CUDA", core::Exit::environment);
#endif
}

int split_k_slices(std::int64_t m, std::int64_t n, std::int64_t k, int units) {
  constexpr std::int64_t kTile = 128;
  constexpr std::int64_t kLeastSteps = 128;  // of a slice, or its start and end weigh too much
  constexpr std::int64_t kMostSlices = 64;
  std::int64_t const tiles =
      std::max<std::int64_t>(1, ((m + kTile - 1) / kTile) * ((n + kTile - 1) / kTile));
  std::int64_t const wanted = 2 * std::max(1, units) / tiles;  // two blocks for a multiprocessor
  return static_cast<int>(
      std::clamp<std::int64_t>(std::min(wanted, k / kLeastSteps), 1, kMostSlices));
}

std::int64_t split_k_scratch(std::int64_t m, std::int64_t n, std::int64_t k, int units) {
  return kScratchCounters + split_k_slices(m, n, k, units) * m * n;
}

std::int64_t simt_async_scratch(int units) { return kScratchCounters + units * kSimtAsyncTile; }

}  // namespace quadrille::kernels::gemm
