// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "simt/barriers.hpp"

#include "simt/clusters.hpp"
#include "simt/race.hpp"
#include "simt/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace quadrille::simt {
namespace {

constexpr std::uint16_t kNotInitialised = 0xFFFF;
constexpr int kMaxBytesOfPhase = (1 << 20) - 1;

/// What the block must know about its barriers beyond their 8 bytes.
struct Barriers {
  std::map<MBarrier const*, unsigned> bytes_in_flight;
  std::vector<std::pair<MBarrier const*, unsigned>> not_fenced;  ///< and who initialised them
};
Barriers& barriers() {
  static char const key = 0;
  return block_state<Barriers>(&key);
}

unsigned parity_of(MBarrier const& barrier) { return static_cast<unsigned>(barrier.state) & 1; }
int bytes_of(MBarrier const& barrier) { return barrier.state >> 1; }

/// Each parity has a clock of its own, so that a phase does not order what a later one does.
void const* clock_of(MBarrier const* barrier, unsigned parity) {
  return reinterpret_cast<char const*>(barrier) + 4 * parity;
}

void check(MBarrier const* barrier, Place place) {
  if (shared_offset(barrier, place) % 8 != 0) fail("mbarrier: not aligned to 8 bytes", place);
  if (barrier->count == kNotInitialised) fail("mbarrier: used before mbarrier_init()", place);
}

void end_phase_if_complete(MBarrier& barrier, Place place) {
  if (barrier.pending != 0) return;
  if (bytes_of(barrier) < 0) {
    fail(fmt::format("mbarrier: all have arrived and {} more bytes have come than expected; "
                     "mbarrier_arrive_expect_tx() is missing or expects too few",
                     -bytes_of(barrier)),
         place);
  }
  if (bytes_of(barrier) > 0) return;
  if (unsigned const bytes = barriers().bytes_in_flight[&barrier]; bytes > 0) {
    fail(fmt::format("mbarrier: the phase ends while copies of {} bytes are in flight; "
                     "mbarrier_arrive_expect_tx() is missing or expects too few",
                     bytes),
         place);
  }
  barrier.state ^= 1;
  barrier.pending = barrier.count;
}

}  // namespace

void mbarrier_init(MBarrier* barrier, unsigned count, Place place) {
  if (shared_offset(barrier, place) % 8 != 0) fail("mbarrier: not aligned to 8 bytes", place);
  if (count == 0 || count >= kNotInitialised) {
    fail(fmt::format("mbarrier_init: {} arrivals; 1 to 65534 are allowed here", count), place);
  }
  race::write(barrier, sizeof(*barrier), place);
  auto const n = static_cast<std::uint16_t>(count);
  *barrier = {n, n, 0};
  barriers().not_fenced.emplace_back(barrier, current->linear);
}

void mbarrier_inval(MBarrier* barrier, Place place) {
  check(barrier, place);
  race::write(barrier, sizeof(*barrier), place);
  barrier->count = kNotInitialised;
}

void fence_mbarrier_init() {
  std::erase_if(barriers().not_fenced,
                [](auto const& entry) { return entry.second == current->linear; });
}

namespace {

void count_arrivals(MBarrier& barrier, unsigned count, Place place) {
  if (count == 0 || count > barrier.pending) {
    fail(fmt::format("mbarrier_arrive: {} arrivals where the phase needs {} of {} more", count,
                     barrier.pending, barrier.count),
         place);
  }
  barrier.pending = static_cast<std::uint16_t>(barrier.pending - count);
  end_phase_if_complete(barrier, place);
}

}  // namespace

void mbarrier_arrive(MBarrier* barrier, unsigned count, Place place) {
  preempt();
  check(barrier, place);
  race::atomic_access(barrier, sizeof(*barrier), true, place);
  race::release(clock_of(barrier, parity_of(*barrier)));
  count_arrivals(*barrier, count, place);
}

void mbarrier_arrive_cluster(MBarrier* barrier, unsigned rank, unsigned count, Place place) {
  preempt();
  Block& block = block_of_cluster(rank, "mbarrier_arrive_cluster", place);
  auto* const there = static_cast<MBarrier*>(cluster_map(barrier, rank, place));
  race::atomic_access(there, sizeof(*there), true, place);
  race::release_in_cluster(clock_of(there, parity_of(*there)));
  OnBehalfOf const owner{&block.threads[0]};
  check(there, place);
  count_arrivals(*there, count, place);
}

void mbarrier_arrive_after_copies(MBarrier* barrier, Place place) {
  check(barrier, place);
  race::atomic_access(barrier, sizeof(*barrier), true, place);
  start_async([=, issuer = current, copies = std::exchange(current->copies, {})] {
    OnBehalfOf const thread{issuer};
    check(barrier, place);
    for (AsyncCopy const& copy : copies) {
      race::end_async(copy.to, copy.written, copy.place, clock_of(barrier, parity_of(*barrier)));
      complete_copy(copy);
    }
    count_arrivals(*barrier, 1, place);
  });
}

void mbarrier_expect_tx(MBarrier* barrier, unsigned bytes, Place place) {
  check(barrier, place);
  race::atomic_access(barrier, sizeof(*barrier), true, place);
  if (bytes > kMaxBytesOfPhase || bytes_of(*barrier) + static_cast<int>(bytes) > kMaxBytesOfPhase) {
    fail("mbarrier: a phase can expect at most 2^20 - 1 bytes", place);
  }
  barrier->state += 2 * static_cast<int>(bytes);
}

bool mbarrier_test(MBarrier* barrier, unsigned parity, Place place) {
  check(barrier, place);
  race::atomic_access(barrier, sizeof(*barrier), false, place);
  if (parity_of(*barrier) == parity) {
    yield(place);
    if (parity_of(*barrier) == parity) return false;
  }
  race::acquire(clock_of(barrier, parity));
  return true;
}

void mbarrier_wait(MBarrier* barrier, unsigned parity, Place place, bool sees_cluster) {
  check(barrier, place);
  race::atomic_access(barrier, sizeof(*barrier), false, place);
  if (parity > 1) fail("mbarrier_wait: the parity is 0 or 1", place);
  wait_until([=] { return parity_of(*barrier) != parity; }, place, "mbarrier_wait");
  race::acquire(clock_of(barrier, parity));
  if (sees_cluster) race::acquire_in_cluster(clock_of(barrier, parity));
}

void mbarrier_expect_copy(MBarrier* barrier, unsigned bytes, char const* what, Place place) {
  check(barrier, place);
  auto const& not_fenced = barriers().not_fenced;
  if (std::any_of(not_fenced.begin(), not_fenced.end(),
                  [&](auto const& entry) { return entry.first == barrier; })) {
    fail(fmt::format("{}: who initialised the mbarrier did not call fence_mbarrier_init()", what),
         place);
  }
  barriers().bytes_in_flight[barrier] += bytes;
}

void mbarrier_complete_copy(MBarrier* barrier, void* shared, unsigned bytes, Place place) {
  check(barrier, place);
  race::end_async(shared, bytes, place, clock_of(barrier, parity_of(*barrier)));
  barriers().bytes_in_flight[barrier] -= bytes;
  barrier->state -= 2 * static_cast<int>(bytes);
  end_phase_if_complete(*barrier, place);
}

}  // namespace quadrille::simt
