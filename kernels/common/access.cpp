// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/access.hpp"

#include "common/access_counts.hpp"
#include "common/asked_bytes.hpp"

#include <algorithm>
#include <iterator>

namespace quadrille::kernels {

std::span<CountedAccesses const> counted_accesses() { return kCountedAccesses; }

CountedBytes const& bytes_of(CountedAccesses const& row) {
  static_assert(std::size(kCountedBytes) == std::size(kCountedAccesses));
  return kCountedBytes[&row - kCountedAccesses];
}

CountedAccesses const* find_accesses(std::string_view operation, VariantInfo const& variant,
                                     std::size_t element_bytes,
                                     Configuration const& configuration) {
  bool const is_preset = variant.tunable != nullptr && configuration.is_empty();
  Configuration const& wanted = is_preset ? variant.tunable->preset : configuration;
  auto const* const found = std::ranges::find_if(kCountedAccesses, [&](auto const& row) {
    return row.operation == operation && row.variant == variant.name &&
           row.element_bytes == static_cast<int>(element_bytes) && row.configuration == wanted;
  });
  return variant.where == Where::cuda && found != std::end(kCountedAccesses) ? found : nullptr;
}

}  // namespace quadrille::kernels
