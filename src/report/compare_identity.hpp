// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config.hpp"
#include "core/units.hpp"
#include "measure/record.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quadrille::report {

/// What two runs, or measurements, say differently of one thing.
struct Difference {
  std::string what;
  std::string base, now;
  bool operator==(Difference const&) const = default;
};

/// A transport. Where both runs chose theirs, which they took is a result and no condition.
struct Carrier {
  std::string name;
  bool is_chosen = false;
  bool operator==(Carrier const& other) const {
    return name == other.name || (is_chosen && other.is_chosen);
  }
};

/// Which measurement a record is of: times of equal identities may be compared. Names of cases are
/// no part of it, nor is what changes only how many samples there are, what is checked, saved or
/// measured beside, or the seed.
struct Identity {
  // What is computed.
  std::string workload{}, type{}, variant{}, data{};
  Carrier transport{};
  std::vector<std::int64_t> size{};  ///< of all extents
  core::Compute compute = core::Compute::automatic;
  core::GridShape grid{};       ///< never "auto"; 0 x 0 where there is none
  std::string configuration{};  ///< of a tunable variant
  bool legs = false;
  core::Case spec{};  ///< the case itself, for the parameters of its workload
  // On what, and how it is timed.
  std::int64_t ranks = 0;
  std::vector<std::string> devices{};  ///< models, of each rank
  double throttle = 0;
  bool modelled_link = false;
  core::Clock clock = core::Clock::burst;
  std::string timing{};
  core::Cache cache = core::Cache::cold;
  std::int64_t chunk_bytes = 0, nccl_ctas = 0;  ///< 0 where nothing is communicated
  double amount = 0;                            ///< work of one repetition
};

/// "n1, 4 x n2": equal neighbours once.
std::string list_runs(std::vector<std::string> const& texts);

/// Of a record of this run; or why this program cannot read its configuration.
core::Parsed<Identity> identity_of(measure::Record const& record, measure::RunInfo const& info);

/// Every member by which two identities differ, under its key in input files where it has one.
std::vector<Difference> differences(Identity const& base, Identity const& now);
/// Settings by which measurements of equal identities differ: how many samples there are, what is
/// checked, saved or measured beside, the seed; of each base run and of the new one.
std::vector<Difference> sampling_settings(std::vector<core::Case> const& base,
                                          core::Case const& now);
/// Whether they compute the same, wherever and however it is timed.
bool same_problem(Identity const& base, Identity const& now);

}  // namespace quadrille::report
