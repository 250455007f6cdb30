// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::report {

/// The name in the input file of a case that a sweep, or a choice of all grids or transports, made:
/// "summa" of "summa.3" and of "summa.2.1x2".
std::string_view swept_name(measure::Record const& record);

/// Equal for cases that differ in their transport alone, which a sweep, or a choice of all of them,
/// made of one. Differs from case to case where a configuration cannot be read.
std::string apart_from_transport(measure::Record const& record);

/// Equal for cases of whatever name that compute the same under the same conditions, but for their
/// size: by another variant, transport or grid, in other panels, and the like. Empty where a
/// configuration cannot be read.
std::string apart_from_choices(measure::Record const& record);
/// The choices that differ, as `record` has them: "broadcast = library, panel = 512".
std::string choices_unlike(measure::Record const& record, measure::Record const& other);

/// What tells the cases of a sweep apart: keys of their configurations, but for those that a record
/// has as members (size, type, transport, grid).
class SweptKeys {
 public:
  explicit SweptKeys(std::span<measure::Record const* const> records);

  /// Those whose values differ within a sweep, in alphabetical order.
  std::vector<std::string> const& keys() const { return keys_; }
  /// Those that differ within the sweep of this record; none of a case alone.
  std::vector<std::string> const& keys_of(measure::Record const& record) const;
  /// As people write it; "-" where its workload has no such key.
  std::string value(measure::Record const& record, std::string const& key) const;

 private:
  using Values = std::map<std::string, std::string, std::less<>>;
  std::vector<std::string> keys_;
  std::map<std::string, std::vector<std::string>, std::less<>> keys_by_sweep_;
  std::map<std::string, Values, std::less<>> values_;  ///< by the names of cases
};

}  // namespace quadrille::report
