// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

/// One source for every way to run a test of CUDA kernels: quadrille_kernel_test() builds it for
/// the interpreter (_simt), with the race detector (_race), with AddressSanitizer (_asan) and for a
/// GPU
/// (_gpu). The test states kernel, shapes and reference once.
namespace quadrille::test {

enum class KernelMode { simt, race, asan, gpu };
/// How this program was built.
KernelMode kernel_mode();
/// The device of Kind::cuda that kernels run on: the interpreter's, or GPU 0.
device::Device& kernel_device();

/// Calls `body` once on a GPU and once for each schedule of the interpreter: ascending, descending
/// and seeded orders. What the interpreter finds is a failure of the test, which names the
/// schedule. Everything the body reads must be made in the body.
void on_every_schedule(std::function<void(device::Device&, device::StreamView)> const& body);

/// Elements in device memory, copied from and to the host, `offset` elements behind an aligned
/// address, with guards before and behind.
template <class T>
class DeviceArray {
 public:
  /// Uninitialised elements are NaN (0xFF in every byte).
  DeviceArray(device::Device& device, device::StreamView stream, std::int64_t n,
              std::int64_t offset = 0)
      : n_{n},
        offset_{offset + kGuards},
        stream_{stream},
        memory_{device, n + offset + 2 * kGuards, stream} {}
  DeviceArray(device::Device& device, device::StreamView stream, std::vector<T> const& values,
              std::int64_t offset = 0)
      : DeviceArray{device, stream, static_cast<std::int64_t>(values.size()), offset} {
    stream.copy(data(), values.data(), values.size() * sizeof(T));
    stream.synchronize();
  }

  T* data() const { return memory_.data() + offset_; }
  std::int64_t size() const { return n_; }
  std::vector<T> download() const {
    std::vector<T> values(static_cast<std::size_t>(n_));
    stream_.copy(values.data(), data(), values.size() * sizeof(T));
    stream_.synchronize();
    return values;
  }
  /// Whether the guards are as they were.
  bool intact() const {
    std::vector<unsigned char> bytes(memory_.bytes());
    stream_.copy(bytes.data(), memory_.data(), bytes.size());
    stream_.synchronize();
    auto const first = static_cast<std::size_t>(offset_) * sizeof(T);
    auto const last = first + static_cast<std::size_t>(n_) * sizeof(T);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if ((i < first || i >= last) && bytes[i] != 0xFF) return false;
    }
    return true;
  }

 private:
  static constexpr std::int64_t kGuards = 256 / sizeof(T);  // keeps the alignment of the buffer
  std::int64_t n_, offset_;
  device::StreamView stream_;
  device::Buffer<T> memory_;
};

}  // namespace quadrille::test
