// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Floating-point numbers as unsigned integers of the same order, and back.
///
///   negative numbers: all bits inverted; others: the sign bit set
///
/// Technique    one pass; minimum and maximum of integers are exact in every library, while those
///              of floating-point numbers lose NaN in some. After Herf 2001 (radix sort of floats)
/// Shapes       n contiguous elements, f64 as u64 or f32 as u32
/// Work         2 n s bytes
/// Launch       256 threads, grid stride, 8 blocks for each multiprocessor
/// Accuracy     exact; NaN comes back as NaN, its payload is lost
#include "common/ordered_bits.hpp"
#include "common/simt.cuh"

#include <algorithm>

namespace quadrille::kernels {
namespace {

constexpr int kThreads = 256;

template <class Bits>
__global__ void ordered_bits_to_kernel(Bits const* in, Bits* out, std::int64_t n, Bits infinity,
                                       bool nan_is_largest) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  auto const step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < n; i += step) {
    Bits const x = in[i];
    bool const is_nan = (x & ~kSign) > infinity;
    Bits const ordered = (x & kSign) != 0 ? static_cast<Bits>(~x) : static_cast<Bits>(x | kSign);
    Bits const nan = nan_is_largest ? static_cast<Bits>(~Bits{0}) : Bits{0};
    out[i] = is_nan ? nan : ordered;
  }
}

template <class Bits>
__global__ void ordered_bits_from_kernel(Bits* data, std::int64_t n) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  auto const step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < n; i += step) {
    Bits const x = data[i];
    data[i] = (x & kSign) != 0 ? static_cast<Bits>(x & ~kSign) : static_cast<Bits>(~x);
  }
}

unsigned blocks_for(std::int64_t n, device::StreamView stream) {
  std::int64_t const needed = (n + kThreads - 1) / kThreads;
  return static_cast<unsigned>(
      std::min<std::int64_t>(needed, 8 * std::int64_t{stream.facts().multiprocessors}));
}

void require_float(core::DataType type) {
  QUAD_REQUIRE(type == core::DataType::f64 || type == core::DataType::f32,
               "ordered bits: takes f64 and f32 only; integers are in order already");
}

}  // namespace

void to_ordered_bits(void const* in, void* out, std::int64_t n, core::DataType type, NanOrder nan,
                     device::StreamView stream) {
  require_float(type);
  if (n == 0) return;
  bool const largest = nan == NanOrder::largest;
  if (type == core::DataType::f64) {
    QUAD_LAUNCH((ordered_bits_to_kernel<std::uint64_t>), blocks_for(n, stream), kThreads, 0, stream,
                static_cast<std::uint64_t const*>(in), static_cast<std::uint64_t*>(out), n,
                std::uint64_t{0x7FF0000000000000}, largest);
  } else {
    QUAD_LAUNCH((ordered_bits_to_kernel<std::uint32_t>), blocks_for(n, stream), kThreads, 0, stream,
                static_cast<std::uint32_t const*>(in), static_cast<std::uint32_t*>(out), n,
                std::uint32_t{0x7F800000}, largest);
  }
}

void from_ordered_bits(void* data, std::int64_t n, core::DataType type, device::StreamView stream) {
  require_float(type);
  if (n == 0) return;
  if (type == core::DataType::f64) {
    QUAD_LAUNCH((ordered_bits_from_kernel<std::uint64_t>), blocks_for(n, stream), kThreads, 0,
                stream, static_cast<std::uint64_t*>(data), n);
  } else {
    QUAD_LAUNCH((ordered_bits_from_kernel<std::uint32_t>), blocks_for(n, stream), kThreads, 0,
                stream, static_cast<std::uint32_t*>(data), n);
  }
}

}  // namespace quadrille::kernels
