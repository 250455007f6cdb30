// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "simt/race.hpp"

#include "simt/traffic.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

extern "C" char const __ehdr_start;  // of the executable, by the linker

namespace quadrille::simt::race {
namespace {

using Time = std::uint32_t;

// What happened before what.
//
// Each thread of a block has a clock. A barrier of the whole block makes everything before it known
// to all its threads: one number, the epoch, says so for all. What a thread knows beyond that, from
// meetings of some threads, is a vector of times. Vectors are shared and copied when they change,
// since the threads that met know the same. Clocks never run backwards, not even from one block or
// launch to the next, so nothing recorded earlier needs to be cleared.

using Times = std::vector<Time>;  // by thread of a block
using TimesPointer = std::shared_ptr<Times>;

/// What is known of one other block: all up to `epoch`, of each thread up to its time, and of copies.
struct Past {
  Time epoch = 0;
  TimesPointer times;
  TimesPointer copies{};
};
/// Ordered by block.
using Others = std::vector<std::pair<std::uint32_t, Past>>;
using OthersPointer = std::shared_ptr<Others>;

struct Knowledge {
  TimesPointer threads;  ///< of the own block
  TimesPointer copies;   ///< asynchronous copies of the own block, by channel
  OthersPointer blocks;
};

/// What fences do to relaxed atomics.
struct Fences {
  Knowledge released_block, released_device;  ///< by later atomics
  Past past;                                  ///< of the own block, as of released_device
  bool device = false, block = false;
  Knowledge pending;             ///< of atomics in shared memory; a fence acquires it
  OthersPointer pending_device;  ///< of atomics in device memory
};

struct Agent {
  Time time = 0;
  Knowledge knows;
  std::unique_ptr<Fences> fences;
};

enum class Kind : unsigned { none, read, write, atomic, atomic_read, in_flight };
constexpr unsigned kTimeBits = 25;
constexpr Time kTimeMask = (Time{1} << kTimeBits) - 1;
constexpr Time kLateTime = Time{1} << (kTimeBits - 1);  // then everything is forgotten
constexpr std::uint32_t kChannel = std::uint32_t{1} << 31;

/// One access to some of four bytes.
struct Slot {
  std::uint32_t agent;  ///< thread in the block, or in the grid for device memory; channel
  std::uint32_t packed;
  std::uint32_t site;

  Kind kind() const { return static_cast<Kind>(packed >> 29); }
  unsigned mask() const { return packed >> kTimeBits & 15; }
  Time time() const { return packed & kTimeMask; }
  bool channel() const { return (agent & kChannel) != 0; }
};
Slot make_slot(std::uint32_t agent, Time time, unsigned mask, Kind kind, std::uint32_t site) {
  return {agent, time | mask << kTimeBits | static_cast<unsigned>(kind) << 29, site};
}
/// The accesses to four bytes that later ones are compared with.
template <int N>
struct Cell {
  static constexpr int kSlots = N;
  Slot slots[N];
};
// Two writers of halves, and readers of four warps.
using SharedCell = Cell<6>;
using DeviceCell = Cell<3>;

/// Zeroed pages that cost nothing until they are touched.
class Pages {
 public:
  Pages() = default;
  explicit Pages(std::size_t bytes) : bytes_{bytes} {
    void* const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw Error{"race detector: no memory"};
    memory_ = p;
  }
  Pages(Pages&& other) noexcept
      : memory_{std::exchange(other.memory_, nullptr)}, bytes_{other.bytes_} {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Pages() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  void wipe() { madvise(memory_, bytes_, MADV_DONTNEED); }
  void* get() const { return memory_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

constexpr std::size_t kSharedBytes = 512 * 1024;  // no arena is larger

/// A block in flight.
struct Record {
  Block* block = nullptr;
  Time start = 0;  ///< accesses up to then are of earlier blocks
  Time epoch = 0;  ///< accesses up to then are known to all threads
  std::uint32_t first_agent = 0;
  std::vector<Agent> agents;
  Pages cells{kSharedBytes / 4 * sizeof(SharedCell)};
  std::unordered_map<void const*, Knowledge> keys;
  std::vector<std::pair<void const*, Time>> channels;  ///< mbarrier, number of copies
  std::size_t valid_begin = 0, valid_end = 0;          ///< the shared variable touched last

  SharedCell& cell(std::size_t offset) const {
    return static_cast<SharedCell*>(cells.get())[offset / 4];
  }
};

struct Buffer {
  std::uintptr_t begin = 0;
  std::size_t size = 0;
  DeviceCell* cells = nullptr;
};

/// A line of a source file.
struct Line {
  std::string file;
  unsigned line = 0;
};

struct Shadow {
  std::size_t size = 0;
  Pages cells;
};

/// The engine runs all blocks of a launch on one operating system thread.
struct State {
  Time base = 0;  ///< accesses up to then are of earlier launches
  std::uint32_t threads = 0;
  std::vector<std::unique_ptr<Record>> running, idle;
  Record* last = nullptr;
  std::map<std::uintptr_t, Shadow> shadows;
  std::array<Buffer, 8> buffers;  ///< those touched last
  unsigned next_buffer = 0;
  std::array<std::uintptr_t, 8192> foreign{};  ///< lines of 64 bytes outside device memory
  std::unordered_map<void const*, OthersPointer> keys;
  /// By thread of the grid: the asynchronous proxy sees its stores to device memory up to then.
  std::unordered_map<std::uint32_t, Time> fenced;
  bool has_clusters = false;  ///< blocks access the shared memory of others
  std::vector<Place> places;
  std::array<std::uint32_t, 256> place_index{};
  std::unordered_map<std::uint32_t, Line> lines;  ///< by site
};
State the_state;
State& state() { return the_state; }
bool instrumented = false;  ///< a file of the program is
bool enabled_flag = false;  ///< in this launch

// Knowledge

/// Raises `a` to what `b` knows.
void merge(TimesPointer& a, TimesPointer const& b) {
  if (!b || a == b) return;
  if (!a) {
    a = b;
    return;
  }
  bool a_covers = a->size() >= b->size(), b_covers = b->size() >= a->size();
  std::size_t const common = std::min(a->size(), b->size());
  for (std::size_t i = 0; i < common; ++i) {
    a_covers &= (*a)[i] >= (*b)[i];
    b_covers &= (*b)[i] >= (*a)[i];
  }
  if (a_covers) return;
  if (b_covers) {
    a = b;
    return;
  }
  if (a.use_count() > 1) a = std::make_shared<Times>(*a);
  if (a->size() < b->size()) a->resize(b->size());
  for (std::size_t i = 0; i < b->size(); ++i) (*a)[i] = std::max((*a)[i], (*b)[i]);
}

void merge(Past& a, Past const& b) {
  a.epoch = std::max(a.epoch, b.epoch);
  merge(a.times, b.times);
  merge(a.copies, b.copies);
}

void merge(OthersPointer& a, OthersPointer const& b) {
  if (!b || a == b) return;
  if (!a) {
    a = b;
    return;
  }
  auto result = std::make_shared<Others>();
  result->reserve(a->size() + b->size());
  auto i = a->begin();
  auto j = b->begin();
  while (i != a->end() || j != b->end()) {
    if (j == b->end() || (i != a->end() && i->first < j->first)) {
      result->push_back(*i++);
    } else if (i == a->end() || j->first < i->first) {
      result->push_back(*j++);
    } else {
      result->push_back(*i++);
      merge(result->back().second, (j++)->second);
    }
  }
  a = std::move(result);
}

void merge(Knowledge& a, Knowledge const& b) {
  merge(a.threads, b.threads);
  merge(a.copies, b.copies);
  merge(a.blocks, b.blocks);
}

bool covers(TimesPointer const& times, std::size_t i, Time time) {
  return times && i < times->size() && (*times)[i] >= time;
}

Past const* past_of(OthersPointer const& others, std::uint32_t block) {
  if (!others) return nullptr;
  auto const found = std::lower_bound(others->begin(), others->end(), block,
                                      [](auto const& o, std::uint32_t b) { return o.first < b; });
  return found != others->end() && found->first == block ? &found->second : nullptr;
}

bool covers(OthersPointer const& others, std::uint32_t block, std::uint32_t thread, Time time) {
  Past const* const past = past_of(others, block);
  return past != nullptr && (time <= past->epoch || covers(past->times, thread, time));
}

/// Sets entry i, in a vector of at least n, without changing what others hold.
void set_time(TimesPointer& times, std::size_t n, std::size_t i, Time time) {
  if (!times) {
    times = std::make_shared<Times>(n);
  } else if (times.use_count() > 1) {
    times = std::make_shared<Times>(*times);
  }
  if (times->size() < n) times->resize(n);
  (*times)[i] = time;
}

// Blocks

Record& record_of(Block const* block) {
  State& s = state();
  if (s.last != nullptr && s.last->block == block) return *s.last;
  for (auto const& record : s.running) {
    if (record->block == block) {
      s.last = record.get();
      return *record;
    }
  }
  throw Error{"race detector: a block that has not begun"};
}

Agent& agent_of(Record& record, Thread const* thread) { return record.agents[thread->linear]; }

/// Everything that the thread did and knew until now. Its later accesses are not part of it.
Knowledge release_of(Record& record, Thread const* thread) {
  Agent& agent = agent_of(record, thread);
  Knowledge knowledge = agent.knows;
  set_time(knowledge.threads, record.agents.size(), thread->linear, agent.time);
  ++agent.time;
  return knowledge;
}

// Device memory

Buffer const* find_buffer(void const* p, std::size_t size);

bool in_device_memory(void const* p) { return !is_shared(p) && find_buffer(p, 1) != nullptr; }

// Places

std::uint32_t site_of(Place place) {
  State& s = state();
  auto const hash = (reinterpret_cast<std::uintptr_t>(place.file_name()) / 8 + place.line()) %
                    s.place_index.size();
  auto const known = [&](std::uint32_t i) {
    return i < s.places.size() && s.places[i].line() == place.line() &&
           s.places[i].file_name() == place.file_name();
  };
  if (!known(s.place_index[hash])) {
    s.place_index[hash] = static_cast<std::uint32_t>(s.places.size());
    s.places.push_back(place);
  }
  return s.place_index[hash] | kChannel;
}

std::uint32_t site_of(void const* return_address) {
  // One less, so that it lies in the call.
  auto const offset = reinterpret_cast<std::uintptr_t>(return_address) - 1 -
                      reinterpret_cast<std::uintptr_t>(&__ehdr_start);
  return static_cast<std::uint32_t>(offset) & ~kChannel;
}

Line find_line(std::uint32_t site) {
  char path[1024] = {}, text[1024] = {};
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) path[0] = 0;
  std::string const place = fmt::format("{}+{:#x}", path, site);
  std::string const command = fmt::format("addr2line -e '{}' {:#x} 2>/dev/null", path, site);
  if (FILE* const pipe = popen(command.c_str(), "r")) {
    if (std::fgets(text, sizeof text, pipe) == nullptr) text[0] = 0;
    pclose(pipe);
  }
  char* const colon = std::strrchr(text, ':');
  if (colon == nullptr || text[0] == '?') return {place, 0};
  *colon = 0;
  return {text, static_cast<unsigned>(std::strtoul(colon + 1, nullptr, 10))};
}

Line const& line_of(std::uint32_t site) {
  Line& line = state().lines[site];
  if (!line.file.empty()) return line;
  if ((site & kChannel) != 0) {
    Place const place = state().places[site & ~kChannel];
    line = {place.file_name(), place.line()};
  } else {
    line = find_line(site);
  }
  return line;
}

std::string text_of(Line const& line) {
  std::string const file = line.file.substr(line.file.rfind('/') + 1);
  return file + (line.line != 0 ? ":" + std::to_string(line.line) : "");
}

/// A Place from a line that addr2line found. libstdc++ offers no way to make one; its layout is
/// part of the ABI, since the compiler emits it.
Place place_of(std::uint32_t site) {
  if ((site & kChannel) != 0) return state().places[site & ~kChannel];
  struct Layout {
    char const* file;
    char const* function;
    unsigned line, column;
  };
  static Layout layout;
  Line const& line = line_of(site);
  layout = {line.file.c_str(), "", line.line, 0};
  Layout const* const pointer = &layout;
  return std::bit_cast<Place>(pointer);
}

char const* name(Kind kind) {
  switch (kind) {
    case Kind::read: return "load";
    case Kind::write: return "store";
    case Kind::atomic: return "atomic";
    case Kind::atomic_read: return "atomic load";
    default: return "asynchronous copy";
  }
}

std::string coordinates(dim3 extents, std::uint32_t linear) {
  return fmt::format("({},{},{})", linear % extents.x, linear / extents.x % extents.y,
                     linear / extents.x / extents.y);
}

std::string name_of_agent(Slot const& slot, bool in_grid) {
  if (slot.channel()) return "a bulk copy";
  if (!in_grid) return "thread " + coordinates(current_launch->block, slot.agent);
  return "block " + coordinates(current_launch->grid, slot.agent / state().threads) + " thread " +
         coordinates(current_launch->block, slot.agent % state().threads);
}

std::string variable_at(Block const& block, std::size_t offset) {
  for (SharedVariable const& variable : block.variables) {
    if (offset >= variable.offset && offset < variable.offset + variable.size) {
      return "shared '" + std::string{variable.name} + "' + " +
             std::to_string(offset - variable.offset);
    }
  }
  return "dynamic shared memory + " + std::to_string(offset);
}

[[noreturn]] void report(std::string const& where, Kind kind, Slot const& slot, bool in_grid,
                         std::uint32_t site) {
  std::string const other = name_of_agent(slot, in_grid) + " (" + text_of(line_of(slot.site)) + ")";
  if (slot.kind() == Kind::in_flight) {
    fail(std::string{name(kind)} + " of " + where +
             ", the target of an asynchronous copy that was not waited for, issued by " + other,
         place_of(site));
  }
  fail("race on " + where + ": this " + name(kind) + " is not ordered after the " +
           name(slot.kind()) + " by " + other,
       place_of(site));
}

// Accesses

bool conflict(Kind a, Kind b) {
  if (a == Kind::in_flight || b == Kind::in_flight) return true;
  bool const a_writes = a == Kind::write || a == Kind::atomic;
  bool const b_writes = b == Kind::write || b == Kind::atomic;
  if (!a_writes && !b_writes) return false;
  return a == Kind::read || a == Kind::write || b == Kind::read || b == Kind::write;
}

/// Whether whoever conflicts with `older`, which happened before, conflicts with `newer` as well.
bool stands_for(Kind newer, Kind older) {
  switch (older) {
    case Kind::read: return newer == Kind::read || newer == Kind::write;
    case Kind::write: return newer == Kind::write;
    default: return newer == Kind::write || newer == Kind::atomic;
  }
}

/// What is accessed: device memory has no owner. Accesses are recorded by thread of the block, or of
/// the grid where several blocks have access.
struct Memory {
  Record* owner;
  bool in_grid;
};
Memory shared_memory_of(Record& record) { return {&record, state().has_clusters}; }
constexpr Memory kDeviceMemory{nullptr, true};

/// Accesses of the current thread.
struct Access {
  Record& record;
  Agent& agent;
  std::uint32_t thread;  ///< in the block
  Kind kind;
  std::uint32_t site;

  std::uint32_t id_in(Memory const& memory) const {
    return memory.in_grid ? record.first_agent + thread : thread;
  }
  bool seen_in_block(std::uint32_t other, Time time) const {
    return time <= record.epoch || other == thread || covers(agent.knows.threads, other, time);
  }
  /// Whether nobody who may come can race with it: everybody has seen it.
  bool gone(Slot const& slot, Memory const& memory) const {
    if (slot.kind() == Kind::none) return true;
    if (memory.owner == nullptr) return slot.time() <= state().base;
    bool const by_thread = !slot.channel() && slot.kind() != Kind::in_flight;
    return slot.time() <=
           (by_thread && !memory.in_grid ? memory.owner->epoch : memory.owner->start);
  }
  bool seen(Slot const& slot, Memory const& memory) const {
    if (!memory.in_grid && !slot.channel() && !agent.knows.threads) return slot.agent == thread;
    if (slot.channel()) {
      std::uint32_t const channel = slot.agent & ~kChannel;
      if (memory.owner == &record) return covers(agent.knows.copies, channel, slot.time());
      Past const* const past = past_of(agent.knows.blocks, memory.owner->block->linear);
      return past != nullptr && covers(past->copies, channel, slot.time());
    }
    if (!memory.in_grid) return seen_in_block(slot.agent, slot.time());
    std::uint32_t const local = slot.agent - record.first_agent;
    if (local < record.agents.size()) return seen_in_block(local, slot.time());
    return covers(agent.knows.blocks, slot.agent / state().threads, slot.agent % state().threads,
                  slot.time());
  }

  /// Holds the access against those recorded and records it. Returns whom it races with.
  template <class Cell>
  Slot const* visit(Cell& cell, unsigned mask, Memory const& memory) const {
    std::uint32_t const me = id_in(memory);
    Slot const again = make_slot(me, agent.time, mask, kind, site);
    Slot* free = nullptr;
    int readers = 0;  // of this warp
    for (Slot& slot : cell.slots) {
      // The same again, and the thread has met nobody since.
      if (slot.agent == me && slot.packed == again.packed) return nullptr;
      if (gone(slot, memory)) {
        slot.packed = 0;
        if (free == nullptr) free = &slot;
        continue;
      }
      bool const known = slot.kind() != Kind::in_flight && seen(slot, memory);
      if (!known && (slot.mask() & mask) != 0 && conflict(kind, slot.kind())) return &slot;
      // Atomics on one word are ordered by the word itself.
      bool const before = known || (kind == Kind::atomic && slot.kind() == Kind::atomic);
      if (before && (slot.mask() & ~mask) == 0 && stands_for(kind, slot.kind())) {
        slot.packed = 0;
        if (free == nullptr) free = &slot;
        continue;
      }
      readers += slot.kind() == Kind::read && slot.agent / 32 == me / 32 &&
                 slot.time() >= agent.time && (mask & ~slot.mask()) == 0;
    }
    // What orders one lane of a warp usually orders all, unless it is the writer itself: of the
    // readers of a warp two are enough, if they are as late as this one.
    if (kind == Kind::read && readers >= 2) return nullptr;
    if (free == nullptr) free = victim(cell, memory);
    if (free != nullptr) *free = again;
    return nullptr;
  }

 private:
  /// The slot to give up, or none if this access is better forgotten. Readers of different warps
  /// and blocks are kept: an insufficient barrier orders some of them only.
  template <class Cell>
  Slot* victim(Cell& cell, Memory const& memory) const {
    std::uint32_t const me = id_in(memory) / 32;
    Slot* any = nullptr;
    Slot* twin = nullptr;
    bool like_me = false;
    for (Slot& a : cell.slots) {
      if (a.kind() != Kind::read && a.kind() != Kind::atomic_read) continue;
      any = &a;
      if (a.agent / 32 == me) {
        if (a.time() < agent.time) return &a;
        like_me = true;
      }
      for (Slot* b = &a + 1; b != cell.slots + Cell::kSlots; ++b) {
        if (b->kind() == a.kind() && b->agent / 32 == a.agent / 32) twin = b;
      }
    }
    if (twin != nullptr && !like_me) return twin;
    if (kind == Kind::read || kind == Kind::atomic_read) return nullptr;
    if (twin != nullptr) return twin;
    if (any != nullptr) return any;
    for (Slot& slot : cell.slots) {
      if (slot.kind() != Kind::in_flight) return &slot;
    }
    return nullptr;
  }
};

/// Calls visit(offset of the cell, mask) for each cell of the range.
template <class Visit>
void for_each_cell(std::size_t offset, std::size_t size, Visit&& visit) {
  std::size_t const end = offset + size;
  while (offset < end) {
    std::size_t const cell = offset & ~std::size_t{3};
    std::size_t const stop = std::min(end, cell + 4);
    unsigned const mask = ((1U << (stop - cell)) - 1) & ~((1U << (offset - cell)) - 1);
    visit(cell, mask);
    offset = stop;
  }
}

bool inside_variable(Record& record, std::size_t offset, std::size_t size) {
  if (offset >= record.valid_begin && offset + size <= record.valid_end) return true;
  Block const& block = *record.block;
  auto const inside = [&](std::size_t begin, std::size_t end) {
    if (offset < begin || offset + size > end) return false;
    record.valid_begin = begin;
    record.valid_end = end;
    return true;
  };
  if (inside(0, block.dynamic_bytes)) return true;
  return std::any_of(block.variables.begin(), block.variables.end(), [&](auto const& variable) {
    return inside(variable.offset, variable.offset + variable.size);
  });
}

[[noreturn]] void fail_outside_shared(Record const& record, std::size_t offset, std::size_t size,
                                      Kind kind, std::uint32_t site) {
  Block const& block = *record.block;
  std::string where = "beside every shared variable";
  std::size_t begin = 0;
  if (block.dynamic_bytes > 0 && offset + size > block.dynamic_bytes) {
    where = std::to_string(offset + size - block.dynamic_bytes) +
            " bytes past the end of dynamic shared memory";
    begin = block.dynamic_bytes;
  }
  for (SharedVariable const& variable : block.variables) {
    std::size_t const end = variable.offset + variable.size;
    if (offset + size > end && end >= begin && offset >= variable.offset) {
      where = std::to_string(offset + size - end) + " bytes past the end of shared '" +
              variable.name + "'";
      begin = end;
    }
  }
  fail("out of bounds: " + std::string{name(kind)} + " of " + std::to_string(size) + " bytes, " +
           where,
       place_of(site));
}

/// In the shared memory of the block of `owner`.
void visit_shared(Access const& access, Record& owner, std::size_t offset, std::size_t size) {
  if (!inside_variable(owner, offset, size)) {
    fail_outside_shared(owner, offset, size, access.kind, access.site);
  }
  Memory const memory = shared_memory_of(owner);
  for_each_cell(offset, size, [&](std::size_t at, unsigned mask) {
    if (Slot const* const slot = access.visit(owner.cell(at), mask, memory)) {
      report(variable_at(*owner.block, std::max(at, offset)), access.kind, *slot, memory.in_grid,
             access.site);
    }
  });
}

void visit_device(Access const& access, Buffer const& buffer, std::uintptr_t address,
                  std::size_t size) {
  std::size_t const offset = address - buffer.begin;
  auto const place = [&](std::size_t byte) {
    return "device buffer of " + std::to_string(buffer.size) + " bytes + " + std::to_string(byte);
  };
  if (current_launch->overlaps_previous && !current->has_waited) {
    fail(std::string{name(access.kind)} + " of " + place(offset) +
             " before griddepcontrol_wait(), in a launch that overlaps the kernel before it",
         place_of(access.site));
  }
  for_each_cell(offset, size, [&](std::size_t at, unsigned mask) {
    if (Slot const* const slot = access.visit(buffer.cells[at / 4], mask, kDeviceMemory)) {
      report(place(std::max(at, offset)), access.kind, *slot, true, access.site);
    }
  });
}

Buffer const* find_buffer(void const* p, std::size_t size) {
  State& s = state();
  auto const address = reinterpret_cast<std::uintptr_t>(p);
  for (Buffer const& buffer : s.buffers) {
    if (address - buffer.begin < buffer.size && size <= buffer.size - (address - buffer.begin)) {
      return &buffer;
    }
  }
  Placement const placement = find_allocation(p, size);
  if (placement.kind != Placement::Kind::inside) return nullptr;
  auto const begin = reinterpret_cast<std::uintptr_t>(placement.begin);
  Shadow& shadow = s.shadows[begin];
  if (shadow.size != placement.size) {
    shadow = {placement.size, Pages{(placement.size / 4 + 1) * sizeof(DeviceCell)}};
  }
  Buffer& buffer = s.buffers[s.next_buffer++ % s.buffers.size()];
  buffer = {begin, placement.size, static_cast<DeviceCell*>(shadow.cells.get())};
  return &buffer;
}

/// The running block that has the bytes in its shared memory; anything else is not tracked.
Record* owner_of(void const* p, std::size_t& offset) {
  for (auto const& record : state().running) {
    offset = static_cast<std::size_t>(static_cast<unsigned char const*>(p) - record->block->arena);
    if (offset < std::max(record->block->used, record->block->dynamic_bytes)) return record.get();
  }
  return nullptr;
}

/// Anything that is neither in shared memory nor in a known buffer.
void visit_elsewhere(Access const& access, void const* p, std::size_t size) {
  State& s = state();
  auto const address = reinterpret_cast<std::uintptr_t>(p);
  std::uintptr_t const line = address >> 6;
  std::uintptr_t& known = s.foreign[line % s.foreign.size()];
  if (known == line && (address + size - 1) >> 6 == line) return;
  if (s.has_clusters) {
    std::size_t offset = 0;
    if (Record* const owner = owner_of(p, offset))
      return visit_shared(access, *owner, offset, size);
  }
  if (Buffer const* const buffer = find_buffer(p, size)) {
    visit_device(access, *buffer, address, size);
    return;
  }
  Placement const placement = find_allocation(p, size);
  if (placement.kind == Placement::Kind::guard) {
    auto const begin = reinterpret_cast<std::uintptr_t>(placement.begin);
    std::string const where =
        address < begin
            ? std::to_string(begin - address) + " bytes before"
            : std::to_string(address - begin + size - placement.size) + " bytes past the end of";
    fail("out of bounds: " + std::string{name(access.kind)} + " of " + std::to_string(size) +
             " bytes, " + where + " a device buffer of " + std::to_string(placement.size) +
             " bytes",
         place_of(access.site));
  }
  if (is_shared(p)) {
    fail_outside_shared(
        access.record,
        static_cast<std::size_t>(static_cast<unsigned char const*>(p) - access.record.block->arena),
        size, access.kind, access.site);
  }
  // Stacks and the host's own data. A line is remembered when no buffer has a part of it.
  auto const unknown = [](std::uintptr_t a) {
    return find_allocation(reinterpret_cast<void const*>(a), 1).kind == Placement::Kind::unknown;
  };
  if (unknown(line << 6) && unknown((line << 6) + 63) &&
      !is_shared(reinterpret_cast<void const*>(line << 6))) {
    known = line;
  }
}

void visit(void const* p, std::size_t size, Kind kind, std::uint32_t site) {
  Thread const* const me = current;
  if (me == nullptr || size == 0) return;
  Record& record = record_of(me->block);
  Access const access{record, agent_of(record, me), me->linear, kind, site};
  auto const offset =
      static_cast<std::size_t>(static_cast<unsigned char const*>(p) - me->block->arena);
  if (offset < std::max(me->block->used, me->block->dynamic_bytes)) {
    visit_shared(access, record, offset, size);
    return;
  }
  auto const address = reinterpret_cast<std::uintptr_t>(p);
  for (Buffer const& buffer : state().buffers) {
    if (address - buffer.begin < buffer.size && size <= buffer.size - (address - buffer.begin)) {
      visit_device(access, buffer, address, size);
      return;
    }
  }
  visit_elsewhere(access, p, size);
}

/// Replaces what is in flight by a completed write.
void complete(Record& record, std::size_t offset, std::size_t size, std::uint32_t agent, Time time,
              std::uint32_t site) {
  for_each_cell(offset, size, [&](std::size_t at, unsigned mask) {
    Slot* target = nullptr;
    for (Slot& slot : record.cell(at).slots) {
      if (slot.kind() == Kind::in_flight && (slot.mask() & ~mask) == 0) {
        slot.packed = 0;
        target = &slot;
      }
    }
    if (target == nullptr) target = &record.cell(at).slots[0];
    *target = make_slot(agent, time, mask, Kind::write, site);
  });
}

void fold_fence(Knowledge& into, Record const& record, OthersPointer const& blocks) {
  if (!blocks) return;
  merge(into.blocks, blocks);
  // What others have learnt of this block comes home.
  auto const found = std::lower_bound(blocks->begin(), blocks->end(), record.block->linear,
                                      [](auto const& o, std::uint32_t b) { return o.first < b; });
  if (found != blocks->end() && found->first == record.block->linear) {
    merge(into.threads, found->second.times);
    merge(into.copies, found->second.copies);
  }
}

/// Adds to the clock of a word in device memory.
void add_to_key(OthersPointer& key, std::uint32_t block, Past const& past,
                OthersPointer const& blocks) {
  merge(key, blocks);
  if (!key) {
    key = std::make_shared<Others>();
  } else if (key.use_count() > 1) {
    key = std::make_shared<Others>(*key);
  }
  auto const place = std::lower_bound(key->begin(), key->end(), block,
                                      [](auto const& o, std::uint32_t b) { return o.first < b; });
  if (place != key->end() && place->first == block) {
    merge(place->second, past);
  } else {
    key->insert(place, {block, past});
  }
}

/// The block has ended, whatever became of it.
void retire(std::unique_ptr<Record> record) {
  // The next block in these cells begins later than anything recorded in them.
  for (Agent const& agent : record->agents) record->start = std::max(record->start, agent.time);
  for (auto const& [key, time] : record->channels) record->start = std::max(record->start, time);
  record->block = nullptr;
  state().last = nullptr;
  state().idle.push_back(std::move(record));
}

void forget_everything() {
  State& s = state();
  s.base = 0;
  s.shadows.clear();
  s.idle.clear();
}

}  // namespace

bool enabled() { return enabled_flag; }

void launch_begins(Launch const& launch) {
  enabled_flag = instrumented && schedule().finds_races;
  if (!enabled_flag) return;
  State& s = state();
  s.keys.clear();
  s.fenced.clear();
  s.buffers = {};
  s.foreign.fill(0);
  s.threads = launch.block.x * launch.block.y * launch.block.z;
  s.has_clusters = launch.cluster.x * launch.cluster.y * launch.cluster.z > 1;
  std::size_t bytes = 0;
  for (auto const& [begin, shadow] : s.shadows) bytes += shadow.cells.bytes();
  constexpr std::size_t kLimit = std::size_t{1} << 30;
  if (s.base > kLateTime || bytes > kLimit) forget_everything();
}

void launch_ends() {
  if (!enabled_flag) return;
  State& s = state();
  for (auto& record : std::exchange(s.running, {})) retire(std::move(record));
  s.keys.clear();
  for (auto const& record : s.idle) s.base = std::max(s.base, record->start);
}

void block_begins(Block& block) {
  if (!enabled_flag) return;
  State& s = state();
  if (s.idle.empty()) s.idle.push_back(std::make_unique<Record>());
  std::unique_ptr<Record> record = std::move(s.idle.back());
  s.idle.pop_back();
  record->block = &block;
  if (record->start > kLateTime) {
    record->cells.wipe();
    record->start = 0;
  }
  record->start = record->epoch = std::max(record->start, s.base);
  record->first_agent = block.linear * static_cast<std::uint32_t>(block.threads.size());
  record->agents.clear();
  record->agents.resize(block.threads.size());
  for (Agent& agent : record->agents) agent.time = record->start + 1;
  record->keys.clear();
  record->channels.clear();
  record->valid_begin = record->valid_end = 0;
  s.running.push_back(std::move(record));
}

void blocks_end(std::span<Block* const> blocks) {
  if (!enabled_flag) return;
  State& s = state();
  std::vector<std::unique_ptr<Record>> ended;
  std::erase_if(s.running, [&](auto& record) {
    if (std::find(blocks.begin(), blocks.end(), record->block) == blocks.end()) return false;
    ended.push_back(std::move(record));
    return true;
  });
  // Of one cluster, all may have left something in the cells of each.
  Time latest = 0;
  for (auto const& record : ended) {
    for (Agent const& agent : record->agents) latest = std::max(latest, agent.time);
  }
  for (auto& record : ended) {
    record->start = std::max(record->start, latest);
    retire(std::move(record));
  }
}

void join(std::span<Thread* const> threads) {
  if (!enabled_flag || threads.size() < 2) return;
  Record& record = record_of(threads[0]->block);
  Knowledge all;
  Time latest = 0;
  for (Thread* const thread : threads) {
    Agent const& agent = agent_of(record, thread);
    merge(all, agent.knows);
    latest = std::max(latest, agent.time);
  }
  if (threads.size() == record.agents.size()) {
    record.epoch = latest;
    all.threads.reset();
    for (Agent& agent : record.agents) {
      agent.time = latest + 1;
      agent.knows = all;
    }
    return;
  }
  long holders = 0;
  for (Thread* const thread : threads) {
    holders += agent_of(record, thread).knows.threads == all.threads;
  }
  if (!all.threads || all.threads.use_count() > holders + 1) {
    all.threads = all.threads ? std::make_shared<Times>(*all.threads) : std::make_shared<Times>();
  }
  all.threads->resize(record.agents.size());
  for (Thread* const thread : threads) {
    Agent& agent = agent_of(record, thread);
    (*all.threads)[thread->linear] = agent.time++;
    agent.knows = all;
  }
}

void release(void const* key) {
  if (!enabled_flag || current == nullptr) return;
  Record& record = record_of(current->block);
  Knowledge const knowledge = release_of(record, current);
  if (in_device_memory(key)) {
    add_to_key(state().keys[key], record.block->linear, {record.epoch, knowledge.threads},
               knowledge.blocks);
  } else {
    merge(record.keys[key], knowledge);
  }
}

void acquire(void const* key) {
  if (!enabled_flag || current == nullptr) return;
  Record& record = record_of(current->block);
  Agent& agent = agent_of(record, current);
  if (in_device_memory(key)) {
    auto const found = state().keys.find(key);
    if (found != state().keys.end()) fold_fence(agent.knows, record, found->second);
  } else {
    auto const found = record.keys.find(key);
    if (found != record.keys.end()) merge(agent.knows, found->second);
  }
}

void release_in_cluster(void const* key) {
  if (!enabled_flag || current == nullptr) return;
  Record& record = record_of(current->block);
  Knowledge const knowledge = release_of(record, current);
  add_to_key(state().keys[key], record.block->linear,
             {record.epoch, knowledge.threads, knowledge.copies}, knowledge.blocks);
}

void acquire_in_cluster(void const* key) {
  if (!enabled_flag || current == nullptr) return;
  Record& record = record_of(current->block);
  auto const found = state().keys.find(key);
  if (found != state().keys.end()) {
    fold_fence(agent_of(record, current).knows, record, found->second);
  }
}

void atomic_access(void const* p, std::size_t size, bool writes, Place place) {
  if (!enabled_flag || current == nullptr) return;
  visit(p, size, writes ? Kind::atomic : Kind::atomic_read, site_of(place));
  Record& record = record_of(current->block);
  Agent& agent = agent_of(record, current);
  if (in_device_memory(p)) {
    auto found = state().keys.find(p);
    if (found != state().keys.end()) {
      if (!agent.fences) agent.fences = std::make_unique<Fences>();
      merge(agent.fences->pending_device, found->second);
    }
    if (writes && agent.fences && agent.fences->device) {
      add_to_key(state().keys[p], record.block->linear, agent.fences->past,
                 agent.fences->released_device.blocks);
    }
  } else {
    auto found = record.keys.find(p);
    if (found != record.keys.end()) {
      if (!agent.fences) agent.fences = std::make_unique<Fences>();
      merge(agent.fences->pending, found->second);
    }
    if (writes && agent.fences && agent.fences->block) {
      merge(record.keys[p], agent.fences->released_block);
    }
  }
}

void fence(bool device_scope) {
  if (!enabled_flag || current == nullptr) return;
  Record& record = record_of(current->block);
  Agent& agent = agent_of(record, current);
  if (!agent.fences) agent.fences = std::make_unique<Fences>();
  Fences& fences = *agent.fences;
  merge(agent.knows, std::exchange(fences.pending, {}));
  if (device_scope) fold_fence(agent.knows, record, std::exchange(fences.pending_device, {}));
  fences.released_block = release_of(record, current);
  fences.block = true;
  if (device_scope) {
    fences.released_device = fences.released_block;
    fences.past = {record.epoch, fences.released_block.threads};
    fences.device = true;
  }
}

void read(void const* p, std::size_t size, Place place) {
  if (enabled_flag) visit(p, size, Kind::read, site_of(place));
}

void write(void const* p, std::size_t size, Place place) {
  if (enabled_flag) visit(p, size, Kind::write, site_of(place));
}

void fence_async_proxy() {
  if (!enabled_flag || current == nullptr) return;
  Record& record = record_of(current->block);
  // Its later stores are of a later time.
  state().fenced[record.first_agent + current->linear] = agent_of(record, current).time++;
}

void read_by_async_proxy(void const* p, std::size_t size, Place place) {
  if (!enabled_flag || current == nullptr) return;
  read(p, size, place);
  State const& s = state();
  Buffer const* const buffer = find_buffer(p, size);
  if (buffer == nullptr) return;
  if (s.fenced.contains(record_of(current->block).first_agent + current->linear)) return;
  auto const is_seen = [&](Slot const& slot) {
    auto const fence = s.fenced.find(slot.agent);
    return fence != s.fenced.end() && slot.time() <= fence->second;
  };
  std::size_t const offset = reinterpret_cast<std::uintptr_t>(p) - buffer->begin;
  for_each_cell(offset, size, [&](std::size_t at, unsigned mask) {
    for (Slot const& slot : buffer->cells[at / 4].slots) {
      if (slot.kind() != Kind::write || (slot.mask() & mask) == 0 || slot.time() <= s.base)
        continue;
      if (is_seen(slot)) continue;
      fail("this copy of a device buffer of " + std::to_string(buffer->size) + " bytes + " +
               std::to_string(std::max(at, offset)) + " reads what " + name_of_agent(slot, true) +
               " stored (" + text_of(line_of(slot.site)) +
               ") without a fence_proxy_async_global() since",
           place);
    }
  });
}

void write_by_async_proxy(void const* p, std::size_t size, Place place) {
  if (!enabled_flag || current == nullptr) return;
  write(p, size, place);
  fence_async_proxy();  // of its own writes it knows
}

void begin_async(void* p, std::size_t size, Place place, char const* what) {
  if (!enabled_flag || current == nullptr) return;
  (void)what;
  write(p, size, place);
  std::size_t offset = 0;
  Record* const record = owner_of(p, offset);
  if (record == nullptr) return;
  std::uint32_t const site = site_of(place);
  Record& mine = record_of(current->block);
  Time const time = agent_of(mine, current).time;
  std::uint32_t const me = current->linear + (state().has_clusters ? mine.first_agent : 0);
  for_each_cell(offset, size, [&](std::size_t at, unsigned mask) {
    // The write above has left a slot for these bytes.
    for (Slot& slot : record->cell(at).slots) {
      if (slot.kind() == Kind::write && slot.agent == me && slot.time() == time &&
          slot.mask() == mask) {
        slot = make_slot(slot.agent, time, mask, Kind::in_flight, site);
        return;
      }
    }
  });
}

void end_async(void* p, std::size_t size, Place place) {
  if (!enabled_flag || current == nullptr) return;
  std::size_t offset = 0;
  Record* const record = owner_of(p, offset);
  if (record == nullptr) return;
  std::uint32_t const me = current->linear + (state().has_clusters ? record->first_agent : 0);
  complete(*record, offset, size, me, agent_of(*record, current).time, site_of(place));
}

void end_async(void* p, std::size_t size, Place place, void const* key) {
  if (!enabled_flag) return;
  std::size_t offset = 0;
  Record* const record = owner_of(p, offset);
  if (record == nullptr) return;
  auto& channels = record->channels;
  auto found = std::find_if(channels.begin(), channels.end(),
                            [&](auto const& channel) { return channel.first == key; });
  if (found == channels.end()) found = channels.insert(channels.end(), {key, record->start});
  auto const channel = static_cast<std::uint32_t>(found - channels.begin());
  complete(*record, offset, size, channel | kChannel, ++found->second, site_of(place));
  set_time(record->keys[key].copies, channels.size(), channel, found->second);
}

}  // namespace quadrille::simt::race

// What g++ calls in instrumented code.

namespace race = quadrille::simt::race;
namespace traffic = quadrille::simt::traffic;

extern "C" {

void __tsan_init();
void __tsan_init() { race::instrumented = true; }
void __tsan_func_entry(void*);
void __tsan_func_entry(void*) {}
void __tsan_func_exit();
void __tsan_func_exit() {}
void __tsan_vptr_read(void**);
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*);
void __tsan_vptr_update(void**, void*) {}

constexpr auto traffic_kind_read = traffic::Kind::load;
constexpr auto traffic_kind_write = traffic::Kind::store;

#define QUAD_TSAN(name, size, kind)                                                    \
  void __tsan_##name(void const* p);                                                   \
  void __tsan_##name(void const* p) {                                                  \
    traffic::access(p, size, traffic_kind_##kind,                                      \
                    reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));    \
    if (!race::enabled_flag || quadrille::simt::current == nullptr) return;            \
    race::visit(p, size, race::Kind::kind,                                             \
                race::site_of(static_cast<void const*>(__builtin_return_address(0)))); \
  }
QUAD_TSAN(read1, 1, read)
QUAD_TSAN(read2, 2, read)
QUAD_TSAN(read4, 4, read)
QUAD_TSAN(read8, 8, read)
QUAD_TSAN(read16, 16, read)
QUAD_TSAN(write1, 1, write)
QUAD_TSAN(write2, 2, write)
QUAD_TSAN(write4, 4, write)
QUAD_TSAN(write8, 8, write)
QUAD_TSAN(write16, 16, write)
QUAD_TSAN(unaligned_read2, 2, read)
QUAD_TSAN(unaligned_read4, 4, read)
QUAD_TSAN(unaligned_read8, 8, read)
QUAD_TSAN(unaligned_read16, 16, read)
QUAD_TSAN(unaligned_write2, 2, write)
QUAD_TSAN(unaligned_write4, 4, write)
QUAD_TSAN(unaligned_write8, 8, write)
QUAD_TSAN(unaligned_write16, 16, write)
#undef QUAD_TSAN

void __tsan_read_range(void const* p, std::size_t size);
void __tsan_read_range(void const* p, std::size_t size) {
  if (!race::enabled_flag) return;
  race::visit(p, size, race::Kind::read,
              race::site_of(static_cast<void const*>(__builtin_return_address(0))));
}
void __tsan_write_range(void const* p, std::size_t size);
void __tsan_write_range(void const* p, std::size_t size) {
  if (!race::enabled_flag) return;
  race::visit(p, size, race::Kind::write,
              race::site_of(static_cast<void const*>(__builtin_return_address(0))));
}

// The host's own atomics (reference counts): CUDA's are functions of the interpreter.
#define QUAD_TSAN_ATOMIC(bits, T)                                                                  \
  T __tsan_atomic##bits##_load(T const volatile* p, int);                                          \
  T __tsan_atomic##bits##_load(T const volatile* p, int) {                                         \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  void __tsan_atomic##bits##_store(T volatile* p, T value, int);                                   \
  void __tsan_atomic##bits##_store(T volatile* p, T value, int) {                                  \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                \
  T __tsan_atomic##bits##_exchange(T volatile* p, T value, int);                                   \
  T __tsan_atomic##bits##_exchange(T volatile* p, T value, int) {                                  \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                                \
  bool __tsan_atomic##bits##_compare_exchange_strong(T volatile* p, T* expected, T value, int,     \
                                                     int);                                         \
  bool __tsan_atomic##bits##_compare_exchange_strong(T volatile* p, T* expected, T value, int,     \
                                                     int) {                                        \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST,                \
                                       __ATOMIC_SEQ_CST);                                          \
  }                                                                                                \
  bool __tsan_atomic##bits##_compare_exchange_weak(T volatile* p, T* expected, T value, int, int); \
  bool __tsan_atomic##bits##_compare_exchange_weak(T volatile* p, T* expected, T value, int,       \
                                                   int) {                                          \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST,                \
                                       __ATOMIC_SEQ_CST);                                          \
  }
#define QUAD_TSAN_FETCH(bits, T, operation)                                \
  T __tsan_atomic##bits##_fetch_##operation(T volatile* p, T value, int);  \
  T __tsan_atomic##bits##_fetch_##operation(T volatile* p, T value, int) { \
    return __atomic_fetch_##operation(p, value, __ATOMIC_SEQ_CST);         \
  }
#define QUAD_TSAN_ALL(bits, T)  \
  QUAD_TSAN_ATOMIC(bits, T)     \
  QUAD_TSAN_FETCH(bits, T, add) \
  QUAD_TSAN_FETCH(bits, T, sub) \
  QUAD_TSAN_FETCH(bits, T, and) \
  QUAD_TSAN_FETCH(bits, T, or)  \
  QUAD_TSAN_FETCH(bits, T, xor) \
  QUAD_TSAN_FETCH(bits, T, nand)
QUAD_TSAN_ALL(8, unsigned char)
QUAD_TSAN_ALL(16, unsigned short)
QUAD_TSAN_ALL(32, unsigned)
QUAD_TSAN_ALL(64, unsigned long)

void __tsan_atomic_thread_fence(int);
void __tsan_atomic_thread_fence(int) {}
void __tsan_atomic_signal_fence(int);
void __tsan_atomic_signal_fence(int) {}

}  // extern "C"
