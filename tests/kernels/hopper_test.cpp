// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/hopper_kernels.hpp"
#include "simt/engine.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

// Expected values come from textbook loops over small integers, so that equality is bit by bit.
// What a GPU and the models must have in common is that both pass.
namespace quadrille::test {
namespace {

using core::DataType;
using ptx::Swizzle;
using ptx::Tensor2d;

/// An integer in [-range, range] that differs by position.
int small_integer(unsigned seed, std::size_t i, int range) {
  std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15U + seed * 0xBF58476D1CE4E5B9U;
  x = (x ^ x >> 31) * 0x94D049BB133111EBU;
  return static_cast<int>((x >> 33) % static_cast<unsigned>(2 * range + 1)) - range;
}

std::vector<float> small_integers(unsigned seed, std::size_t n, int range) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(small_integer(seed, i, range));
  return values;
}

TEST(Hopper, BulkRing) {
  for (int const chunks : {0, 1, 2, 3, 4, 11}) {
    on_every_schedule([&](device::Device& device, device::StreamView stream) {
      auto const n = static_cast<std::size_t>(chunks) * 256;
      auto expected = small_integers(1, n, 1000);
      DeviceArray<float> const from{device, stream, expected};
      DeviceArray<float> const to{device, stream, from.size()};
      for (float& value : expected) value += 1;

      launch_bulk_ring(from.data(), to.data(), chunks, Misuse::none, stream);

      EXPECT_EQ(to.download(), expected) << chunks;
      EXPECT_TRUE(to.intact());
    });
  }
}

TEST(Hopper, BulkStoreAndReduce) {
  for (bool const add : {false, true}) {
    on_every_schedule([&](device::Device& device, device::StreamView stream) {
      constexpr int kBlocks = 5;
      auto const values = small_integers(2, 256 * kBlocks, 1000);
      auto expected = small_integers(3, 256 * kBlocks, 1000);
      DeviceArray<float> const from{device, stream, values};
      DeviceArray<float> const to{device, stream, expected};
      for (std::size_t i = 0; i < values.size(); ++i) {
        expected[i] = add ? expected[i] + values[i] : values[i];
      }

      launch_bulk_store(from.data(), to.data(), kBlocks, add, Misuse::none, stream);

      EXPECT_EQ(to.download(), expected);
      EXPECT_TRUE(to.intact());
    });
  }
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

TEST(Hopper, TensorLoad) {
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

/// Columns that a store reaches: all of the pieces of 16 bytes that a row has a part in.
int stored_columns(TensorCase const& c) {
  auto const size = static_cast<int>(size_of(c));
  return (c.columns * size + 15) / 16 * 16 / size;
}

TEST(Hopper, TensorStore) {
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

TEST(Hopper, TensorReduceAdd) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    constexpr TensorCase c{DataType::f32, 19, 30, 32, 16, 32, Swizzle::bytes_128};
    auto const matrix = small_integers(7, 19 * 32, 1000);
    auto const tile = small_integers(8, 16 * 32, 1000);
    std::vector<unsigned char> bytes(tile_bytes(c));
    std::memcpy(bytes.data(), tile.data(), bytes.size());
    DeviceArray<unsigned char> const from{device, stream, bytes};
    DeviceArray<float> const to{device, stream, matrix};
    constexpr int kRow = 7;
    constexpr int kColumn = 12;
    auto expected = matrix;
    for (int r = 0; r < 12; ++r) {
      for (int j = 0; j < stored_columns(c) - kColumn; ++j) {
        expected[static_cast<std::size_t>((kRow + r) * 32 + kColumn + j)] +=
            tile[tile_place(c, r, j) / 4];
      }
    }

    launch_tensor_store(describe(c, to.data()), kRow, kColumn, from.data(),
                        static_cast<unsigned>(bytes.size()), true, stream);

    EXPECT_EQ(to.download(), expected);
  });
}

TEST(Hopper, TensorMapsRefuseWhatCannotBe) {
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
}

/// The bits of an integer of small magnitude as an element of the type.
std::uint32_t bits_of(int value, WgmmaType type) {
  auto const f32 = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type == WgmmaType::tf32) return f32;
  if (type == WgmmaType::bf16) return f32 >> 16;
  if (value == 0) return 0;
  // f16: sign, 5 bits of exponent with bias 15, 10 bits of fraction.
  return (f32 >> 16 & 0x8000) | ((f32 >> 13 & 0x3FFFF) - ((127 - 15) << 10));
}

TEST(Hopper, HalfBits) {
  EXPECT_EQ(bits_of(1, WgmmaType::f16), 0x3C00U);
  EXPECT_EQ(bits_of(-2, WgmmaType::f16), 0xC000U);
  EXPECT_EQ(bits_of(2048, WgmmaType::f16), 0x6800U);
  EXPECT_EQ(bits_of(-3, WgmmaType::bf16), 0xC040U);
}

std::string name_of(WgmmaCase const& c) {
  constexpr char const* kTypes[] = {"f16", "f16 in f16", "bf16", "tf32"};
  constexpr int kSpans[] = {0, 32, 64, 128};
  return std::string{kTypes[static_cast<int>(c.type)]} + ", n " + std::to_string(c.n) + ", A " +
         (c.a_in_registers ? "in registers"
          : c.a_mn_major   ? "M-major"
                           : "K-major") +
         ", B " + (c.b_mn_major ? "N-major" : "K-major") + ", swizzle " +
         std::to_string(kSpans[static_cast<int>(c.swizzle)]);
}

TEST(Hopper, Wgmma) {
  for (WgmmaCase const& c : wgmma_cases()) {
    SCOPED_TRACE(name_of(c));
    auto const n = static_cast<std::size_t>(c.n);
    std::size_t const k = c.type == WgmmaType::tf32 ? 64 : 128;
    WgmmaType const result =
        c.type == WgmmaType::f16_in_f16 ? WgmmaType::f16 : WgmmaType::tf32;  // f16 or f32
    // Small enough for f16 to hold the sums: 128 * 2 * 2 + 9.
    auto const a = [&](std::size_t i) { return small_integer(9, i, 2); };
    auto const b = [&](std::size_t i) { return small_integer(10, i, 2); };
    auto const start = [&](std::size_t i) { return small_integer(11, i, 9); };
    std::vector<std::uint32_t> a_bits, b_bits, c_bits, expected, expected_from_zero;
    for (std::size_t i = 0; i < 64 * k; ++i) a_bits.push_back(bits_of(a(i), c.type));
    for (std::size_t i = 0; i < k * n; ++i) b_bits.push_back(bits_of(b(i), c.type));
    for (std::size_t i = 0; i < 64; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        int sum = 0;
        for (std::size_t l = 0; l < k; ++l) sum += a(i * k + l) * b(l * n + j);
        c_bits.push_back(bits_of(start(i * n + j), result));
        expected.push_back(bits_of(sum + start(i * n + j), result));
        expected_from_zero.push_back(bits_of(sum, result));
      }
    }

    on_every_schedule([&](device::Device& device, device::StreamView stream) {
      DeviceArray<std::uint32_t> const da{device, stream, a_bits};
      DeviceArray<std::uint32_t> const db{device, stream, b_bits};
      DeviceArray<std::uint32_t> const dc{device, stream, c_bits};
      DeviceArray<std::uint32_t> const d{device, stream, dc.size()};

      c.launch({da.data(), db.data(), dc.data(), d.data()}, stream);
      EXPECT_TRUE(d.download() == expected) << "D += A B";

      c.launch({da.data(), db.data(), nullptr, d.data()}, stream);
      EXPECT_TRUE(d.download() == expected_from_zero) << "D = A B";
      EXPECT_TRUE(d.intact());
    });
  }
}

TEST(Hopper, WgmmaPipeline) {
  for (int const k : {8, 64, 136, 448}) {
    constexpr std::size_t kN = 128;
    auto const depth = static_cast<std::size_t>(k);
    std::vector<std::uint16_t> a, b;
    for (std::size_t i = 0; i < 64 * depth; ++i) {
      a.push_back(static_cast<std::uint16_t>(bits_of(small_integer(12, i, 8), WgmmaType::f16)));
    }
    for (std::size_t i = 0; i < kN * depth; ++i) {
      b.push_back(static_cast<std::uint16_t>(bits_of(small_integer(13, i, 8), WgmmaType::f16)));
    }
    std::vector<float> expected(64 * kN);
    for (std::size_t i = 0; i < 64; ++i) {
      for (std::size_t j = 0; j < kN; ++j) {
        int sum = 0;
        for (std::size_t l = 0; l < depth; ++l) {
          sum += small_integer(12, i * depth + l, 8) * small_integer(13, j * depth + l, 8);
        }
        expected[i * kN + j] = static_cast<float>(sum);
      }
    }

    on_every_schedule([&](device::Device& device, device::StreamView stream) {
      DeviceArray<std::uint16_t> const da{device, stream, a};
      DeviceArray<std::uint16_t> const db{device, stream, b};
      DeviceArray<float> const d{device, stream, 64 * kN};
      TensorCase const shape_a{DataType::f16, 64, k, k, 64, 64, Swizzle::bytes_128};
      TensorCase const shape_b{DataType::f16, kN, k, k, kN, 64, Swizzle::bytes_128};

      launch_wgmma_pipeline(describe(shape_a, da.data()), describe(shape_b, db.data()), k, d.data(),
                            stream);

      EXPECT_EQ(d.download(), expected) << "k " << k;
      EXPECT_TRUE(d.intact());
    });
  }
}

/// What comes of a faulty kernel in each schedule: the interpreter's error, "right" or "wrong".
std::vector<std::string> outcomes(
    std::function<bool(device::Device&, device::StreamView)> const& is_right) {
  std::vector<std::string> all;
  on_every_schedule([&](device::Device& device, device::StreamView stream) {
    try {
      all.push_back(is_right(device, stream) ? "right" : "wrong");
    } catch (simt::Error const& error) {
      all.push_back(error.what());
    }
  });
  return all;
}

/// `of_races`: what the race detector says where it is first to see the fault.
void expect_each(std::vector<std::string> const& outcomes, std::string text,
                 std::string const& of_races = "") {
  EXPECT_FALSE(outcomes.empty());
  if (kernel_mode() == KernelMode::race && !of_races.empty()) text = of_races;
  for (std::string const& outcome : outcomes) {
    EXPECT_NE(outcome.find(text), std::string::npos) << outcome << "; expected: " << text;
  }
}

class HopperMisuse : public testing::Test {
 protected:
  void SetUp() override {
    if (kernel_mode() == KernelMode::gpu) GTEST_SKIP() << "a GPU diagnoses none of this";
  }
};

TEST_F(HopperMisuse, OfTheRing) {
  auto const ring = [](Misuse misuse) {
    return outcomes([misuse](device::Device& device, device::StreamView stream) {
      auto expected = small_integers(14, 256 * 7, 1000);
      DeviceArray<float> const from{device, stream, expected};
      DeviceArray<float> const to{device, stream, from.size()};
      launch_bulk_ring(from.data(), to.data(), 7, misuse, stream);
      for (float& value : expected) value += 1;
      return to.download() == expected;
    });
  };

  expect_each(ring(Misuse::none), "right");
  expect_each(ring(Misuse::wrong_parity), "hang");
  expect_each(ring(Misuse::no_expect_tx), "mbarrier_arrive_expect_tx() is missing",
              "asynchronous copy that was not waited for");
  expect_each(ring(Misuse::too_few_expected), "expects too few");
  expect_each(ring(Misuse::odd_size), "multiples of 16 bytes");
  expect_each(ring(Misuse::not_initialised), "before mbarrier_init()");
  expect_each(ring(Misuse::no_init_fence), "fence_mbarrier_init()");
  for (Misuse const misuse : {Misuse::no_wait_for_full, Misuse::no_wait_for_empty}) {
    auto const found = ring(misuse);
    // Values tell in some schedule; the race detector in each.
    EXPECT_TRUE(std::any_of(found.begin(), found.end(),
                            [](std::string const& outcome) { return outcome != "right"; }));
    if (kernel_mode() == KernelMode::race) {
      for (std::string const& outcome : found) EXPECT_GT(outcome.size(), 5U) << outcome;
    }
  }
}

TEST_F(HopperMisuse, OfStores) {
  auto const store = [](Misuse misuse) {
    return outcomes([misuse](device::Device& device, device::StreamView stream) {
      auto const expected = small_integers(15, 256, 1000);
      DeviceArray<float> const from{device, stream, expected};
      DeviceArray<float> const to{device, stream, from.size()};
      launch_bulk_store(from.data(), to.data(), 1, false, misuse, stream);
      return to.download() == expected;
    });
  };

  expect_each(store(Misuse::none), "right");
  expect_each(store(Misuse::no_proxy_fence), "fence_proxy_async()");
  expect_each(store(Misuse::overwrite_source), "changed before bulk_wait_read()");
  expect_each(store(Misuse::no_store_wait), "ended before this store");
}

TEST_F(HopperMisuse, OfTensorCopies) {
  constexpr TensorCase c{DataType::f32, 16, 32, 32, 8, 32, Swizzle::bytes_128};
  auto const load = [&](int column) {
    return outcomes([&](device::Device& device, device::StreamView stream) {
      DeviceArray<float> const from{device, stream, small_integers(16, 16 * 32, 9)};
      DeviceArray<unsigned char> const to{device, stream, static_cast<std::int64_t>(tile_bytes(c))};
      launch_tensor_load(describe(c, from.data()), 0, column, to.data(),
                         static_cast<unsigned>(tile_bytes(c)), stream);
      return true;
    });
  };

  expect_each(load(4), "right");
  expect_each(load(5), "not at a multiple of 16 bytes");
  expect_each(outcomes([&](device::Device& device, device::StreamView stream) {
                DeviceArray<float> const to{device, stream, small_integers(17, 16 * 32, 9)};
                DeviceArray<unsigned char> const from{device, stream, pattern(18, tile_bytes(c))};
                launch_tensor_store(describe(c, to.data()), -1, 0, from.data(),
                                    static_cast<unsigned>(tile_bytes(c)), false, stream);
                return true;
              }),
              "negative");
}

TEST_F(HopperMisuse, OfWgmma) {
  auto const product = [](Misuse misuse) {
    return outcomes([misuse](device::Device& device, device::StreamView stream) {
      std::vector<std::uint32_t> const ones(64 * 16, bits_of(1, WgmmaType::f16));
      DeviceArray<std::uint32_t> const a{device, stream, ones};
      DeviceArray<std::uint32_t> const b{device, stream, ones};
      DeviceArray<float> const d{device, stream, 64 * 64};
      launch_wgmma_misuse(a.data(), b.data(), d.data(), misuse, stream);
      auto const values = d.download();
      if (misuse == Misuse::use_before_wait) {
        return !std::all_of(values.begin(), values.end(), [](float v) { return std::isnan(v); });
      }
      return values == std::vector<float>(64 * 64, 16.0F);
    });
  };

  expect_each(product(Misuse::none), "right");
  expect_each(product(Misuse::no_proxy_fence), "fence_proxy_async()");
  expect_each(product(Misuse::no_wgmma_fence), "no wgmma_fence()");
  expect_each(product(Misuse::use_before_wait), "wrong");
  expect_each(product(Misuse::overwrite_operand), "written between its issue and its wait",
              "race on dynamic shared memory");
}

}  // namespace
}  // namespace quadrille::test
