// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "memory/memory.hpp"

#include "core/units.hpp"
#include "device/device.hpp"

#include <fmt/format.h>

namespace quadrille::kernels::memory {
// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  kokkos,
  read_global,
  read_shared,
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
}

}  // namespace quadrille::kernels::memory
