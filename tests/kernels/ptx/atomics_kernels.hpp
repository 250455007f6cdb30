// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

#include <cstdint>

/// Kernels around the instructions of common/ptx/atomics.cuh. Pointers are to device memory.
namespace quadrille::test {

/// Orders (relaxed, acquire, release, acq_rel) of each scope (cta, gpu, sys).
constexpr int kAtomics = 12;
/// Orders (relaxed, release) of each scope.
constexpr int kReductions = 6;
struct AtomicWords {
  std::uint32_t add_u32[kAtomics];
  std::int32_t add_s32[kAtomics];
  std::uint64_t add_u64[kAtomics];
  float add_f32[kAtomics];
  double add_f64[kAtomics];
  std::uint32_t min_u32[kAtomics], max_u32[kAtomics];
  std::int32_t min_s32[kAtomics], max_s32[kAtomics];
  std::uint64_t min_u64[kAtomics], max_u64[kAtomics];
  std::int64_t min_s64[kAtomics], max_s64[kAtomics];
  float exchange_f32[kAtomics];
  std::uint64_t exchange_u64[kAtomics];
  std::uint32_t swap_u32[kAtomics];
  double swap_f64[kAtomics];
  std::uint32_t red_add_u32[kReductions];
  std::uint64_t red_add_u64[kReductions];
  float red_add_f32[kReductions];
  double red_add_f64[kReductions];
  std::int32_t red_min_s32[kReductions];
  std::uint32_t red_max_u32[kReductions];
  std::uint64_t red_min_u64[kReductions];
  std::int64_t red_max_s64[kReductions];
};
/// Thread i of one block does all with value i - 3 (i where unsigned, and for adds, exchanges and
/// swaps; swaps expect 7) and leaves what it got in old[i].
void launch_atomics(AtomicWords* words, AtomicWords* old, int threads, device::StreamView stream);

/// One thread stores `word` by each order and scope and loads it by each: 6 of the first, then the
/// 6 of the second, per type.
void launch_load_store(std::uint32_t word, double real, std::uint32_t* words, double* reals,
                       device::StreamView stream);

/// A block stores pairs of `words` that carry their number, 1 and up, in their upper half, another one
/// waits for each and adds the lower halves up in sums[i]. `tickets` is a zero.
void launch_pairs(std::uint64_t* words, std::uint64_t* sums, std::uint32_t* tickets,
                  device::StreamView stream);

enum class Message {
  release_acquire_gpu,
  release_acquire_sys,
  fences_gpu,
  exchange_acq_rel_gpu,
  relaxed,             ///< a race
  release_acquire_cta  ///< a race, since the blocks differ
};
/// The first block to draw a ticket writes 64 numbers and sends a message; the second waits for it
/// and doubles them into `out`. `words` (2) must be 0.
void launch_message(Message message, std::uint32_t* words, int* data, int* out,
                    device::StreamView stream);
/// The same from warp to warp of one block, by release and acquire at the scope of the block, the
/// flag in shared or in global memory.
void launch_message_in_block(bool shared_flag, std::uint32_t* flag, int* data, int* out,
                             device::StreamView stream);

}  // namespace quadrille::test
