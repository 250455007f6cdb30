// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config.hpp"
#include "measure/record.hpp"

#include <map>
#include <utility>

namespace quadrille::measure {

/// What the cases of a run have shown its devices to do, for the rooflines of later ones. Nominal
/// peaks are those of the highest clock, which a device need not keep, and of a host's memory none is
/// known.
class MeasuredPeaks {
 public:
  /// Takes the rate of a record that measures one and can be trusted.
  void add(core::Case const& spec, Record const& record);
  /// Replaces the nominal peaks of a record that does not measure them itself.
  void set_in(core::Case const& spec, Record& record) const;

 private:
  using Key = std::pair<core::DataType, core::Compute>;
  static Key key_of(core::Case const& spec) {
    return {spec.type, core::compute_for(spec.type, spec.compute)};
  }
  std::map<Key, double> compute_;
  double memory_ = 0;
};

}  // namespace quadrille::measure
