// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.hpp"
#include "device/cuda/library.hpp"
#include "device/cuda/stream.hpp"

#include <cublas_v2.h>
#include <map>
#include <mutex>
#include <string>

namespace quadrille::kernels {

/// cuBLAS, found at run time, with a handle for each stream, made by the stream's first launch,
/// which takes long and allocates. Handles are never destroyed: they end with the process. Thread
/// safe. For the vendor lines of operations alone.
class Cublas {
 public:
  static Cublas& instance() {
    static Cublas cublas;
    return cublas;
  }

  /// CUBLAS_DEFAULT_MATH: the library's fastest with at least the precision of the type; TF32 and
  /// emulation have modes of their own. CUBLAS_PEDANTIC_MATH would slow f64 down by a quarter. Where
  /// a product is stored in less than it is computed in, the sums of its parts are not.
  cublasHandle_t handle(device::StreamView stream) {
    std::lock_guard const lock{mutex_};
    cublasHandle_t& handle = handles_[device::cuda_stream(stream)];
    if (handle == nullptr) handle = make_handle(stream);
    return handle;
  }

  /// Calls call(handle) with a handle that nobody else has used, and waits for what it enqueues.
  template <class Call>
  void with_fresh_handle(device::StreamView stream, Call const& call) {
    cublasHandle_t const handle = make_handle(stream);
    call(handle);
    stream.synchronize();
    check(get<decltype(cublasDestroy_v2)>("cublasDestroy_v2")(handle), "cublasDestroy");
  }

  /// A function of the library; Function is the type of its declaration.
  template <class Function>
  Function* get(char const* name) const {
    return library_.get<Function>(name);
  }

  /// Ends the job unless the call succeeded.
  void check(cublasStatus_t status, char const* call) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    auto* const to_text = get<decltype(cublasGetStatusString)>("cublasGetStatusString");
    core::fail(std::string{call} + ": " + to_text(status));
  }

 private:
  cublasHandle_t make_handle(device::StreamView stream) const {
    cublasHandle_t handle = nullptr;
    check(get<decltype(cublasCreate_v2)>("cublasCreate_v2")(&handle), "cublasCreate");
    check(get<decltype(cublasSetStream_v2)>("cublasSetStream_v2")(handle,
                                                                  device::cuda_stream(stream)),
          "cublasSetStream");
    check(get<decltype(cublasSetMathMode)>("cublasSetMathMode")(
              handle, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                                CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
          "cublasSetMathMode");
    return handle;
  }

  device::Library library_{{"libcublas.so.13", "libcublas.so.12", "libcublas.so"}};
  std::mutex mutex_;
  std::map<cudaStream_t, cublasHandle_t> handles_;
};

}  // namespace quadrille::kernels
