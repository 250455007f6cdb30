// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "io/journal.hpp"
#include "io/run_lock.hpp"
#include "measure/record.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace quadrille::commands {

/// What --resume takes for the latest run of run.output.
inline constexpr std::string_view kLatestRun = "latest";

/// Where a run starts.
struct RunStart {
  std::filesystem::path directory;
  measure::RunResult result{};  ///< on rank 0 with the records of the cases that are finished
  io::RunLock lock{};           ///< of rank 0, as is the journal
  io::Journal journal{};
};

/// Collective. Goes on with a run of `output` where its journal says that the last finished case
/// ends. `start.result.info` tells of this program on these ranks, and becomes that of the run, which
/// the caller appends to the journal. The reason why it cannot, as where the run had another
/// configuration, build, rank count or device; then nothing has changed, nor where the run has its
/// result.
std::string resume(comm::World const& world, std::string const& output, std::string const& id,
                   RunStart& start);

}  // namespace quadrille::commands
