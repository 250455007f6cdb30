// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quadrille::io {

/// Version of the HDF5 library that runs, "1.10.8".
std::string hdf5_version();

}  // namespace quadrille::io
