// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace quadrille::test {

/// A host device of two threads with one stream.
struct Host {
  std::unique_ptr<device::Device> device = device::make_host_device(2);
  device::Stream stream{*device};
};

/// Sizes around every boundary of the kernels, and offsets from an aligned address in elements.
inline std::vector<std::int64_t> const kSizes{0, 1, 31, 33, 255, 256, 257, 4095, 4097, 100003};
inline std::vector<std::int64_t> const kOffsets{0, 1, 3};

}  // namespace quadrille::test
