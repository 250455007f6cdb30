// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace quadrille::kernels::transpose {

/// Memory moves in sectors of so many bytes.
inline constexpr std::int64_t kSectorBytes = 32;

/// Sectors that one request of a warp touches: lanes access `access_bytes` each at `addresses`.
int sectors_of(std::span<std::int64_t const> addresses, std::int64_t access_bytes);

/// Sectors per request, averaged over the warps of a block.
struct Sectors {
  double read = 0;
  double written = 0;
  bool operator==(Sectors const&) const = default;
};

/// What a profiler should count for a CUDA variant inside a large matrix whose first element lies
/// at the begin of a sector, from the places that the kernel's threads access. Nothing for variants
/// that are unknown or whose threads do not access memory, and for 16-byte accesses where rows do
/// not begin at multiples of 16 bytes.
std::optional<Sectors> sectors_per_request(std::string_view variant, std::size_t element_bytes,
                                           std::int64_t in_ld, std::int64_t out_ld);

}  // namespace quadrille::kernels::transpose
