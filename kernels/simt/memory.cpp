// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
//
// Shared memory of blocks, copies into it, and device memory with guard zones.

#include "simt/engine.hpp"
#include "simt/race.hpp"
#include "simt/scheduler.hpp"
#include "simt/traffic.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>

namespace quadrille::simt {
namespace {

constexpr std::size_t kSharedGuard = 64;
// All that the limits allow, with the guards of many variables.
constexpr std::size_t kArenaBytes = 320 * 1024;
// All bits set is a NaN in every float type; guards of shared memory look like unwritten elements.
constexpr unsigned char kNan = 0xFF;
constexpr std::size_t kDeviceGuard = 256;
constexpr unsigned char kGuardByte = 0xCD;
// Device memory from this size on is only reserved, and zero: tests of large offsets touch little.
constexpr std::size_t kSparseBytes = std::size_t{1} << 30;

std::map<unsigned char*, std::size_t> allocations;

constexpr std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

void* aligned(std::size_t alignment, std::size_t bytes) {
  void* const memory = std::aligned_alloc(alignment, round_up(bytes, alignment));
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}

/// The whole of a buffer: its guards and what rounds it up.
std::size_t reserved_bytes(std::size_t bytes) {
  return round_up(bytes, kDeviceGuard) + 2 * kDeviceGuard;
}

void* reserve(std::size_t bytes) {
  if (bytes < kSparseBytes) return aligned(kDeviceGuard, bytes);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc{};
  return memory;
}

}  // namespace

void poison_shared_memory(Block& block) {
  block.dynamic_bytes = current_launch->dynamic_bytes;
  if (block.arena == nullptr) {
    block.arena = static_cast<unsigned char*>(aligned(1024, kArenaBytes));
    block.used = kArenaBytes - kSharedGuard;
  }
  std::size_t const dirty = std::max(block.used, block.dynamic_bytes) + kSharedGuard;
  std::memset(block.arena, kNan, dirty);
  block.variables.clear();
  block.used = block.dynamic_bytes;
}

void check_shared_guards(Block const& block) {
  std::size_t begin = block.dynamic_bytes;
  char const* before = "the dynamic shared memory";
  auto const check = [&](std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (block.arena[i] != kNan) {
        fail(fmt::format("something was written {} bytes behind the end of {}", i - begin, before));
      }
    }
  };
  for (SharedVariable const& variable : block.variables) {
    check(variable.offset);
    begin = variable.offset + variable.size;
    before = variable.name;
  }
  check(begin + kSharedGuard);
}

void free_shared_memory(Block& block) {
  std::free(block.arena);
  block.arena = nullptr;
}

void* shared_variable(void const* key, std::size_t size, std::size_t alignment, char const* name) {
  Block& block = *current->block;
  for (SharedVariable const& variable : block.variables) {
    if (variable.key == key) return block.arena + variable.offset;
  }
  std::size_t total = size;
  for (SharedVariable const& variable : block.variables) total += variable.size;
  if (total > kStaticSharedLimit) {
    fail(fmt::format("{} bytes of static shared memory with '{}'; at most {} are allowed", total,
                     name, kStaticSharedLimit));
  }
  if (total + block.dynamic_bytes > kDynamicSharedLimit) {
    fail(
        fmt::format("{} bytes of static shared memory with '{}' and {} of dynamic; at most {} are "
                    "allowed in all",
                    total, name, block.dynamic_bytes, kDynamicSharedLimit));
  }
  std::size_t const offset = round_up(block.used + kSharedGuard, alignment);
  if (offset + size + kSharedGuard > kArenaBytes) {
    fail(fmt::format("too many shared variables for the interpreter, at '{}'", name));
  }
  block.variables.push_back({key, offset, size, name});
  block.used = offset + size;
  return block.arena + offset;
}

void* dynamic_shared() { return current->block->arena; }

bool is_shared(void const* p) {
  if (current == nullptr) return false;
  auto const* const byte = static_cast<unsigned char const*>(p);
  unsigned char const* const arena = current->block->arena;
  return byte >= arena && byte < arena + kArenaBytes;
}

std::size_t shared_offset(void const* p, Place place) {
  if (!is_shared(p)) fail("a pointer that is not into the shared memory of this block", place);
  return static_cast<std::size_t>(static_cast<unsigned char const*>(p) - current->block->arena);
}

void async_copy(void* to, void const* from, unsigned copied, unsigned written, Place place) {
  shared_offset(to, place);
  auto const misaligned = [&](void const* p) {
    return reinterpret_cast<std::uintptr_t>(p) % written != 0;
  };
  if (misaligned(to) || (copied > 0 && misaligned(from))) {
    fail(fmt::format("cp.async of {} bytes: an address is not aligned to as much", written), place);
  }
  if (copied > 0) {
    race::read(from, copied, place);
    traffic::access(from, copied, traffic::Kind::load, place);
  }
  traffic::access(to, written, traffic::Kind::store, place);
  race::begin_async(to, written, place, "cp.async");
  AsyncCopy copy{to, from, copied, written, current->copy_group, random() % 2 != 0, {}, place};
  if (copy.read_early) std::memcpy(copy.early, from, copied);
  std::memset(to, kNan, written);
  current->copies.push_back(copy);
}

void async_copy_commit() { ++current->copy_group; }

void complete_copy(AsyncCopy const& copy) {
  if (copy.copied > 0) {
    std::memcpy(copy.to, copy.read_early ? copy.early : copy.from, copy.copied);
  }
  std::memset(static_cast<char*>(copy.to) + copy.copied, 0, copy.written - copy.copied);
}

void async_copy_wait(unsigned newest) {
  Thread& self = *current;
  std::erase_if(self.copies, [&](AsyncCopy const& copy) {
    if (copy.group + newest >= self.copy_group) return false;
    race::end_async(copy.to, copy.written, copy.place);
    complete_copy(copy);
    return true;
  });
}

void* allocate(std::size_t bytes) {
  std::size_t const reserved = reserved_bytes(bytes);
  auto* const memory = static_cast<unsigned char*>(reserve(reserved));
  unsigned char* const begin = memory + kDeviceGuard;
  std::memset(memory, kGuardByte, kDeviceGuard);
  if (reserved < kSparseBytes) std::memset(begin, kNan, bytes);
  std::memset(begin + bytes, kGuardByte, reserved - kDeviceGuard - bytes);
  allocations[begin] = bytes;
  return begin;
}

void release(void* memory) {
  if (memory == nullptr) return;
  auto const found = allocations.find(static_cast<unsigned char*>(memory));
  if (found == allocations.end()) throw Error{"release of memory that was never allocated"};
  unsigned char* const whole = found->first - kDeviceGuard;
  std::size_t const reserved = reserved_bytes(found->second);
  allocations.erase(found);
  if (reserved < kSparseBytes) return std::free(whole);
  munmap(whole, reserved);
}

void check_guards(char const* when) {
  for (auto const& [begin, size] : allocations) {
    unsigned char* const end = begin - kDeviceGuard + reserved_bytes(size);
    auto const written = [](unsigned char byte) { return byte != kGuardByte; };
    unsigned char* const before = std::find_if(begin - kDeviceGuard, begin, written);
    unsigned char* const behind = std::find_if(begin + size, end, written);
    std::string found;
    if (before != begin) found = fmt::format("{} bytes before", begin - before);
    if (behind != end) found = fmt::format("{} bytes behind the end of", behind - begin - size);
    if (found.empty()) continue;
    std::fill(begin - kDeviceGuard, begin, kGuardByte);  // one report each
    std::fill(begin + size, end, kGuardByte);
    throw Error{
        fmt::format("{}: something was written {} a buffer of {} bytes", when, found, size)};
  }
}

Placement find_allocation(void const* p, std::size_t bytes) {
  auto* const first = static_cast<unsigned char*>(const_cast<void*>(p));
  unsigned char* const last = first + bytes;
  // The one that starts last at or before the access, or the next, whose guard it may be in.
  auto next = allocations.upper_bound(first);
  if (next != allocations.begin()) {
    auto const& [begin, size] = *std::prev(next);
    if (last <= begin + size) return {Placement::Kind::inside, begin, size};
    if (first < begin - kDeviceGuard + reserved_bytes(size)) {
      return {Placement::Kind::guard, begin, size};
    }
  }
  if (next != allocations.end() && last > next->first - kDeviceGuard) {
    return {Placement::Kind::guard, next->first, next->second};
  }
  return {};
}

}  // namespace quadrille::simt
