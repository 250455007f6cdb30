// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "transpose/transpose_blocks.hpp"

#include "common/variant.hpp"
#include "device/host/parallel.hpp"

#include <algorithm>

namespace quadrille::kernels::transpose {
namespace {

void (*const kBlocks)(Blocks const&, device::StreamView) = QUAD_CUDA_LAUNCH(launch_blocks);

std::int64_t runs_of(CommonIndices const& common) {
  return (common.count + common.block - 1) / common.block;
}

/// In a task of the stream.
void blocks_on_host(Blocks const& b, device::StreamView stream) {
  std::int64_t const down = runs_of(b.rows), across = runs_of(b.cols);
  auto const total =
      static_cast<std::size_t>(b.rows.count * b.cols.count) * core::size_of(b.in.type);
  auto const with_pair = [&](std::int64_t pair, auto const& f) {
    std::int64_t const i = pair / across * b.rows.block, j = pair % across * b.cols.block;
    std::int64_t const rows = std::min(b.rows.block, b.rows.count - i);
    std::int64_t const cols = std::min(b.cols.block, b.cols.count - j);
    f(b.in.block(b.rows.in.at(i, b.rows.block), b.cols.in.at(j, b.cols.block), rows, cols),
      b.out.block(b.cols.out.at(j, b.cols.block), b.rows.out.at(i, b.rows.block), cols, rows));
  };
  // A pair of runs for each thread, or all threads for each pair.
  if (down * across >= 4 * device::parallel_threads(stream)) {
    device::parallel_for(
        stream, down * across,
        [&](std::int64_t pair) {
          with_pair(pair,
                    [&](auto const& in, auto const& out) { transpose_on_thread(in, out, total); });
        },
        device::Schedule::dynamic);
    return;
  }
  for (std::int64_t pair = 0; pair < down * across; ++pair) {
    with_pair(pair,
              [&](auto const& in, auto const& out) { transpose_on_host(in, out, total, stream); });
  }
}

}  // namespace

void transpose_blocks(Blocks const& blocks, device::StreamView stream) {
  if (blocks.rows.count == 0 || blocks.cols.count == 0) return;
  QUAD_REQUIRE(blocks.in.type == blocks.out.type, "transpose: input and output differ in type");
  QUAD_REQUIRE(blocks.rows.block > 0 && blocks.cols.block > 0,
               "transpose: blocks must have an extent");
  if (stream.device().kind() == device::Kind::host) {
    return stream.run([=] { blocks_on_host(blocks, stream); });
  }
  QUAD_REQUIRE(kBlocks != nullptr, "transpose: this program was built without CUDA");
  kBlocks(blocks, stream);
}

}  // namespace quadrille::kernels::transpose
