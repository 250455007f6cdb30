// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "simt/cuda_language.hpp"

#include "device/device.hpp"

#include <fmt/format.h>

namespace quadrille::simt {

void require_cuda_stream(device::StreamView stream) {
  QUAD_REQUIRE(stream && stream.device().kind() == device::Kind::cuda,
               "a CUDA kernel needs a stream of a CUDA device");
}

}  // namespace quadrille::simt

namespace quadrille::simt::language {
namespace {

struct ShuffleLane {
  Shuffle kind;
  std::uint64_t in;
  std::uint64_t out;
  unsigned argument;
  unsigned width;
};

struct VoteLane {
  std::uint64_t value;
  std::uint64_t out;
};

struct ReduceLane {
  Reduce kind;
  std::int64_t value;
};

/// Calls function(lane, its argument) for every lane of the mask.
template <class Lane, class Function>
void for_each(void** arguments, unsigned mask, Function&& function) {
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    auto const lane = static_cast<unsigned>(std::countr_zero(rest));
    function(lane, *static_cast<Lane*>(arguments[lane]));
  }
}

void shuffle_lanes(void** arguments, unsigned mask) {
  for_each<ShuffleLane>(arguments, mask, [&](unsigned lane, ShuffleLane& self) {
    unsigned const first = lane / self.width * self.width;
    unsigned const end = first + self.width;
    unsigned from = lane;
    switch (self.kind) {
      case Shuffle::index: from = first + self.argument % self.width; break;
      case Shuffle::up:
        if (lane - first >= self.argument) from = lane - self.argument;
        break;
      case Shuffle::down:
        if (self.argument < end - lane) from = lane + self.argument;
        break;
      case Shuffle::exclusive_or:
        // Lanes of later segments are out of reach, those of earlier ones are not.
        if ((lane ^ self.argument) < end) from = lane ^ self.argument;
        break;
    }
    if ((mask >> from & 1) == 0) {
      fail(fmt::format("{}: lane {} reads lane {}, which is not in mask {:#010x}", current->what,
                       lane, from, mask),
           current->place);
    }
    self.out = static_cast<ShuffleLane*>(arguments[from])->in;
  });
}

void vote(void** arguments, unsigned mask) {
  std::uint64_t votes = 0;
  for_each<VoteLane>(arguments, mask,
                     [&](unsigned lane, VoteLane& self) { votes |= (self.value & 1) << lane; });
  for_each<VoteLane>(arguments, mask, [&](unsigned, VoteLane& self) { self.out = votes; });
}

void match(void** arguments, unsigned mask) {
  for_each<VoteLane>(arguments, mask, [&](unsigned, VoteLane& self) {
    self.out = 0;
    for_each<VoteLane>(arguments, mask, [&](unsigned lane, VoteLane const& other) {
      if (other.value == self.value) self.out |= std::uint64_t{1} << lane;
    });
  });
}

std::int64_t combine(Reduce kind, std::int64_t a, std::int64_t b) {
  switch (kind) {
    case Reduce::add: return a + b;
    case Reduce::min: return std::min(a, b);
    case Reduce::max: return std::max(a, b);
    case Reduce::bit_and: return a & b;
    case Reduce::bit_or: return a | b;
    case Reduce::bit_xor: return a ^ b;
  }
  return 0;
}

void reduce_lanes(void** arguments, unsigned mask) {
  auto const first = std::countr_zero(mask);
  ReduceLane result = *static_cast<ReduceLane*>(arguments[first]);
  for_each<ReduceLane>(arguments, mask & (mask - 1), [&](unsigned, ReduceLane const& self) {
    result.value = combine(result.kind, result.value, self.value);
  });
  for_each<ReduceLane>(arguments, mask, [&](unsigned, ReduceLane& self) { self = result; });
}

}  // namespace

std::uint64_t shuffle(Shuffle kind, unsigned mask, std::uint64_t value, unsigned argument,
                      int width, Place place, char const* what) {
  if (width < 1 || width > 32 || !std::has_single_bit(static_cast<unsigned>(width))) {
    fail(fmt::format("{}: width {} is not a power of two up to 32", what, width), place);
  }
  ShuffleLane lane{kind, value, 0, argument, static_cast<unsigned>(width)};
  warp_meet(mask, shuffle_lanes, &lane, place, what, false);
  return lane.out;
}

unsigned ballot(unsigned mask, bool predicate, Place place, char const* what) {
  VoteLane lane{predicate ? 1U : 0U, 0};
  warp_meet(mask, vote, &lane, place, what, false);
  return static_cast<unsigned>(lane.out);
}

unsigned match_any(unsigned mask, std::uint64_t value, Place place) {
  VoteLane lane{value, 0};
  warp_meet(mask, match, &lane, place, "__match_sync", false);
  return static_cast<unsigned>(lane.out);
}

std::int64_t reduce(Reduce kind, unsigned mask, std::int64_t value, Place place) {
  ReduceLane lane{kind, value};
  warp_meet(mask, reduce_lanes, &lane, place, "__reduce_sync", false);
  return lane.value;
}

}  // namespace quadrille::simt::language
