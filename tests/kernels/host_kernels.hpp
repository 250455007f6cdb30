// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/generator.hpp"
#include "device/device.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace quadrille::test {

/// A host device of two threads with one stream.
struct Host {
  std::unique_ptr<device::Device> device = device::make_host_device(2);
  device::Stream stream{*device};
};

/// n elements that start `offset` elements after an aligned address, with guards behind them that
/// only a stray write changes. NaN (or the lowest integer) at first.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::int64_t n, std::int64_t offset = 0)
      : n_{n}, offset_{offset}, values_(static_cast<std::size_t>(n + offset + kGuards), guard()) {}

  T* data() { return values_.data() + offset_; }
  std::int64_t size() const { return n_; }
  T& operator[](std::int64_t i) { return values_[static_cast<std::size_t>(offset_ + i)]; }
  bool intact() const {
    for (std::int64_t i = -offset_; i < n_ + kGuards; ++i) {
      T const value = values_[static_cast<std::size_t>(offset_ + i)];
      bool const is_guard = value == guard() || (value != value && guard() != guard());
      if ((i < 0 || i >= n_) && !is_guard) return false;
    }
    return true;
  }
  void generate(core::DataKind kind, std::uint64_t tag) {
    for (std::int64_t i = 0; i < n_; ++i) (*this)[i] = core::generate<T>(kind, 1, tag, 0, i);
  }

 private:
  static constexpr std::int64_t kGuards = 16;
  static constexpr T guard() {
    return std::numeric_limits<T>::has_quiet_NaN ? std::numeric_limits<T>::quiet_NaN()
                                                 : std::numeric_limits<T>::lowest();
  }

  std::int64_t n_, offset_;
  std::vector<T> values_;
};

/// Sizes around every boundary of the kernels, and offsets from an aligned address in elements.
inline std::vector<std::int64_t> const kSizes{0, 1, 31, 33, 255, 256, 257, 4095, 4097, 100003};
inline std::vector<std::int64_t> const kOffsets{0, 1, 3};

}  // namespace quadrille::test
