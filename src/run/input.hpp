// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "core/config.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace quadrille::run {

/// Where the cases of a run stand, as the command line says it.
struct Input {
  std::string file;
  std::string workload;  ///< --case: one case without a file
  /// The cases of this result as they ran, in place of a file; "" where `rerun` is not meant.
  std::string rerun;
  std::string rerun_case;  ///< of these one measurement, or all of one case
  std::vector<std::string> sets;
  std::vector<std::string> only;
};

/// The file or the bare case with --set applied and sweeps resolved. Not collective.
core::Parsed<core::Config> read_input(Input const& input);
/// ... with the grids of so many ranks, and what --only keeps of it.
core::Parsed<core::Config> cases_for(core::Config const& resolved, Input const& input, int ranks);

/// Rank 0 reads the file or the bare case, applies --set, resolves sweeps and grids, and keeps what
/// --only names; all ranks get the same. An error is the same on every rank. Collective.
core::Parsed<core::Config> read_config(comm::World const& world, Input const& input);

struct CaseName {
  std::string_view name, workload;
};
/// Which cases --only chooses, each by its name, that of its sweep, or its workload; an error where
/// one chooses nothing. All where there are none.
core::Parsed<std::vector<bool>> chosen_by(std::vector<std::string> const& only,
                                          std::vector<CaseName> const& cases);
/// Keeps of cases, or of their records, what --only chooses; or says why not.
template <class Item>
std::string keep_only(std::vector<Item>& items, std::vector<std::string> const& only,
                      CaseName (*name_of)(Item const&)) {
  std::vector<CaseName> names;
  for (Item const& item : items) names.push_back(name_of(item));
  core::Parsed<std::vector<bool>> const is_chosen = chosen_by(only, names);
  if (!is_chosen) return is_chosen.why();
  std::size_t i = 0;
  std::erase_if(items, [&](Item const&) { return !(*is_chosen)[i++]; });
  return {};
}
core::Parsed<core::Config> keep_only(core::Config config, std::vector<std::string> const& only);

}  // namespace quadrille::run
