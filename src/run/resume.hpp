// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/directory.hpp"

#include <string>

namespace quadrille::run {

/// Collective. Goes on with a run of `output` where its journal says that the last finished case
/// ends. `start.result.info` tells of this program on these ranks, and becomes that of the run, which
/// the caller appends to the journal. The reason why it cannot, as where the run had another
/// configuration, build, rank count or device; then nothing has changed, nor where the run has its
/// result.
std::string resume(comm::World const& world, std::string const& output, std::string const& id,
                   RunStart& start);

}  // namespace quadrille::run
