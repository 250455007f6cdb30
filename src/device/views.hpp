// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.hpp"
#include "core/types.hpp"
#include "device/peaks.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

/// What kernels see of a device: views and facts. Its owners are in device.hpp, whose headers of the
/// standard library cost a compiler more than most kernels.
namespace quadrille::device {

enum class Kind { host, cuda };
enum class Priority { normal, high };

class Device;
class Event;
class Flag;
class StreamBackend;

/// What of this program's kernels a GPU runs.
struct CodeArchitecture {
  int compute_capability = 0;  ///< that they were compiled for, times ten; 0: there are none for it
  bool exact = false;          ///< with what this architecture alone has, as sm_90a
};

/// What is known of a device. Empty or zero where the platform does not say.
struct Facts {
  std::string name;
  std::string uuid;
  std::string pci;
  int numa_node = -1;
  int index = 0;               ///< of the GPUs here; -1 of a device that is only planned for
  int compute_capability = 0;  ///< times ten; 0 on the host
  CodeArchitecture code;
  int multiprocessors = 0;  ///< of a GPU; threads of a host device
  std::size_t memory_bytes = 0;
  std::size_t l2_bytes = 0;
  double clock_hz = 0;         ///< highest clock of the multiprocessors
  double memory_clock_hz = 0;  ///< of one transfer, of which the memory makes two
  double peak_bandwidth = 0;   ///< bytes/s; 0 unknown, as on hosts
  Peaks peaks;
};

/// View of elements in device memory. Never owns.
template <class T>
struct Span {
  T* data = nullptr;
  std::int64_t size = 0;
  Span() = default;
  Span(T* pointer, std::int64_t n) : data{pointer}, size{n} {}
  operator Span<T const>() const { return {data, size}; }
  std::size_t bytes() const { return static_cast<std::size_t>(size) * sizeof(T); }
  Span part(std::int64_t first, std::int64_t n) const { return {data + first, n}; }
};

/// Row-major matrix of any element type in device memory: element (i, j) is at i * ld + j.
struct MatrixView {
  void* data = nullptr;
  core::DataType type = core::DataType::f64;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t ld = 0;

  void* at(std::int64_t i, std::int64_t j) const {
    return static_cast<char*>(data) + static_cast<std::size_t>(i * ld + j) * core::size_of(type);
  }
  MatrixView block(std::int64_t i, std::int64_t j, std::int64_t m, std::int64_t n) const {
    return {at(i, j), type, m, n, ld};
  }
  template <class T>
  T* as() const {
    QUAD_REQUIRE(core::type_of<std::remove_const_t<T>>() == type,
                 "matrix view read as another type");
    return static_cast<T*>(data);
  }
};

/// A stream somebody else owns; a value, cheap to copy. All calls return at once unless said.
class StreamView {
 public:
  StreamView() = default;
  explicit StreamView(StreamBackend* backend) : backend_{backend} {}
  explicit operator bool() const { return backend_ != nullptr; }
  bool operator==(StreamView const&) const = default;

  Device& device() const;
  /// Of its device.
  Facts const& facts() const;
  /// Copies between any two of device, pinned and plain host memory. Plain host memory must stay
  /// alive and unchanged until the stream has passed the copy.
  void copy(void* to, void const* from, std::size_t bytes) const;
  void copy_2d(void* to, std::size_t to_pitch, void const* from, std::size_t from_pitch,
               std::size_t row_bytes, std::size_t rows) const;
  void fill(void* to, unsigned char value, std::size_t bytes) const;
  void record(Event& event) const;
  /// Later work of this stream starts after the event's latest record *before this call*.
  /// An event never recorded is no wait at all, as in CUDA.
  void wait(Event const& event) const;
  /// Later work of this stream starts once flag >= value (as a wrapping 32-bit difference).
  void wait(Flag const& flag, std::uint32_t value) const;
  /// Runs a host function in stream order. It must not call into this device's streams. Defined in
  /// device.hpp.
  template <class Task>
  void run(Task&& task) const;
  /// Blocks the calling thread until all earlier work of the stream is done.
  void synchronize() const;
  StreamBackend* backend() const { return backend_; }

 private:
  StreamBackend* backend_ = nullptr;
};

}  // namespace quadrille::device
