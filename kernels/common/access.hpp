// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/requests.hpp"
#include "common/tunable.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// Memory accesses of CUDA kernels, as the interpreter counted them (simt/traffic.hpp).
namespace quadrille::kernels {

/// Memory moves in sectors of so many bytes.
inline constexpr std::int64_t kSectorBytes = 32;

/// The accesses of one variant, for elements of so many bytes; its operation says what a block is.
struct CountedAccesses {
  std::string_view operation, variant;
  int element_bytes = 0;
  Configuration configuration{};  ///< of a tunable variant
  Accesses block{};
  Accesses k_tile{};  ///< of products: further ones for each tile along k
};

/// The table of access_counts.hpp.
std::span<CountedAccesses const> counted_accesses();
/// Its row; nullptr where the variant is not counted. Without a configuration: with its preset.
CountedAccesses const* find_accesses(std::string_view operation, VariantInfo const& variant,
                                     std::size_t element_bytes,
                                     Configuration const& configuration = {});

}  // namespace quadrille::kernels
