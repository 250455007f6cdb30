// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/channel.hpp"
#include "comm/group.hpp"

#include <mpi.h>

#include <memory>
#include <source_location>

namespace quadrille::comm {

/// The communicator inside a group. Only files that must call MPI themselves include this header.
struct Group::Impl {
  Impl() = default;
  Impl(Impl const&) = delete;
  Impl& operator=(Impl const&) = delete;
  ~Impl();

  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
};

/// Takes a communicator over and makes its errors return.
Group make_group(MPI_Comm comm);

inline MPI_Comm handle(Group const& group) { return group.impl().comm; }

/// The types that Channel reduces; MPI_DATATYPE_NULL for others.
MPI_Datatype mpi_type(core::DataType type);

/// A reduction as MPI knows it, except that min and max of floats keep a NaN: MPI_MIN and MPI_MAX
/// may drop it.
class ReduceFunction {
 public:
  ReduceFunction(ReduceOp op, core::DataType type);
  ~ReduceFunction();
  ReduceFunction(ReduceFunction const&) = delete;
  ReduceFunction& operator=(ReduceFunction const&) = delete;
  MPI_Op get() const { return op_; }

 private:
  MPI_Op op_ = MPI_OP_NULL;
  bool is_own_ = false;
};

/// Ends the job with the call's own message when `code` is not MPI_SUCCESS. Not collective.
void check_mpi(int code, char const* call,
               std::source_location where = std::source_location::current());

}  // namespace quadrille::comm

#define QUAD_MPI(call) ::quadrille::comm::check_mpi((call), #call)
