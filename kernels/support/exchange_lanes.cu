// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Exchange of messages of any length through slots, in lanes side by side.
///
///   receive[r] = what rank r sends, or out = what all ranks send, combined in the order of ranks
///
/// Technique    each lane is a block that sends and one that receives, with slots of their own in
///              the receiver's memory. The sender writes a step of the message into a slot by
///              accesses of 16 bytes and sets a word behind it; the receiver waits for the word,
///              copies or combines the step and sets a word at the sender, which waits for that
///              before it fills the slot again. Lanes know nothing of each other: enough of them
///              fill the link. All lanes take as many steps, so that one number counts those of
///              all. Step s of any rank waits for steps s - kSlots of others at most, hence none
///              waits in a circle; and a block waits for none of a higher number of its own grid.
///              Steps and words are those of the protocol Simple of NVIDIA/nccl
/// Shapes       pieces of any length, alignment and number of ranks up to 8; out may be one of the
///              pieces sent, where that is as long as out; bytes, or where combined f64, f32, i64,
///              i32, i8
/// Work         a byte over the link for each sent; 2 more of the receiver's memory
/// Launch       512 threads, two blocks for each lane, which fit on a multiprocessor together; all
///              blocks are resident together
/// Accuracy     one rounding for each rank in the order of ranks, the same bits on all; minimum and
///              maximum keep a NaN
#include "support/exchange_lanes.cuh"

namespace quadrille::kernels::exchange {
namespace {

constexpr unsigned kThreads = 512;

#ifdef QUAD_KERNELS

template <class Does>
__global__ void __launch_bounds__(kThreads, 2)
    exchange_lanes_kernel(__grid_constant__ Problem const problem) {
  exchange_lanes<Does>(problem, blockIdx.x);
}

template <class Does>
void launch_as(Problem const& p, device::StreamView stream) {
  QUAD_LAUNCH((exchange_lanes_kernel<Does>), 2 * static_cast<unsigned>(p.sizes.lanes), kThreads, 0,
              stream, p);
}

#endif

}  // namespace

#ifdef QUAD_KERNELS

void launch_copy_lanes(Problem const& problem, device::StreamView stream) {
  launch_as<Keep>(problem, stream);
}

void launch_combine_lanes(Problem const& problem, core::DataType type, Combine op,
                          device::StreamView stream) {
  visit_combine(type, op,
                [&]<class T, Combine kOp>() { launch_as<Fold<T, kOp>>(problem, stream); });
}

#endif

}  // namespace quadrille::kernels::exchange
