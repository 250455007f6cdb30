// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "transpose/transpose.hpp"

#include "kernels/host_kernels.hpp"
#include "kernels/transpose_blocks_data.hpp"
#include "kernels/transpose_data.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace quadrille::kernels::transpose {
namespace {

using core::DataType;

using test::Host;

/// Around squares of 16 bytes, lines of 64, stretches of 512 and bands of 2048, and large enough
/// for streaming stores.
std::vector<Shape> const kShapes{{0, 0},    {0, 7},    {7, 0},    {1, 1},    {1, 513},
                                 {513, 1},  {31, 33},  {33, 31},  {64, 64},  {65, 129},
                                 {15, 300}, {515, 17}, {130, 70}, {257, 513}};
std::vector<Shape> const kLarge{{1100, 1030}, {3, 200003}, {200003, 3}};

class TransposeTest : public testing::TestWithParam<std::tuple<std::string_view, DataType>> {
 protected:
  Variant<Problem> const& variant() const { return test::row(variants(), std::get<0>(GetParam())); }
  DataType type() const { return std::get<1>(GetParam()); }
  /// Offsets are those of elements.
  void expect_exact(Shape shape, Layout layout) const {
    auto const size = static_cast<std::int64_t>(core::size_of(type()));
    layout.in_offset *= size;
    layout.out_offset *= size;
    transpose::expect_exact(*host_.device, host_.stream, variant(), type(), shape, layout);
  }
  Host host_;
};

TEST_P(TransposeTest, MovesEveryElementAndNoOther) {
  for (Shape const& shape : kShapes) {
    expect_exact(shape, {});
    expect_exact(shape, {3, 5, 1, 3});
    expect_exact(shape, {0, 64, 0, 7});
  }
}

TEST_P(TransposeTest, MovesEveryElementOfLargeMatrices) {
  for (Shape const& shape : kLarge) {
    std::int64_t const factor = 8 / static_cast<std::int64_t>(core::size_of(type()));
    Shape const scaled{shape.m > 1000 ? shape.m * factor : shape.m, shape.n};
    expect_exact(scaled, {});
    expect_exact(scaled, {2, 64 - scaled.m % 64, 5, 3});
    expect_exact(scaled, {1, 1, 0, 0});
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, TransposeTest,
                         testing::ValuesIn(rows_and_sizes(test::is_host_row)), test::RowName{});

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
