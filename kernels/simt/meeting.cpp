// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
//
// Barriers and collectives: where threads of a block wait for each other.

#include "simt/engine.hpp"
#include "simt/race.hpp"
#include "simt/scheduler.hpp"
#include "simt/traffic.hpp"

#include <fmt/format.h>

#include <bit>

namespace quadrille::simt {
namespace {

/// Each phase of a barrier has a clock of its own.
void const* clock_of(Barrier const& barrier, unsigned phase) {
  return reinterpret_cast<char const*>(&barrier) + phase % 2;
}

/// What a thread at a barrier waits for.
struct Waiter {
  Votes votes{};
  bool some_left = false;
};

/// Calls function(lane) for every lane of the mask.
template <class Function>
void for_each_lane(unsigned mask, Function&& function) {
  for (; mask != 0; mask &= mask - 1) function(static_cast<unsigned>(std::countr_zero(mask)));
}

}  // namespace

Votes barrier(int id, unsigned threads, Place place, char const* what, bool predicate,
              bool arrive) {
  Thread& self = *current;
  Block& block = *self.block;
  if (id < 0 || id > 15) fail(fmt::format("{}: barrier {} of 0 to 15", what, id), place);
  bool const all = threads == 0;
  auto const block_threads = static_cast<unsigned>(block.threads.size());
  if (all) threads = block_threads;
  if (!all && (threads % 32 != 0 || threads > (block_threads + 31) / 32 * 32)) {
    fail(fmt::format("{}: {} threads are not a multiple of 32 within the block of {}", what,
                     threads, block_threads),
         place);
  }
  if (threads > block_threads) threads = block_threads;

  Barrier& b = block.barriers[id];
  if (b.arrived == 0) {
    b.place = place;
    b.expected = threads;
    b.count = 0;
    b.some_left = false;
  } else if (b.expected != threads) {
    fail(fmt::format("{}: {} threads at barrier {}, where others expect {} ({})", what, threads, id,
                     b.expected, text_of(b.place)),
         place);
  } else if (id == 0 && all && (b.place.line() != place.line())) {
    fail(fmt::format("divergent barrier: other threads of the block wait at {}", text_of(b.place)),
         place);
  }
  b.count += predicate ? 1 : 0;
  ++b.arrived;
  if (arrive) {
    b.some_left = true;
    race::release(clock_of(b, b.phase));
  }

  unsigned const phase = b.phase;
  Waiter waiter;
  if (!arrive) {
    wait_at(State::at_barrier, place, what);
    self.barrier_id = id;
    self.argument = &waiter;
  }
  if (b.arrived == threads) {
    Waiter const result{{b.count == static_cast<int>(threads), b.count > 0, b.count}, b.some_left};
    std::vector<Thread*> met;
    for (Thread& thread : block.threads) {
      if (thread.state != State::at_barrier || thread.barrier_id != id) continue;
      *static_cast<Waiter*>(thread.argument) = result;
      make_ready(thread);
      if (race::enabled()) met.push_back(&thread);
    }
    if (!met.empty()) race::join(met);
    if (threads == block.threads.size()) traffic::block_meets(block);
    b.arrived = 0;
    ++b.phase;
  }
  if (arrive) return {};
  block_self();
  if (waiter.some_left) race::acquire(clock_of(b, phase));
  return waiter.votes;
}

void warp_meet(unsigned mask, WarpFunction function, void* argument, Place place, char const* what,
               bool orders_memory) {
  Thread& self = *current;
  Warp& warp = *self.warp;
  if ((mask >> self.lane & 1) == 0) {
    fail(fmt::format("{}: lane {} calls and is not in its mask {:#010x}", what, self.lane, mask),
         place);
  }
  if (unsigned const gone = mask & ~warp.live; gone != 0) {
    fail(fmt::format("{}: mask {:#010x} names lanes that have exited or do not exist ({:#010x})",
                     what, mask, gone),
         place);
  }
  wait_at(State::at_meeting, place, what);
  self.mask = mask;
  self.argument = argument;
  self.operation = reinterpret_cast<void const*>(function);

  std::size_t i = 0;
  for (; i < warp.meetings.size(); ++i) {
    if ((warp.meetings[i].mask & mask) == 0) continue;
    // A collective in progress that shares lanes with this one must be this one.
    Thread const& other = *warp.threads[std::countr_zero(warp.meetings[i].arrived)];
    if (other.mask != mask || other.operation != self.operation) {
      fail(fmt::format("{} with mask {:#010x} meets lane {} in {} with mask {:#010x} ({})", what,
                       mask, other.lane, other.what, other.mask, text_of(other.place)),
           place);
    }
    break;
  }
  if (i == warp.meetings.size()) warp.meetings.push_back({mask, 0});
  unsigned const arrived = warp.meetings[i].arrived |= 1U << self.lane;
  if (arrived == mask) {
    warp.meetings[i] = warp.meetings.back();
    warp.meetings.pop_back();
    if (function != nullptr) {
      void* arguments[32];
      for_each_lane(mask, [&](unsigned lane) { arguments[lane] = warp.threads[lane]->argument; });
      function(arguments, mask);
    }
    if (orders_memory && race::enabled()) {
      std::vector<Thread*> met;
      for_each_lane(mask, [&](unsigned lane) { met.push_back(warp.threads[lane]); });
      race::join(met);
    }
    for_each_lane(mask, [&](unsigned lane) { make_ready(*warp.threads[lane]); });
  }
  block_self();
}

void group_meet(unsigned threads, void (*function)(std::span<void*> arguments), void* argument,
                Place place, char const* what) {
  Thread& self = *current;
  Block& block = *self.block;
  unsigned const first = self.linear / threads * threads;
  if (first + threads > block.threads.size()) {
    fail(fmt::format("{}: the last {} threads of the block are not complete", what, threads),
         place);
  }
  wait_at(State::at_meeting, place, what);
  self.mask = 0;
  self.argument = argument;
  self.operation = reinterpret_cast<void const*>(function);

  auto meeting = block.meetings.begin();
  while (meeting != block.meetings.end() && meeting->first != first) ++meeting;
  if (meeting == block.meetings.end()) {
    meeting = block.meetings.insert(meeting, {first, threads, 0});
  } else {
    // Those without a mask are here; others may still be at a collective of their warp.
    Thread const* other = &block.threads[first];
    while (other == &self || other->state != State::at_meeting || other->mask != 0) ++other;
    if (meeting->threads != threads || other->operation != self.operation) {
      fail(fmt::format("{} meets thread {} of the group in {} ({})", what, other->linear,
                       other->what, text_of(other->place)),
           place);
    }
  }
  if (++meeting->arrived == threads) {
    block.meetings.erase(meeting);
    std::vector<void*> arguments(threads);
    for (unsigned i = 0; i < threads; ++i) arguments[i] = block.threads[first + i].argument;
    if (function != nullptr) function(arguments);
    for (unsigned i = 0; i < threads; ++i) make_ready(block.threads[first + i]);
  }
  block_self();
}

}  // namespace quadrille::simt
