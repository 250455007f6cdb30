// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kv_cache/kv_cache.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

/// Pools of blocks whose elements are all told apart.
namespace quadrille::kernels::kv_cache {

struct Move {
  Shape shape;
  Action action = Action::write;
  std::int64_t count = 1;
  std::int64_t gap = 0;  ///< elements between rows of tokens
};
/// Around the words of a warp, blocks of each size, one head and an odd number.
inline std::vector<Move> const kMoves{
    {{1, 64, 8, 6}, Action::write, 1},    {{3, 128, 16, 12}, Action::write, 70, 24},
    {{8, 256, 32, 7}, Action::write, 33}, {{5, 64, 128, 2}, Action::write, 0},
    {{1, 64, 8, 6}, Action::read, 1},     {{3, 128, 16, 12}, Action::read, 70, 24},
    {{1, 64, 8, 6}, Action::copy, 1},     {{3, 128, 16, 12}, Action::copy, 5},
    {{2, 256, 64, 7}, Action::copy, 3},   {{3, 128, 16, 12}, Action::swap_out, 5},
    {{2, 256, 64, 7}, Action::swap_in, 3}};

/// Element e of an array, in 16 bits or 32.
template <class Bits>
std::vector<Bits> numbered(std::int64_t size, std::uint32_t array) {
  std::vector<Bits> values;
  for (std::int64_t e = 0; e < size; ++e) {
    values.push_back(
        static_cast<Bits>(static_cast<std::uint32_t>(e) * 2654435761U >> 8 ^ array << 11));
  }
  return values;
}

/// Runs the row; every element of the pool is what it was, or what was moved there.
template <class Bits>
void expect_moved(device::Device& device, device::StreamView stream, Variant<Problem> const& row,
                  core::DataType type, Move const& move) {
  auto const& [x, action, count, gap] = move;
  SCOPED_TRACE(std::string{row.name} + " " + std::string{core::to_text(action)} + " " +
               std::to_string(count) + " of " + std::to_string(x.head_size));
  std::int64_t const width = x.kv_heads * x.head_size, of_block = x.block_size * width,
                     ld = width + gap;
  std::vector<Bits> const fresh[2] = {numbered<Bits>(count * ld, 1), numbered<Bits>(count * ld, 2)},
                          before[2] = {numbered<Bits>(x.blocks * of_block, 3),
                                       numbered<Bits>(x.blocks * of_block, 4)};
  // Slots, or first sources and then targets, at a stride that leaves none out and takes none twice.
  std::vector<std::int32_t> places;
  std::int64_t const all = x.blocks * (is_of_tokens(action) ? x.block_size : 1);
  auto const place = [&](std::int64_t i) { return static_cast<std::int32_t>((i * 5 + 3) % all); };
  for (std::int64_t i = 0; i < count; ++i) {
    if (!is_of_tokens(action)) places.push_back(place(count + i));
    places.push_back(place(i));
  }

  test::DeviceArray<Bits> const token_k{device, stream, fresh[0]},
      token_v{device, stream, fresh[1]}, k{device, stream, before[0]}, v{device, stream, before[1]};
  // Of swaps another pool, of blocks that all differ from these.
  std::vector<Bits> const other[2] = {numbered<Bits>(x.blocks * of_block, 5),
                                      numbered<Bits>(x.blocks * of_block, 6)};
  test::DeviceArray<Bits> const host_k{device, stream, other[0]}, host_v{device, stream, other[1]};
  test::DeviceArray<std::int32_t> const there{device, stream, places};
  Problem problem = unallocated(x, action, count, type);
  problem.token_k.ld = problem.token_v.ld = ld;
  problem.token_k.data = token_k.data();
  problem.token_v.data = token_v.data();
  problem.k.data = k.data();
  problem.v.data = v.data();
  problem.host_k.data = host_k.data();
  problem.host_v.data = host_v.data();
  problem.places = there.data();
  problem.places_of_host = places.data();
  if (!row.unsupported_reason(problem).empty()) return;
  row.launch(problem, stream);
  stream.synchronize();

  bool const is_out = action == Action::swap_out, reads = action == Action::read;
  auto const changed = [&](auto const& pool, auto const& host, auto const& tokens) {
    return (is_out ? host : reads ? tokens : pool).download();
  };
  std::vector<Bits> const got[2] = {changed(k, host_k, token_k), changed(v, host_v, token_v)};
  for (int tensor = 0; tensor < 2; ++tensor) {
    std::vector<Bits> want = is_out ? other[tensor] : reads ? fresh[tensor] : before[tensor];
    std::vector<Bits> const& from = action == Action::swap_in ? other[tensor] : before[tensor];
    for (std::int64_t i = 0; i < count; ++i) {
      if (!is_of_tokens(action)) {
        for (std::int64_t e = 0; e < of_block; ++e) {
          want[static_cast<std::size_t>(place(i) * of_block + e)] =
              from[static_cast<std::size_t>(place(count + i) * of_block + e)];
        }
        continue;
      }
      for (std::int64_t e = 0; e < width; ++e) {
        std::int64_t const h = e / x.head_size, block = place(i) / x.block_size,
                           token = place(i) % x.block_size;
        auto const in_pool = static_cast<std::size_t>(
            block * of_block + (h * x.block_size + token) * x.head_size + e % x.head_size);
        auto const in_row = static_cast<std::size_t>(i * ld + e);
        want[reads ? in_row : in_pool] = reads ? before[tensor][in_pool] : fresh[tensor][in_row];
      }
    }
    EXPECT_EQ(got[tensor], want) << (tensor == 0 ? "k" : "v");
  }
  EXPECT_TRUE(k.intact() && v.intact() && host_k.intact() && host_v.intact() && token_k.intact() &&
              token_v.intact());
}

inline void expect_all_moved(device::Device& device, device::StreamView stream,
                             Variant<Problem> const& row) {
  for (Move const& move : kMoves) {
    expect_moved<std::uint16_t>(device, stream, row, core::DataType::bf16, move);
  }
  expect_moved<std::uint32_t>(device, stream, row, core::DataType::f32, kMoves[1]);
  expect_moved<std::uint32_t>(device, stream, row, core::DataType::f32, kMoves[5]);
  expect_moved<std::uint32_t>(device, stream, row, core::DataType::f32, kMoves[7]);
}

}  // namespace quadrille::kernels::kv_cache
