// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ptx/bulk_copies_kernels.hpp"
#include "support/expect_fails.hpp"
#include "support/instruction_test.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace quadrille::test {
namespace {

using core::DataType;
using ptx::Swizzle;
using ptx::Tensor2d;

TEST(BulkCopies, BulkStoreAndReduce) {
  for (bool const add : {false, true}) {
    on_every_schedule([&](device::Device& device, device::StreamView stream) {
      constexpr int kBlocks = 5;
      auto const values = small_integers<float>(2, 256 * kBlocks, 1000);
      auto expected = small_integers<float>(3, 256 * kBlocks, 1000);
      DeviceArray<float> const from{device, stream, values};
      DeviceArray<float> const to{device, stream, expected};
      for (std::size_t i = 0; i < values.size(); ++i) {
        expected[i] = add ? expected[i] + values[i] : values[i];
      }

      launch_bulk_store(from.data(), to.data(), kBlocks, add, StoreMisuse::none, stream);

      EXPECT_EQ(to.download(), expected);
      EXPECT_TRUE(to.intact());
    });
  }
}

bool loads_what_it_stored(StoreMisuse misuse, device::Device& device, device::StreamView stream) {
  constexpr std::size_t kBlocks = 5;
  auto const values = small_integers<float>(19, 128 * kBlocks, 1000);
  DeviceArray<float> const from{device, stream, values};
  DeviceArray<float> const between{device, stream, from.size()};
  DeviceArray<float> const to{device, stream, from.size()};

  launch_store_then_load(from.data(), between.data(), to.data(), kBlocks, misuse, stream);

  std::vector<float> expected;
  for (std::size_t i = 0; i < values.size(); ++i) {
    expected.push_back(2 * values[i / 128 * 128 + 127 - i % 128]);
  }
  return to.download() == expected && to.intact();
}

TEST(BulkCopies, BulkLoadOfWhatTheKernelStored) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    EXPECT_TRUE(loads_what_it_stored(StoreMisuse::none, device, stream));
  });
}

TEST(BulkCopies, BulkLoadWithoutAFenceOfWhatTheKernelStoredIsFound) {
  if (has_gpu()) GTEST_SKIP() << "a GPU diagnoses none of this";
  auto const found = outcomes([](device::Device& device, device::StreamView stream) {
    return loads_what_it_stored(StoreMisuse::no_proxy_fence, device, stream);
  });
  expect_each(found, "right", "without a fence_proxy_async_global() since");
}

/// A matrix, the box that moves, and where.
struct TensorCase {
  DataType type;
  int rows, columns, leading, box_rows, box_columns;
  Swizzle swizzle;
};

std::size_t size_of(TensorCase const& c) { return core::size_of(c.type); }
std::size_t tile_bytes(TensorCase const& c) {
  return static_cast<std::size_t>(c.box_rows * c.box_columns) * size_of(c);
}

/// Byte of element (row, column) of the box in shared memory, written down once more.
std::size_t tile_place(TensorCase const& c, int row, int column) {
  auto const byte = static_cast<std::size_t>(column) * size_of(c);
  std::size_t const width = static_cast<std::size_t>(c.box_columns) * size_of(c);
  auto const r = static_cast<std::size_t>(row);
  std::size_t piece = byte / 16;
  if (c.swizzle == Swizzle::bytes_128) piece ^= r % 8;
  if (c.swizzle == Swizzle::bytes_64) piece ^= r / 2 % 4;
  if (c.swizzle == Swizzle::bytes_32) piece ^= r / 4 % 2;
  return r * width + piece * 16 + byte % 16;
}

Tensor2d describe(TensorCase const& c, void const* data) {
  return {.data = data,
          .type = c.type,
          .rows = c.rows,
          .columns = c.columns,
          .leading = c.leading,
          .box_rows = static_cast<unsigned>(c.box_rows),
          .box_columns = static_cast<unsigned>(c.box_columns),
          .swizzle = c.swizzle};
}

std::vector<unsigned char> pattern(unsigned seed, std::size_t bytes) {
  std::vector<unsigned char> values(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    values[i] = static_cast<unsigned char>(small_integer(seed, i, 60) + 128);
  }
  return values;
}

constexpr TensorCase kTensors[] = {
    {DataType::f32, 16, 32, 32, 8, 8, Swizzle::none},
    {DataType::f32, 37, 29, 32, 16, 12, Swizzle::none},
    {DataType::f64, 9, 11, 12, 5, 4, Swizzle::none},
    {DataType::i8, 33, 61, 80, 7, 48, Swizzle::none},
    {DataType::i8, 3, 300, 304, 2, 256, Swizzle::none},
    {DataType::f16, 70, 75, 88, 64, 64, Swizzle::bytes_128},
    {DataType::f32, 31, 33, 36, 16, 32, Swizzle::bytes_128},
    {DataType::bf16, 21, 45, 48, 16, 32, Swizzle::bytes_64},
    {DataType::f64, 23, 7, 10, 24, 8, Swizzle::bytes_64},
    {DataType::f32, 19, 17, 20, 17, 8, Swizzle::bytes_32},
    {DataType::i32, 8, 4, 4, 32, 8, Swizzle::bytes_32},
    {DataType::i64, 5, 5, 6, 256, 2, Swizzle::none},
};
/// Row, and column in pieces of 16 bytes.
constexpr int kCorners[][2] = {{0, 0}, {3, 1}, {-2, -1}, {16, 6}, {1, 50}, {-300, 0}, {30, -3}};
constexpr int kStoreCorners[][2] = {{0, 0}, {3, 1}, {16, 6}, {1, 50}, {300, 0}, {30, 2}, {2, 3}};

TEST(BulkCopies, TensorLoad) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    for (TensorCase const& c : kTensors) {
      auto const matrix = pattern(4, static_cast<std::size_t>(c.rows * c.leading) * size_of(c));
      DeviceArray<unsigned char> const from{device, stream, matrix};
      DeviceArray<unsigned char> const to{device, stream, static_cast<std::int64_t>(tile_bytes(c))};
      for (auto const& [row, piece] : kCorners) {
        int const column = piece * 16 / static_cast<int>(size_of(c));
        std::vector<unsigned char> expected(tile_bytes(c), 0);
        for (int r = 0; r < c.box_rows; ++r) {
          for (int j = 0; j < c.box_columns; ++j) {
            if (row + r < 0 || row + r >= c.rows || column + j < 0 || column + j >= c.columns) {
              continue;
            }
            auto const at = static_cast<std::size_t>((row + r) * c.leading + column + j);
            std::memcpy(&expected[tile_place(c, r, j)], &matrix[at * size_of(c)], size_of(c));
            EXPECT_EQ(tile_place(c, r, j),
                      ptx::swizzled(c.swizzle, static_cast<unsigned>(r * c.box_columns + j) *
                                                   static_cast<unsigned>(size_of(c))));
          }
        }

        launch_tensor_load(describe(c, from.data()), row, column, to.data(),
                           static_cast<unsigned>(tile_bytes(c)), stream);

        EXPECT_EQ(to.download(), expected)
            << "matrix " << &c - kTensors << " at " << row << ", " << column;
        EXPECT_TRUE(to.intact());
      }
    }
  });
}

/// Bits before and after; ties have an even and an odd number of units below them.
TEST(BulkCopies, TensorLoadRoundsToTf32) {
  constexpr std::uint32_t kRounded[][2] = {
      {0x3F800000, 0x3F800000}, {0x3F800FFF, 0x3F800000}, {0x3F801000, 0x3F800000},
      {0x3F801001, 0x3F802000}, {0x3F802000, 0x3F802000}, {0x3F802FFF, 0x3F802000},
      {0x3F803000, 0x3F804000}, {0x3F803001, 0x3F804000}, {0xBF801000, 0xBF800000},
      {0xBF803000, 0xBF804000}, {0x3FFFFFFF, 0x40000000}, {0xC2F6E979, 0xC2F6E000},
      {0x00000000, 0x00000000}, {0x80000000, 0x80000000}, {0x00801001, 0x00802000},
      {0x7F800000, 0x7F800000}};
  std::vector<std::uint32_t> matrix, expected;
  for (auto const& [before, after] : kRounded) {
    matrix.push_back(before);
    expected.push_back(after);
  }
  on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<std::uint32_t> const from{device, stream, matrix};
    DeviceArray<std::uint32_t> const to{device, stream, 16};
    launch_tensor_load({.data = from.data(),
                        .type = DataType::f32,
                        .rows = 4,
                        .columns = 4,
                        .leading = 4,
                        .box_rows = 4,
                        .box_columns = 4,
                        .rounds_to_tf32 = true},
                       0, 0, reinterpret_cast<unsigned char*>(to.data()), 64, stream);
    EXPECT_EQ(to.download(), expected);
  });
}

/// Columns that a store reaches: all of the pieces of 16 bytes that a row has a part in.
int stored_columns(TensorCase const& c) {
  auto const size = static_cast<int>(size_of(c));
  return (c.columns * size + 15) / 16 * 16 / size;
}

TEST(BulkCopies, TensorStore) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    for (TensorCase const& c : kTensors) {
      auto const matrix = pattern(5, static_cast<std::size_t>(c.rows * c.leading) * size_of(c));
      auto const tile = pattern(6, tile_bytes(c));
      DeviceArray<unsigned char> const from{device, stream, tile};
      for (auto const& [row, piece] : kStoreCorners) {
        int const column = piece * 16 / static_cast<int>(size_of(c));
        DeviceArray<unsigned char> const to{device, stream, matrix};
        auto expected = matrix;
        for (int r = 0; r < c.box_rows; ++r) {
          for (int j = 0; j < c.box_columns; ++j) {
            if (row + r < 0 || row + r >= c.rows || column + j < 0 ||
                column + j >= stored_columns(c)) {
              continue;
            }
            auto const at = static_cast<std::size_t>((row + r) * c.leading + column + j);
            std::memcpy(&expected[at * size_of(c)], &tile[tile_place(c, r, j)], size_of(c));
          }
        }

        launch_tensor_store(describe(c, to.data()), row, column, from.data(),
                            static_cast<unsigned>(tile_bytes(c)), false, stream);

        EXPECT_EQ(to.download(), expected)
            << "matrix " << &c - kTensors << " at " << row << ", " << column;
        EXPECT_TRUE(to.intact());
      }
    }
  });
}

TEST(BulkCopies, TensorReduceAdd) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    constexpr TensorCase c{DataType::f32, 19, 30, 32, 16, 32, Swizzle::bytes_128};
    auto const matrix = small_integers<float>(7, 19 * 32, 1000);
    auto const tile = small_integers<float>(8, 16 * 32, 1000);
    std::vector<unsigned char> bytes(tile_bytes(c));
    std::memcpy(bytes.data(), tile.data(), bytes.size());
    DeviceArray<unsigned char> const from{device, stream, bytes};
    constexpr int kColumn = 12;
    for (int const row : {7, 6}) {
      DeviceArray<float> const to{device, stream, matrix};
      auto expected = matrix;
      for (int r = 0; r < c.rows - row && r < c.box_rows; ++r) {
        for (int j = 0; j < stored_columns(c) - kColumn; ++j) {
          expected[static_cast<std::size_t>((row + r) * 32 + kColumn + j)] +=
              tile[tile_place(c, r, j) / 4];
        }
      }

      launch_tensor_store(describe(c, to.data()), row, kColumn, from.data(),
                          static_cast<unsigned>(bytes.size()), true, stream);

      EXPECT_EQ(to.download(), expected) << row;
      EXPECT_TRUE(to.intact());
    }
  });
}

/// A tensor of which the box of matrix `box` (its rows those of all dimensions but the last) moves.
struct TensorNdCase {
  int dimensions;
  int extents[5], strides[4], box_extents[5];
  TensorCase box;  ///< type, box and swizzle alone

  std::size_t last() const { return static_cast<std::size_t>(dimensions) - 1; }
  /// Elements from the first to the last, with the rest of the last piece of 16 bytes.
  std::size_t elements(int columns) const {
    int elements = columns;
    for (std::size_t i = 0; i < last(); ++i) elements += (extents[i] - 1) * strides[i];
    return static_cast<std::size_t>(elements);
  }
  /// Calls f(number of the element in memory, byte of the tile) for each element of the box that is
  /// in the tensor, of which `columns` count.
  template <class F>
  void each_element(std::span<int const> at, int columns, F&& f) const {
    for (int row = 0; row < box.box_rows; ++row) {
      int element = 0, rest = row;
      bool is_inside = true;
      for (std::size_t i = last(); i-- > 0; rest /= box_extents[i]) {
        int const index = at[i] + rest % box_extents[i];
        is_inside = is_inside && index >= 0 && index < extents[i];
        element += index * strides[i];
      }
      for (int j = 0; j < box.box_columns; ++j) {
        int const column = at[last()] + j;
        if (!is_inside || column < 0 || column >= columns) continue;
        f(static_cast<std::size_t>(element + column), tile_place(box, row, j));
      }
    }
  }
};

TensorNdCase nd_case(DataType type, int dimensions, std::array<int, 5> extents,
                     std::array<int, 4> strides, std::array<int, 5> box, Swizzle swizzle) {
  TensorNdCase c{dimensions, {}, {}, {}, {}};
  std::copy(extents.begin(), extents.end(), c.extents);
  std::copy(strides.begin(), strides.end(), c.strides);
  std::copy(box.begin(), box.end(), c.box_extents);
  c.box = {type, 0, extents[c.last()], 0, 1, box[c.last()], swizzle};
  for (std::size_t i = 0; i < c.last(); ++i) c.box.box_rows *= box[i];
  return c;
}

ptx::TensorNd describe(TensorNdCase const& c, void const* data) {
  ptx::TensorNd tensor{
      .data = data, .type = c.box.type, .dimensions = c.dimensions, .swizzle = c.box.swizzle};
  std::copy_n(c.extents, 5, tensor.extents);
  std::copy_n(c.strides, 4, tensor.strides);
  for (std::size_t i = 0; i < 5; ++i) tensor.box[i] = static_cast<unsigned>(c.box_extents[i]);
  return tensor;
}

std::vector<TensorNdCase> tensors_nd() {
  return {
      nd_case(DataType::f32, 3, {5, 7, 13}, {112, 16}, {2, 3, 8}, Swizzle::none),
      nd_case(DataType::f16, 3, {3, 20, 70}, {1440, 72}, {2, 8, 64}, Swizzle::bytes_128),
      // Heads of 32 columns, whose rows lie behind each other in memory.
      nd_case(DataType::bf16, 4, {2, 3, 10, 32}, {960, 32, 96}, {1, 2, 8, 32}, Swizzle::bytes_64),
      nd_case(DataType::i8, 4, {2, 3, 5, 37}, {768, 240, 48}, {2, 2, 3, 32}, Swizzle::none),
      nd_case(DataType::f64, 5, {2, 2, 3, 3, 5}, {108, 54, 18, 6}, {1, 2, 2, 3, 4},
              Swizzle::bytes_32),
      nd_case(DataType::i32, 5, {3, 2, 2, 5, 6}, {200, 96, 44, 8}, {2, 2, 3, 2, 4}, Swizzle::none),
  };
}
/// Indices, of which the last counts pieces of 16 bytes.
constexpr int kNdCorners[][5] = {{0, 0, 0, 0, 0},   {1, 1, 2, 1, 1},  {-1, 0, -1, 1, -1},
                                 {1, -2, 1, -1, 0}, {0, 1, 0, -9, 1}, {2, 0, 1, 3, 40}};
constexpr int kNdStoreCorners[][5] = {
    {0, 0, 0, 0, 0}, {1, 1, 2, 1, 1}, {1, 0, 1, 2, 0}, {0, 9, 0, 0, 1}, {0, 1, 0, 1, 40}};

std::vector<int> position_in(TensorNdCase const& c, int const (&corner)[5]) {
  std::vector<int> at(corner, corner + c.last());
  at.push_back(corner[4] * 16 / static_cast<int>(size_of(c.box)));
  return at;
}

TEST(BulkCopies, TensorNdLoad) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    for (TensorNdCase const& c : tensors_nd()) {
      std::size_t const size = size_of(c.box);
      auto const tensor = pattern(20, c.elements(c.box.columns) * size);
      DeviceArray<unsigned char> const from{device, stream, tensor};
      std::size_t const bytes = tile_bytes(c.box);
      DeviceArray<unsigned char> const to{device, stream, static_cast<std::int64_t>(bytes)};
      for (auto const& corner : kNdCorners) {
        auto const at = position_in(c, corner);
        std::vector<unsigned char> expected(bytes, 0);
        c.each_element(at, c.box.columns, [&](std::size_t element, std::size_t tile_byte) {
          std::memcpy(&expected[tile_byte], &tensor[element * size], size);
        });

        launch_tensor_nd_load(describe(c, from.data()), at, to.data(), static_cast<unsigned>(bytes),
                              stream);

        EXPECT_EQ(to.download(), expected)
            << c.dimensions << " dimensions, corner " << &corner - kNdCorners;
        EXPECT_TRUE(to.intact());
      }
    }
  });
}

TEST(BulkCopies, TensorNdStore) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    for (TensorNdCase const& c : tensors_nd()) {
      std::size_t const size = size_of(c.box);
      auto const tensor = pattern(21, c.elements(stored_columns(c.box)) * size);
      auto const tile = pattern(22, tile_bytes(c.box));
      DeviceArray<unsigned char> const from{device, stream, tile};
      for (auto const& corner : kNdStoreCorners) {
        auto const at = position_in(c, corner);
        DeviceArray<unsigned char> const to{device, stream, tensor};
        auto expected = tensor;
        c.each_element(at, stored_columns(c.box), [&](std::size_t element, std::size_t tile_byte) {
          std::memcpy(&expected[element * size], &tile[tile_byte], size);
        });

        launch_tensor_nd_store(describe(c, to.data()), at, from.data(),
                               static_cast<unsigned>(tile.size()), stream);

        EXPECT_EQ(to.download(), expected)
            << c.dimensions << " dimensions, corner " << &corner - kNdStoreCorners;
        EXPECT_TRUE(to.intact());
      }
    }
  });
}

/// Images, the windows of a convolution over them, and the column that moves.
struct ImageCase {
  int images, rows, columns, pixel;
  int padding, dilation, step, window_rows, window_columns;
  TensorCase box;  ///< type, channels as columns, box and swizzle

  int windows(int extent, int taps) const {
    return (extent + 2 * padding - (taps - 1) * dilation - 1) / step + 1;
  }
  int out_rows() const { return windows(rows, window_rows); }
  int out_columns() const { return windows(columns, window_columns); }
  /// The window of all images, from the first on: its image, row, column.
  std::array<int, 3> window(int number) const {
    int const of_image = out_rows() * out_columns();
    return {number / of_image, number % of_image / out_columns() * step - padding,
            number % out_columns() * step - padding};
  }
};

ImageCase image_case(DataType type, std::array<int, 3> images, int channels, int pixel,
                     std::array<int, 3> convolution, std::array<int, 2> window,
                     std::array<int, 2> box, Swizzle swizzle) {
  return {images[0],      images[1],
          images[2],      pixel,
          convolution[0], convolution[1],
          convolution[2], window[0],
          window[1],      {type, 0, channels, 0, box[0], box[1], swizzle}};
}

ptx::ImageTensor describe(ImageCase const& c, void const* data) {
  return {.data = data,
          .type = c.box.type,
          .images = c.images,
          .rows = c.rows,
          .columns = c.columns,
          .channels = c.box.columns,
          .pixel = c.pixel,
          .first_row = -c.padding,
          .first_column = -c.padding,
          .last_row = c.padding - (c.window_rows - 1) * c.dilation,
          .last_column = c.padding - (c.window_columns - 1) * c.dilation,
          .step = c.step,
          .box_pixels = static_cast<unsigned>(c.box.box_rows),
          .box_channels = static_cast<unsigned>(c.box.box_columns),
          .swizzle = c.box.swizzle};
}

/// Windows of all shapes, in strides 1 to 3 and 8; the last is larger than the image.
std::vector<ImageCase> images() {
  return {
      image_case(DataType::f16, {2, 5, 7}, 72, 80, {1, 1, 1}, {3, 2}, {40, 64}, Swizzle::bytes_128),
      image_case(DataType::bf16, {3, 9, 6}, 24, 24, {0, 1, 2}, {2, 3}, {16, 32}, Swizzle::bytes_64),
      image_case(DataType::f32, {2, 8, 11}, 13, 16, {2, 2, 3}, {3, 4}, {24, 12}, Swizzle::none),
      image_case(DataType::f32, {4, 17, 3}, 32, 32, {1, 1, 8}, {1, 3}, {8, 32}, Swizzle::bytes_128),
      image_case(DataType::i8, {2, 3, 2}, 48, 48, {3, 1, 1}, {5, 6}, {16, 32}, Swizzle::bytes_32),
  };
}

TEST(BulkCopies, TensorLoadPixels) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    for (ImageCase const& c : images()) {
      std::size_t const size = size_of(c.box);
      std::size_t const bytes = tile_bytes(c.box);
      auto const memory =
          pattern(24, static_cast<std::size_t>(c.images * c.rows * c.columns * c.pixel) * size);
      DeviceArray<unsigned char> const from{device, stream, memory};
      DeviceArray<unsigned char> const to{device, stream, static_cast<std::int64_t>(bytes)};
      int const windows = c.images * c.out_rows() * c.out_columns();
      int const piece = 16 / static_cast<int>(size);
      // From the first window, from the middle, over the end, all beyond.
      for (int const first : {0, windows / 3, windows - 2, windows + 1}) {
        for (int const channel : {0, piece, c.box.columns / piece * piece}) {
          int const i = first % c.window_rows, j = c.window_columns - 1;
          std::vector<unsigned char> expected(bytes, 0);
          for (int r = 0; r < c.box.box_rows; ++r) {
            auto const [image, top, left] = c.window(first + r);
            int const row = top + i * c.dilation, column = left + j * c.dilation;
            if (image >= c.images || row < 0 || row >= c.rows || column < 0 || column >= c.columns)
              continue;
            int const pixel = ((image * c.rows + row) * c.columns + column) * c.pixel;
            for (int k = 0; k < c.box.box_columns && channel + k < c.box.columns; ++k) {
              std::memcpy(&expected[tile_place(c.box, r, k)],
                          &memory[static_cast<std::size_t>(pixel + channel + k) * size], size);
            }
          }
          auto const [image, top, left] = c.window(first);

          launch_tensor_load_pixels(describe(c, from.data()), {image, top, left, channel},
                                    {static_cast<std::uint16_t>(i * c.dilation),
                                     static_cast<std::uint16_t>(j * c.dilation)},
                                    to.data(), static_cast<unsigned>(bytes), stream);

          EXPECT_EQ(to.download(), expected) << "images of " << c.rows << " x " << c.columns
                                             << ", window " << first << ", channel " << channel;
          EXPECT_TRUE(to.intact());
        }
      }
    }
  });
}

TEST(BulkCopies, TensorMapsRefuseWhatCannotBe) {
  device::Stream const stream{kernel_device()};
  DeviceArray<unsigned char> const memory{kernel_device(), stream, 4096};
  auto const launch = [&](Tensor2d const& matrix) {
    launch_tensor_load(matrix, 0, 0, memory.data(), 1024, stream);
  };
  Tensor2d const good{.data = memory.data(),
                      .type = DataType::f32,
                      .rows = 8,
                      .columns = 32,
                      .leading = 32,
                      .box_rows = 8,
                      .box_columns = 32};
  auto const with = [&](auto&& change) {
    Tensor2d bad = good;
    change(bad);
    return bad;
  };

  EXPECT_FAILS(
      launch(with([](Tensor2d& t) { t.data = static_cast<unsigned char const*>(t.data) + 4; })),
      "aligned to 16 bytes");
  EXPECT_FAILS(launch(with([](Tensor2d& t) { t.data = nullptr; })), "aligned to 16 bytes");
  EXPECT_FAILS(launch(with([](Tensor2d& t) { t.rows = 0; })), "return early");
  EXPECT_FAILS(launch(with([](Tensor2d& t) { t.leading = 28; })), "less than the columns");
  EXPECT_FAILS(launch(with([](Tensor2d& t) { t.leading = 33; })), "multiple of 16 bytes");
  EXPECT_FAILS(launch(with([](Tensor2d& t) { t.box_rows = 257; })), "several boxes");
  EXPECT_FAILS(launch(with([](Tensor2d& t) { t.box_columns = 30; })), "widen the box");
  EXPECT_FAILS(launch(with([](Tensor2d& t) { t.swizzle = Swizzle::bytes_64; })), "span");
  EXPECT_FAILS(launch(with([](Tensor2d& t) {
                 t.type = DataType::i32;
                 t.rounds_to_tf32 = true;
               })),
               "only f32 is rounded to tf32");
}

TEST(BulkCopies, TensorNdMapsRefuseWhatCannotBe) {
  device::Stream const stream{kernel_device()};
  DeviceArray<unsigned char> const memory{kernel_device(), stream, 8192};
  ptx::TensorNd const good{.data = memory.data(),
                           .type = DataType::f32,
                           .dimensions = 3,
                           .extents = {2, 8, 32},
                           .strides = {256, 32},
                           .box = {1, 8, 32}};
  auto const launch_with = [&](auto&& change) {
    ptx::TensorNd bad = good;
    change(bad);
    int const at[] = {0, 0, 0};
    launch_tensor_nd_load(bad, at, memory.data(), 1024, stream);
  };

  EXPECT_FAILS(launch_with([](ptx::TensorNd& t) { t.dimensions = 6; }), "2 to 5 dimensions");
  EXPECT_FAILS(launch_with([](ptx::TensorNd& t) { t.dimensions = 1; }), "2 to 5 dimensions");
  EXPECT_FAILS(launch_with([](ptx::TensorNd& t) { t.extents[1] = 0; }), "return early");
  EXPECT_FAILS(launch_with([](ptx::TensorNd& t) { t.strides[0] = 0; }), "multiple of 16 bytes");
  EXPECT_FAILS(launch_with([](ptx::TensorNd& t) { t.strides[1] = 33; }), "multiple of 16 bytes");
  EXPECT_FAILS(launch_with([](ptx::TensorNd& t) { t.box[0] = 257; }), "several boxes");
  EXPECT_FAILS(launch_with([](ptx::TensorNd& t) { t.box[2] = 30; }), "widen the box");
  EXPECT_FAILS(launch_with([](ptx::TensorNd& t) { t.swizzle = Swizzle::bytes_64; }), "span");
}

TEST(BulkCopies, ImageMapsRefuseWhatCannotBe) {
  device::Stream const stream{kernel_device()};
  DeviceArray<unsigned char> const memory{kernel_device(), stream, 8192};
  ptx::ImageTensor const good{.data = memory.data(),
                              .type = DataType::f16,
                              .images = 2,
                              .rows = 4,
                              .columns = 4,
                              .channels = 64,
                              .pixel = 64,
                              .box_pixels = 8,
                              .box_channels = 64};
  auto const launch_with = [&](auto&& change) {
    ptx::ImageTensor bad = good;
    change(bad);
    launch_tensor_load_pixels(bad, {}, {}, memory.data(), 1024, stream);
  };

  EXPECT_FAILS(launch_with([](ptx::ImageTensor& t) { t.data = nullptr; }), "aligned to 16 bytes");
  EXPECT_FAILS(launch_with([](ptx::ImageTensor& t) { t.images = 0; }), "return early");
  EXPECT_FAILS(launch_with([](ptx::ImageTensor& t) { t.pixel = 63; }), "multiple of 16 bytes");
  EXPECT_FAILS(launch_with([](ptx::ImageTensor& t) { t.first_row = -129; }), "-128 to 127");
  EXPECT_FAILS(launch_with([](ptx::ImageTensor& t) { t.last_column = 128; }), "-128 to 127");
  EXPECT_FAILS(launch_with([](ptx::ImageTensor& t) { t.last_row = -4; }), "before the first");
  EXPECT_FAILS(launch_with([](ptx::ImageTensor& t) { t.step = 9; }), "1st to 8th");
  EXPECT_FAILS(launch_with([](ptx::ImageTensor& t) { t.box_pixels = 1025; }), "1 to 1024 pixels");
  EXPECT_FAILS(launch_with([](ptx::ImageTensor& t) { t.box_channels = 12; }), "widen the box");
  EXPECT_FAILS(launch_with([](ptx::ImageTensor& t) { t.swizzle = Swizzle::bytes_64; }), "span");
}

TEST(BulkCopies, MisuseOfStoresIsFound) {
  if (has_gpu()) GTEST_SKIP() << "a GPU diagnoses none of this";
  auto const store = [](StoreMisuse misuse) {
    return outcomes([misuse](device::Device& device, device::StreamView stream) {
      auto const expected = small_integers<float>(15, 256, 1000);
      DeviceArray<float> const from{device, stream, expected};
      DeviceArray<float> const to{device, stream, from.size()};
      launch_bulk_store(from.data(), to.data(), 1, false, misuse, stream);
      return to.download() == expected;
    });
  };

  expect_each(store(StoreMisuse::none), "right");
  expect_each(store(StoreMisuse::no_proxy_fence), "fence_proxy_async()");
  expect_each(store(StoreMisuse::overwrite_source), "changed before bulk_wait_read()");
  expect_each(store(StoreMisuse::no_wait), "ended before this store");
}

TEST(BulkCopies, MisuseOfTensorCopiesIsFound) {
  if (has_gpu()) GTEST_SKIP() << "a GPU diagnoses none of this";
  constexpr TensorCase c{DataType::f32, 16, 32, 32, 8, 32, Swizzle::bytes_128};
  auto const load = [&](int column) {
    return outcomes([&](device::Device& device, device::StreamView stream) {
      DeviceArray<float> const from{device, stream, small_integers<float>(16, 16 * 32, 9)};
      DeviceArray<unsigned char> const to{device, stream, static_cast<std::int64_t>(tile_bytes(c))};
      launch_tensor_load(describe(c, from.data()), 0, column, to.data(),
                         static_cast<unsigned>(tile_bytes(c)), stream);
      return true;
    });
  };

  expect_each(load(4), "right");
  expect_each(load(5), "not at a multiple of 16 bytes");
  expect_each(outcomes([&](device::Device& device, device::StreamView stream) {
                DeviceArray<float> const to{device, stream, small_integers<float>(17, 16 * 32, 9)};
                DeviceArray<unsigned char> const from{device, stream, pattern(18, tile_bytes(c))};
                launch_tensor_store(describe(c, to.data()), -1, 0, from.data(),
                                    static_cast<unsigned>(tile_bytes(c)), false, stream);
                return true;
              }),
              "negative");
}

TEST(BulkCopies, MisuseOfTensorNdCopiesIsFound) {
  if (has_gpu()) GTEST_SKIP() << "a GPU diagnoses none of this";
  TensorNdCase const c = tensors_nd()[0];
  auto const bytes = static_cast<unsigned>(tile_bytes(c.box));
  auto const load = [&](std::vector<int> const& at) {
    return outcomes([&](device::Device& device, device::StreamView stream) {
      auto const n = static_cast<std::int64_t>(c.elements(c.box.columns) * size_of(c.box));
      DeviceArray<unsigned char> const from{device, stream, n};
      DeviceArray<unsigned char> const to{device, stream, bytes};
      launch_tensor_nd_load(describe(c, from.data()), at, to.data(), bytes, stream);
      return true;
    });
  };

  expect_each(load({1, 2, 4}), "right");
  expect_each(load({1, 2, 3}), "not at a multiple of 16 bytes");
  expect_each(load({0, 1, 2, 4}), "4 indices in a tensor of 3 dimensions");
  expect_each(outcomes([&](device::Device& device, device::StreamView stream) {
                auto const n = c.elements(stored_columns(c.box)) * size_of(c.box);
                DeviceArray<unsigned char> const to{device, stream, static_cast<std::int64_t>(n)};
                DeviceArray<unsigned char> const from{device, stream, pattern(23, bytes)};
                int const at[] = {1, -1, 0};
                launch_tensor_nd_store(describe(c, to.data()), at, from.data(), bytes, stream);
                return true;
              }),
              "negative");
}

TEST(BulkCopies, MisuseOfPixelLoadsIsFound) {
  if (has_gpu()) GTEST_SKIP() << "a GPU diagnoses none of this";
  ImageCase const c = images()[0];
  auto const bytes = static_cast<unsigned>(tile_bytes(c.box));
  auto const load = [&](std::array<int, 4> const& at, std::uint16_t pixel) {
    return outcomes([&](device::Device& device, device::StreamView stream) {
      auto const n = c.images * c.rows * c.columns * c.pixel * 2;
      DeviceArray<unsigned char> const from{device, stream, n};
      DeviceArray<unsigned char> const to{device, stream, bytes};
      launch_tensor_load_pixels(describe(c, from.data()), at, {pixel, 0}, to.data(), bytes, stream);
      return true;
    });
  };
  auto const mix_up = [&](bool asks_for_pixels) {
    return outcomes([&](device::Device& device, device::StreamView stream) {
      DeviceArray<unsigned char> const memory{device, stream, 16384};
      Tensor2d const matrix{.data = memory.data(),
                            .type = DataType::f32,
                            .rows = 8,
                            .columns = 32,
                            .leading = 32,
                            .box_rows = 8,
                            .box_columns = 32};
      launch_mixed_up_maps(describe(c, memory.data()), matrix, asks_for_pixels, stream);
      return true;
    });
  };

  expect_each(load({0, -1, -1, 8}, 2), "right");
  expect_each(load({0, -1, -1, 4}, 2), "not at a multiple of 16 bytes");
  expect_each(load({0, -2, -1, 8}, 2), "no window begins at row -2, column -1");
  expect_each(load({0, -1, 7, 8}, 2), "no window begins at row -1, column 7");
  expect_each(load({0, -1, -1, 8}, 256), "255 are allowed");
  expect_each(mix_up(false), "the map is one of images");
  expect_each(mix_up(true), "the map is none of images");
}

}  // namespace
}  // namespace quadrille::test
