// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Digest of a result on the device, so that every repetition can be compared with the checked one.
///
///   sum += sum over (i, j) of digest_term(bits of data[i, j], i * cols + j)    modulo 2^64
///
/// Technique    a hash of each element and its place, added up as integers: no order of threads
///              changes the sum, so one atomic addition per warp does
/// Shapes       data: rows x cols of any type, with a leading dimension
/// Work         s bytes read and about 10 integer operations per element
/// Launch       256 threads per block, 8 blocks per multiprocessor with a stride
/// Accuracy     exact: a changed element changes the sum but for one case in 2^64
#include "support/generate_element.cuh"

namespace quadrille::kernels::generate {
namespace {

// What atomics take.
using Word = unsigned long long;
static_assert(sizeof(Word) == sizeof(std::uint64_t));

template <class Bits>
__global__ void generate_digest_kernel(Bits const* data, std::int64_t rows, std::int64_t cols,
                                       std::int64_t ld, Word* sum) {
  std::int64_t const n = rows * cols;
  std::int64_t const stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  Word mine = 0;
  for (std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; at < n;
       at += stride) {
    mine += digest_term(data[at / cols * ld + at % cols], at);
  }
  for (unsigned half = 16; half > 0; half /= 2) mine += __shfl_down_sync(0xffffffffU, mine, half);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

}  // namespace

void launch_digest(device::MatrixView const& data, std::uint64_t* sum, device::StreamView stream) {
  visit_bits(data.type, [&](auto zero) {
    using Bits = decltype(zero);
    QUAD_LAUNCH((generate_digest_kernel<Bits>), blocks_for(data.rows * data.cols, stream), kThreads,
                0, stream, static_cast<Bits const*>(data.data), data.rows, data.cols, data.ld,
                reinterpret_cast<Word*>(sum));
  });
}

}  // namespace quadrille::kernels::generate
