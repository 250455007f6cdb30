// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "memory/memory.hpp"

#include "core/units.hpp"

#include <fmt/format.h>

namespace quadrille::kernels::memory {
namespace {

using core::DataType;

// What is read is bits.
std::vector<DataType> const& any_type() {
  static std::vector<DataType> const types{DataType::f64,  DataType::f32, DataType::f16,
                                           DataType::bf16, DataType::i64, DataType::i32,
                                           DataType::i8};
  return types;
}

constexpr std::string_view kTiles = "windows of whole 16 KiB";

std::vector<Variant<Problem>> const& table() {
  static std::vector<Variant<Problem>> const rows{
      {{"reference", Backend::reference, any_type(), kTiles, "textbook", "one thread"},
       launch_reference},
      {{"kokkos", Backend::kokkos, any_type(), kTiles, "own",
        "all threads, each from a place of its own around the window"},
       launch_kokkos},
      {{"read_global", Backend::cuda, any_type(), kTiles, "own",
        "16-byte loads by 1024 threads a multiprocessor, around one window"},
       QUAD_CUDA_LAUNCH(launch_read_global)},
      {{"read_shared", Backend::cuda, any_type(), "windows of whole 16 KiB, at most 227 KiB", "own",
        "the same from each block's copy in shared memory"},
       QUAD_CUDA_LAUNCH(launch_read_shared)},
      {{"read_registers", Backend::cuda, any_type(), kTiles, "own",
        "additions of two registers each, of which 8 bytes are read"},
       QUAD_CUDA_LAUNCH(launch_read_registers)},
      {{"chase", Backend::host, any_type(), "windows of whole 16 KiB, at most 16 GiB", "own",
        "one thread follows a random cycle, a line a step: latency"},
       launch_chase_host},
      {{"chase", Backend::cuda, any_type(), "windows of whole 16 KiB, at most 16 GiB", "own",
        "one thread follows a random cycle, a line a step: latency"},
       QUAD_CUDA_LAUNCH(launch_chase)},
  };
  return rows;
}

}  // namespace

std::span<Variant<Problem> const> variants() { return table(); }

bool is_chase(VariantInfo const& variant) { return variant.name == "chase"; }

std::string refusal(VariantInfo const& variant, std::int64_t bytes) {
  if (bytes < kTileBytes || bytes % kTileBytes != 0) {
    return fmt::format("reads windows of whole {}, not of {} bytes; take a size that is a multiple",
                       core::format_bytes(kTileBytes), bytes);
  }
  std::int64_t const most = is_chase(variant)               ? kMostChasedBytes
                            : variant.name == "read_shared" ? kMostSharedBytes
                                                            : bytes;
  if (bytes <= most) return {};
  return fmt::format("reads windows of at most {}; take 'read_global' or a smaller size",
                     core::format_bytes(static_cast<double>(most)));
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
