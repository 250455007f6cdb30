// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"

#include <memory>

/// What nothing but a measurement of it needs.
namespace quadrille::device {

/// A stream that the default one waits for and that waits for it, as no other stream of this program
/// does. On a host a stream like any other.
std::unique_ptr<StreamBackend> make_blocking_stream(Device& device);

/// A context of its own on a GPU, current while it lives, with memory that it may have.
class CudaContext {
 public:
  explicit CudaContext(Facts const& facts);
  CudaContext(CudaContext const&) = delete;
  CudaContext& operator=(CudaContext const&) = delete;
  ~CudaContext();
  /// So many bytes, which the context takes with it. Whether it got them.
  bool allocate(std::size_t bytes);

 private:
  void* context_ = nullptr;
};

/// Why there is no cuRAND, which is found at run time; empty where there is.
std::string curand_absent();
/// Enqueues n uniform numbers in (0, 1], f64 or f32, on a stream of a GPU, by cuRAND's default generator,
/// which goes on from call to call. A stream's first call makes one.
void curand_uniform(void* to, core::DataType type, std::int64_t n, StreamView stream);

/// What the driver tells of GPUs, by a call each.
enum class CudaQuery { total_memory, name, pci_bus_id, count, uuid };
/// Asks the driver anew and returns whether the answer is what `facts` say of that GPU.
bool cuda_answers(CudaQuery query, Facts const& facts);

}  // namespace quadrille::device
