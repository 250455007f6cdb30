// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "copy/copy.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"

#include <vector>

namespace quadrille::kernels::copy {

/// Every byte and no other, for rows of every device. Source and target lie so many bytes behind an
/// aligned address.
inline void expect_copied(device::Device& device, device::StreamView stream,
                          Variant<Problem> const& variant, std::int64_t n, std::int64_t from_offset,
                          std::int64_t to_offset) {
  SCOPED_TRACE(testing::Message() << variant.name << " n " << n << " offsets " << from_offset << " "
                                  << to_offset);
  // Another byte behind them, which shows where it is copied too.
  std::vector<std::uint8_t> values(static_cast<std::size_t>(n + 1));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::uint8_t>(core::mix(i + 1) & 0x7F);
  }
  test::DeviceArray<std::uint8_t> const from{device, stream, values, from_offset};
  test::DeviceArray<std::uint8_t> const to{device, stream, n, to_offset};

  variant.launch({to.data(), from.data(), n}, stream);
  stream.synchronize();

  EXPECT_TRUE(from.download() == values);
  values.pop_back();
  EXPECT_TRUE(to.download() == values);
  EXPECT_TRUE(to.intact());
}

/// What no row takes.
inline void expect_refusals(device::Device& device, device::StreamView stream,
                            Variant<Problem> const& variant) {
  test::DeviceArray<std::uint8_t> const x{device, stream, 256};
  std::uint8_t* const data = x.data();
  EXPECT_FAILS(variant.launch({data, data + 32, -1}, stream), "negative");
  EXPECT_FAILS(variant.launch({nullptr, data, 8}, stream), "missing");
  EXPECT_FAILS(variant.launch({data, data + 7, 8}, stream), "overlap");
}

}  // namespace quadrille::kernels::copy
