// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "transpose/transpose.hpp"

#include "core/generator.hpp"
#include "kernels/host_kernels.hpp"
#include "kernels/transpose_blocks_data.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace quadrille::kernels::transpose {
namespace {

using core::DataType;

using test::Host;

/// Bytes of an m x n matrix whose rows are `pad` elements longer, `offset` elements from a line,
/// with guards before, between and behind.
struct Bytes {
  Bytes(DataType t, std::int64_t m, std::int64_t n, std::int64_t pad, std::int64_t offset)
      : type{t}, rows{m}, cols{n}, ld{n + pad}, first{offset + kGuards} {
    memory.resize(static_cast<std::size_t>(m * ld + first + kGuards + 64) * core::size_of(t), 0xA5);
  }
  unsigned char* at(std::int64_t i, std::int64_t j) {
    auto const size = core::size_of(type);
    auto const aligned = -reinterpret_cast<std::uintptr_t>(memory.data()) % 64 / size;
    return memory.data() + (aligned + static_cast<std::size_t>(first + i * ld + j)) * size;
  }
  device::MatrixView view() { return {at(0, 0), type, rows, cols, ld}; }

  static constexpr std::int64_t kGuards = 64;
  DataType type;
  std::int64_t rows, cols, ld, first;
  std::vector<unsigned char> memory;
};

struct Shape {
  std::int64_t m, n;
};

void expect_exact(Host& host, Variant<Problem> const& variant, DataType type, Shape shape,
                  std::int64_t in_pad, std::int64_t out_pad, std::int64_t in_offset,
                  std::int64_t out_offset) {
  auto const [m, n] = shape;
  SCOPED_TRACE(testing::Message() << variant.name << " " << core::to_text(type) << " " << m << " x "
                                  << n << " pads " << in_pad << " " << out_pad << " offsets "
                                  << in_offset << " " << out_offset);
  Bytes in{type, m, n, in_pad, in_offset};
  Bytes out{type, n, m, out_pad, out_offset};
  for (std::size_t i = 0; i < in.memory.size(); ++i) {
    // No exponent of all ones: BLAS, which multiplies by 1, may quiet a NaN.
    in.memory[i] = static_cast<unsigned char>(core::mix(i) & 0x3f);
  }
  std::vector<unsigned char> expected = out.memory;
  std::size_t const size = core::size_of(type);
  auto const place = [&](std::int64_t i, std::int64_t j) {
    return expected.data() + (out.at(j, i) - out.memory.data());
  };
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) std::memcpy(place(i, j), in.at(i, j), size);
  }
  std::vector<unsigned char> const before = in.memory;

  variant.launch({in.view(), out.view()}, host.stream);
  host.stream.view().synchronize();

  // All bytes at once: elements, and guards before, between and behind the rows.
  EXPECT_TRUE(out.memory == expected);
  EXPECT_TRUE(in.memory == before);
}

/// Around squares of 16 bytes, lines of 64, stretches of 512 and bands of 2048, and large enough
/// for streaming stores.
std::vector<Shape> const kShapes{{0, 0},    {0, 7},    {7, 0},    {1, 1},    {1, 513},
                                 {513, 1},  {31, 33},  {33, 31},  {64, 64},  {65, 129},
                                 {15, 300}, {515, 17}, {130, 70}, {257, 513}};
std::vector<Shape> const kLarge{{1100, 1030}, {3, 200003}, {200003, 3}};

using Row = std::tuple<std::string_view, DataType>;

/// Every variant with every element size it takes.
std::vector<Row> rows() {
  std::vector<Row> result;
  for (Variant<Problem> const& variant : variants()) {
    if (!variant.runs_on(device::Kind::host)) continue;
    for (DataType const type : {DataType::f64, DataType::f32, DataType::bf16, DataType::i8}) {
      if (variant.supports(type)) result.emplace_back(variant.name, type);
    }
  }
  return result;
}

class TransposeTest : public testing::TestWithParam<Row> {
 protected:
  Variant<Problem> const& variant() const { return test::row(variants(), std::get<0>(GetParam())); }
  DataType type() const { return std::get<1>(GetParam()); }
  Host host_;
};

TEST_P(TransposeTest, MovesEveryElementAndNoOther) {
  for (Shape const& shape : kShapes) {
    expect_exact(host_, variant(), type(), shape, 0, 0, 0, 0);
    expect_exact(host_, variant(), type(), shape, 3, 5, 1, 3);
    expect_exact(host_, variant(), type(), shape, 0, 64, 0, 7);
  }
}

TEST_P(TransposeTest, MovesEveryElementOfLargeMatrices) {
  for (Shape const& shape : kLarge) {
    std::int64_t const factor = 8 / static_cast<std::int64_t>(core::size_of(type()));
    Shape const scaled{shape.m > 1000 ? shape.m * factor : shape.m, shape.n};
    expect_exact(host_, variant(), type(), scaled, 0, 0, 0, 0);
    expect_exact(host_, variant(), type(), scaled, 2, 64 - scaled.m % 64, 5, 3);
    expect_exact(host_, variant(), type(), scaled, 1, 1, 0, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, TransposeTest, testing::ValuesIn(rows()), [](auto const& row) {
  return std::string{std::get<0>(row.param)} + "_" +
         std::string{core::to_text(std::get<1>(row.param))};
});

TEST(TransposeReference, MatchesHandComputedValues) {
  Host host;
  std::int32_t in[]{1, 2, 3, 0, 4, 5, 6, 0};
  std::int32_t out[]{-1, -1, -1, -1, -1, -1, -1, -1, -1};

  test::launch(variants(), "reference",
               {{in, DataType::i32, 2, 3, 4}, {out, DataType::i32, 3, 2, 3}}, host.stream);
  host.stream.view().synchronize();

  EXPECT_EQ((std::vector<std::int32_t>{out, out + 9}),
            (std::vector<std::int32_t>{1, 4, -1, 2, 5, -1, 3, 6, -1}));
}

TEST(Transpose, RefusesWhatDoesNotFitTogether) {
  Host host;
  double x[64]{};
  auto const f64 = [&](std::int64_t m, std::int64_t n, std::int64_t ld) {
    return device::MatrixView{x, DataType::f64, m, n, ld};
  };
  device::MatrixView const i8{x, DataType::i8, 2, 2, 2};
  device::MatrixView const i64{x, DataType::i64, 2, 2, 2};
  std::int64_t const too_long = std::int64_t{1} << 31;

  EXPECT_FAILS(require_consistent({f64(2, 3, 3), f64(2, 3, 3)}), "must be n x m");
  EXPECT_FAILS(require_consistent({f64(2, 3, 2), f64(3, 2, 2)}), "leading dimension");
  EXPECT_FAILS(require_consistent({f64(2, 3, 3), f64(3, 2, 1)}), "leading dimension");
  EXPECT_FAILS(require_consistent({f64(-2, 3, 3), f64(3, -2, 2)}), "negative");
  EXPECT_FAILS(require_consistent({i8, i64}), "differ in type");
  EXPECT_FAILS(test::launch(variants(), "vendor", {i64, i64}, host.stream), "has no type i64");
  EXPECT_FAILS(test::launch(variants(), "vendor", {f64(1, 1, too_long), f64(1, 1, 1)}, host.stream),
               "take another variant");
}

TEST(TransposeTest, MovesBlocksOfAnyExtent) {
  Host host;
  auto const expect = [&](DataType type, auto const& rows, auto const& cols) {
    test::expect_blocks(*host.device, host.stream, type, rows, cols, Path::memory);
  };
  for (auto const& [rows, cols] : test::blocks_cases()) {
    for (DataType const type : {DataType::f64, DataType::f32, DataType::f16, DataType::i8}) {
      expect(type, rows, cols);
    }
  }
  // Outputs that pass the caches, in blocks for each thread and in fewer.
  expect(DataType::f64, test::common_of(1000, 130, 2), test::common_of(700, 90, 3));
  expect(DataType::f32, test::common_of(1100, 1100, 2), test::common_of(1000, 600, 2));
}

}  // namespace
}  // namespace quadrille::kernels::transpose
