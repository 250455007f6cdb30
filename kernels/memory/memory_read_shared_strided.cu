// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads of a window in each block's shared memory, by lanes that are a stride apart.
///
///   result[block][thread] = number of the thread + sum of the words that it reads, modulo 2^32
///
/// Technique    neighbouring lanes read elements of 2, 4, 8 or 16 bytes that are `stride` elements
///              apart. Of the lanes that are served together (32, of 8 bytes 16, of 16 bytes 8),
///              those whose words lie in one bank wait for each other: the rate falls by the degree
///              of that conflict. The stride is known at run time alone, so that the compiler joins
///              no loads
/// Before       read_shared
/// Shapes       windows of whole tiles of 16 KiB that hold 32 strides
/// Work         tiles x 16 KiB read; the window is copied once for each block
/// Launch       256 threads per block, `readers` blocks, the window as dynamic shared memory
/// Accuracy     exact
#include "memory/memory_tiles.cuh"

#include <type_traits>

namespace quadrille::kernels::memory {
namespace {

#ifdef QUAD_KERNELS

template <class Element>
__device__ std::uint32_t sum_of(Element const& x) {
  if constexpr (std::is_same_v<Element, uint4>)
    return x.x + x.y + x.z + x.w;
  else if constexpr (std::is_same_v<Element, uint2>)
    return x.x + x.y;
  else
    return x;
}

template <class Element>
__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    memory_read_shared_strided_kernel(uint4 const* window, std::int64_t window_tiles,
                                      std::int64_t tiles, int stride, std::uint32_t* result) {
  QUAD_DYNAMIC_SHARED(uint4, copy);
  for (std::int64_t v = threadIdx.x; v < window_tiles * kTileVectors; v += kThreads) {
    copy[v] = window[v];
  }
  __syncthreads();  // threads read what others copied
  Share const share = share_of(blockIdx.x, gridDim.x, window_tiles, tiles);
  constexpr int kBytes = sizeof(Element);
  auto const rounds = static_cast<int>(strided_rounds(window_tiles * kTileBytes, kBytes, stride));
  auto const* const elements =
      reinterpret_cast<Element const*>(copy) + static_cast<int>(threadIdx.x) % 32 * stride;
  std::uint32_t sum[kStridedLoads] = {};
  int round = static_cast<int>(share.first % rounds);
  std::int64_t const count = share.count * kTileBytes / (kThreads * kStridedLoads * kBytes);
#pragma unroll 1
  for (std::int64_t i = 0; i < count; ++i) {
    Element values[kStridedLoads];
#pragma unroll
    for (int f = 0; f < kStridedLoads; ++f) values[f] = elements[round * kStridedLoads + f];
#pragma unroll
    for (int f = 0; f < kStridedLoads; ++f) sum[f] += sum_of(values[f]);
    round = round + 1 == rounds ? 0 : round + 1;
  }
  write_result(result, sum[0] + sum[1] + sum[2] + sum[3]);
}

template <class Element>
void launch_of(Problem const& p, device::StreamView stream) {
  prefer_shared(memory_read_shared_strided_kernel<Element>, p.carveout);
  QUAD_LAUNCH(memory_read_shared_strided_kernel<Element>, static_cast<unsigned>(p.readers),
              kThreads, static_cast<std::size_t>(p.bytes), stream,
              static_cast<uint4 const*>(p.window), p.bytes / kTileBytes, p.tiles, p.stride,
              p.result);
}

void launch(Problem const& p, device::StreamView stream) {
  switch (p.width) {
    case 2: return launch_of<std::uint16_t>(p, stream);
    case 4: return launch_of<std::uint32_t>(p, stream);
    case 8: return launch_of<uint2>(p, stream);
    default: return launch_of<uint4>(p, stream);
  }
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& p) {
  std::string const why = window_unsupported<kMaxSharedBytes>(p);
  if (!why.empty() || strided_rounds(p.bytes, p.width, p.stride) > 0) return why;
  return "reads windows that hold 32 strides; take a larger size, or a smaller width or stride";
}

}  // namespace

extern constinit Variant<Problem> const read_shared_strided{
    {.name = "read_shared_strided",
     .where = Where::cuda,
     .types = kEveryType,
     .needs = {.other = "windows of whole 16 KiB, at most 227 KiB, that hold 32 strides"},
     .source = "own",
     .summary = "read_shared by elements of `width` bytes, `stride` of them from lane to lane"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported, .notes = {.result = Problem::Result::strided}}};

}  // namespace quadrille::kernels::memory
