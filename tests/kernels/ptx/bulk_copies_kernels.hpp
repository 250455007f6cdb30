// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/tensor_map.hpp"
#include "device/views.hpp"

#include <array>
#include <cstdint>
#include <span>

/// Kernels around the instructions of common/ptx/bulk_copies.cuh. Pointers are to device memory.
namespace quadrille::test {

/// What a store does wrong on purpose.
enum class StoreMisuse {
  none,
  no_proxy_fence,
  overwrite_source,  ///< before it has been read
  no_wait,
};

/// to[i] = from[i] (or += with `add`): each block stores 256 floats of shared memory.
void launch_bulk_store(float const* from, float* to, int blocks, bool add, StoreMisuse misuse,
                       device::StreamView stream);

/// Each block doubles 128 floats by ordinary stores to `between`, loads them from there by a bulk
/// copy, and writes them in reverse.
void launch_store_then_load(float const* from, float* between, float* to, int blocks,
                            StoreMisuse misuse, device::StreamView stream);

/// Loads the box of the matrix at (row, column), then writes its `bytes` as they lie in shared
/// memory.
void launch_tensor_load(ptx::Tensor2d const& matrix, int row, int column, unsigned char* tile,
                        unsigned bytes, device::StreamView stream);

/// Stores (or adds) the box of the matrix at (row, column), of which the bytes in shared memory are
/// given. At odd rows with a hint for L2.
void launch_tensor_store(ptx::Tensor2d const& matrix, int row, int column,
                         unsigned char const* tile, unsigned bytes, bool add,
                         device::StreamView stream);

/// The same of a tensor, by as many indices as are given: three to five. At odd first indices with
/// a hint for L2.
void launch_tensor_nd_load(ptx::TensorNd const& tensor, std::span<int const> at,
                           unsigned char* tile, unsigned bytes, device::StreamView stream);
void launch_tensor_nd_store(ptx::TensorNd const& tensor, std::span<int const> at,
                            unsigned char const* tile, unsigned bytes, device::StreamView stream);

/// Loads a column of images, from the window at {image, row, column, channel} on.
void launch_tensor_load_pixels(ptx::ImageTensor const& images, std::array<int, 4> const& at,
                               std::array<std::uint16_t, 2> const& pixel, unsigned char* tile,
                               unsigned bytes, device::StreamView stream);

/// Asks a map of images for a box, and a map of a matrix for pixels.
void launch_mixed_up_maps(ptx::ImageTensor const& images, ptx::Tensor2d const& matrix,
                          bool asks_for_pixels, device::StreamView stream);

}  // namespace quadrille::test
