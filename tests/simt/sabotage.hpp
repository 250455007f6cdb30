// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

#include <cuda_fp16.h>

#include <cstdint>

/// Small kernels with a mistake to choose, which the interpreter must find.
namespace quadrille::sabotage {

enum class Bug {
  none,
  // vector_add
  missing_tail_guard,
  load_past_the_end,
  store_before_the_beginning,
  misaligned_vector_access,
  index_overflow,
  // block_sum
  missing_barrier,
  divergent_barrier,
  barrier_after_exit,
  uninitialised_shared_element,
  shared_load_past_the_end,
  lane_outside_its_mask,
  divergent_shuffle,
  shuffle_with_exited_lanes,
  missing_fence_before_the_counter,
  missing_fence_after_the_counter,
  missing_barrier_after_the_flag,
  counter_without_atomics,
  unprotected_sum_of_blocks,
  // transpose
  syncwarp_for_syncthreads,
  missing_second_barrier_of_a_tile,
  shared_store_past_the_end,
  two_blocks_write_one_tile,
  // gemm
  missing_copy_wait,
  lax_copy_wait,
  barrier_before_copy_wait,
  missing_second_barrier_of_a_double_buffer,
  copy_left_in_flight,
  // ring
  missing_wait_for_full,
  missing_wait_for_empty,
  wrong_parity,
  too_few_bytes_expected,
  too_many_bytes_expected,
  missing_fence_of_the_mbarriers,
  missing_wait_for_previous_kernels,
  // relay
  too_few_threads_at_named_barrier,
  missing_arrive,
  missing_named_barrier,
  wrong_named_barrier,
  // tensor_tile
  wrong_swizzle,
  transposed_fragment,
  missing_barrier_before_ldmatrix,
  half_a_warp_in_mma,
  // exchange
  no_warp_synchronisation,
  shuffle_for_syncwarp,
  syncwarp_of_half_warps,
  // histogram
  increment_without_atomics,
  missing_barrier_after_the_zeros,
};

/// sum = a + b
void launch_vector_add(Bug bug, float const* a, float const* b, float* sum, int n,
                       device::StreamView stream);
/// out[i] = in[i], 256 elements of a row of a matrix; `in` starts with column 0 of that row.
void launch_copy_row(Bug bug, float const* in, float* out, int row, int pitch,
                     device::StreamView stream);
constexpr int kSumBlocks = 8;
/// *sum = x[0] + ... + x[n - 1], n at most 2048; `partial` has 8 elements, *counter is zero.
void launch_block_sum(Bug bug, float const* x, int n, float* partial, unsigned* counter, float* sum,
                      device::StreamView stream);
/// out = transpose of in
void launch_transpose(Bug bug, float const* in, float* out, int rows, int columns,
                      device::StreamView stream);
/// c = a b, n x n matrices, n % 32 == 0
void launch_gemm(Bug bug, float const* a, float const* b, float* c, int n,
                 device::StreamView stream);
constexpr int kRingTile = 256;
/// y = 2 x, `tiles` tiles, in a launch that overlaps the kernel before it
void launch_ring(Bug bug, float const* x, float* y, int tiles, device::StreamView stream);
/// y = x with each 32 elements reversed, `tiles` times 32 elements
void launch_relay(Bug bug, float const* x, float* y, int tiles, device::StreamView stream);
/// c (16 x 8) = a (16 x 16) times the transpose of b (8 x 16)
void launch_tensor_tile(Bug bug, __half const* a, __half const* b, float* c,
                        device::StreamView stream);
/// y[i] = x[i ^ 16], 32 elements
void launch_exchange(Bug bug, float const* x, float* y, device::StreamView stream);
/// counts[k] = how many of 256 values are k, k < 8
void launch_histogram(Bug bug, int const* values, int* counts, device::StreamView stream);

}  // namespace quadrille::sabotage
