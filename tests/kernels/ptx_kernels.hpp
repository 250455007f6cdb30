// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"

#include <cstdint>

/// Small kernels, each around one instruction of common/ptx. Pointers are to device memory.
namespace quadrille::test {

/// 32 threads copy `bytes` (4, 8, 16) each to shared memory in two groups; of the second group
/// every third copy, from the first on, is not valid and names `invalid_from` as its source. The
/// shifts, in bytes, are added to the addresses. 64 * bytes come back in `to`.
void launch_cp_async(int bytes, unsigned char const* from, unsigned char const* invalid_from,
                     unsigned char* to, int from_shift, int to_shift, device::StreamView stream);

/// The matrices are the rows of 8 elements of `rows`, taken from the last to the first; registers
/// are by lane. `shift`, in elements, misaligns the rows in shared memory.
void launch_ldmatrix(int count, bool transposed, std::uint16_t const* rows,
                     std::uint32_t* registers, int shift, device::StreamView stream);
void launch_stmatrix(int count, bool transposed, std::uint32_t const* registers,
                     std::uint16_t* rows, int shift, device::StreamView stream);

/// d = c + 2 a b: a is m x k by rows, b is k x 8 (by columns where elements have 16 bits), c and d
/// are m x 8 by rows.
void launch_mma_f16(std::uint16_t const* a, std::uint16_t const* b, float const* c, float* d,
                    device::StreamView stream);
void launch_mma_f16_f16(std::uint16_t const* a, std::uint16_t const* b, std::uint16_t const* c,
                        std::uint16_t* d, device::StreamView stream);
void launch_mma_bf16(std::uint16_t const* a, std::uint16_t const* b, float const* c, float* d,
                     device::StreamView stream);
void launch_mma_tf32(int k, std::uint32_t const* a, std::uint32_t const* b, float const* c,
                     float* d, device::StreamView stream);
void launch_mma_f64(int m, int k, double const* a, double const* b, double const* c, double* d,
                    device::StreamView stream);
void launch_to_tf32(float const* values, std::uint32_t* rounded, int n, device::StreamView stream);

/// How the matrices of a wmma product lie in memory.
struct WmmaLayout {
  bool a_by_rows, b_by_rows, c_by_rows;
  unsigned a_stride, b_stride, c_stride;
};
/// d = a b + c, 16 x 16 x 16, elements of a and b in f16, of c and d in f32 or f16; c * 2 where
/// `twice`, by the elements of its fragment.
void launch_wmma(WmmaLayout const& layout, std::uint16_t const* a, std::uint16_t const* b,
                 float const* c, float* d, bool twice, device::StreamView stream);
void launch_wmma(WmmaLayout const& layout, std::uint16_t const* a, std::uint16_t const* b,
                 std::uint16_t const* c, std::uint16_t* d, bool twice, device::StreamView stream);

/// Copies n items of `bytes` (4, 8, 16) with prefetches; the first half is read with
/// load_streaming, the second with load_evict_first.
void launch_streaming(int bytes, unsigned char const* from, unsigned char* to, int n,
                      device::StreamView stream);

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

/// One warp hands 3 x 32 numbers to another through one buffer: out[i] = 2 in[i]. Both
/// barriers are of `count` threads, which should be 64.
void launch_named_barriers(int const* in, int* out, int count, device::StreamView stream);

/// What one thread saw.
struct Special {
  std::uint32_t elected, elected_of_some, lane, multiprocessor, cycles_advance, time_advances;
};
/// 64 threads; lanes 5 and 9 elect one among them.
void launch_special(Special* out, device::StreamView stream);
/// 384 threads; the second and third group of 128 get registers of the first. out[i] = i.
void launch_registers(int* out, device::StreamView stream);

/// out: prmt of (a, b) with each of the n selectors, then lop3 of (a, b, selector) for the tables
/// 0x96, 0xE8 and 0x1B.
void launch_bits(std::uint32_t a, std::uint32_t b, std::uint32_t const* selectors,
                 std::uint32_t* out, int n, device::StreamView stream);

}  // namespace quadrille::test
