// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/machine.hpp"
#include "core/config.hpp"
#include "measure/best_rows.hpp"
#include "measure/tuned_table.hpp"
#include "measure/workload.hpp"

#include <string>

namespace quadrille::run {

/// The user's table; "" where there is no folder for it.
std::string user_table_path();
/// A table in a file; one that is not there is empty. What is no table ends the job with
/// Exit::bad_config.
measure::TunedTable read_table(std::string const& path);

/// What tuning has found for a class on this device, the fastest first, by the program and, before it,
/// by the user: of those variants and configurations that all ranks can run, as `config` of a case.
/// "auto" where there is nothing. Collective; rank 0 reads the tables.
std::string tuned_config(comm::Machine const& machine, core::Case const& spec,
                         measure::WorkloadEntry const& entry);

/// The user's table as the memory of searches for "best". What cannot be kept there is searched again.
measure::BestMemory memory_of_best();

}  // namespace quadrille::run
