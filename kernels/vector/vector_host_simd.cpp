// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sum of two vectors, and a quadratic function of one, on the host.
///
///   out[i] = x[i] + y[i];   out[i] = (a x[i] + b) x[i] + c
///
/// Technique    all threads; whole vectors, written with streaming stores, so that out is not read
///              before it is written: 3 (2) streams of traffic in place of 4 (3)
/// Shapes       x, y, out: n contiguous elements, any alignment of elements
/// Work         add: n flop, 3 n s bytes; quadratic: 4 n flop, 2 n s bytes
/// Launch       one parallel loop of the stream, kChunk elements an iteration
/// Accuracy     add: 1/2 ulp; quadratic: 2.5 eps (|a| x^2 + |b x| + |c|)
#include "common/stream_store.hpp"
#include "device/host/parallel.hpp"
#include "vector/vector.hpp"

#include <algorithm>

namespace quadrille::kernels::vector {
namespace {

constexpr std::int64_t kChunk = 32768;
/// Smaller results are likely to be read again from the cache.
constexpr std::int64_t kStreamFromBytes = 4 << 20;

/// out[i] = f(i) for i < n.
template <class T, class F>
void fill(T* out, std::int64_t n, bool streaming, F f) {
  std::int64_t i = 0;
  if (streaming) {
    // A piece is computed into the first-level cache and goes on from there: the compiler sees two
    // plain loops over whole vectors.
    constexpr std::int64_t kPiece = 8 * kStreamBytes;
    alignas(kStreamBytes) T piece[kPiece];
    auto const head = static_cast<std::int64_t>(bytes_to_stream_boundary(out) / sizeof(T));
    for (; i < std::min(head, n); ++i) out[i] = f(i);
    for (; i + kPiece <= n; i += kPiece) {
      for (std::int64_t l = 0; l < kPiece; ++l) piece[l] = f(i + l);
      for (std::size_t b = 0; b < sizeof piece; b += kStreamBytes) {
        stream_store(reinterpret_cast<char*>(out + i) + b, reinterpret_cast<char*>(piece) + b);
      }
    }
    stream_fence();
  }
  for (; i < n; ++i) out[i] = f(i);
}

template <class T>
void evaluate(Problem const& p, device::StreamView stream) {
  device::parallel_for(stream, (p.n + kChunk - 1) / kChunk, [p](std::int64_t chunk) {
    std::int64_t const begin = chunk * kChunk;
    std::int64_t const n = std::min(kChunk, p.n - begin);
    bool const streaming = p.n * static_cast<std::int64_t>(sizeof(T)) >= kStreamFromBytes;
    auto const* x = static_cast<T const*>(p.x) + begin;
    auto* out = static_cast<T*>(p.out) + begin;
    if (p.operation == Operation::add) {
      auto const* y = static_cast<T const*>(p.y) + begin;
      fill(out, n, streaming, [=](std::int64_t i) { return x[i] + y[i]; });
    } else {
      auto const a = static_cast<T>(p.a);
      auto const b = static_cast<T>(p.b);
      auto const c = static_cast<T>(p.c);
      fill(out, n, streaming, [=](std::int64_t i) { return (a * x[i] + b) * x[i] + c; });
    }
  });
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([p = problem, stream] {
    if (p.type == core::DataType::f64) return evaluate<double>(p, stream);
    evaluate<float>(p, stream);
  });
}

}  // namespace

extern constinit Variant<Problem> const host_simd{
    {.name = "host_simd",
     .where = Where::host,
     .types = {core::DataType::f64, core::DataType::f32},
     .preference = 20,
     .source = "own",
     .summary = "all threads, whole vectors, streaming stores"},
    launch};

}  // namespace quadrille::kernels::vector
