// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.hpp"
#include "device/cuda/library.hpp"
#include "device/cuda/stream.hpp"
#include "device/device.hpp"

#include <cublasLt.h>
#include <map>
#include <mutex>
#include <string>

namespace quadrille::kernels {

/// cuBLASLt, found at run time, with one handle and a workspace for each stream, made by the
/// stream's first use. Neither is ever destroyed: they end with the process. Thread safe. For the
/// vendor lines of operations alone.
class CublasLt {
 public:
  /// What NVIDIA recommends for Hopper; the largest workspace that an algorithm may ask for.
  static constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

  static CublasLt& instance() {
    static CublasLt library;
    return library;
  }

  bool is_present() const { return library_.why_absent().empty(); }

  cublasLtHandle_t handle() {
    std::lock_guard const lock{mutex_};
    if (handle_ == nullptr) {
      check(get<decltype(cublasLtCreate)>("cublasLtCreate")(&handle_), "cublasLtCreate");
    }
    return handle_;
  }

  /// kWorkspaceBytes of device memory, for work of this stream alone.
  void* workspace(device::StreamView stream) {
    std::lock_guard const lock{mutex_};
    void*& workspace = workspaces_[device::cuda_stream(stream)];
    if (workspace == nullptr) {
      workspace = stream.device().allocate_ordered(kWorkspaceBytes, stream);
    }
    return workspace;
  }

  /// A function of the library; Function is the type of its declaration.
  template <class Function>
  Function* get(char const* name) const {
    return library_.get<Function>(name);
  }

  /// Ends the job unless the call succeeded.
  void check(cublasStatus_t status, char const* call) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    auto* const to_text = get<decltype(cublasLtGetStatusString)>("cublasLtGetStatusString");
    core::fail(std::string{call} + ": " + to_text(status));
  }

 private:
  device::Library library_{{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}};
  std::mutex mutex_;
  cublasLtHandle_t handle_ = nullptr;
  std::map<cudaStream_t, void*> workspaces_;
};

}  // namespace quadrille::kernels
