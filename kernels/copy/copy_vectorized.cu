// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Copy with 16-byte accesses: the ceiling of everything that reads and writes device memory.
///
///   to[i] = from[i]
///
/// Technique    four pieces of 16 bytes per thread, a block apart from each other, all asked for
/// before
///              the first is stored; loads and stores say that nothing will be used again. Where
///              the two arrays lie differently within 16 bytes, the widest accesses that fit both
/// Shapes       n contiguous bytes, any alignment
/// Types        any
/// Work         2 n bytes
/// Constraints  the arrays do not overlap; fewer than 2^31 blocks
/// Launch       256 threads per block, 16 KiB per block (less where accesses are narrower)
/// Accuracy     exact
/// Source       own
#include "common/ptx.cuh"
#include "copy/copy.hpp"

#include <algorithm>

namespace quadrille::kernels::copy {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 4;

template <class Word>
__device__ __forceinline__ Word load(Word const* from) {
  if constexpr (sizeof(Word) >= 4) return ptx::load_streaming(from);
  return *from;
}

template <class Word>
__device__ __forceinline__ void store(Word* to, Word const& word) {
  if constexpr (sizeof(Word) >= 4) return ptx::store_streaming(to, word);
  *to = word;
}

/// `head` bytes until both arrays are aligned to the word, then words, then less than a word.
template <class Word>
__global__ void __launch_bounds__(kThreads)
    copy_vectorized_kernel(char* to, char const* from, std::int64_t bytes, int head) {
  std::int64_t const words = (bytes - head) / static_cast<std::int64_t>(sizeof(Word));
  auto* const out = reinterpret_cast<Word*>(to + head);
  auto const* const in = reinterpret_cast<Word const*>(from + head);
  std::int64_t const first = std::int64_t{blockIdx.x} * (kThreads * kPerThread) + threadIdx.x;

  if (first + (kPerThread - 1) * kThreads < words) {
    Word word[kPerThread];
#pragma unroll
    for (int k = 0; k < kPerThread; ++k) word[k] = load(in + first + k * kThreads);
#pragma unroll
    for (int k = 0; k < kPerThread; ++k) store(out + first + k * kThreads, word[k]);
  } else {
    for (std::int64_t w = first; w < words; w += kThreads) store(out + w, load(in + w));
  }
  // A block has more threads than there are bytes beside the words.
  if (blockIdx.x == 0) {
    auto const thread = static_cast<int>(threadIdx.x);
    std::int64_t const tail = head + words * static_cast<std::int64_t>(sizeof(Word));
    if (thread < head) to[thread] = from[thread];
    if (tail + thread < bytes) to[tail + thread] = from[tail + thread];
  }
}

template <class Word>
void launch(Problem const& p, device::StreamView stream) {
  constexpr auto kWord = static_cast<std::int64_t>(sizeof(Word));
  auto const address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p.to) % kWord);
  std::int64_t const head = std::min(p.bytes, (kWord - address) % kWord);
  std::int64_t const each = kWord * kThreads * kPerThread;
  std::int64_t const blocks = std::max<std::int64_t>(1, (p.bytes - head + each - 1) / each);
  QUAD_REQUIRE(blocks < std::int64_t{1} << 31,
               "copy/vectorized: more blocks than a grid can have; copy in parts");
  QUAD_LAUNCH((copy_vectorized_kernel<Word>), dim3(static_cast<unsigned>(blocks)), dim3(kThreads),
              0, stream, static_cast<char*>(p.to), static_cast<char const*>(p.from), p.bytes,
              static_cast<int>(head));
}

}  // namespace

void launch_vectorized(Problem const& problem, device::StreamView stream) {
  require_consistent(problem);
  if (problem.bytes == 0) return;
  auto const apart =
      reinterpret_cast<std::uintptr_t>(problem.to) - reinterpret_cast<std::uintptr_t>(problem.from);
  if (apart % 16 == 0) return launch<uint4>(problem, stream);
  if (apart % 8 == 0) return launch<uint2>(problem, stream);
  if (apart % 4 == 0) return launch<std::uint32_t>(problem, stream);
  if (apart % 2 == 0) return launch<std::uint16_t>(problem, stream);
  launch<std::uint8_t>(problem, stream);
}

}  // namespace quadrille::kernels::copy
