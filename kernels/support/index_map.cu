// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// The global id of every thread of a grid.
///
///   id = q P + r     q: number of the block, P: threads of a block, r: number of the thread in it
///
/// Technique    one formula for each number of dimensions: x; y X + x; z X Y + y X + x, of blocks
///              in the grid and of threads in the block. Lanes of a warp are neighbours in x
///              (PaddleJitLab/CUDATutorial, chapters 05 and 10)
/// Shapes       entries of i32: one for each thread; extents of 1 beyond the dimensions, at most
///              1024 threads a block
/// Work         36 bytes a thread
/// Launch       as the problem says
/// Accuracy     exact
#include "common/simt.cuh"
#include "support/index_map.hpp"

#include <utility>

namespace quadrille::kernels::vector {
namespace {

/// Linear index of (x, y, z) in an extent of so many dimensions.
template <int kDimensions>
__device__ int number_of(uint3 index, dim3 extent) {
  if constexpr (kDimensions == 1) return static_cast<int>(index.x);
  if constexpr (kDimensions == 2) return static_cast<int>(index.y * extent.x + index.x);
  return static_cast<int>(index.z * extent.x * extent.y + index.y * extent.x + index.x);
}

template <int kDimensions>
__device__ int count_of(dim3 extent) {
  if constexpr (kDimensions == 1) return static_cast<int>(extent.x);
  if constexpr (kDimensions == 2) return static_cast<int>(extent.x * extent.y);
  return static_cast<int>(extent.x * extent.y * extent.z);
}

template <int kGridDimensions, int kBlockDimensions>
__global__ void vector_index_map_kernel(IndexEntry* entries) {
  uint3 const block{blockIdx.x, blockIdx.y, blockIdx.z};
  uint3 const thread{threadIdx.x, threadIdx.y, threadIdx.z};
  dim3 const grid_extent{gridDim.x, gridDim.y, gridDim.z};
  dim3 const block_extent{blockDim.x, blockDim.y, blockDim.z};

  int const rank = number_of<kBlockDimensions>(thread, block_extent);
  int const id =
      number_of<kGridDimensions>(block, grid_extent) * count_of<kBlockDimensions>(block_extent) +
      rank;

  IndexEntry& entry = entries[id];
  // Counted, so that two threads with one id are seen.
  if (atomicAdd(&entry.writers, 1) > 0) return;
  entry.block[0] = static_cast<std::int32_t>(block.x);
  entry.block[1] = static_cast<std::int32_t>(block.y);
  entry.block[2] = static_cast<std::int32_t>(block.z);
  entry.thread[0] = static_cast<std::int32_t>(thread.x);
  entry.thread[1] = static_cast<std::int32_t>(thread.y);
  entry.thread[2] = static_cast<std::int32_t>(thread.z);
  entry.warp = rank / 32;
  entry.lane = rank % 32;
}

void require_extent(Extent const& extent) {
  QUAD_REQUIRE(extent.dimensions >= 1 && extent.dimensions <= 3,
               "index_map: grids and blocks have 1 to 3 dimensions");
  QUAD_REQUIRE(extent.x >= 1 && extent.y >= 1 && extent.z >= 1,
               "index_map: an extent is less than 1");
  QUAD_REQUIRE((extent.dimensions > 1 || extent.y == 1) && (extent.dimensions > 2 || extent.z == 1),
               "index_map: extents beyond the dimensions must be 1");
}

dim3 to_dim3(Extent const& extent) {
  return {static_cast<unsigned>(extent.x), static_cast<unsigned>(extent.y),
          static_cast<unsigned>(extent.z)};
}

template <int kGridDimensions, int kBlockDimensions>
void launch(IndexShape const& shape, IndexEntry* entries, device::StreamView stream) {
  QUAD_LAUNCH((vector_index_map_kernel<kGridDimensions, kBlockDimensions>), to_dim3(shape.grid),
              to_dim3(shape.block), 0, stream, entries);
}

}  // namespace

void launch_index_map(IndexShape const& shape, device::Span<IndexEntry> entries,
                      device::StreamView stream) {
  require_extent(shape.grid);
  require_extent(shape.block);
  QUAD_REQUIRE(shape.block.count() <= 1024,
               "index_map: a block has at most 1024 threads; use more blocks");
  QUAD_REQUIRE(entries.size == shape.threads(), "index_map: needs one entry for each thread");
  constexpr void (*kLaunch[3][3])(IndexShape const&, IndexEntry*, device::StreamView){
      {launch<1, 1>, launch<1, 2>, launch<1, 3>},
      {launch<2, 1>, launch<2, 2>, launch<2, 3>},
      {launch<3, 1>, launch<3, 2>, launch<3, 3>}};
  kLaunch[shape.grid.dimensions - 1][shape.block.dimensions - 1](shape, entries.data, stream);
}

}  // namespace quadrille::kernels::vector
