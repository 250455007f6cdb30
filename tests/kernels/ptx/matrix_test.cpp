// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ptx/matrix_kernels.hpp"
#include "support/instruction_test.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace quadrille::test {
namespace {

using device::Device;
using device::StreamView;

template <class T, class Convert>
std::vector<T> converted(std::vector<int> const& values, Convert const& convert) {
  std::vector<T> result;
  for (int const value : values) result.push_back(convert(value));
  return result;
}

/// c_factor c + factor a b of row-major matrices.
std::vector<int> product(int m, int n, int k, std::vector<int> const& a, std::vector<int> const& b,
                         std::vector<int> const& c, int factor, int c_factor = 1) {
  std::vector<int> d(static_cast<std::size_t>(m * n));
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      int sum = 0;
      for (int l = 0; l < k; ++l) {
        sum += a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)];
      }
      auto const place = static_cast<std::size_t>(i * n + j);
      d[place] = c_factor * c[place] + factor * sum;
    }
  }
  return d;
}
template <class T>
std::vector<T> transposed(int rows, int columns, std::vector<T> const& x) {
  std::vector<T> y;
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) y.push_back(x[static_cast<std::size_t>(i * columns + j)]);
  }
  return y;
}

/// Element (row, column) of matrix m, whose rows are taken from the last to the first.
std::size_t place_in_rows(int count, int matrix, int row, int column) {
  return static_cast<std::size_t>((8 * count - 1 - (8 * matrix + row)) * 8 + column);
}

TEST(Matrix, LdmatrixDistributesRows) {
  on_every_schedule([](Device& device, StreamView stream) {
    std::vector<std::uint16_t> rows(32 * 8);
    std::iota(rows.begin(), rows.end(), std::uint16_t{0x1200});
    DeviceArray<std::uint16_t> const from{device, stream, rows};
    for (int const count : {1, 2, 4}) {
      for (bool const trans : {false, true}) {
        DeviceArray<std::uint32_t> const to{device, stream, 32 * count};

        launch_ldmatrix(count, trans, from.data(), to.data(), 0, stream);

        std::vector<std::uint32_t> expected;
        for (int lane = 0; lane < 32; ++lane) {
          for (int matrix = 0; matrix < count; ++matrix) {
            int const across = lane / 4, along = 2 * (lane % 4);
            std::uint32_t low = 0, high = 0;
            if (trans) {
              low = rows[place_in_rows(count, matrix, along, across)];
              high = rows[place_in_rows(count, matrix, along + 1, across)];
            } else {
              low = rows[place_in_rows(count, matrix, across, along)];
              high = rows[place_in_rows(count, matrix, across, along + 1)];
            }
            expected.push_back(low | high << 16);
          }
        }
        EXPECT_EQ(to.download(), expected) << count << (trans ? " trans" : "");
        EXPECT_TRUE(to.intact());
      }
    }
  });
}

TEST(Matrix, StmatrixCollectsRows) {
  on_every_schedule([](Device& device, StreamView stream) {
    for (int const count : {1, 2, 4}) {
      for (bool const trans : {false, true}) {
        std::vector<std::uint32_t> registers(static_cast<std::size_t>(32 * count));
        for (std::size_t i = 0; i < registers.size(); ++i) {
          registers[i] = static_cast<std::uint32_t>(0x10002 * i + 0x10000);
        }
        DeviceArray<std::uint32_t> const from{device, stream, registers};
        DeviceArray<std::uint16_t> const to{device, stream, 32 * 8};

        launch_stmatrix(count, trans, from.data(), to.data(), 0, stream);

        std::vector<std::uint16_t> expected(32 * 8, 0xFFFF);
        for (int matrix = 0; matrix < count; ++matrix) {
          for (int row = 0; row < 8; ++row) {
            for (int column = 0; column < 8; ++column) {
              int const across = trans ? column : row, along = trans ? row : column;
              int const lane = 4 * across + along / 2;
              std::uint32_t const pair = registers[static_cast<std::size_t>(lane * count + matrix)];
              expected[place_in_rows(count, matrix, row, column)] =
                  static_cast<std::uint16_t>(along % 2 == 0 ? pair : pair >> 16);
            }
          }
        }
        EXPECT_EQ(to.download(), expected) << count << (trans ? " trans" : "");
        EXPECT_TRUE(to.intact());
      }
    }
  });
}

TEST(Matrix, MatrixRowsMustBeAligned) {
  if (has_gpu()) GTEST_SKIP() << "a GPU cannot go on after it";
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<std::uint16_t> const rows{device, stream, 32 * 8};
    DeviceArray<std::uint32_t> const registers{device, stream, 128};
    for (int const count : {1, 2, 4}) {
      for (bool const trans : {false, true}) {
        EXPECT_FINDS(launch_ldmatrix(count, trans, rows.data(), registers.data(), 4, stream),
                     "ldmatrix: address is not aligned to 16");
        EXPECT_FINDS(launch_stmatrix(count, trans, registers.data(), rows.data(), 1, stream),
                     "stmatrix: address is not aligned to 16");
      }
    }
  });
}

struct Matrices {
  std::vector<int> a, b, c;
  Matrices(int m, int n, int k)
      : a{small_integers<int>(1, static_cast<std::size_t>(m * k), 3)},
        b{small_integers<int>(2, static_cast<std::size_t>(k * n), 4)},
        c{small_integers<int>(3, static_cast<std::size_t>(m * n), 100)} {}
};

float to_float(int value) { return static_cast<float>(value); }
double to_double(int value) { return value; }
/// What is below the precision of tf32 does not count.
std::uint32_t tf32_with_low_bits(int value) {
  return value == 0 ? 0U : f32_bits(value) | (static_cast<unsigned>(value * value * 977) & 0x1FFFU);
}

/// c + 2 a b, m x 8, of integers that these functions make elements and sums of.
template <class T, class Sum, class Launch>
void expect_mma(int m, int k, T (*element)(int), Sum (*sum)(int), Launch const& launch) {
  on_every_schedule([&](Device& device, StreamView stream) {
    Matrices const x{m, 8, k};
    std::vector<T> b_elements = converted<T>(x.b, element);
    if (sizeof(T) <= 2) b_elements = transposed(k, 8, b_elements);
    DeviceArray<T> const a{device, stream, converted<T>(x.a, element)};
    DeviceArray<T> const b{device, stream, b_elements};
    DeviceArray<Sum> const c{device, stream, converted<Sum>(x.c, sum)};
    DeviceArray<Sum> const d{device, stream, m * 8};

    launch(a.data(), b.data(), c.data(), d.data(), stream);

    EXPECT_EQ(d.download(), converted<Sum>(product(m, 8, k, x.a, x.b, x.c, 2), sum))
        << m << " x 8 x " << k;
    EXPECT_TRUE(d.intact());
  });
}

TEST(Matrix, MmaF16) { expect_mma(16, 16, f16_bits, to_float, launch_mma_f16); }

TEST(Matrix, MmaF16WithSumsInF16) { expect_mma(16, 16, f16_bits, f16_bits, launch_mma_f16_f16); }

TEST(Matrix, MmaBf16) { expect_mma(16, 16, bf16_bits, to_float, launch_mma_bf16); }

TEST(Matrix, MmaS8) {
  expect_mma(
      16, 32, +[](int value) { return static_cast<std::int8_t>(value); },
      +[](int value) { return value; }, launch_mma_s8);
}

TEST(Matrix, MmaTf32) {
  for (int const k : {4, 8}) {
    expect_mma(16, k, tf32_with_low_bits, to_float,
               [k](auto... arguments) { launch_mma_tf32(k, arguments...); });
  }
}

TEST(Matrix, MmaF64) {
  for (auto const& [m, k] : {std::pair{8, 4}, {16, 4}, {16, 8}, {16, 16}}) {
    expect_mma(m, k, to_double, to_double,
               [m = m, k = k](auto... arguments) { launch_mma_f64(m, k, arguments...); });
  }
}

// Numbers at the edges of f16 times 1, on the diagonal: widening them is exact.
TEST(Matrix, MmaF16WidensEveryKindOfNumber) {
  on_every_schedule([](Device& device, StreamView stream) {
    std::vector<std::uint16_t> const bits{0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF,
                                          0x8000, 0x7C00, 0xFC00, 0x3C01, 0x0200, 0x83FF,
                                          0x0401, 0x4248, 0x3555, 0xB555};
    std::vector<float> const values{0x1p-24F,   -0x1p-24F,  0x3FFp-24F, 0x1p-14F,
                                    65504.0F,   -65504.0F,  -0.0F,      INFINITY,
                                    -INFINITY,  0x401p-10F, 0x1p-15F,   -0x3FFp-24F,
                                    0x401p-24F, 0x648p-9F,  0x555p-12F, -0x555p-12F};
    // Row i of A holds number i alone, at k = i; column 0 of B is 1 there and 0 elsewhere.
    for (std::size_t i = 0; i < 16; ++i) {
      std::vector<std::uint16_t> a(256), b(128);
      a[i * 16 + i] = bits[i];
      b[i] = 0x3C00;
      DeviceArray<std::uint16_t> const a_there{device, stream, a};
      DeviceArray<std::uint16_t> const b_there{device, stream, b};
      DeviceArray<float> const c{device, stream, std::vector<float>(128)};
      DeviceArray<float> const d{device, stream, 128};

      launch_mma_f16(a_there.data(), b_there.data(), c.data(), d.data(), stream);

      EXPECT_EQ(d.download()[i * 8], 2 * values[i]) << i;
    }
  });
}

/// Ten bits of mantissa, ties away from zero, computed in double.
float rounded_to_tf32(float value) {
  if (value == 0 || !std::isfinite(value)) return value;
  int const exponent = std::max(std::ilogb(value), -126);
  double const unit = std::ldexp(1.0, exponent - 10);
  return static_cast<float>(std::round(static_cast<double>(value) / unit) * unit);
}

TEST(Matrix, ToTf32RoundsTiesAwayFromZero) {
  on_every_schedule([](Device& device, StreamView stream) {
    std::vector<float> values{0.0F,
                              -0.0F,
                              INFINITY,
                              -INFINITY,
                              std::numeric_limits<float>::max(),
                              std::numeric_limits<float>::lowest(),
                              std::numeric_limits<float>::min(),
                              std::numeric_limits<float>::denorm_min()};
    // Around every tie of some exponents, subnormal ones too.
    for (std::uint32_t const exponent : {0U, 1U, 100U, 127U, 128U, 254U}) {
      for (std::uint32_t const kept : {0U, 1U, 2U, 511U, 1022U, 1023U}) {
        for (std::uint32_t const rest : {0U, 1U, 0x0FFFU, 0x1000U, 0x1001U, 0x1FFFU}) {
          std::uint32_t const bits = exponent << 23 | kept << 13 | rest;
          values.push_back(std::bit_cast<float>(bits));
          values.push_back(std::bit_cast<float>(bits | 0x80000000U));
        }
      }
    }
    auto const n = static_cast<int>(values.size());
    DeviceArray<float> const from{device, stream, values};
    DeviceArray<std::uint32_t> const to{device, stream, n};

    launch_to_tf32(from.data(), to.data(), n, stream);

    std::vector<std::uint32_t> const rounded = to.download();
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(rounded[i], std::bit_cast<std::uint32_t>(rounded_to_tf32(values[i])))
          << std::hexfloat << values[i];
    }
  });
}

/// Every number of e4m3, ties between neighbours, which go to the even one, and what is beyond the largest.
TEST(Matrix, ToE4m3RoundsToEvenAndSaturates) {
  on_every_schedule([](Device& device, StreamView stream) {
    std::vector<float> values;
    std::vector<std::uint32_t> expected;
    auto const add = [&](float value, unsigned bits) {
      values.push_back(value);
      if (values.size() % 4 == 1) expected.push_back(0);
      expected.back() |= bits << 8 * ((values.size() - 1) % 4);
    };
    constexpr unsigned kLargest = 0x7E, kNegative = 0x80;
    for (unsigned bits = 0; bits < kLargest; ++bits) {
      core::e4m3 here, next;
      here.bits = static_cast<std::uint8_t>(bits);
      next.bits = static_cast<std::uint8_t>(bits + 1);
      float const low = static_cast<float>(here), high = static_cast<float>(next);
      float const middle = (low + high) / 2;
      add(low, bits);
      add(-high, (bits + 1) | kNegative);
      add(middle, bits % 2 == 0 ? bits : bits + 1);
      add(std::nextafter(middle, high), bits + 1);
    }
    for (float const large : {448.0F, 464.0F, 1000.0F, INFINITY}) add(large, kLargest);
    auto const n = static_cast<int>(expected.size());
    DeviceArray<float> const from{device, stream, values};
    DeviceArray<std::uint32_t> const to{device, stream, n};

    launch_to_e4m3(from.data(), to.data(), n, stream);

    EXPECT_EQ(to.download(), expected);
  });
}

TEST(Matrix, ToTf32DropsTheLowBitsOfNan) {
  on_every_schedule([](Device& device, StreamView stream) {
    std::vector<float> const values{std::bit_cast<float>(0x7FC00000U),
                                    std::bit_cast<float>(0xFFC00001U),
                                    std::bit_cast<float>(0x7F800001U)};
    DeviceArray<float> const from{device, stream, values};
    DeviceArray<std::uint32_t> const to{device, stream, 3};

    launch_to_tf32(from.data(), to.data(), 3, stream);

    EXPECT_EQ(to.download(), (std::vector<std::uint32_t>{0x7FC00000U, 0xFFC00000U, 0x7F800000U}));
  });
}

// Or a kernel would lose the mark of memory that nobody wrote.
TEST(Matrix, ToTf32KeepsTheNanOfUnwrittenMemory) {
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<float> const from{device, stream, 1};
    DeviceArray<float> const to{device, stream, std::vector<float>(1)};

    launch_to_tf32(from.data(), reinterpret_cast<std::uint32_t*>(to.data()), 1, stream);

    EXPECT_TRUE(std::isnan(to.download().front()));
  });
}

/// A matrix with the stride, by rows or by columns; what is between is `rest`.
template <class T>
std::vector<T> laid_out(std::vector<T> const& x, bool by_rows, unsigned stride, T rest) {
  std::vector<T> memory(16 * stride, rest);
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t column = 0; column < 16; ++column) {
      memory[by_rows ? row * stride + column : column * stride + row] = x[row * 16 + column];
    }
  }
  return memory;
}

template <class Sum, class Convert>
void check_wmma(Convert const& convert, Sum nothing, bool is_bf16 = false) {
  auto const bits = is_bf16 ? bf16_bits : f16_bits;
  on_every_schedule([&](Device& device, StreamView stream) {
    Matrices const x{16, 16, 16};
    for (bool const a_by_rows : {true, false}) {
      for (bool const b_by_rows : {true, false}) {
        for (bool const c_by_rows : {true, false}) {
          WmmaLayout const layout{a_by_rows, b_by_rows, c_by_rows, 16, 24, 32, is_bf16};
          DeviceArray<std::uint16_t> const a{
              device, stream,
              laid_out(converted<std::uint16_t>(x.a, bits), a_by_rows, 16, std::uint16_t{})};
          DeviceArray<std::uint16_t> const b{
              device, stream,
              laid_out(converted<std::uint16_t>(x.b, bits), b_by_rows, 24, std::uint16_t{})};
          DeviceArray<Sum> const c{device, stream,
                                   laid_out(converted<Sum>(x.c, convert), c_by_rows, 32, nothing)};
          DeviceArray<Sum> const d{device, stream, std::vector<Sum>(512, nothing)};

          launch_wmma(layout, a.data(), b.data(), c.data(), d.data(), true, stream);

          std::vector<int> const expected = product(16, 16, 16, x.a, x.b, x.c, 1, 2);
          EXPECT_EQ(d.download(),
                    laid_out(converted<Sum>(expected, convert), c_by_rows, 32, nothing))
              << a_by_rows << b_by_rows << c_by_rows;
        }
      }
    }
  });
}

TEST(Matrix, WmmaWithSumsInF32) {
  check_wmma<float>([](int value) { return static_cast<float>(value); }, -1.0F);
}

TEST(Matrix, WmmaOfBf16) {
  check_wmma<float>([](int value) { return static_cast<float>(value); }, -1.0F, true);
}

TEST(Matrix, WmmaWithSumsInF16) { check_wmma<std::uint16_t>(f16_bits, std::uint16_t{0xABCD}); }

TEST(Matrix, WmmaFillsFragments) {
  on_every_schedule([](Device& device, StreamView stream) {
    Matrices const x{16, 16, 16};
    auto const to_float = [](int value) { return static_cast<float>(value); };
    DeviceArray<std::uint16_t> const a{device, stream, converted<std::uint16_t>(x.a, f16_bits)};
    DeviceArray<std::uint16_t> const b{device, stream, converted<std::uint16_t>(x.b, f16_bits)};
    DeviceArray<float> const d{device, stream, 256};

    launch_wmma({true, true, true, 16, 16, 16}, a.data(), b.data(),
                static_cast<float const*>(nullptr), d.data(), false, stream);

    std::vector<int> const threes(256, 3);
    EXPECT_EQ(d.download(), converted<float>(product(16, 16, 16, x.a, x.b, threes, 1), to_float));
  });
}

TEST(Matrix, WmmaMatricesMustBeAligned) {
  if (has_gpu()) GTEST_SKIP() << "a GPU may go on with it";
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<std::uint16_t> const x{device, stream, std::vector<std::uint16_t>(1024)};
    DeviceArray<float> const d{device, stream, std::vector<float>(1024)};
    auto const multiply = [&](int shift, unsigned a_stride, unsigned c_stride) {
      launch_wmma({true, true, true, a_stride, 16, c_stride}, x.data() + shift, x.data(), d.data(),
                  d.data(), false, stream);
    };

    EXPECT_FINDS(multiply(8, 16, 16), "wmma.load: address is not aligned to 32");
    EXPECT_FINDS(multiply(0, 20, 16), "wmma.load: rows must start at multiples of 16 bytes");
    EXPECT_FINDS(multiply(0, 16, 18), "wmma.load.c: rows must start at multiples of 16 bytes");
    EXPECT_EQ(error_of([&] { multiply(16, 24, 20); }), "");
  });
}

}  // namespace
}  // namespace quadrille::test
