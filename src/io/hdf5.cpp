// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5.hpp"

#include <cstring>
#include <string_view>
#include <vector>

namespace quadrille::io {

void silence_hdf5() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

std::string hdf5_error(char const* call) {
  std::vector<std::string> entries;
  auto const collect = [](unsigned, H5E_error2_t const* entry, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->emplace_back(entry->desc);
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, collect, &entries);
  H5Eclear2(H5E_DEFAULT);
  // A macro may pass the whole call: its name is enough.
  std::string text{std::string_view{call}.substr(0, std::strcspn(call, "("))};
  if (!entries.empty()) text += ": " + entries.front();
  if (entries.size() > 1) text += ": " + entries.back();
  return text;
}

Properties file_access() {
  Properties properties{QUAD_HDF5(H5Pcreate(H5P_FILE_ACCESS))};
  QUAD_HDF5(H5Pset_file_locking(properties, false, true));
  return properties;
}

Type string_type() {
  Type type{QUAD_HDF5(H5Tcopy(H5T_C_S1))};
  QUAD_HDF5(H5Tset_size(type, H5T_VARIABLE));
  QUAD_HDF5(H5Tset_cset(type, H5T_CSET_UTF8));
  return type;
}

}  // namespace quadrille::io
