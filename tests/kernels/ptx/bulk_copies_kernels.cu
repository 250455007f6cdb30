// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/ptx/barriers.cuh"
#include "common/ptx/bulk_copies.cuh"
#include "kernels/ptx/bulk_copies_kernels.hpp"

#include <algorithm>
#include <type_traits>

namespace quadrille::test {
namespace {

using namespace ptx;  // every line below is about these instructions

constexpr int kThreads = 128;
constexpr int kChunk = 256;

__global__ void bulk_store_kernel(float const* from, float* to, bool add, StoreMisuse misuse) {
  QUAD_SHARED(float, tile, [2][kChunk / 2]);
  int const first = static_cast<int>(blockIdx.x) * kChunk;
  int const t = static_cast<int>(threadIdx.x);
  for (int half = 0; half < 2; ++half) tile[half][t] = from[first + half * kThreads + t];
  // The copy engine reads what this thread has stored.
  if (misuse != StoreMisuse::no_proxy_fence) fence_proxy_async();
  __syncthreads();
  if (t == 0) {
    for (int half = 0; half < 2; ++half) {
      float* const target = to + first + half * kThreads;
      if (add && half == 0) {
        bulk_reduce_add_f32(target, tile[half], kThreads * sizeof(float));
      } else if (add) {
        bulk_reduce_add_f32<L2Hint::evict_first>(target, tile[half], kThreads * sizeof(float));
      } else if (half == 0) {
        bulk_store(target, tile[half], kThreads * sizeof(float));
      } else {
        bulk_store<L2Hint::evict_last>(target, tile[half], kThreads * sizeof(float));
      }
      bulk_commit();
    }
    if (misuse == StoreMisuse::overwrite_source) tile[0][0] += 1;
    if (misuse != StoreMisuse::no_wait) {
      bulk_wait_read<1>();
      tile[0][0] = -1;
      if (misuse == StoreMisuse::overwrite_source) tile[1][0] += 1;
      bulk_wait<0>();
    }
  }
}

__global__ void store_then_load_kernel(float const* from, float* between, float* to,
                                       StoreMisuse misuse) {
  QUAD_SHARED(float, tile, [kThreads]);
  QUAD_SHARED(MBarrier, full);
  int const t = static_cast<int>(threadIdx.x);
  int const first = static_cast<int>(blockIdx.x) * kThreads;
  between[first + t] = 2 * from[first + t];
  // The copy engine reads what this thread has stored.
  if (misuse != StoreMisuse::no_proxy_fence) fence_proxy_async_global();
  if (t == 0) {
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (t == 0) {
    mbarrier_arrive_expect_tx(&full, sizeof(tile));
    bulk_load(tile, between + first, sizeof(tile), &full);
  }
  mbarrier_wait(&full, 0);
  to[first + t] = tile[kThreads - 1 - t];
}

__global__ void tensor_load_kernel(const __grid_constant__ TensorMap map, int row, int column,
                                   unsigned char* tile, unsigned bytes) {
  QUAD_DYNAMIC_SHARED(unsigned char, box);
  QUAD_SHARED(MBarrier, full);
  if (threadIdx.x == 0) {
    tensor_map_prefetch(map);
    tensor_prefetch(map, row, column);
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_expect_tx(&full, bytes);
    tensor_load(box, map, row, column, &full);
    mbarrier_arrive(&full);
  }
  while (!mbarrier_test(&full, 0)) {
  }
  for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) tile[i] = box[i];
  __syncthreads();
  if (threadIdx.x == 0) mbarrier_inval(&full);
}

__global__ void tensor_store_kernel(const __grid_constant__ TensorMap map, int row, int column,
                                    unsigned char const* tile, unsigned bytes, bool add) {
  QUAD_DYNAMIC_SHARED(unsigned char, box);
  for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) box[i] = tile[i];
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    bool const has_hint = row % 2 != 0;
    if (add && has_hint) {
      tensor_reduce_add<L2Hint::evict_last>(map, row, column, box);
    } else if (add) {
      tensor_reduce_add(map, row, column, box);
    } else if (has_hint) {
      tensor_store<L2Hint::evict_first>(map, row, column, box);
    } else {
      tensor_store(map, row, column, box);
    }
    bulk_commit();
    bulk_wait<0>();
  }
}

template <int kDimensions>
struct Position {
  int at[kDimensions];
};
template <int kDimensions>
Position<kDimensions> position_of(std::span<int const> at) {
  Position<kDimensions> position{};
  std::copy(at.begin(), at.end(), position.at);
  return position;
}

template <class Launch>
void with_dimensions(std::size_t n, Launch const& launch) {
  if (n == 3) return launch(std::integral_constant<int, 3>{});
  if (n == 4) return launch(std::integral_constant<int, 4>{});
  launch(std::integral_constant<int, 5>{});
}

template <int kDimensions>
__global__ void tensor_nd_load_kernel(const __grid_constant__ TensorMap map,
                                      Position<kDimensions> position, unsigned char* tile,
                                      unsigned bytes) {
  QUAD_DYNAMIC_SHARED(unsigned char, box);
  QUAD_SHARED(MBarrier, full);
  if (threadIdx.x == 0) {
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(&full, bytes);
    if (position.at[0] % 2 == 0) {
      tensor_load(box, map, position.at, &full);
    } else {
      tensor_load<L2Hint::evict_first>(box, map, position.at, &full);
    }
  }
  __syncthreads();
  mbarrier_wait(&full, 0);
  for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) tile[i] = box[i];
}

template <int kDimensions>
__global__ void tensor_nd_store_kernel(const __grid_constant__ TensorMap map,
                                       Position<kDimensions> position, unsigned char const* tile,
                                       unsigned bytes) {
  QUAD_DYNAMIC_SHARED(unsigned char, box);
  for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) box[i] = tile[i];
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    if (position.at[0] % 2 == 0) {
      tensor_store(map, position.at, box);
    } else {
      tensor_store<L2Hint::evict_last>(map, position.at, box);
    }
    bulk_commit();
    bulk_wait<0>();
  }
}

struct PixelPlace {
  int at[4];
  std::uint16_t pixel[2];
};

__global__ void tensor_load_pixels_kernel(const __grid_constant__ TensorMap map, PixelPlace place,
                                          unsigned char* tile, unsigned bytes) {
  QUAD_DYNAMIC_SHARED(unsigned char, box);
  QUAD_SHARED(MBarrier, full);
  if (threadIdx.x == 0) {
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(&full, bytes);
    tensor_load_pixels(box, map, place.at, place.pixel, &full);
  }
  __syncthreads();
  mbarrier_wait(&full, 0);
  for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) tile[i] = box[i];
}

}  // namespace

void launch_bulk_store(float const* from, float* to, int blocks, bool add, StoreMisuse misuse,
                       device::StreamView stream) {
  QUAD_LAUNCH(bulk_store_kernel, static_cast<unsigned>(blocks), kThreads, 0, stream, from, to, add,
              misuse);
}

void launch_store_then_load(float const* from, float* between, float* to, int blocks,
                            StoreMisuse misuse, device::StreamView stream) {
  QUAD_LAUNCH(store_then_load_kernel, static_cast<unsigned>(blocks), kThreads, 0, stream, from,
              between, to, misuse);
}

void launch_tensor_load(ptx::Tensor2d const& matrix, int row, int column, unsigned char* tile,
                        unsigned bytes, device::StreamView stream) {
  QUAD_LAUNCH(tensor_load_kernel, 1, kThreads, bytes, stream, ptx::make_tensor_map_2d(matrix), row,
              column, tile, bytes);
}

void launch_tensor_store(ptx::Tensor2d const& matrix, int row, int column,
                         unsigned char const* tile, unsigned bytes, bool add,
                         device::StreamView stream) {
  QUAD_LAUNCH(tensor_store_kernel, 1, kThreads, bytes, stream, ptx::make_tensor_map_2d(matrix), row,
              column, tile, bytes, add);
}

void launch_tensor_nd_load(ptx::TensorNd const& tensor, std::span<int const> at,
                           unsigned char* tile, unsigned bytes, device::StreamView stream) {
  with_dimensions(at.size(), [&]<int n>(std::integral_constant<int, n>) {
    QUAD_LAUNCH((tensor_nd_load_kernel<n>), 1, kThreads, bytes, stream,
                ptx::make_tensor_map(tensor), position_of<n>(at), tile, bytes);
  });
}

void launch_tensor_nd_store(ptx::TensorNd const& tensor, std::span<int const> at,
                            unsigned char const* tile, unsigned bytes, device::StreamView stream) {
  with_dimensions(at.size(), [&]<int n>(std::integral_constant<int, n>) {
    QUAD_LAUNCH((tensor_nd_store_kernel<n>), 1, kThreads, bytes, stream,
                ptx::make_tensor_map(tensor), position_of<n>(at), tile, bytes);
  });
}

void launch_tensor_load_pixels(ptx::ImageTensor const& images, std::array<int, 4> const& at,
                               std::array<std::uint16_t, 2> const& pixel, unsigned char* tile,
                               unsigned bytes, device::StreamView stream) {
  PixelPlace const place{{at[0], at[1], at[2], at[3]}, {pixel[0], pixel[1]}};
  QUAD_LAUNCH(tensor_load_pixels_kernel, 1, kThreads, bytes, stream, ptx::make_image_map(images),
              place, tile, bytes);
}

void launch_mixed_up_maps(ptx::ImageTensor const& images, ptx::Tensor2d const& matrix,
                          bool asks_for_pixels, device::StreamView stream) {
  constexpr unsigned kBytes = 1024;
  if (asks_for_pixels) {
    QUAD_LAUNCH(tensor_load_pixels_kernel, 1, kThreads, kBytes, stream,
                ptx::make_tensor_map_2d(matrix), PixelPlace{}, nullptr, kBytes);
  } else {
    QUAD_LAUNCH(tensor_load_kernel, 1, kThreads, kBytes, stream, ptx::make_image_map(images), 0, 0,
                nullptr, kBytes);
  }
}

}  // namespace quadrille::test
