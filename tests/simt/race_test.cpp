// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "simt/race.hpp"

#include "simt/bulk_copies.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

// What instrumented files call at the start of the program. Here the threads of a launch are
// lambdas that say themselves what they access.
extern "C" void __tsan_init();

namespace quadrille::simt {
namespace {

constexpr unsigned kAll = 0xFFFFFFFF;

struct Shape {
  unsigned blocks = 1, threads = 64;
  bool overlaps_previous = false;
};

std::vector<Schedule> schedules() {
  std::vector<Schedule> all{{Schedule::Order::ascending, 0, 1},
                            {Schedule::Order::descending, 0, 1},
                            {Schedule::Order::ascending, 0, 4}};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    all.push_back({Schedule::Order::random, seed, 1 + static_cast<unsigned>(seed % 4)});
  }
  return all;
}

/// What each schedule finds; empty where it finds nothing. The host prepares each launch.
std::vector<std::string> findings(
    Shape shape, std::function<void()> const& body, std::function<void()> const& prepare = [] {}) {
  __tsan_init();
  std::vector<std::string> found;
  for (Schedule const& schedule : schedules()) {
    set_schedule(schedule);
    prepare();
    found.emplace_back();
    try {
      run_grid(
          {{shape.blocks, 1, 1}, {shape.threads, 1, 1}, 64, "kernel", {}, shape.overlaps_previous},
          body);
    } catch (Error const& error) {
      found.back() = error.what();
    }
  }
  return found;
}

void expect_found(
    char const* text, Shape shape, std::function<void()> const& body,
    std::function<void()> const& prepare = [] {}) {
  for (std::string const& found : findings(shape, body, prepare)) {
    EXPECT_NE(found.find(text), std::string::npos) << "found: '" << found << "'";
  }
}

void expect_nothing(Shape shape, std::function<void()> const& body) {
  for (std::string const& found : findings(shape, body)) EXPECT_EQ(found, "");
}

unsigned thread() { return current->linear; }
unsigned block() { return current->block->linear; }
float* tile() {
  static char const key = 0;
  return static_cast<float*>(shared_variable(&key, 1024 * sizeof(float), 16, "tile"));
}
void read(void const* p, std::size_t bytes = 4, Place place = Place::current()) {
  race::read(p, bytes, place);
}
void write(void const* p, std::size_t bytes = 4, Place place = Place::current()) {
  race::write(p, bytes, place);
}
void sync(Place place = Place::current()) { barrier(0, 0, place, "__syncthreads"); }
void sync_warp(unsigned mask = kAll, Place place = Place::current()) {
  warp_meet(mask, nullptr, nullptr, place, "__syncwarp", true);
}
void shuffle(Place place = Place::current()) {
  warp_meet(kAll, nullptr, nullptr, place, "__shfl_sync", false);
}

/// Device memory for the time of a test.
struct Memory {
  explicit Memory(std::size_t bytes) : p{static_cast<char*>(allocate(bytes))} {
    std::memset(p, 0, bytes);
  }
  Memory(Memory const&) = delete;
  Memory& operator=(Memory const&) = delete;
  ~Memory() { simt::release(p); }
  char* p;
};

TEST(Race, BarrierOrdersTheBlock) {
  auto const body = [](bool meet) {
    return [meet] {
      write(tile() + thread());
      if (meet) sync();
      read(tile() + (thread() + 33) % 64);
    };
  };

  expect_nothing({}, body(true));
  expect_found("race on shared 'tile'", {}, body(false));
}

TEST(Race, NamesBothAccesses) {
  expect_found("is not ordered after the load by thread (40,0,0) (race_test.cpp:", {}, [] {
    if (thread() == 40) read(tile() + 3);
    if (thread() == 40) sync_warp(1U << 8);
    while (thread() == 3 && current->block->threads[40].state != State::done) yield();
    if (thread() == 3) write(tile() + 3);
  });
}

TEST(Race, SecondBarrierOfALoopIsNeeded) {
  auto const body = [](bool second) {
    return [second] {
      for (int i = 0; i < 3; ++i) {
        if (thread() == 0) write(tile());
        sync();
        read(tile());
        if (second) sync();
      }
    };
  };

  expect_nothing({}, body(true));
  expect_found("race on shared 'tile' + 0", {}, body(false));
}

TEST(Race, WarpSynchronisationOrdersItsLanesOnly) {
  expect_nothing({}, [] {
    write(tile() + thread());
    sync_warp();
    read(tile() + (thread() ^ 1));
  });
  expect_found("race", {}, [] {
    write(tile() + thread());
    sync_warp();
    read(tile() + (thread() ^ 32));
  });
  expect_found("race", {}, [] {
    write(tile() + thread());
    sync_warp(thread() % 32 < 16 ? 0x0000FFFF : 0xFFFF0000);
    read(tile() + (thread() ^ 16));
  });
}

TEST(Race, ShufflesOrderNothing) {
  expect_found("race", {}, [] {
    write(tile() + thread());
    shuffle();
    read(tile() + (thread() ^ 1));
  });
}

TEST(Race, OrderIsTransitive) {
  // 0 to 1 in warp 0 by __syncwarp, on to everybody by the barrier of 64 of 96 threads.
  expect_nothing({1, 96}, [] {
    if (thread() == 0) write(tile());
    if (thread() < 32) sync_warp();
    if (thread() < 64) barrier(1, 64, Place::current(), "bar.sync");
    if (thread() >= 32 && thread() < 64) read(tile());
  });
  expect_found("race", {1, 96}, [] {
    if (thread() == 0) write(tile());
    if (thread() < 32) sync_warp();
    if (thread() < 64) barrier(1, 64, Place::current(), "bar.sync");
    if (thread() >= 32) read(tile());
  });
}

TEST(Race, NoReaderOfAnotherWarpIsForgotten) {
  // Only warps 0 and 1 have met before thread 0 writes; 2 to 7 have read as well.
  expect_found("race", {1, 256}, [] {
    read(tile(), 16);
    if (thread() < 64) barrier(1, 64, Place::current(), "bar.sync");
    if (thread() == 0) write(tile(), 16);
  });
}

TEST(Race, BytesOfAWordAreApart) {
  expect_nothing({}, [] {
    auto* const bytes = reinterpret_cast<char*>(tile());
    write(bytes + 2 * thread(), 2);
    sync();
    read(bytes + 2 * (63 - thread()), 2);
  });
  expect_found("race", {}, [] {
    auto* const bytes = reinterpret_cast<char*>(tile());
    if (thread() == 0) write(bytes + 1, 2);
    if (thread() == 1) write(bytes + 2, 2);
  });
}

TEST(Race, ArriveReleases) {
  // Warp 1 produces and goes on; warp 0 waits for it.
  auto const body = [](unsigned reader) {
    return [reader] {
      if (thread() >= 32 && thread() < 64) {
        write(tile() + thread() - 32);
        barrier(1, 64, Place::current(), "bar.arrive", false, true);
        write(tile() + 100 + thread());
      } else if (thread() < 32) {
        barrier(1, 64, Place::current(), "bar.sync");
      }
      if (thread() / 32 == reader) read(tile() + thread() % 32);
      if (reader == 3 && thread() < 32) read(tile() + 100 + 32 + thread());
    };
  };

  expect_nothing({1, 96}, body(0));
  expect_found("race", {1, 96}, body(2));
  expect_found("race", {1, 96}, body(3));
}

TEST(Race, CopyInFlightMustNotBeTouched) {
  alignas(16) static char source[16];
  expect_found("asynchronous copy that was not waited for", {1, 32}, [] {
    if (thread() != 0) return;
    async_copy(tile(), source, 16, 16, Place::current());
    async_copy_commit();
    read(tile());
    async_copy_wait(0);
  });
  expect_nothing({1, 32}, [] {
    if (thread() != 0) return;
    async_copy(tile(), source, 16, 16, Place::current());
    async_copy_commit();
    async_copy_wait(0);
    read(tile());
  });
}

TEST(Race, CopyIsWrittenByItsThreadAtTheWait) {
  alignas(16) static char source[16];
  auto const body = [](bool meet_after) {
    return [meet_after] {
      if (thread() == 0) async_copy(tile(), source, 16, 16, Place::current());
      async_copy_commit();
      if (!meet_after) sync();
      async_copy_wait(0);
      if (meet_after) sync();
      if (thread() == 1) read(tile());
    };
  };

  expect_nothing({}, body(true));
  for (std::string const& found : findings({}, body(false))) EXPECT_NE(found, "");
}

TEST(Race, CopyOverwritesWhatOthersRead) {
  alignas(16) static char source[16];
  expect_found("race on shared 'tile'", {}, [] {
    if (thread() == 63) read(tile());
    if (thread() == 63) sync_warp(1U << 31);
    while (thread() == 0 && current->block->threads[63].state != State::done) yield();
    if (thread() == 0) {
      async_copy(tile(), source, 16, 16, Place::current());
      async_copy_commit();
      async_copy_wait(0);
    }
  });
}

TEST(Race, BulkCopyIsSeenThroughItsKey) {
  static char const key = 0;
  auto const body = [](bool acquires, bool meet) {
    return [acquires, meet] {
      if (thread() == 0) {
        race::begin_async(tile(), 64, Place::current(), "bulk_load");
        race::end_async(tile(), 64, Place::current(), &key);
      }
      sync();
      if (acquires && thread() == 0) race::acquire(&key);
      if (meet) sync();
      read(tile() + (thread() == 0 ? 0 : 1));
    };
  };

  expect_nothing({}, body(true, true));
  expect_found("the store by a bulk copy", {}, body(false, true));
  expect_found("the store by a bulk copy", {}, body(true, false));
}

TEST(Race, BlocksOfALaunchAreNotOrdered) {
  Memory const memory{1024};

  expect_found("race on device buffer of 1024 bytes + 8", {3, 32}, [&] {
    if (thread() == 5) write(memory.p + 8, 8);
  });
  expect_found("race", {3, 32}, [&] {
    if (thread() == 0 && block() == 1) write(memory.p + 8, 8);
    if (thread() == 0 && block() != 1) read(memory.p + 12);
  });
  expect_nothing({3, 32}, [&] {
    read(memory.p);
    write(memory.p + 4 * (1 + thread() + 32 * block()));
  });
}

TEST(Race, LaunchesAreOrdered) {
  Memory const memory{1024};
  for (unsigned writer = 0; writer < 3; ++writer) {
    expect_nothing({3, 32}, [&] {
      if (thread() == 0 && block() == writer) write(memory.p);
    });
  }
}

TEST(Race, BuffersAtTheSameAddressAreTold) {
  for (std::size_t const bytes : {64U, 4096U, 128U}) {
    Memory const memory{bytes};
    expect_nothing({2, 8}, [&] { write(memory.p + bytes / 2 * block() + thread() * 4); });
  }
}

/// The last block to arrive reads what all have written.
std::function<void()> last_block(Memory const& memory, bool write_fence, bool read_fence) {
  return [&memory, write_fence, read_fence] {
    auto* const counter = reinterpret_cast<unsigned*>(memory.p + 512);
    bool* const last = reinterpret_cast<bool*>(tile());
    if (thread() == 7) write(memory.p + 4 * block());
    sync();
    if (thread() == 0) {
      if (write_fence) race::fence(true);
      race::atomic_access(counter, 4, true, Place::current());
      *last = ++*counter == 4;
      write(last, 1);
      if (read_fence) race::fence(true);
    }
    sync();
    read(last, 1);
    if (!*last) return;
    if (thread() < 4) read(memory.p + 4 * thread());
    if (thread() == 31) *counter = 0;
    if (thread() == 31) write(counter);
  };
}

TEST(Race, LastBlockSeesWhatOthersDidBeforeTheirFence) {
  Memory const memory{1024};

  expect_nothing({4, 32}, last_block(memory, true, true));
}

TEST(Race, LastBlockNeedsBothFences) {
  Memory const memory{1024};
  auto const reset = [&] { std::memset(memory.p, 0, 1024); };

  expect_found("race on device buffer of 1024", {4, 32}, last_block(memory, false, true), reset);
  expect_found("race on device buffer of 1024", {4, 32}, last_block(memory, true, false), reset);
}

TEST(Race, AtomicsRaceWithPlainAccessesOnly) {
  Memory const memory{64};

  expect_nothing({4, 32}, [&] { race::atomic_access(memory.p, 4, true, Place::current()); });
  expect_nothing({4, 32}, [&] {
    read(memory.p);
    race::atomic_access(memory.p, 4, false, Place::current());
  });
  expect_found("race", {4, 32}, [&] {
    if (block() == 2) {
      read(memory.p);
    } else {
      race::atomic_access(memory.p, 4, true, Place::current());
    }
  });
}

TEST(Race, ReleaseAndAcquireOrderThroughAWord) {
  Memory const memory{64};
  // Blocks take turns: each waits for its number.
  auto const body = [&memory](bool acquires) {
    return [&memory, acquires] {
      auto* const turn = reinterpret_cast<unsigned*>(memory.p);
      if (thread() != 0) return;
      while (*turn != block()) yield();
      if (acquires) race::acquire(turn);
      write(memory.p + 8);
      race::release(turn);
      *turn = *turn + 1 == 4 ? 0 : *turn + 1;
    };
  };

  auto const reset = [&] { std::memset(memory.p, 0, 64); };

  expect_nothing({4, 32}, body(true));
  expect_found("race on device buffer of 64 bytes + 8", {4, 32}, body(false), reset);
}

TEST(Race, OverlappingLaunchWaitsBeforeItAccessesDeviceMemory) {
  Memory const memory{64};
  std::function<void()> const accesses[] = {
      [&] { read(memory.p + 16); }, [&] { write(memory.p + 16); },
      [&] { race::atomic_access(memory.p + 16, 4, true, Place::current()); },
      [&] {
        async_copy(tile() + 512, memory.p + 16, 16, 16, Place::current());
        async_copy_commit();
        async_copy_wait(0);
      },
      [&] {
        bulk_reduce_add_f32(reinterpret_cast<float*>(memory.p + 16), tile(), 16, Place::current());
        bulk_commit();
        bulk_wait(0);
      }};
  for (auto const& access : accesses) {
    // The last thread of the last block, and only that, is late.
    auto const body = [&](bool waits) {
      return [&, waits] {
        bool const is_last = block() == 1 && thread() == 31;
        read(tile() + thread());
        if (waits || !is_last) current->has_waited = true;
        if (is_last) access();
      };
    };

    expect_nothing({2, 32, true}, body(true));
    expect_nothing({2, 32, false}, body(false));
    expect_found("device buffer of 64 bytes + 16 before griddepcontrol_wait()", {2, 32, true},
                 body(false));
  }
}

TEST(Race, OutOfBoundsOfABuffer) {
  Memory const memory{100};

  expect_found("out of bounds: load of 4 bytes, 4 bytes past the end of a device buffer of 100", {},
               [&] { read(memory.p + 100); });
  expect_found("out of bounds: store of 8 bytes, 4 bytes past the end of a device buffer of 100",
               {}, [&] { write(memory.p + 96, 8); });
  expect_found("out of bounds: store of 4 bytes, 4 bytes before a device buffer of 100", {},
               [&] { write(memory.p - 4); });
}

TEST(Race, OutOfBoundsOfSharedMemory) {
  expect_found("4 bytes past the end of shared 'tile'", {}, [] { read(tile() + 1024); });
  expect_found("out of bounds: store of 16 bytes, 8 bytes past the end of dynamic shared memory",
               {}, [] { write(static_cast<char*>(dynamic_shared()) + 56, 16); });
  expect_nothing({}, [] { read(static_cast<char*>(dynamic_shared()) + 48, 16); });
}

TEST(Race, HostDataIsNotTracked) {
  static int data[64];
  expect_nothing({2, 64}, [] { write(data, sizeof data); });
}

}  // namespace
}  // namespace quadrille::simt
