// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

namespace quadrille::test {

/// Scratch and a result of one number, as an owner keeps them over many launches.
class ScalarMemory {
 public:
  ScalarMemory(device::Device& device, device::StreamView on, std::size_t scratch_bytes)
      : stream{on},
        scratch{device, on, static_cast<std::int64_t>(scratch_bytes)},
        result{device, on, 1} {
    stream.fill(scratch.data(), 0, scratch_bytes);
  }
  ~ScalarMemory() { EXPECT_TRUE(scratch.intact()); }

  /// What a launch leaves, where there was NaN.
  template <class Problem>
  double launch(kernels::Variant<Problem> const& variant, Problem problem) {
    problem.scratch = scratch.data();
    problem.scratch_bytes = static_cast<std::size_t>(scratch.size());
    problem.result = result.data();
    stream.fill(result.data(), 0xFF, sizeof(double));
    variant.launch(problem, stream);
    double const value = result.download()[0];
    EXPECT_TRUE(result.intact()) << variant.name;
    return value;
  }

  device::StreamView stream;
  DeviceArray<unsigned char> scratch;
  DeviceArray<double> result;
};

}  // namespace quadrille::test
