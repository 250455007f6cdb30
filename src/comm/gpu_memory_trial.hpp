// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/channel.hpp"
#include "comm/group.hpp"
#include "device/views.hpp"

#include <functional>
#include <string>

namespace quadrille::comm {

/// Whether this program was compiled for an MPI that takes memory of GPUs.
bool is_built_for_gpu_memory();
/// Whether the MPI that runs says so too; after MPI_Init. Not collective.
bool takes_gpu_memory();
/// What is said where it does not.
inline constexpr char const* kTakesNoGpuMemory =
    "this MPI takes no memory of GPUs; take mpi, or an MPI built with CUDA";

/// Sends to one rank while a message arrives from another; back when both are through.
using TriedExchange = std::function<void(ConstPiece out, int to, Piece in, int from)>;
/// By the calls of MPI that channels make.
TriedExchange tried_mpi_exchange(Group const& group);

/// Why device memory may not be handed to `exchange`, by sending patterns from there to the neighbour
/// and to the rank itself; empty where all arrive. Calls nothing unless every rank is allowed to.
/// Collective; the same text on all ranks.
std::string gpu_memory_problem(bool is_allowed, Group const& group, device::StreamView stream,
                               TriedExchange const& exchange);

}  // namespace quadrille::comm
