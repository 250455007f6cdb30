// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/tensor_map.hpp"
#include "simt/barriers.hpp"

/// Models of common/ptx/bulk_copies.cuh.
namespace quadrille::simt {

/// Loads complete at a random moment; stores when they are issued or when they are waited for.
void bulk_load(void* shared, void const* global, unsigned bytes, MBarrier* barrier, Place place);
void bulk_copy_cluster(void* shared, void const* from, unsigned bytes, MBarrier* barrier,
                       unsigned rank, Place place);
void bulk_store(void* global, void const* shared, unsigned bytes, Place place);
void bulk_reduce_add_f32(float* global, float const* shared, unsigned bytes, Place place);
void bulk_commit();
void bulk_wait(unsigned newest);
void bulk_prefetch(void const* global, unsigned bytes, Place place);
void tensor_load(void* shared, ptx::TensorMap const& map, std::span<int const> position,
                 MBarrier* barrier, Place place);
/// `position`: image, row, column, channel; `pixel`: row and column in a window.
void tensor_load_pixels(void* shared, ptx::TensorMap const& map, std::span<int const> position,
                        std::span<std::uint16_t const> pixel, MBarrier* barrier, Place place);
void tensor_load_multicast(void* shared, ptx::TensorMap const& map, int row, int column,
                           MBarrier* barrier, std::uint16_t blocks, Place place);
void tensor_store(ptx::TensorMap const& map, std::span<int const> position, void const* shared,
                  bool add, Place place);

}  // namespace quadrille::simt
