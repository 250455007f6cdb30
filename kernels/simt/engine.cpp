// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "simt/engine.hpp"

#include "simt/race.hpp"
#include "simt/recorded_launches.hpp"
#include "simt/scheduler.hpp"
#include "simt/traffic.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <cstdlib>
#include <map>
#include <new>

namespace quadrille::simt {

/// A stack. A thread takes one when it starts; a thread that ends hands its own to the next one
/// that starts, so that a kernel without barriers never switches.
struct Fiber {
  boost::context::detail::fcontext_t context = nullptr;
  unsigned char* stack = nullptr;  ///< lowest address; a guard page lies below
  std::size_t stack_bytes = 0;
  std::size_t number = 0;
  Thread* thread = nullptr;
};

thread_local constinit Thread* current = nullptr;
thread_local constinit Launch const* current_launch = nullptr;

namespace {

// Pages of a stack that are not touched cost nothing.
constexpr std::size_t kStackBytes = 256 * 1024;
constexpr std::size_t kStackColours = 61;
constexpr std::size_t kStackColourBytes = 64;
// Rounds in which every thread that polls polls once, and nothing else happens.
constexpr unsigned kRoundsBeforeMoreBlocks = 4;
constexpr unsigned kRoundsBeforeHang = 10'000;

struct Engine {
  Schedule schedule;
  std::uint64_t generator = 1;

  Fiber host;  ///< the stack of run_grid's caller
  Fiber* running = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber*> idle;

  std::vector<Launch>* recorded = nullptr;  ///< where launches go that are not to run
  std::function<void()> const* body = nullptr;
  std::vector<unsigned> order;                             ///< of clusters, in random schedules
  unsigned clusters = 0, started = 0, resident_limit = 1;  // blocks without a cluster are one each
  std::vector<std::unique_ptr<Block>> pool;
  std::vector<Block*> resident, free;

  std::vector<Thread*> ready;
  std::size_t head = 0;          ///< in ascending order, `ready` is a queue that starts here
  std::vector<Thread*> waiting;  ///< for predicates
  std::vector<Thread*> polling;  ///< have yielded
  unsigned idle_rounds = 0;
  std::string error;

  ~Engine() {
    for (auto const& block : pool) free_shared_memory(*block);
    for (auto const& fiber : fibers) munmap(fiber->stack - page(), fiber->stack_bytes + page());
  }
  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
  bool random_order() const { return schedule.order == Schedule::Order::random; }
};

Engine engine;

std::uint64_t next_random() {
  std::uint64_t& x = engine.generator;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return x * 0x2545F4914F6CDD1DULL;
}

/// Uniform in [0, n).
std::size_t pick_below(std::size_t n) {
  return static_cast<std::size_t>((next_random() >> 32) * n >> 32);
}

void switch_to(Fiber& to) {
  Fiber& from = *engine.running;
  engine.running = &to;
  auto const arrived = boost::context::detail::jump_fcontext(to.context, &from);
  static_cast<Fiber*>(arrived.data)->context = arrived.fctx;
}

/// Back to run_grid, for good.
[[noreturn]] void stop(std::string error) {
  engine.error = std::move(error);
  switch_to(engine.host);
  std::abort();  // stacks of a launch that has ended are never resumed
}

unsigned count(dim3 const& extents) { return extents.x * extents.y * extents.z; }
uint3 place_in(dim3 const& extents, unsigned linear) {
  return {linear % extents.x, linear / extents.x % extents.y, linear / extents.x / extents.y};
}

void reset(Block& block, unsigned number_of_cluster, unsigned rank) {
  Launch const& launch = *current_launch;
  auto const& [gx, gy, gz] = launch.grid;
  auto const& [cx, cy, cz] = launch.cluster;
  unsigned const n = count(launch.block);
  uint3 const cluster = place_in({gx / cx, gy / cy, gz / cz}, number_of_cluster);
  uint3 const inside = place_in(launch.cluster, rank);
  block.index = {cluster.x * cx + inside.x, cluster.y * cy + inside.y, cluster.z * cz + inside.z};
  block.linear = (block.index.z * gy + block.index.y) * gx + block.index.x;
  block.rank = rank;
  block.has_ended = false;
  block.done = 0;
  if (block.threads.size() != n) {
    block.threads = std::vector<Thread>(n);
    block.warps = std::vector<Warp>((n + 31) / 32);
  }
  for (Barrier& barrier : block.barriers) barrier = {};
  block.operations.clear();
  block.meetings.clear();
  block.extras.clear();
  for (unsigned i = 0; i < n; ++i) {
    Thread& thread = block.threads[i];
    thread.index = {i % launch.block.x, i / launch.block.x % launch.block.y,
                    i / launch.block.x / launch.block.y};
    thread.linear = i;
    thread.lane = i % 32;
    thread.block = &block;
    thread.warp = &block.warps[i / 32];
    thread.warp->threads[thread.lane] = &thread;
    thread.fiber = nullptr;
    thread.state = State::unstarted;
    thread.what = "";
    thread.cluster_phases = 0;
    thread.has_waited = false;
    thread.copies.clear();
    thread.copy_group = 0;
  }
  for (std::size_t i = 0; i < block.warps.size(); ++i) {
    auto const lanes = std::min<std::size_t>(32, n - 32 * i);
    block.warps[i].live = lanes == 32 ? ~0U : (1U << lanes) - 1;
    block.warps[i].meetings.clear();
  }
  poison_shared_memory(block);
}

bool start_cluster() {
  Engine& e = engine;
  unsigned const blocks = count(current_launch->cluster);
  if (e.started == e.clusters || e.resident.size() + blocks > e.resident_limit) return false;
  unsigned number = e.started++;
  if (e.schedule.order == Schedule::Order::descending) number = e.clusters - 1 - number;
  if (e.random_order()) number = e.order[number];
  auto const cluster = std::make_shared<Cluster>();
  cluster->live = cluster->missing = blocks * count(current_launch->block);
  for (unsigned rank = 0; rank < blocks; ++rank) {
    if (e.free.empty()) {
      e.pool.push_back(std::make_unique<Block>());
      e.free.push_back(e.pool.back().get());
    }
    Block& block = *e.free.back();
    e.free.pop_back();
    e.resident.push_back(&block);
    reset(block, number, rank);
    block.cluster = cluster;
    cluster->blocks.push_back(&block);
    race::block_begins(block);
    for (Thread& thread : block.threads) e.ready.push_back(&thread);
  }
  return true;
}

void finish_block(Block& block) {
  Engine& e = engine;
  while (!block.operations.empty()) {
    auto const operation = std::move(block.operations.back());
    block.operations.pop_back();
    operation.complete();
  }
  check_shared_guards(block);
  traffic::block_meets(block);
  e.resident.erase(std::find(e.resident.begin(), e.resident.end(), &block));
  block.has_ended = true;
  // Others of the cluster may still reach for it, which is an error that is to be found.
  auto const cluster = block.cluster;
  if (++cluster->ended < cluster->blocks.size()) return;
  race::blocks_end(cluster->blocks);
  for (Block* const each : cluster->blocks) {
    each->cluster.reset();
    e.free.push_back(each);
  }
  if (e.resident.size() < e.schedule.resident_blocks) start_cluster();
}

/// Completes one asynchronous operation of some block.
bool complete_operation() {
  std::size_t const blocks = engine.resident.size();
  std::size_t const first = engine.random_order() ? pick_below(blocks) : 0;
  for (std::size_t i = 0; i < blocks; ++i) {
    auto& operations = engine.resident[(first + i) % blocks]->operations;
    if (operations.empty()) continue;
    std::size_t which = 0;
    if (engine.schedule.order == Schedule::Order::descending) which = operations.size() - 1;
    if (engine.random_order()) which = pick_below(operations.size());
    auto const operation = std::move(operations[which]);
    operations.erase(operations.begin() + static_cast<std::ptrdiff_t>(which));
    operation.complete();
    return true;
  }
  return false;
}

/// Makes the threads ready whose predicates hold by now.
bool ask_predicates() {
  bool any = false;
  std::erase_if(engine.waiting, [&](Thread* thread) {
    if (!thread->predicate()) return false;
    make_ready(*thread);
    return any = true;
  });
  return any;
}

std::string hang_text() {
  struct Group {
    unsigned threads = 0;
    Thread const* first = nullptr;
  };
  std::map<std::string, Group> groups;
  for (Block const* block : engine.resident) {
    for (Thread const& thread : block->threads) {
      std::string where = "have exited";
      if (thread.state != State::done) {
        where = fmt::format("wait in {} ({})", thread.what, text_of(thread.place));
        if (thread.state == State::at_meeting && thread.mask != 0) {
          where += fmt::format(" with mask {:#010x}", thread.mask);
        }
      }
      Group& group = groups[where];
      if (group.threads++ == 0) group.first = &thread;
    }
  }
  std::string text = fmt::format("{}: hang, no thread can go on:", current_launch->kernel);
  for (auto const& [where, group] : groups) {
    text += fmt::format(" {} {} (first: {});", group.threads, where, name_of(*group.first));
  }
  if (engine.started < engine.clusters) {
    text += fmt::format(" {} blocks have not started, {} are resident;",
                        (engine.clusters - engine.started) * count(current_launch->cluster),
                        engine.resident.size());
  }
  text.pop_back();
  return text;
}

/// The next thread to run; nullptr when all have ended.
Thread* pick() {
  Engine& e = engine;
  for (;;) {
    if (e.random_order() && next_random() % 64 == 0) {
      if (next_random() % 2 == 0) {
        complete_operation();
      } else {
        ask_predicates();
      }
    }
    if (e.head < e.ready.size()) break;
    if (ask_predicates() || complete_operation()) {
      e.idle_rounds = 0;
      continue;
    }
    if (!e.polling.empty()) {
      ++e.idle_rounds;
      if (e.idle_rounds % kRoundsBeforeMoreBlocks == 0 && start_cluster()) e.idle_rounds = 0;
      if (e.idle_rounds == kRoundsBeforeHang) stop(hang_text());
      e.ready.insert(e.ready.end(), e.polling.begin(), e.polling.end());
      e.polling.clear();
      continue;
    }
    if (start_cluster()) continue;
    if (!e.resident.empty()) stop(hang_text());
    return nullptr;
  }
  Thread* thread = nullptr;
  switch (e.schedule.order) {
    case Schedule::Order::ascending:
      thread = e.ready[e.head++];
      if (e.head == e.ready.size()) {
        e.ready.clear();
        e.head = 0;
      } else if (e.head > 4096 && e.head > e.ready.size() / 2) {
        e.ready.erase(e.ready.begin(), e.ready.begin() + static_cast<std::ptrdiff_t>(e.head));
        e.head = 0;
      }
      break;
    case Schedule::Order::descending:
      thread = e.ready.back();
      e.ready.pop_back();
      break;
    case Schedule::Order::random: {
      std::size_t const i = pick_below(e.ready.size());
      thread = e.ready[i];
      e.ready[i] = e.ready.back();
      e.ready.pop_back();
      break;
    }
  }
  return thread;
}

void finish(Thread& thread) {
  if (!thread.copies.empty()) {
    fail("the thread ends while a cp.async of its is in flight; wait for it",
         thread.copies.front().place);
  }
  engine.idle_rounds = 0;
  thread.state = State::done;
  thread.warp->live &= ~(1U << thread.lane);
  leave_cluster(thread);
  Block& block = *thread.block;
  if (++block.done == block.threads.size()) finish_block(block);
}

/// What a fiber does all its life: run threads.
void fiber_main(boost::context::detail::transfer_t arrived) {
  Fiber* const from = static_cast<Fiber*>(arrived.data);
  from->context = arrived.fctx;
  Fiber& self = *engine.running;
  for (;;) {
    Thread& thread = *self.thread;
    thread.fiber = &self;
    thread.state = State::ready;
    current = &thread;
    (*engine.body)();
    finish(thread);
    Thread* const next = pick();
    if (next != nullptr && next->state == State::unstarted) {
      self.thread = next;
      continue;
    }
    engine.idle.push_back(&self);
    switch_to(next != nullptr ? *next->fiber : engine.host);
  }
}

Fiber& take_fiber() {
  if (engine.idle.empty()) {
    std::size_t const page = Engine::page();
    void* const memory = mmap(nullptr, kStackBytes + page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0) throw std::bad_alloc{};
    auto fiber = std::make_unique<Fiber>();
    fiber->stack = static_cast<unsigned char*>(memory) + page;
    fiber->stack_bytes = kStackBytes;
    fiber->number = engine.fibers.size();
    engine.idle.push_back(fiber.get());
    engine.fibers.push_back(std::move(fiber));
  }
  Fiber& fiber = *engine.idle.back();
  engine.idle.pop_back();
  if (fiber.context == nullptr) {
    // Stacks that all begin at the same offset in a page would meet in the same cache sets.
    unsigned char* const top =
        fiber.stack + fiber.stack_bytes - fiber.number % kStackColours * kStackColourBytes;
    fiber.context = boost::context::detail::make_fcontext(
        top, static_cast<std::size_t>(top - fiber.stack), fiber_main);
  }
  return fiber;
}

void resume(Thread& thread) {
  if (thread.state == State::unstarted) {
    Fiber& fiber = take_fiber();
    fiber.thread = &thread;
    switch_to(fiber);
  } else {
    switch_to(*thread.fiber);
  }
}

std::string limits_error(Launch const& launch) {
  auto const [bx, by, bz] = launch.block;
  auto const [gx, gy, gz] = launch.grid;
  if (bx == 0 || by == 0 || bz == 0 || bx > 1024 || by > 1024 || bz > 64 ||
      std::uint64_t{bx} * by * bz > 1024) {
    return fmt::format("a block of {} x {} x {} threads; 1 to 1024 are allowed, 64 in z", bx, by,
                       bz);
  }
  if (gx == 0 || gy == 0 || gz == 0 || gx > 0x7FFFFFFF || gy > 65535 || gz > 65535) {
    return fmt::format("a grid of {} x {} x {} blocks; 1 to 2147483647 x 65535 x 65535 are allowed",
                       gx, gy, gz);
  }
  if (std::uint64_t{gx} * gy * gz > 0xFFFFFFFF) return "a grid too large for the interpreter";
  if (launch.dynamic_bytes > kDynamicSharedLimit) {
    return fmt::format("{} bytes of dynamic shared memory; at most {} are allowed",
                       launch.dynamic_bytes, kDynamicSharedLimit);
  }
  return "";
}

unsigned count_resident(Launch const& launch) {
  unsigned const threads = (launch.block.x * launch.block.y * launch.block.z + 31) / 32 * 32;
  std::size_t const shared = launch.dynamic_bytes + 1024;  // as much is the system's
  std::size_t const blocks = std::min<std::size_t>(
      {32, kThreadsPerMultiprocessor / threads, (kDynamicSharedLimit + 1024) / shared});
  return static_cast<unsigned>(kMultiprocessors * blocks);
}

/// After an error nobody resumes the stacks that are left.
void abandon() {
  Engine& e = engine;
  for (auto const& block : e.pool) free_shared_memory(*block);
  e.pool.clear();
  e.free.clear();
  e.resident.clear();
  e.idle.clear();
  for (auto const& fiber : e.fibers) {
    fiber->context = nullptr;
    e.idle.push_back(fiber.get());
  }
}

}  // namespace

std::string Schedule::text() const {
  std::string text = order == Order::ascending    ? "ascending order"
                     : order == Order::descending ? "descending order"
                                                  : fmt::format("seed {}", seed);
  if (resident_blocks > 1) text += fmt::format(", {} resident blocks", resident_blocks);
  return text;
}

void set_schedule(Schedule const& schedule) {
  engine.schedule = schedule;
  engine.generator = (schedule.seed + 1) * 0x9E3779B97F4A7C15ULL;
  for (int i = 0; i < 8; ++i) next_random();
}
Schedule const& schedule() { return engine.schedule; }
std::uint64_t random() { return engine.random_order() ? next_random() : 0; }

std::string text_of(Place place) {
  std::string const file = place.file_name();
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), place.line());
}

std::string name_of(Thread const& thread) {
  uint3 const& b = thread.block->index;
  uint3 const& t = thread.index;
  return fmt::format("block ({},{},{}) thread ({},{},{})", b.x, b.y, b.z, t.x, t.y, t.z);
}

void fail(std::string const& message, Place place) {
  std::string const kernel = current_launch != nullptr ? current_launch->kernel : "host";
  if (current == nullptr) throw Error{fmt::format("{}: {} ({})", kernel, message, text_of(place))};
  stop(fmt::format("{}, {}: {} ({})", kernel, name_of(*current), message, text_of(place)));
}

void make_ready(Thread& thread) {
  thread.state = State::ready;
  engine.ready.push_back(&thread);
}

void wait_at(State state, Place place, char const* what) {
  current->state = state;
  current->place = place;
  current->what = what;
}

void block_self() {
  Thread* const self = current;
  Thread* const next = pick();
  if (next == self) return;
  resume(*next);
  current = self;
}

void wait_until(std::function<bool()> predicate, Place place, char const* what) {
  preempt();
  if (predicate()) return;
  engine.idle_rounds = 0;
  wait_at(State::at_predicate, place, what);
  current->predicate = std::move(predicate);
  engine.waiting.push_back(current);
  block_self();
  current->predicate = nullptr;
}

void yield(Place place) {
  wait_at(State::ready, place, "a polling loop");
  engine.polling.push_back(current);
  block_self();
}

void preempt() {
  if (current == nullptr || !engine.random_order() || next_random() % 8 != 0) return;
  make_ready(*current);
  block_self();
}

void start_async(std::function<void()> complete) {
  current->block->operations.push_back({std::move(complete)});
}

void run_grid(Launch const& launch, std::function<void()> const& body) {
  if (current_launch != nullptr) throw Error{"a kernel launches a kernel"};
  if (std::string const error = limits_error(launch); !error.empty()) {
    throw Error{fmt::format("{}: {}", launch.kernel, error)};
  }
  Engine& e = engine;
  if (e.recorded != nullptr) {
    e.recorded->push_back(launch);
    return;
  }
  current_launch = &launch;
  e.body = &body;
  e.clusters = count(launch.grid) / count(launch.cluster);
  e.started = e.idle_rounds = 0;
  e.resident_limit =
      std::max(std::min(count_resident(launch), e.schedule.room), count(launch.cluster));
  e.ready.clear();
  e.head = 0;
  e.waiting.clear();
  e.polling.clear();
  e.error.clear();
  e.order.clear();
  if (e.random_order()) {
    e.order.resize(e.clusters);
    for (unsigned i = 0; i < e.clusters; ++i) e.order[i] = i;
    for (unsigned i = e.clusters; i > 1; --i) std::swap(e.order[i - 1], e.order[pick_below(i)]);
  }

  race::launch_begins(launch);
  traffic::launch_begins(launch);
  e.running = &e.host;
  while (start_cluster() && e.resident.size() < e.schedule.resident_blocks) {
  }
  resume(*pick());
  current = nullptr;
  if (!e.error.empty()) abandon();
  race::launch_ends();
  current_launch = nullptr;
  if (!e.error.empty()) throw Error{e.error};
  check_guards(launch.kernel.c_str());
}

std::vector<Launch> launches_of(std::function<void()> const& enqueue) {
  std::vector<Launch> launches;
  engine.recorded = &launches;
  enqueue();
  engine.recorded = nullptr;
  return launches;
}

}  // namespace quadrille::simt
