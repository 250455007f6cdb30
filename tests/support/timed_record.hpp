// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace quadrille::test {

/// Six repetitions of one rank, of 1 GFLOP each.
inline measure::Record timed(std::string const& name, std::string const& variant, double seconds) {
  measure::Record r;
  r.id = name + ":" + variant;
  r.name = name;
  r.workload = "gemm";
  r.type = "f64";
  r.variant = variant;
  r.role = variant == "vendor" ? "vendor" : "own";
  r.backend = variant == "vendor" ? "vendor" : "cuda";
  r.transport = "none";
  r.device = "GPU";
  r.size = {1024};
  r.config = fmt::format("[[case]]\nname = \"{}\"\nworkload = \"gemm\"\nsize = 1024\n", name);
  r.ranks = 1;
  r.outcome = measure::Outcome::pass;
  r.amount = 1e9;
  r.unit = "FLOP/s";
  r.peak = 2e12;
  r.roofline = {.flop = 1e9, .bytes = 1e6, .compute_peak = 2e12, .memory_peak = 1e12};
  r.seconds.assign(6, seconds);
  r.check = {0.25, 1, 0, "", "0123"};
  finish(r);
  return r;
}

/// Sets the ratios to the last record, the vendor's.
inline void compare_with_vendor(std::vector<measure::Record>& records) {
  for (measure::Record& r : records) set_ratio(r, records.back());
}

}  // namespace quadrille::test
