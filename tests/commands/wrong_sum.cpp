// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0

// For LD_PRELOAD: an MPI whose sums of real numbers are off by one on the last rank, as a broken network
// or a wrong reduction of a library would make them.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdlib>

namespace {

/// What a rank adds to a sum: one too much for each element of the last rank.
void const* spoiled(void const* sent, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  int rank = 0, size = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  bool const is_sum = type == MPI_DOUBLE && op != MPI_MAX && op != MPI_MIN;
  if (!is_sum || sent == MPI_IN_PLACE || rank + 1 != size) return sent;
  auto* const values =
      static_cast<double*>(std::malloc(sizeof(double) * static_cast<unsigned>(count)));
  for (int i = 0; i < count; ++i) values[i] = static_cast<double const*>(sent)[i] + 1;
  return values;  // sent later, and never given back
}

}  // namespace

extern "C" int MPI_Iallreduce(void const* sent, void* received, int count, MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return PMPI_Iallreduce(spoiled(sent, count, type, op, comm), received, count, type, op, comm,
                         request);
}
