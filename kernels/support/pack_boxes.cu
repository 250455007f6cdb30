// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Boxes out of arrays into others, all in one launch.
///
///   to[p * to_plane + i * to_row + j] = from[p * from_plane + i * from_row + j] of each box
///
/// Technique    a table of boxes instead of a copy for each: halos are many and small. A thread finds its
///              row and column once, by the only division, and takes them through planes
/// Shapes       up to 65535 boxes of any planes x rows x cols, elements of a row contiguous, of any
///              type; no box writes where another one reads or writes
/// Work         2 s bytes per element; where a row is short, as in a halo of columns, a sector for each
/// Launch       256 threads per block; blocks of the grid: positions in a plane, boxes, planes
/// Accuracy     exact
#include "common/simt.cuh"
#include "support/generate.hpp"
#include "support/pack.hpp"

#include <algorithm>

namespace quadrille::kernels::pack {
namespace {

constexpr std::int64_t kThreads = 256;
constexpr std::int64_t kPlanesOfThread = 8;
constexpr std::int64_t kMaxGridRows = 65535;  // y and z of a grid

template <class Bits>
__global__ void __launch_bounds__(kThreads) pack_boxes_kernel(Box const* boxes) {
  Box const box = boxes[blockIdx.y];
  std::int64_t const area = box.rows * box.cols;
  auto const* const from = static_cast<Bits const*>(box.from);
  auto* const to = static_cast<Bits*>(box.to);
  std::int64_t const stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; at < area;
       at += stride) {
    std::int64_t const i = at / box.cols, j = at - i * box.cols;
    for (std::int64_t p = blockIdx.z; p < box.planes; p += gridDim.z) {
      to[p * box.to_plane + i * box.to_row + j] = from[p * box.from_plane + i * box.from_row + j];
    }
  }
}

}  // namespace

void launch_boxes(Boxes const& boxes, device::StreamView stream) {
  QUAD_REQUIRE(boxes.count <= kMaxGridRows, "pack: takes up to 65535 boxes in one launch");
  auto const blocks = [](std::int64_t n, std::int64_t each, std::int64_t most) {
    return static_cast<unsigned>(std::min((n + each - 1) / each, most));
  };
  dim3 const grid{blocks(boxes.max_area, kThreads, 1 << 20), static_cast<unsigned>(boxes.count),
                  blocks(boxes.max_planes, kPlanesOfThread, kMaxGridRows)};
  generate::visit_bits(boxes.type, [&](auto zero) {
    using Bits = decltype(zero);
    QUAD_LAUNCH((pack_boxes_kernel<Bits>), grid, kThreads, 0, stream, boxes.boxes);
  });
}

}  // namespace quadrille::kernels::pack
