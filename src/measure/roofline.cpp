// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/roofline.hpp"

#include <algorithm>

namespace quadrille::measure {

void MeasuredPeaks::add(core::Case const& spec, Record const& record) {
  if (record.outcome != Outcome::pass || !record.suspect.empty()) return;
  auto const raise = [&](double& peak) { peak = std::max(peak, record.rate); };
  if (record.measures == Resource::compute) raise(compute_[key_of(spec)]);
  if (record.measures == Resource::memory) raise(memory_);
}

void MeasuredPeaks::set_in(core::Case const& spec, Record& record) const {
  if (record.measures == Resource::compute) return;
  Roofline& roofline = record.roofline;
  if (auto const found = compute_.find(key_of(spec)); found != compute_.end()) {
    // Of what is no product the units' own peak stands: what is above it was measured of matrix units.
    bool const is_of_others = record.unit != "FLOP/s" && roofline.compute_peak > 0 &&
                              found->second > roofline.compute_peak;
    if (!is_of_others) {
      roofline.compute_peak = found->second;
      roofline.compute_is_measured = true;
    }
  }
  // Of what measures memory the nominal peak is the better ceiling, where there is one.
  if (memory_ > 0 && (record.measures == Resource::none || roofline.memory_peak == 0)) {
    roofline.memory_peak = memory_;
    roofline.memory_is_measured = true;
  }
}

}  // namespace quadrille::measure
