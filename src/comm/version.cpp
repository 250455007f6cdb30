// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/version.hpp"

#include "comm/mpi_handle.hpp"

#include <array>

namespace quadrille::comm {

std::string mpi_library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  QUAD_MPI(MPI_Get_library_version(text.data(), &length));
  std::string const all{text.data(), static_cast<std::size_t>(length)};
  return all.substr(0, all.find_first_of(",\n"));
}

bool is_open_mpi() {
#ifdef OPEN_MPI
  return true;
#else
  return false;
#endif
}

}  // namespace quadrille::comm
