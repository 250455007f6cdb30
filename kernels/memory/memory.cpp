// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "memory/memory.hpp"

#include "core/units.hpp"
#include "device/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace quadrille::kernels::memory {
// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  kokkos,
  read_global,
  read_shared,
  read_shared_strided,
  read_registers,
  pointer_chase,
  pointer_chase_cuda
);
// clang-format on

Variants<Problem> variants() { return kTable; }

ProblemFacts facts_of(Problem const& p) {
  // What is read is bits.
  return {
      .types = core::DataType::i32,
      .result = {"the window",
                 {const_cast<void*>(p.window), core::DataType::i32, 1, p.bytes / 4, p.bytes / 4}}};
}

std::string window_unsupported(std::int64_t bytes, std::int64_t most) {
  if (bytes < kTileBytes || bytes % kTileBytes != 0) {
    return fmt::format("reads windows of whole {}, not of {} bytes; take a size that is a multiple",
                       core::format_bytes(kTileBytes), bytes);
  }
  if (bytes <= most) return {};
  return fmt::format("reads windows of at most {}; take a smaller size",
                     core::format_bytes(static_cast<double>(most)));
}

int conflict_degree(int width, int stride) {
  std::array<std::set<int>, 32> banks;
  int const lanes = width <= 4 ? 32 : 128 / width;
  for (int lane = 0; lane < lanes; ++lane) {
    int const first = lane * stride * width / 4;
    for (int word = first; word < first + std::max(1, width / 4); ++word) {
      banks[static_cast<std::size_t>(word % 32)].insert(word);
    }
  }
  std::size_t most = 0;
  for (std::set<int> const& words : banks) most = std::max(most, words.size());
  return static_cast<int>(most);
}

void read_any(Problem const& problem, device::StreamView stream) {
  if (stream.device().kind() == device::Kind::cuda) return read_global.launch(problem, stream);
  host_simd.launch(problem, stream);
}

void require_consistent(Problem const& p) {
  QUAD_REQUIRE(p.window != nullptr && p.result != nullptr, "memory: window or result is missing");
  QUAD_REQUIRE(p.bytes >= kTileBytes && p.bytes % kTileBytes == 0,
               "memory: the window must consist of whole tiles; take a multiple of 16 KiB");
  QUAD_REQUIRE(p.tiles >= 0 && p.readers > 0, "memory: tiles and readers must be positive");
  QUAD_REQUIRE(reinterpret_cast<std::uintptr_t>(p.window) % 16 == 0,
               "memory: the window must be aligned to 16 bytes; take one from the device");
  QUAD_REQUIRE(p.carveout >= -1 && p.carveout <= 100, "memory: carveout must be -1 to 100");
  QUAD_REQUIRE(p.width == 2 || p.width == 4 || p.width == 8 || p.width == 16,
               "memory: width must be 2, 4, 8 or 16 bytes");
  QUAD_REQUIRE(p.stride >= 1, "memory: stride must be 1 or more");
}

}  // namespace quadrille::kernels::memory
