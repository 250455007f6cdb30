// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Copy with 16-byte accesses: the upper bound for all that reads and writes device memory.
///
///   to[i] = from[i]
///
/// Technique    one access of 16 bytes per thread, in blocks as large as possible: the bytes in
///              flight come from the number of threads. Plain accesses; hints gain nothing here.
///              Where the two arrays have different offsets within 16 bytes, the widest accesses
///              that fit both
/// Shapes       n contiguous bytes, any alignment
/// Work         2 n bytes
/// Launch       1024 threads per block, 16 KiB per block (less where accesses are narrower)
/// Accuracy     exact
#include "common/simt.cuh"
#include "copy/copy.hpp"

#include <algorithm>

namespace quadrille::kernels::copy {
namespace {

constexpr int kThreads = 1024;

#ifdef QUAD_KERNELS

/// `head` bytes until both arrays are aligned to the word, then words, then less than a word.
template <class Word>
__global__ void __launch_bounds__(kThreads)
    copy_vectorized_kernel(char* to, char const* from, std::int64_t bytes, int head) {
  std::int64_t const words = (bytes - head) / static_cast<std::int64_t>(sizeof(Word));
  auto* const out = reinterpret_cast<Word*>(to + head);
  auto const* const in = reinterpret_cast<Word const*>(from + head);
  std::int64_t const w = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (w < words) out[w] = in[w];
  // A block has more threads than there are bytes before and after the words.
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
  std::int64_t const each = kWord * kThreads;
  std::int64_t const blocks = std::max<std::int64_t>(1, (p.bytes - head + each - 1) / each);
  QUAD_LAUNCH((copy_vectorized_kernel<Word>), dim3(static_cast<unsigned>(blocks)), dim3(kThreads),
              0, stream, static_cast<char*>(p.to), static_cast<char const*>(p.from), p.bytes,
              static_cast<int>(head));
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.bytes == 0) return;
  auto const apart =
      reinterpret_cast<std::uintptr_t>(problem.to) - reinterpret_cast<std::uintptr_t>(problem.from);
  if (apart % 16 == 0) return launch<uint4>(problem, stream);
  if (apart % 8 == 0) return launch<uint2>(problem, stream);
  if (apart % 4 == 0) return launch<std::uint32_t>(problem, stream);
  if (apart % 2 == 0) return launch<std::uint16_t>(problem, stream);
  launch<std::uint8_t>(problem, stream);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const vectorized{
    {.name = "vectorized",
     .where = Where::cuda,
     .types = kEveryType,
     .needs = {.tile = {1, kThreads}},
     .preference = 20,
     .source = "own",
     .summary = "one 16-byte access per thread: the upper bound on a GPU"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::copy
