// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/generator.hpp"
#include "support/kernel_test.hpp"
#include "transpose/transpose_blocks.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

/// Transposes of blocks, as those of hosts and of GPUs are tested.
namespace quadrille::test {

using kernels::transpose::CommonIndices;

/// So many indices in blocks, of which the input has every `apart`-th from its block 1 on, and the output
/// others with gaps that differ from those of the input.
inline CommonIndices common_of(std::int64_t count, std::int64_t block, std::int64_t apart) {
  return {count, block, {block, apart * block}, {3, (apart - 1) * block + 2}};
}

/// Rows and columns: nothing, one element, blocks below, of and above the tile and of no multiple of it,
/// a short last one.
inline std::vector<std::pair<CommonIndices, CommonIndices>> blocks_cases() {
  return {
      {common_of(0, 4, 2), common_of(5, 4, 3)},       {common_of(1, 1, 2), common_of(1, 1, 3)},
      {common_of(70, 1, 2), common_of(66, 3, 3)},     {common_of(64, 32, 2), common_of(130, 64, 3)},
      {common_of(200, 100, 2), common_of(65, 65, 3)}, {common_of(33, 33, 2), common_of(97, 7, 3)}};
}

inline void expect_blocks(device::Device& device, device::StreamView stream, core::DataType type,
                          CommonIndices const& rows, CommonIndices const& cols,
                          kernels::transpose::Path path) {
  SCOPED_TRACE(testing::Message() << core::to_text(type) << " " << rows.count << " x " << cols.count
                                  << " in blocks of " << rows.block << " x " << cols.block);
  // Places from 0 to the last of these indices, and one more.
  auto const extent = [](CommonIndices const& common, kernels::transpose::Places const& places) {
    return common.count == 0 ? 1 : places.at(common.count - 1, common.block) + 2;
  };
  auto const size = static_cast<std::int64_t>(core::size_of(type));
  std::int64_t const m = extent(rows, rows.in), n = extent(cols, cols.in);
  std::int64_t const out_m = extent(cols, cols.out), out_n = extent(rows, rows.out);
  std::vector<std::uint8_t> values(static_cast<std::size_t>(m * n * size));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::uint8_t>(core::mix(i));
  }
  std::vector<std::uint8_t> want(static_cast<std::size_t>(out_m * out_n * size), 0xFF);
  for (std::int64_t i = 0; i < rows.count; ++i) {
    for (std::int64_t j = 0; j < cols.count; ++j) {
      std::int64_t const to = cols.out.at(j, cols.block) * out_n + rows.out.at(i, rows.block);
      std::int64_t const from = rows.in.at(i, rows.block) * n + cols.in.at(j, cols.block);
      std::memcpy(&want[static_cast<std::size_t>(to * size)],
                  &values[static_cast<std::size_t>(from * size)], static_cast<std::size_t>(size));
    }
  }
  DeviceArray<std::uint8_t> const in{device, stream, values};
  DeviceArray<std::uint8_t> const out{device, stream, static_cast<std::int64_t>(want.size())};

  kernels::transpose::transpose_blocks(
      {{in.data(), type, m, n, n}, {out.data(), type, out_m, out_n, out_n}, rows, cols, path},
      stream);
  stream.synchronize();

  // All bytes at once: elements, and what lies between the blocks.
  EXPECT_TRUE(out.download() == want);
  EXPECT_TRUE(out.intact() && in.download() == values);
}

}  // namespace quadrille::test
