// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

/// What requests of a warp cost, by the addresses of its active lanes.
namespace quadrille::kernels {

/// Memory moves in sectors of so many bytes.
inline constexpr std::int64_t kSectorBytes = 32;

/// Sectors that one request of a warp touches: lanes access `access_bytes` each at `addresses`.
int sectors_of(std::span<std::int64_t const> addresses, std::int64_t access_bytes);

/// Passes that shared memory needs for one request of a warp: 32 banks of 4 bytes give one word each
/// at a time, a word once for all lanes that want it. Lanes with up to 4 bytes are served together,
/// with 8 by halves of a warp, with 16 by quarters; `least` is what these need without bank conflicts.
struct Wavefronts {
  int needed = 0;
  int least = 0;
};
Wavefronts wavefronts_of(std::span<std::int64_t const> offsets, std::int64_t access_bytes);

}  // namespace quadrille::kernels
