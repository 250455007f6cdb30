// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "regroup/regroup.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace quadrille::kernels::regroup {
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
void expect_regrouped(DataType type, std::int64_t m, std::int64_t n) {
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
    expect_regrouped<std::int64_t>(DataType::f64, m, n);
    expect_regrouped<std::int32_t>(DataType::f32, m, n);
    expect_regrouped<std::int16_t>(DataType::f16, m, n);
  }
}

}  // namespace
}  // namespace quadrille::kernels::regroup
