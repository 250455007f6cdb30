// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "support/kernel_test.hpp"
#include "support/pack.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace quadrille::kernels::pack {
namespace {

using core::DataType;
using test::DeviceArray;

/// A matrix whose columns 1, 4, 7, ... and then 2, 5, 8, ... are two pieces, its rows in reverse.
struct Regrouped {
  std::int64_t rows, ld;
  std::vector<std::int64_t> numbers;
  std::vector<Column> columns;
  std::int64_t elements = 0;

  Regrouped(std::int64_t m, std::int64_t n) : rows{m}, ld{n + 2} {
    for (std::int64_t i = 0; i < m; ++i) numbers.push_back(m - 1 - i);
    for (std::int64_t const first : {1, 2}) {
      std::int64_t const width = (n - first + 2) / 3;
      for (std::int64_t j = first; j < n; j += 3) {
        columns.push_back({j, elements + (j - first) / 3, width});
      }
      elements += m * width;
    }
  }
  /// Place among the pieces.
  std::int64_t place(std::int64_t i, Column const& column) const {
    return column.start + numbers[static_cast<std::size_t>(i)] * column.width;
  }
};

template <class T>
void expect_packed(DataType type, std::int64_t m, std::int64_t n) {
  test::on_every_schedule([=](device::Device& device, device::StreamView stream) {
    Regrouped const shape{m, n};
    std::vector<T> values;
    for (std::int64_t at = 0; at < m * shape.ld; ++at) values.push_back(static_cast<T>(at % 251));
    DeviceArray<T> const matrix{device, stream, values};
    DeviceArray<T> const back{device, stream, m * shape.ld};
    DeviceArray<T> const pieces{device, stream, shape.elements};
    DeviceArray<std::int64_t> const numbers{device, stream, shape.numbers};
    DeviceArray<Column> const columns{device, stream, shape.columns};
    Problem problem{.matrix = {matrix.data(), type, m, n, shape.ld},
                    .rows = numbers.data(),
                    .columns = columns.data(),
                    .column_count = columns.size(),
                    .pieces = pieces.data()};

    launch_columns(Direction::gather, problem, stream);
    problem.matrix.data = back.data();
    launch_columns(Direction::scatter, problem, stream);
    stream.synchronize();

    std::vector<T> const got = pieces.download();
    std::vector<T> want = back.download();  // columns that nobody names stay as they were
    for (std::int64_t i = 0; i < m; ++i) {
      for (Column const& column : shape.columns) {
        auto const at = static_cast<std::size_t>(i * shape.ld + column.at);
        ASSERT_EQ(got[static_cast<std::size_t>(shape.place(i, column))], values[at]);
        ASSERT_EQ(want[at], values[at]);
        want[at] = static_cast<T>(-1);
      }
    }
    for (T const other : want) ASSERT_EQ(other, static_cast<T>(-1)) << "wrote to other columns";
    EXPECT_TRUE(pieces.intact() && back.intact());
  });
}

TEST(RegroupCudaTest, MovesColumnsToTheirPiecesAndBack) {
  // One element, less and more than a warp, rows and columns beyond what the blocks of a launch hold.
  for (auto const& [m, n] : {std::pair{1, 2}, {3, 31}, {70, 100}, {9, 300}}) {
    expect_packed<std::int64_t>(DataType::f64, m, n);
    expect_packed<std::int32_t>(DataType::f32, m, n);
    expect_packed<std::int16_t>(DataType::f16, m, n);
  }
}

struct Case {
  std::int64_t planes, rows, cols;
};

/// Boxes of an array of planes of 40 x 30 into the middle of others, whose rows and planes have gaps.
template <class T>
void expect_copied(DataType type, std::vector<Case> const& cases) {
  test::on_every_schedule([=](device::Device& device, device::StreamView stream) {
    constexpr std::int64_t kRows = 40, kCols = 30, kFirst = 2 * kCols + 1;
    Boxes all{.type = type};
    std::vector<Box> boxes;
    std::vector<DeviceArray<T>> to;
    std::int64_t most = 0;
    for (Case const& c : cases) most = std::max(most, c.planes);
    std::vector<T> values;
    for (std::int64_t at = 0; at < most * kRows * kCols; ++at)
      values.push_back(static_cast<T>(at % 251));
    DeviceArray<T> const from{device, stream, values};
    for (auto const& [planes, rows, cols] : cases) {
      std::int64_t const to_row = cols + 1, to_plane = rows * to_row + 2;
      to.emplace_back(device, stream, planes * to_plane);
      boxes.push_back({from.data() + kFirst, to.back().data(), planes, rows, cols, kRows * kCols,
                       kCols, to_plane, to_row});
      all.max_planes = std::max(all.max_planes, planes);
      all.max_area = std::max(all.max_area, rows * cols);
    }
    DeviceArray<Box> const table{device, stream, boxes};
    all.boxes = table.data();
    all.count = table.size();

    launch_boxes(all, stream);
    stream.synchronize();

    for (std::size_t b = 0; b < boxes.size(); ++b) {
      Box const& box = boxes[b];
      std::vector<T> got = to[b].download();
      for (std::int64_t p = 0; p < box.planes; ++p) {
        for (std::int64_t i = 0; i < box.rows; ++i) {
          for (std::int64_t j = 0; j < box.cols; ++j) {
            T& value = got[static_cast<std::size_t>(p * box.to_plane + i * box.to_row + j)];
            ASSERT_EQ(value,
                      values[static_cast<std::size_t>(kFirst + (p * kRows + i) * kCols + j)]);
            value = static_cast<T>(-1);
          }
        }
      }
      for (T const other : got) ASSERT_EQ(other, static_cast<T>(-1)) << "wrote beside the box";
      EXPECT_TRUE(to[b].intact());
    }
  });
}

TEST(RegroupCudaTest, CopiesBoxesToTheirPlaces) {
  // One element, columns, rows, more planes than a thread takes, more positions than a block has.
  std::vector<Case> const cases{{1, 1, 1}, {9, 30, 1}, {17, 1, 25}, {3, 35, 28}, {2, 0, 3}};
  expect_copied<std::int32_t>(DataType::f32, cases);
  expect_copied<std::int16_t>(DataType::f16, cases);
}

}  // namespace
}  // namespace quadrille::kernels::pack
