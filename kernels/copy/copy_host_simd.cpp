// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Copy on the host: the ceiling of everything that reads and writes memory.
///
///   to[i] = from[i]
///
/// Technique    all threads; whole vectors, written with streaming stores where the copy is larger
///              than the caches, so that the target is not read before it is written
/// Shapes       n contiguous bytes, any alignment
/// Work         2 n bytes (3 n where the caches hold the target: no streaming below kStreamFrom)
/// Launch       one parallel loop of the stream, kChunk bytes an iteration
/// Accuracy     exact
#include "common/stream_store.hpp"
#include "copy/copy.hpp"
#include "device/host/parallel.hpp"

#include <algorithm>
#include <cstring>

namespace quadrille::kernels::copy {
namespace {

constexpr std::int64_t kChunk = 256 << 10;
/// Smaller targets are likely to be read again from the cache.
constexpr std::int64_t kStreamFrom = 4 << 20;

void copy_streaming(char* to, char const* from, std::size_t n) {
  std::size_t const head = std::min(n, bytes_to_stream_boundary(to));
  std::memcpy(to, from, head);
  std::size_t i = head;
  for (; i + kStreamBytes <= n; i += kStreamBytes) stream_store(to + i, from + i);
  std::memcpy(to + i, from + i, n - i);
  stream_fence();
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([p = problem, stream] {
    auto* to = static_cast<char*>(p.to);
    auto const* from = static_cast<char const*>(p.from);
    std::int64_t const chunks = (p.bytes + kChunk - 1) / kChunk;
    device::parallel_for(stream, chunks, [=](std::int64_t chunk) {
      std::int64_t const begin = chunk * kChunk;
      auto const n = static_cast<std::size_t>(std::min(kChunk, p.bytes - begin));
      if (p.bytes >= kStreamFrom) {
        copy_streaming(to + begin, from + begin, n);
      } else {
        std::memcpy(to + begin, from + begin, n);
      }
    });
  });
}

}  // namespace

extern constinit Variant<Problem> const host_simd{
    {.name = "host_simd",
     .where = Where::host,
     .types = kEveryType,
     .preference = 20,
     .source = "own",
     .summary = "all threads, streaming stores: the ceiling"},
    launch};

}  // namespace quadrille::kernels::copy
