// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <string_view>

namespace quadrille::kernels::copy {

/// n bytes from `from` to `to`, not overlapping, both device accessible. Any alignment.
struct Problem {
  static constexpr std::string_view kOperation = "copy";

  void* to = nullptr;
  void const* from = nullptr;
  std::int64_t bytes = 0;
};

Variants<Problem> variants();
ProblemFacts facts_of(Problem const& problem);
/// Ends the job unless the problem is complete.
void require_consistent(Problem const& problem);

/// The ceiling that other operations are compared with: the fastest plain copy of the device.
void copy_in_order(Problem const& problem, device::StreamView stream);

}  // namespace quadrille::kernels::copy
