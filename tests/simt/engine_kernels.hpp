// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

#include <cstdint>
#include <span>

/// Kernels that are right, to see what the interpreter does with them.
namespace quadrille::test {

/// c = a b for square matrices of n rows, n a multiple of 64.
void launch_product(float const* a, float const* b, float* c, int n, device::StreamView stream);
/// *sum += x[i]; counter is 0 before and after.
void launch_sum(float const* x, std::int64_t n, float* partial, unsigned* counter, float* sum,
                int blocks, device::StreamView stream);
/// to = from through shared memory, with cp.async in two stages.
void launch_async_copy(float const* from, float* to, int tiles, device::StreamView stream);
/// Each thread passes the barrier n times.
void launch_barriers(int n, int threads, device::StreamView stream);
/// order[i]: the global index of the thread that came i-th.
void launch_order(unsigned* counter, unsigned* order, int blocks, int threads,
                  device::StreamView stream);
/// Block i waits for block i + 1, by polling; the last one for none.
void launch_chain(unsigned* flags, int blocks, device::StreamView stream);
/// One warp produces, one consumes, through named barriers; out[i] = i.
void launch_producer(int* out, int rounds, device::StreamView stream);

/// A kernel with one mistake, and what the interpreter must say of it.
struct Mistake {
  char const* name;
  void (*launch)(device::StreamView stream, float* memory);  ///< memory: 64 elements
  char const* message;
};
std::span<Mistake const> mistakes();

}  // namespace quadrille::test
