// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "simt/traffic.hpp"

#include "simt/asked_bytes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace quadrille::simt::traffic {
namespace {

constexpr unsigned kLanes = 32;
constexpr std::uintptr_t kSectorBytes = 32;
constexpr std::uintptr_t kBanks = 32;
constexpr std::uintptr_t kBankBytes = 4;

/// Accesses of the lanes of a warp by one instruction at a time.
struct Request {
  unsigned lanes = 0;
  std::size_t bytes = 0;
  std::array<std::uintptr_t, kLanes> address{};  ///< in shared memory the offset
};

/// One instruction of a warp: its k-th request has the k-th access of every lane.
struct Instruction {
  Kind kind = Kind::load;
  bool is_shared = false;
  std::array<std::size_t, kLanes> accesses{};
  std::vector<Request> requests;
};

/// Warp in the block, site, shared, kind.
using Key = std::tuple<unsigned, std::uint64_t, bool, Kind>;
using Instructions = std::map<Key, Instruction>;

std::unordered_map<Block const*, Instructions> pending;
std::vector<KernelCounts> counted;
std::vector<kernels::AskedBytes> asked;  ///< of the same launches

template <class Use>
void for_lanes(Request const& request, unsigned first, unsigned count, Use&& use) {
  for (unsigned lane = first; lane < first + count; ++lane) {
    if ((request.lanes >> lane & 1) != 0) use(request.address[lane]);
  }
}

std::int64_t sectors_of(Request const& request) {
  std::set<std::uintptr_t> sectors;
  for_lanes(request, 0, kLanes, [&](std::uintptr_t address) {
    std::uintptr_t const last = (address + request.bytes - 1) / kSectorBytes;
    for (std::uintptr_t s = address / kSectorBytes; s <= last; ++s) sectors.insert(s);
  });
  return static_cast<std::int64_t>(sectors.size());
}

void add_wavefronts(Request const& request, Requests& to) {
  auto const width = static_cast<unsigned>(std::max(request.bytes, std::size_t{kBankBytes}));
  unsigned const together = kLanes * static_cast<unsigned>(kBankBytes) / width;
  for (unsigned first = 0; first < kLanes; first += together) {
    std::array<std::set<std::uintptr_t>, kBanks> wanted;
    for_lanes(request, first, together, [&](std::uintptr_t offset) {
      std::uintptr_t const last = (offset + request.bytes - 1) / kBankBytes;
      for (std::uintptr_t w = offset / kBankBytes; w <= last; ++w) wanted[w % kBanks].insert(w);
    });
    auto const longest = std::ranges::max_element(wanted, {}, &std::set<std::uintptr_t>::size);
    to.parts += static_cast<std::int64_t>(longest->size());
    to.least += longest->empty() ? 0 : 1;
  }
}

void add(Instruction const& instruction, Accesses& counts, kernels::AskedBytes& bytes) {
  bool const loads = instruction.kind == Kind::load;
  Requests& to = instruction.is_shared ? (loads ? counts.shared_loads : counts.shared_stores)
                                       : (loads ? counts.global_loads : counts.global_stores);
  std::int64_t& asked_of_kind = instruction.is_shared
                                    ? (loads ? bytes.shared_loads : bytes.shared_stores)
                                    : (loads ? bytes.global_loads : bytes.global_stores);
  for (Request const& request : instruction.requests) {
    ++to.requests;
    asked_of_kind += std::popcount(request.lanes) * static_cast<std::int64_t>(request.bytes);
    instruction.is_shared ? add_wavefronts(request, to)
                          : static_cast<void>(to.parts += sectors_of(request));
  }
}

}  // namespace

bool counting = false;

void start() {
  counting = true;
  counted.clear();
  asked.clear();
}

std::vector<KernelCounts> stop() {
  counting = false;
  return std::exchange(counted, {});
}

std::vector<kernels::AskedBytes> const& asked_bytes() { return asked; }

void launch_begins(Launch const& launch) {
  pending.clear();  // what an error left
  if (!counting) return;
  counted.push_back({launch.kernel, {}});
  asked.emplace_back();
}

void block_meets(Block const& block) {
  if (!counting) return;
  for (auto const& [key, instruction] : pending[&block]) {
    add(instruction, counted.back().counts, asked.back());
  }
  pending.erase(&block);
}

void record(void const* p, std::size_t bytes, Kind kind, std::uint64_t site) {
  Thread const* const me = current;
  if (me == nullptr || bytes > 16) return;
  auto const* const byte = static_cast<unsigned char const*>(p);
  Block const& block = *me->block;
  auto const offset = static_cast<std::size_t>(byte - block.arena);
  bool const is_shared = offset < std::max(block.used, block.dynamic_bytes);
  // Stacks, too, are neither.
  if (!is_shared && find_allocation(p, 1).kind != Placement::Kind::inside) return;
  Instruction& instruction = pending[&block][{me->linear / kLanes, site, is_shared, kind}];
  instruction.kind = kind;
  instruction.is_shared = is_shared;
  std::size_t const k = instruction.accesses[me->lane]++;
  if (k == instruction.requests.size()) instruction.requests.emplace_back();
  Request& request = instruction.requests[k];
  request.lanes |= 1U << me->lane;
  request.bytes = bytes;
  request.address[me->lane] = is_shared ? offset : reinterpret_cast<std::uintptr_t>(p);
}

}  // namespace quadrille::simt::traffic
