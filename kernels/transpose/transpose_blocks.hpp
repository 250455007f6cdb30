// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

namespace quadrille::kernels::transpose {

/// Where the indices that two processes of a block-cyclic distribution have in common lie in one of
/// them: the k-th at first + k / block * stride + k % block.
struct Places {
  std::int64_t first = 0, stride = 0;
  QUAD_HD std::int64_t at(std::int64_t k, std::int64_t block) const {
    return first + k / block * stride + k % block;
  }
};
/// The same in the input and in the output.
struct CommonIndices {
  std::int64_t count = 0, block = 1;  ///< the last block may be shorter
  Places in, out;
};

/// What elements pass between input and output, which decides how much of a GPU the transpose takes: a
/// few blocks of threads on each multiprocessor saturate a link to a peer's memory, and leave room for
/// what else runs.
enum class Path { memory, link };

/// What two processes of a grid have in common of a matrix, rows and columns each in blocks, by its
/// places in both: out(cols.out.at(j), rows.out.at(i)) = in(rows.in.at(i), cols.in.at(j)).
struct Blocks {
  device::MatrixView in, out;
  CommonIndices rows, cols;  ///< of the input
  Path path = Path::memory;
};

/// Enqueues: all blocks in one launch. They overlap nowhere in the output, and the input not with it.
void transpose_blocks(Blocks const& blocks, device::StreamView stream);

/// The launch function behind it.
void launch_blocks(Blocks const& blocks, device::StreamView stream);

/// In a task of the stream: a transpose by the host's own variant. Large outputs pass the caches;
/// `total_bytes` is what this one is a part of.
void transpose_on_host(device::MatrixView const& in, device::MatrixView const& out,
                       std::size_t total_bytes, device::StreamView stream);
/// The same by the calling thread alone.
void transpose_on_thread(device::MatrixView const& in, device::MatrixView const& out,
                         std::size_t total_bytes);

}  // namespace quadrille::kernels::transpose
