// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/workload.hpp"

namespace quadrille::measure {

/// What this rank's device is taken to do per second: a usual part of its peaks, and where nobody
/// knows those what is usual for a thread of a host. Right to a factor of a few.
struct AssumedRates {
  double flop = 0;
  double bytes = 0;        ///< of its memory
  double evaluations = 0;  ///< of an integrand
  double network = 0;      ///< bytes that leave a rank
  double generated = 0;    ///< elements that a host generates, for inputs and checks
};
AssumedRates assumed_rates(core::Case const& spec, device::Facts const& facts, device::Kind kind,
                           int threads);

/// About how many seconds one execution of a variant takes on `ranks` such ranks.
double estimated_execution(kernels::VariantInfo const& variant, Description const& description,
                           AssumedRates const& rates, int ranks);

/// About how many seconds a case takes with these variants: inputs, first runs, warm-ups,
/// repetitions of all legs, checks and digests.
double estimated_seconds(core::Case const& spec, Description const& description,
                         Selection const& selected, AssumedRates const& rates, int ranks);

}  // namespace quadrille::measure
