// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/access.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace quadrille::kernels::transpose {

/// Sectors per request, averaged over the warps of a block.
struct Sectors {
  double read = 0;
  double written = 0;
  bool operator==(Sectors const&) const = default;
};

/// What a profiler should count for threads that access one element each, in blocks of so many
/// columns; for tiles of 32 x 32; for thread tiles of 4 x 4; for swizzled tiles and wide ones. Inside a large
/// matrix whose first element lies at the start of a sector, from the positions that the kernels'
/// threads access. Nothing for 16-byte accesses where rows do not start at multiples of 16 bytes.
template <int kBlockCols>
std::optional<Sectors> sectors_of_elements(std::size_t element_bytes, std::int64_t in_ld,
                                           std::int64_t out_ld);
std::optional<Sectors> sectors_of_tiles(std::size_t element_bytes, std::int64_t in_ld,
                                        std::int64_t out_ld);
std::optional<Sectors> sectors_of_thread_tiles(std::size_t element_bytes, std::int64_t in_ld,
                                               std::int64_t out_ld);
std::optional<Sectors> sectors_of_swizzled(std::size_t element_bytes, std::int64_t in_ld,
                                           std::int64_t out_ld);
std::optional<Sectors> sectors_of_wide_tiles(std::size_t element_bytes, std::int64_t in_ld,
                                             std::int64_t out_ld);

}  // namespace quadrille::kernels::transpose
