// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sums of the words of a window, and a pointer chase through it, by one thread.
///
///   result[reader][lane] = number of the lane + sum of its words, modulo 2^32
///
/// Technique    textbook loops, one word after the other
/// Shapes       windows of whole tiles of 16 KiB
/// Work         tiles x 16 KiB read; a pointer chase reads one word in every 128 bytes of that
/// Launch       the stream's own thread
/// Accuracy     exact
#include "device/device.hpp"
#include "memory/memory.hpp"

#include <array>

namespace quadrille::kernels::memory {

void read_reference(Problem const& p, Lanes lanes) {
  auto const* words = static_cast<std::uint32_t const*>(p.window);
  std::int64_t const window_tiles = p.bytes / kTileBytes;
  constexpr std::int64_t kWords = kTileBytes / 4;
  for (int r = 0; r < p.readers; ++r) {
    std::uint32_t* const sums = p.result + static_cast<std::int64_t>(r) * lanes.count;
    for (int l = 0; l < lanes.count; ++l) sums[l] = static_cast<std::uint32_t>(r * lanes.count + l);
    Share const share = share_of(r, p.readers, window_tiles, p.tiles);
    for (std::int64_t i = 0; i < share.count; ++i) {
      std::int64_t const tile = (share.first + i) % window_tiles;
      for (std::int64_t w = 0; w < kWords; ++w) {
        sums[w / lanes.words % lanes.count] += words[tile * kWords + w];
      }
    }
  }
}

void pointer_chase_reference(Problem const& p) {
  auto const* next = static_cast<std::uint32_t const*>(p.window);
  std::uint32_t position = 0, sum = 0;
  for (std::int64_t i = 0; i < accesses(p.tiles); ++i) {
    position = next[position];
    sum += position;
  }
  p.result[0] = position;
  p.result[1] = sum;
}

std::uint32_t strided_sum(Problem const& p, Share share, int lane) {
  auto const* bytes = static_cast<unsigned char const*>(p.window);
  std::int64_t const rounds = strided_rounds(p.bytes, p.width, p.stride);
  std::int64_t const accesses = share.count * kTileBytes / (kDeviceLanes.count * p.width);
  std::int64_t const first = share.first % rounds * kStridedLoads;
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < accesses; ++i) {
    std::int64_t const element = lane * p.stride + (first + i) % (rounds * kStridedLoads);
    for (int b = 0; b < p.width; ++b) {
      sum += std::uint32_t{bytes[element * p.width + b]} << b % 4 * 8;
    }
  }
  return sum;
}

void registers_reference(Problem const& p) {
  auto const* words = static_cast<std::uint32_t const*>(p.window);
  for (int r = 0; r < p.readers; ++r) {
    Share const share = share_of(r, p.readers, p.bytes / kTileBytes, p.tiles);
    for (int l = 0; l < kDeviceLanes.count; ++l) {
      std::array<std::uint32_t, 8> value{};
      for (std::size_t j = 0; j < 8; ++j) value[j] = words[static_cast<std::size_t>(l) * 8 + j];
      for (std::int64_t i = 0; i < share.count; ++i) {
        for (std::size_t j = 0; j < 8; ++j) value[j] += value[(j + 1) % 8];
      }
      auto sum = static_cast<std::uint32_t>(r * kDeviceLanes.count + l);
      std::uint32_t* const result = p.result + sum;
      for (std::uint32_t const one : value) sum += one;
      *result = sum;
    }
  }
}

namespace {

void launch_reads(Problem const& problem, device::StreamView stream) {
  stream.run([p = problem] { read_reference(p, kHostLanes); });
}

void launch_pointer_chase(Problem const& problem, device::StreamView stream) {
  stream.run([p = problem] { pointer_chase_reference(p); });
}

}  // namespace

extern constinit Variant<Problem> const reference{{.name = "reference",
                                                   .role = Role::reference,
                                                   .where = Where::host,
                                                   .types = kEveryType,
                                                   .needs = {.other = "windows of whole 16 KiB"},
                                                   .source = "textbook",
                                                   .summary = "one thread"},
                                                  launch_reads,
                                                  {.unsupported = window_unsupported<>}};

extern constinit Variant<Problem> const pointer_chase{
    {.name = "pointer_chase",
     .where = Where::host,
     .types = kEveryType,
     .needs = {.other = "windows of whole 16 KiB, at most 16 GiB"},
     .source = "own",
     .summary = "one thread follows a random cycle, one line per step: latency"},
    launch_pointer_chase,
    {.unsupported = window_unsupported<kMaxPointerChaseBytes>,
     .notes = {.result = Problem::Result::walk}}};

}  // namespace quadrille::kernels::memory
