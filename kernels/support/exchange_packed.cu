// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Exchange of short messages, data and flag in one store.
///
///   receive[r] = what rank r sends, or out = what all ranks send, combined in the order of ranks
///
/// Technique    every 4 bytes travel in a word of 8 with the number of the message beside them, two
///              words in each store of 16 bytes to the receiver's memory. Who sees the number has
///              the data: no fence, no flag behind the data, one way of the link in all. A word is
///              written or read whole, the two of a store in any order, which is why each has the
///              number. Messages take the slots of a pair in turn. A slot is free once the receiver
///              has taken what it held, which a rank says when its next kernel starts, by a message
///              of its own if there is one: who sends has ended all exchanges before. Cells of a
///              slot that its last message did not reach have an older number, which no message
///              repeats before 2^32 later ones. The words are those of the protocol LL of
///              NVIDIA/nccl
/// Shapes       pieces of up to Sizes::packed_bytes to a rank, any alignment and up to 8 ranks; out
///              may be one of the pieces sent; bytes, or where combined f64, f32, i64, i32, i8
/// Work         2 bytes over the link for each sent
/// Launch       256 threads, a cell for each, at most 32 blocks, of which none waits for another
/// Accuracy     one rounding for each rank in the order of ranks, the same bits on all; minimum and
///              maximum keep a NaN
#include "support/exchange_packed.cuh"

#include <algorithm>

namespace quadrille::kernels::exchange {
namespace {

constexpr unsigned kThreads = 256, kMaxBlocks = 32;

#ifdef QUAD_KERNELS

template <class Does>
__global__ void __launch_bounds__(kThreads)
    exchange_packed_kernel(__grid_constant__ Problem const problem) {
  exchange_packed<Does>(problem, blockIdx.x, gridDim.x);
}

template <class Does>
void launch_as(Problem const& p, device::StreamView stream) {
  std::size_t most = 0;
  for (int r = 0; r < p.ranks; ++r) {
    Peer const& peer = p.peers[r];
    std::size_t const longest = std::max(peer.send_bytes, peer.receive_bytes);
    QUAD_REQUIRE(r == p.rank || longest <= p.sizes.packed_bytes,
                 "exchange/packed: a message is longer than a slot; use lanes");
    most = std::max(most, longest);
  }
  auto const blocks =
      static_cast<unsigned>((most + kThreads * kCellBytes - 1) / (kThreads * kCellBytes));
  QUAD_LAUNCH((exchange_packed_kernel<Does>), std::clamp(blocks, 1U, kMaxBlocks), kThreads, 0,
              stream, p);
}

#endif

}  // namespace

#ifdef QUAD_KERNELS

void launch_copy_packed(Problem const& problem, device::StreamView stream) {
  launch_as<Keep>(problem, stream);
}

void launch_combine_packed(Problem const& problem, core::DataType type, Combine op,
                           device::StreamView stream) {
  visit_combine(type, op,
                [&]<class T, Combine kOp>() { launch_as<Fold<T, kOp>>(problem, stream); });
}

#endif

}  // namespace quadrille::kernels::exchange
