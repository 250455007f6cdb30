// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/// Stores that leave the caches alone: a line that is written whole need not be read first, which
/// saves a third of a copy's traffic. Static, so that each target keeps its own vector width.
namespace quadrille::kernels {

#if defined(__AVX512F__)
inline constexpr std::size_t kStreamBytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t kStreamBytes = 32;
#else
inline constexpr std::size_t kStreamBytes = 16;
#endif

/// Writes kStreamBytes bytes; `to` is aligned to as many, `from` to nothing.
static inline void stream_store(void* to, void const* from) {
#if defined(__AVX512F__)
  _mm512_stream_si512(static_cast<__m512i*>(to), _mm512_loadu_si512(from));
#elif defined(__AVX__)
  _mm256_stream_si256(static_cast<__m256i*>(to),
                      _mm256_loadu_si256(static_cast<__m256i const*>(from)));
#elif defined(__SSE2__)
  _mm_stream_si128(static_cast<__m128i*>(to), _mm_loadu_si128(static_cast<__m128i const*>(from)));
#else
  std::memcpy(to, from, kStreamBytes);
#endif
}

/// Orders this thread's streaming stores before its later stores; needed before another thread
/// may read.
static inline void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

/// Bytes from `to` up to the next boundary where stream_store may write.
static inline std::size_t bytes_to_stream_boundary(void const* to) {
  return -reinterpret_cast<std::uintptr_t>(to) % kStreamBytes;
}

}  // namespace quadrille::kernels
