// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.hpp"

#include <hdf5.h>

#include <source_location>
#include <string>
#include <utility>

namespace quadrille::io {

/// Keeps HDF5 from printing its error stack; to be called before other calls of a thread.
void silence_hdf5();
/// "H5Fopen: unable to open file: No such file or directory": the call, and the outermost and
/// innermost entry of HDF5's error stack, which is cleared.
std::string hdf5_error(char const* call);

/// Ends the job with hdf5_error() when `value` is negative, else returns it.
template <class T>
T check_hdf5(T value, char const* call,
             std::source_location where = std::source_location::current()) {
  if (value < 0) core::fail(hdf5_error(call), core::Exit::runtime, where);
  return value;
}

/// Owns one HDF5 identifier; negative is empty. A file of several ranks is closed by close(), which
/// is collective there; the destructor is for files of one rank.
template <herr_t (*kClose)(hid_t)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_{id} {}
  Handle(Handle&& other) noexcept : id_{std::exchange(other.id_, -1)} {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) kClose(id_);
  }
  explicit operator bool() const { return id_ >= 0; }
  operator hid_t() const { return id_; }
  /// Negative when something that was still in memory could not be written.
  herr_t close() { return id_ >= 0 ? kClose(std::exchange(id_, -1)) : 0; }

 private:
  hid_t id_ = -1;
};

using File = Handle<H5Fclose>;
using Group = Handle<H5Gclose>;
using Dataset = Handle<H5Dclose>;
using Attribute = Handle<H5Aclose>;
using Space = Handle<H5Sclose>;
using Type = Handle<H5Tclose>;
using Properties = Handle<H5Pclose>;

/// How files are opened: without locks, which network file systems often lack; nobody writes to a
/// finished file, and nobody else knows an unfinished one.
Properties file_access();
/// Strings of any length in UTF-8; h5py shows them as str.
Type string_type();

}  // namespace quadrille::io

/// Evaluates an HDF5 call; a negative result ends the job with HDF5's own words.
#define QUAD_HDF5(call) ::quadrille::io::check_hdf5((call), #call)
