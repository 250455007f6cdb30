// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvml.h>

namespace quadrille::test {

/// What a virtual machine does not show.
constexpr unsigned kHidden = ~0U;

struct NvmlAnswers {
  unsigned long long reasons = 0;
  unsigned clock_mhz = 1980, busy_percent = 30, power_mw = 350'000;
  unsigned ecc = 1, persistence = 1, links = 18, links_up = 18;
  unsigned power_limit_mw = 700'000, default_power_limit_mw = 700'000, recovery = 0;
  unsigned remapped = 2, pending = 0, failed = 0;  ///< rows, after errors that were corrected
  unsigned retired_pages = kHidden;                ///< of each cause
  unsigned generation = 1, width = 16, max_generation = 5, max_width = 16;
};

}  // namespace quadrille::test
