// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/group.hpp"

#include <mpi.h>

namespace quadrille::comm {

/// The communicator inside a group. Only files that must call MPI themselves include this header.
struct Group::Impl {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
};

inline MPI_Comm handle(Group const& group) { return group.impl().comm; }

/// Ends the job with the call's own message when `code` is not MPI_SUCCESS. Not collective.
void check_mpi(int code, char const* call,
               std::source_location where = std::source_location::current());

}  // namespace quadrille::comm

#define QUAD_MPI(call) ::quadrille::comm::check_mpi((call), #call)
