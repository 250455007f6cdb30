// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <vector_types.h>

/// An interpreter of CUDA's execution model: a block is a group of fibers on one operating system
/// thread, one fiber for each CUDA thread that waits. Kernels, compiled by g++, reach it through
/// cuda_language.hpp, ptx.cuh and hopper.cuh. Correctness only: it says nothing about speed.
namespace quadrille::simt {

using Place = std::source_location;

/// What the interpreter found wrong with a kernel: one line with kernel, block, thread, place.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Fiber;
struct Block;

/// A cp.async between its issue and its wait.
struct AsyncCopy {
  void* to;
  void const* from;
  unsigned copied;   ///< bytes read from `from`
  unsigned written;  ///< bytes of the target; the rest is zero
  unsigned group;
  bool read_early;  ///< the source was read at the issue, else it is at the wait
  unsigned char early[16];
  Place place;
};

enum class State : std::uint8_t { unstarted, ready, at_barrier, at_meeting, at_predicate, done };

/// One CUDA thread.
struct Thread {
  uint3 index{};
  unsigned linear = 0;  ///< in the block
  unsigned lane = 0;
  Block* block = nullptr;
  struct Warp* warp = nullptr;
  Fiber* fiber = nullptr;
  State state = State::unstarted;
  // Where and why it waits.
  Place place{};
  char const* what = "";
  int barrier_id = 0;
  unsigned mask = 0;
  void* argument = nullptr;
  void const* operation = nullptr;
  std::function<bool()> predicate;
  unsigned cluster_phases = 0;  ///< of the cluster's barrier that it has arrived at
  bool has_waited = false;      ///< for the kernels before this one, by griddepcontrol.wait
  // cp.async
  std::vector<AsyncCopy> copies;
  unsigned copy_group = 0;
};

struct Warp {
  Thread* threads[32] = {};
  unsigned live = 0;
  struct Meeting {
    unsigned mask, arrived;
  };
  std::vector<Meeting> meetings;
};

struct Barrier {
  unsigned arrived = 0, expected = 0;
  unsigned phase = 0;
  bool some_left = false;  ///< a thread of this phase arrived without waiting
  Place place{};
  int count = 0;  ///< predicates that hold
};

/// Threads [first, first + threads) of a block that wait for each other.
struct GroupMeeting {
  unsigned first, threads, arrived;
};

struct SharedVariable {
  void const* key;
  std::size_t offset, size;
  char const* name;
};

/// A bulk or tensor copy, or another operation of the asynchronous proxy, in flight. It completes
/// at a random moment (in fixed orders: when nothing else can run).
struct AsyncOperation {
  std::function<void()> complete;
};

/// Blocks that are resident together and reach each other's shared memory.
struct Cluster {
  std::vector<Block*> blocks{};  ///< by rank
  unsigned ended = 0;            ///< of these
  // The barrier of all threads.
  unsigned phase = 0;
  unsigned live = 0;     ///< threads that have not exited
  unsigned missing = 0;  ///< of these, those that have not arrived
};

struct Block {
  uint3 index{};
  unsigned linear = 0;  ///< in the grid
  unsigned rank = 0;    ///< in the cluster
  bool has_ended = false;
  std::shared_ptr<Cluster> cluster;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  unsigned done = 0;
  Barrier barriers[16];
  unsigned char* arena = nullptr;  ///< all shared memory; dynamic first
  std::size_t dynamic_bytes = 0, used = 0;
  std::vector<SharedVariable> variables;
  std::vector<AsyncOperation> operations;
  std::vector<GroupMeeting> meetings;
  /// Per-block state of host models (wgmma queues and the like), dropped with the block.
  std::vector<std::pair<void const*, std::shared_ptr<void>>> extras;
};

struct Launch {
  dim3 grid, block;
  std::size_t dynamic_bytes = 0;
  std::string kernel;
  dim3 cluster{};
  /// Kernels before it may still run: no thread may access device memory before it has waited.
  bool overlaps_previous = false;
};

/// The order in which threads run. Fixed orders each miss a class of missing barriers, so tests
/// run both and a few seeds.
struct Schedule {
  enum class Order { ascending, descending, random } order = Order::ascending;
  std::uint64_t seed = 0;
  /// Blocks that are resident, and so interleaved, at the same time. More are where those poll for
  /// what others have yet to do.
  unsigned resident_blocks = 1;
  /// Whether the race detector looks, which takes several times as long.
  bool finds_races = true;
  /// Blocks for which there is room, where another kernel takes the rest of the GPU.
  unsigned room = ~0U;
  std::string text() const;
};

/// What the interpreter's GPU has: so many blocks can be resident at once as fit these, whatever
/// the schedule asks for.
inline constexpr unsigned kMultiprocessors = 4;
inline constexpr unsigned kThreadsPerMultiprocessor = 2048;
inline constexpr std::size_t kDynamicSharedLimit = 227 * 1024;
inline constexpr std::size_t kStaticSharedLimit = 48 * 1024;

void set_schedule(Schedule const& schedule);
Schedule const& schedule();

/// The CUDA thread that runs now; nullptr on the host.
extern thread_local constinit Thread* current;
extern thread_local constinit Launch const* current_launch;

/// Ends the launch with an Error that names kernel, block, thread and place. Destroys no object of
/// the fibers.
[[noreturn]] void fail(std::string const& message, Place place = Place::current());

/// Runs `body` once for every thread of the grid. Throws Error. Launch limits (1024 threads, 227
/// KiB dynamic, 48 KiB static shared memory, grid extents) are checked.
void run_grid(Launch const& launch, std::function<void()> const& body);

/// Barrier `id` (0 to 15) of `threads` threads of the block, a multiple of 32; 0: all. `arrive`
/// does not wait (bar.arrive).
struct Votes {
  int all, any, count;
};
Votes barrier(int id, unsigned threads, Place place, char const* what, bool predicate = false,
              bool arrive = false);

/// All lanes of `mask` meet; the last to arrive runs function(arguments by lane, mask) once.
/// `orders_memory`: accesses before it are ordered before those after it, among the lanes.
using WarpFunction = void (*)(void** arguments, unsigned mask);
void warp_meet(unsigned mask, WarpFunction function, void* argument, Place place, char const* what,
               bool orders_memory);
/// `threads` consecutive threads of the block (a warpgroup) meet; arguments by thread.
void group_meet(unsigned threads, void (*function)(std::span<void*> arguments), void* argument,
                Place place, char const* what);
/// The thread waits until the predicate holds. Predicates are asked again when nothing else runs.
void wait_until(std::function<bool()> predicate, Place place, char const* what);
/// Lets others run: for polling loops. Threads that do nothing else for long are a hang.
void yield(Place place = Place::current());
/// A point at which random orders may let another thread run: before atomics and fences.
void preempt();

/// The shared variable of this block with this key, made at first use.
void* shared_variable(void const* key, std::size_t size, std::size_t alignment, char const* name);
void* dynamic_shared();
bool is_shared(void const* p);
/// Offset in the block's shared memory; anything else is an error.
std::size_t shared_offset(void const* p, Place place = Place::current());
/// Next number of the schedule's generator; 0 in fixed orders.
std::uint64_t random();

/// cp.async of `copied` bytes of `written` (the rest is zero). The target is NaN until the wait.
void async_copy(void* to, void const* from, unsigned copied, unsigned written, Place place);
void async_copy_commit();
/// Completes all but the `newest` youngest groups.
void async_copy_wait(unsigned newest);
/// Puts an operation of the asynchronous proxy in flight.
void start_async(std::function<void()> complete);

/// State of type T that lives as long as the block, one for each key.
template <class T>
T& block_state(void const* key) {
  for (auto& [k, value] : current->block->extras) {
    if (k == key) return *static_cast<T*>(value.get());
  }
  current->block->extras.emplace_back(key, std::make_shared<T>());
  return *static_cast<T*>(current->block->extras.back().second.get());
}

/// Device memory with guard zones, filled with 0xFF.
void* allocate(std::size_t bytes);
void release(void* memory);
/// Throws Error if a guard zone was written.
void check_guards(char const* when);
/// Where an address lies with respect to device memory.
struct Placement {
  enum class Kind { unknown, inside, guard } kind = Kind::unknown;
  unsigned char* begin = nullptr;  ///< of the buffer
  std::size_t size = 0;
};
Placement find_allocation(void const* p, std::size_t bytes);

/// "block (0,0,0) thread (3,0,0)"
std::string name_of(Thread const& thread);

template <class T, class Key>
T& shared_reference(char const* name) {
  static char const key = 0;
  return *static_cast<T*>(
      shared_variable(&key, sizeof(T), alignof(T) < 16 ? 16 : alignof(T), name));
}

}  // namespace quadrille::simt
