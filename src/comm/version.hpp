// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quadrille::comm {

/// First line of what the running MPI library says of itself. Callable before MPI starts.
std::string mpi_library_version();
/// Whether the library is Open MPI, whose launcher has options of its own.
bool is_open_mpi();

}  // namespace quadrille::comm
