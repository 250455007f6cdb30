// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simt/engine.hpp"

#include <cstdint>

/// Models of mbarriers in common/ptx/barriers.cuh, and what models of asynchronous copies ask of
/// them. Named barriers are simt::barrier().
namespace quadrille::simt {

/// An mbarrier; shared memory that was never written is not a valid one.
struct alignas(8) MBarrier {
  std::uint16_t count;    ///< arrivals of a phase; 0xFFFF: not initialised
  std::uint16_t pending;  ///< arrivals that the current phase still needs
  std::int32_t state;     ///< twice the bytes still to come, plus the parity of the phase
};
static_assert(sizeof(MBarrier) == 8);

void mbarrier_init(MBarrier* barrier, unsigned count, Place place);
void mbarrier_inval(MBarrier* barrier, Place place);
void mbarrier_arrive(MBarrier* barrier, unsigned count, Place place);
/// Arrives at a random moment, when the thread's cp.async until now are complete; these are no longer
/// the thread's to wait for.
void mbarrier_arrive_after_copies(MBarrier* barrier, Place place);
void mbarrier_expect_tx(MBarrier* barrier, unsigned bytes, Place place);
bool mbarrier_test(MBarrier* barrier, unsigned parity, Place place);
/// `sees_cluster`: what other blocks of the cluster did before they arrived is visible afterwards.
void mbarrier_wait(MBarrier* barrier, unsigned parity, Place place, bool sees_cluster = false);
/// Arrives `count` times at the same barrier of block `rank` of the cluster.
void mbarrier_arrive_cluster(MBarrier* barrier, unsigned rank, unsigned count, Place place);
void fence_mbarrier_init();

/// A copy of `bytes` begins that will arrive at the barrier: its phase must not end before.
void mbarrier_expect_copy(MBarrier* barrier, unsigned bytes, char const* what, Place place);
/// The copy to `shared` is complete, and counts.
void mbarrier_complete_copy(MBarrier* barrier, void* shared, unsigned bytes, Place place);

}  // namespace quadrille::simt
