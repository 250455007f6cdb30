// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "copy/copy.hpp"
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
  std::vector<std::uint8_t> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::uint8_t>(core::mix(i + 1));
  }
  test::DeviceArray<std::uint8_t> const from{device, stream, values, from_offset};
  test::DeviceArray<std::uint8_t> const to{device, stream, n, to_offset};

  variant.launch({to.data(), from.data(), n}, stream);
  stream.synchronize();

  EXPECT_TRUE(to.download() == values);
  EXPECT_TRUE(to.intact());
  EXPECT_TRUE(from.download() == values);
}

}  // namespace quadrille::kernels::copy
