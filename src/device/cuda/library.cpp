// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/library.hpp"

#include "core/error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace quadrille::device {

Library::Library(std::vector<std::string> const& names) {
  for (std::string const& name : names) {
    name_ = name;
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      why_absent_.clear();
      return;
    }
    if (why_absent_.empty()) why_absent_ = dlerror();
  }
}

void* Library::find_or_null(char const* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

void* Library::find(char const* name) const {
  if (handle_ == nullptr) {
    core::fail(fmt::format("{}; install it or add its folder to LD_LIBRARY_PATH", why_absent_),
               core::Exit::environment);
  }
  void* const function = find_or_null(name);
  if (function == nullptr) {
    core::fail(fmt::format("{} has no function {}; install a newer one", name_, name),
               core::Exit::environment);
  }
  return function;
}

}  // namespace quadrille::device
