// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/version.hpp"

#include "io/hdf5.hpp"

#include <fmt/format.h>

namespace quadrille::io {

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  QUAD_HDF5(H5get_libversion(&major, &minor, &release));
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace quadrille::io
