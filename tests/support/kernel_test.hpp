// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/generator.hpp"
#include "device/device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

/// One source for every way to run a test of CUDA kernels: quadrille_kernel_test() builds it for
/// the interpreter (_simt) and for a GPU (_gpu). The test states kernel, shapes and reference once.
namespace quadrille::test {

enum class KernelMode { simt, gpu };
/// How this program was built.
KernelMode kernel_mode();
/// The device of Kind::cuda that kernels run on: the interpreter's, or GPU 0.
device::Device& kernel_device();

/// Calls `body` once on a GPU and once for each schedule of the interpreter: ascending, descending
/// and seeded orders. What the interpreter finds is a failure of the test, which names the
/// schedule. Everything the body reads must be made in the body. One of the schedules finds races.
void on_every_schedule(std::function<void(device::Device&, device::StreamView)> const& body);

/// Whether the race detector looks in this schedule; without one set, it does.
bool finds_races();

/// n elements that differ by position and tag.
template <class T>
std::vector<T> generated(core::DataKind kind, std::uint64_t tag, std::int64_t n) {
  std::vector<T> values(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    values[static_cast<std::size_t>(i)] = core::generate<T>(kind, 1, tag, 0, i);
  }
  return values;
}

/// What two numbers that are the same share, NaN and zeros with signs among them.
inline std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

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
        memory_{device, n + offset + 2 * kGuards, stream} {
    stream.synchronize();  // or it might end while it is still being filled
  }
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
    auto const first = static_cast<std::size_t>(offset_) * sizeof(T);
    auto const last = first + static_cast<std::size_t>(n_) * sizeof(T);
    auto const is_intact = [&](std::size_t begin, std::size_t end) {
      std::vector<unsigned char> bytes(end - begin);
      stream_.copy(bytes.data(), reinterpret_cast<unsigned char const*>(memory_.data()) + begin,
                   bytes.size());
      stream_.synchronize();
      return std::ranges::count(bytes, 0xFF) == std::ssize(bytes);
    };
    return is_intact(0, first) && is_intact(last, memory_.bytes());
  }

 private:
  static constexpr std::int64_t kGuards = 256 / sizeof(T);  // keeps the alignment of the buffer
  std::int64_t n_, offset_;
  device::StreamView stream_;
  device::Buffer<T> memory_;
};

/// Elements of a vector with more of them than 32 bits count; in the interpreter some thousands.
inline std::int64_t long_size() {
  return kernel_mode() == KernelMode::gpu ? (std::int64_t{1} << 31) + 1001 : 5001;
}

/// long_size() elements in device memory, all bytes alike but for single elements.
template <class T>
class LongArray {
 public:
  /// Whether `count` of them fit the device.
  static bool fits(device::Device& device, std::size_t count) {
    return kernel_mode() != KernelMode::gpu || count * bytes() < device.free_memory();
  }
  /// Where elements are set: at the ends and where an index in 32 bits would change its sign.
  static std::vector<std::int64_t> places() {
    std::int64_t const n = long_size();
    std::int64_t const turn = n - 1001;
    return {0, n / 3, turn - 1, turn, turn + 1, n - 1};
  }

  LongArray(device::Device& device, device::StreamView stream, unsigned char byte)
      : device_{device}, stream_{stream}, data_{static_cast<T*>(device.allocate(bytes()))} {
    stream_.fill(data_, byte, bytes());
  }
  ~LongArray() { device_.release(data_); }
  LongArray(LongArray const&) = delete;
  LongArray& operator=(LongArray const&) = delete;

  T* data() const { return data_; }
  void set(std::int64_t i, T value) {
    stream_.copy(data_ + i, &value, sizeof(T));
    stream_.synchronize();
  }
  T get(std::int64_t i) const {
    T value{};
    stream_.copy(&value, data_ + i, sizeof(T));
    stream_.synchronize();
    return value;
  }

 private:
  static std::size_t bytes() { return static_cast<std::size_t>(long_size()) * sizeof(T); }

  device::Device& device_;
  device::StreamView stream_;
  T* data_;
};

/// A row-major matrix in device memory whose rows are so far apart that offsets of elements exceed 32
/// bits. The interpreter only reserves what lies between them.
template <class T>
class FarMatrix {
 public:
  /// Elements from one row to the next, a multiple of every alignment.
  static constexpr std::int64_t kLd = std::int64_t{1} << 25;
  /// Rows of which the last ones start more than 2^32 elements behind the first.
  static constexpr std::int64_t kRows = 144;
  /// Whether `count` of them fit the device.
  static bool fits(device::Device& device, std::size_t count) {
    return kernel_mode() != KernelMode::gpu || count * kBytes < device.free_memory();
  }

  FarMatrix(device::Device& device, device::StreamView stream, std::int64_t cols,
            std::vector<T> const& values)
      : device_{device},
        stream_{stream},
        cols_{cols},
        data_{static_cast<T*>(device.allocate(kBytes))} {
    for_rows([&](T* row, std::size_t at, std::size_t bytes) {
      stream_.copy(row, values.data() + at, bytes);
    });
    stream_.synchronize();
  }
  ~FarMatrix() { device_.release(data_); }
  FarMatrix(FarMatrix const&) = delete;
  FarMatrix& operator=(FarMatrix const&) = delete;

  device::MatrixView view(core::DataType type) const { return {data_, type, kRows, cols_, kLd}; }
  std::vector<T> download() const {
    std::vector<T> values(static_cast<std::size_t>(kRows * cols_));
    for_rows([&](T const* row, std::size_t at, std::size_t bytes) {
      stream_.copy(values.data() + at, row, bytes);
    });
    stream_.synchronize();
    return values;
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{kRows * kLd} * sizeof(T);

  template <class F>
  void for_rows(F const& f) const {
    for (std::int64_t i = 0; i < kRows; ++i) {
      f(data_ + i * kLd, static_cast<std::size_t>(i * cols_),
        static_cast<std::size_t>(cols_) * sizeof(T));
    }
  }

  device::Device& device_;
  device::StreamView stream_;
  std::int64_t cols_;
  T* data_;
};

}  // namespace quadrille::test
