// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace quadrille::device {

/// A vendor's library found at run time (cuBLAS, NCCL, NVML), so that the program also starts where
/// it is missing. Never unloaded. Thread safe.
class Library {
 public:
  /// Tries the names in their order, for example {"libcublas.so.13", "libcublas.so"}.
  explicit Library(std::vector<std::string> const& names);
  /// Empty when the library was found, else what the loader said.
  std::string const& why_absent() const { return why_absent_; }

  /// The function called `name`; a missing library or function ends the job with
  /// Exit::environment. Function is the type of the declaration: decltype(cublasCreate_v2).
  template <class Function>
  Function* get(char const* name) const {
    return reinterpret_cast<Function*>(find(name));
  }
  /// The same, but null where the library or the function is missing.
  template <class Function>
  Function* find_optional(char const* name) const {
    return reinterpret_cast<Function*>(find_or_null(name));
  }

 private:
  void* find(char const* name) const;
  void* find_or_null(char const* name) const;

  void* handle_ = nullptr;
  std::string name_;
  std::string why_absent_;
};

}  // namespace quadrille::device
