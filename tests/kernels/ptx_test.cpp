// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
//
// Holds instructions and their models against the same bits: on a GPU this shows that the models
// are right, elsewhere it keeps them so. Inputs are small integers, so that sums are exact in every
// order.

#include "kernels/ptx_kernels.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

namespace quadrille::test {
namespace {

using device::Device;
using device::StreamView;

/// Numbers from -range to range that differ by position.
int small(std::size_t i, int range) {
  return static_cast<int>(i * 2654435761U % 4294967296U >> 7) % (2 * range + 1) - range;
}
std::vector<int> small_integers(std::size_t n, int range, std::size_t first) {
  std::vector<int> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = small(first + i, range);
  return values;
}
template <class T, class Convert>
std::vector<T> converted(std::vector<int> const& values, Convert const& convert) {
  std::vector<T> result;
  for (int const value : values) result.push_back(convert(value));
  return result;
}

/// |value| < 2048.
std::uint16_t f16_bits(int value) {
  if (value == 0) return 0;
  auto const magnitude = static_cast<unsigned>(std::abs(value));
  unsigned const exponent = static_cast<unsigned>(std::bit_width(magnitude)) - 1;
  unsigned const mantissa = magnitude << (10 - exponent) & 0x3FFU;
  return static_cast<std::uint16_t>((value < 0 ? 0x8000U : 0U) | (exponent + 15) << 10 | mantissa);
}
/// |value| < 256.
std::uint16_t bf16_bits(int value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
}
std::uint32_t f32_bits(int value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
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

std::vector<unsigned char> bytes_of_positions(std::size_t n) {
  std::vector<unsigned char> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 256 + 1);
  return bytes;
}

bool has_gpu() { return kernel_mode() == KernelMode::gpu; }

/// What the interpreter says of the launch, or nothing.
template <class Launch>
std::string error_of(Launch&& launch) {
  try {
    launch();
  } catch (std::runtime_error const& error) {
    return error.what();
  }
  return "";
}
#define EXPECT_FINDS(launch, text)                                                         \
  do {                                                                                     \
    std::string const found = error_of([&] { launch; });                                   \
    EXPECT_NE(found.find(text), std::string::npos) << #launch " found '" << found << '\''; \
  } while (false)

TEST(Ptx, CpAsyncCopiesAndFillsWithZeros) {
  on_every_schedule([](Device& device, StreamView stream) {
    for (int const bytes : {4, 8, 16}) {
      auto const n = static_cast<std::size_t>(64 * bytes);
      std::vector<unsigned char> const source = bytes_of_positions(n);
      DeviceArray<unsigned char> const from{device, stream, source};
      DeviceArray<unsigned char> const to{device, stream, static_cast<std::int64_t>(n)};

      launch_cp_async(bytes, from.data(), from.data(), to.data(), 0, 0, stream);

      std::vector<unsigned char> expected = source;
      for (std::size_t i = n / 2; i < n; ++i) {
        if ((i - n / 2) / static_cast<std::size_t>(bytes) % 3 == 0) expected[i] = 0;
      }
      EXPECT_EQ(to.download(), expected) << bytes;
      EXPECT_TRUE(to.intact());
    }
  });
}

TEST(Ptx, CpAsyncDoesNotReadAnInvalidSource) {
  on_every_schedule([](Device& device, StreamView stream) {
    for (int const bytes : {4, 8, 16}) {
      auto const n = static_cast<std::size_t>(64 * bytes);
      DeviceArray<unsigned char> const from{device, stream, bytes_of_positions(n)};
      DeviceArray<unsigned char> const to{device, stream, static_cast<std::int64_t>(n)};

      launch_cp_async(bytes, from.data(), nullptr, to.data(), 0, 0, stream);

      EXPECT_EQ(to.download()[n / 2], 0) << bytes;
    }
  });
}

TEST(Ptx, CpAsyncMustBeAligned) {
  if (has_gpu()) GTEST_SKIP() << "a GPU cannot go on after it";
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<unsigned char> const from{device, stream, 2048};
    DeviceArray<unsigned char> const to{device, stream, 1024};
    auto const copy = [&](int bytes, int from_shift, int to_shift) {
      launch_cp_async(bytes, from.data(), nullptr, to.data(), from_shift, to_shift, stream);
    };

    EXPECT_FINDS(copy(16, 8, 0), "not aligned to 16");
    EXPECT_FINDS(copy(16, 0, 8), "not aligned to 16");
    EXPECT_FINDS(copy(8, 4, 0), "not aligned to 8");
    EXPECT_FINDS(copy(8, 0, 4), "not aligned to 8");
    EXPECT_FINDS(copy(4, 2, 0), "not aligned to 4");
    EXPECT_FINDS(copy(4, 0, 1), "not aligned to 4");
    EXPECT_EQ(error_of([&] { copy(16, 16, 16); }), "");
  });
}

/// Element (row, column) of matrix m, whose rows are taken from the last to the first.
std::size_t place_in_rows(int count, int matrix, int row, int column) {
  return static_cast<std::size_t>((8 * count - 1 - (8 * matrix + row)) * 8 + column);
}

TEST(Ptx, LdmatrixDistributesRows) {
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

TEST(Ptx, StmatrixCollectsRows) {
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

TEST(Ptx, MatrixRowsMustBeAligned) {
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
      : a{small_integers(static_cast<std::size_t>(m * k), 3, 1)},
        b{small_integers(static_cast<std::size_t>(k * n), 4, 1000)},
        c{small_integers(static_cast<std::size_t>(m * n), 100, 2000)} {}
};

TEST(Ptx, MmaF16) {
  on_every_schedule([](Device& device, StreamView stream) {
    Matrices const x{16, 8, 16};
    auto const to_float = [](int value) { return static_cast<float>(value); };
    DeviceArray<std::uint16_t> const a{device, stream, converted<std::uint16_t>(x.a, f16_bits)};
    DeviceArray<std::uint16_t> const b{device, stream,
                                       transposed(16, 8, converted<std::uint16_t>(x.b, f16_bits))};
    DeviceArray<float> const c{device, stream, converted<float>(x.c, to_float)};
    DeviceArray<float> const d{device, stream, 128};

    launch_mma_f16(a.data(), b.data(), c.data(), d.data(), stream);

    EXPECT_EQ(d.download(), converted<float>(product(16, 8, 16, x.a, x.b, x.c, 2), to_float));
    EXPECT_TRUE(d.intact());
  });
}

TEST(Ptx, MmaF16WithSumsInF16) {
  on_every_schedule([](Device& device, StreamView stream) {
    Matrices const x{16, 8, 16};
    DeviceArray<std::uint16_t> const a{device, stream, converted<std::uint16_t>(x.a, f16_bits)};
    DeviceArray<std::uint16_t> const b{device, stream,
                                       transposed(16, 8, converted<std::uint16_t>(x.b, f16_bits))};
    DeviceArray<std::uint16_t> const c{device, stream, converted<std::uint16_t>(x.c, f16_bits)};
    DeviceArray<std::uint16_t> const d{device, stream, 128};

    launch_mma_f16_f16(a.data(), b.data(), c.data(), d.data(), stream);

    EXPECT_EQ(d.download(),
              converted<std::uint16_t>(product(16, 8, 16, x.a, x.b, x.c, 2), f16_bits));
    EXPECT_TRUE(d.intact());
  });
}

TEST(Ptx, MmaBf16) {
  on_every_schedule([](Device& device, StreamView stream) {
    Matrices const x{16, 8, 16};
    auto const to_float = [](int value) { return static_cast<float>(value); };
    DeviceArray<std::uint16_t> const a{device, stream, converted<std::uint16_t>(x.a, bf16_bits)};
    DeviceArray<std::uint16_t> const b{device, stream,
                                       transposed(16, 8, converted<std::uint16_t>(x.b, bf16_bits))};
    DeviceArray<float> const c{device, stream, converted<float>(x.c, to_float)};
    DeviceArray<float> const d{device, stream, 128};

    launch_mma_bf16(a.data(), b.data(), c.data(), d.data(), stream);

    EXPECT_EQ(d.download(), converted<float>(product(16, 8, 16, x.a, x.b, x.c, 2), to_float));
    EXPECT_TRUE(d.intact());
  });
}

// Numbers at the edges of f16 times 1, on the diagonal: widening them is exact.
TEST(Ptx, MmaF16WidensEveryKindOfNumber) {
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

TEST(Ptx, MmaTf32) {
  on_every_schedule([](Device& device, StreamView stream) {
    for (int const k : {4, 8}) {
      Matrices const x{16, 8, k};
      auto const to_float = [](int value) { return static_cast<float>(value); };
      // What is below the precision of tf32 does not count.
      auto const with_low_bits = [](int value) {
        return value == 0
                   ? 0U
                   : f32_bits(value) | (static_cast<unsigned>(value * value * 977) & 0x1FFFU);
      };
      DeviceArray<std::uint32_t> const a{device, stream,
                                         converted<std::uint32_t>(x.a, with_low_bits)};
      DeviceArray<std::uint32_t> const b{device, stream,
                                         converted<std::uint32_t>(x.b, with_low_bits)};
      DeviceArray<float> const c{device, stream, converted<float>(x.c, to_float)};
      DeviceArray<float> const d{device, stream, 128};

      launch_mma_tf32(k, a.data(), b.data(), c.data(), d.data(), stream);

      EXPECT_EQ(d.download(), converted<float>(product(16, 8, k, x.a, x.b, x.c, 2), to_float)) << k;
      EXPECT_TRUE(d.intact());
    }
  });
}

TEST(Ptx, MmaF64) {
  on_every_schedule([](Device& device, StreamView stream) {
    auto const to_double = [](int value) { return static_cast<double>(value); };
    for (auto const& [m, k] : {std::pair{8, 4}, {16, 4}, {16, 8}, {16, 16}}) {
      Matrices const x{m, 8, k};
      DeviceArray<double> const a{device, stream, converted<double>(x.a, to_double)};
      DeviceArray<double> const b{device, stream, converted<double>(x.b, to_double)};
      DeviceArray<double> const c{device, stream, converted<double>(x.c, to_double)};
      DeviceArray<double> const d{device, stream, m * 8};

      launch_mma_f64(m, k, a.data(), b.data(), c.data(), d.data(), stream);

      EXPECT_EQ(d.download(), converted<double>(product(m, 8, k, x.a, x.b, x.c, 2), to_double))
          << m << " x 8 x " << k;
      EXPECT_TRUE(d.intact());
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

TEST(Ptx, ToTf32RoundsTiesAwayFromZero) {
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

TEST(Ptx, ToTf32DropsTheLowBitsOfNan) {
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
TEST(Ptx, ToTf32KeepsTheNanOfUnwrittenMemory) {
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
void check_wmma(Convert const& convert, Sum nothing) {
  on_every_schedule([&](Device& device, StreamView stream) {
    Matrices const x{16, 16, 16};
    for (bool const a_by_rows : {true, false}) {
      for (bool const b_by_rows : {true, false}) {
        for (bool const c_by_rows : {true, false}) {
          WmmaLayout const layout{a_by_rows, b_by_rows, c_by_rows, 16, 24, 32};
          DeviceArray<std::uint16_t> const a{
              device, stream,
              laid_out(converted<std::uint16_t>(x.a, f16_bits), a_by_rows, 16, std::uint16_t{})};
          DeviceArray<std::uint16_t> const b{
              device, stream,
              laid_out(converted<std::uint16_t>(x.b, f16_bits), b_by_rows, 24, std::uint16_t{})};
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

TEST(Ptx, WmmaWithSumsInF32) {
  check_wmma<float>([](int value) { return static_cast<float>(value); }, -1.0F);
}

TEST(Ptx, WmmaWithSumsInF16) { check_wmma<std::uint16_t>(f16_bits, std::uint16_t{0xABCD}); }

TEST(Ptx, WmmaFillsFragments) {
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

TEST(Ptx, WmmaMatricesMustBeAligned) {
  if (has_gpu()) GTEST_SKIP() << "a GPU may go on with it";
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<std::uint16_t> const x{device, stream, std::vector<std::uint16_t>(1024)};
    DeviceArray<float> const d{device, stream, std::vector<float>(1024)};
    auto const multiply = [&](int shift, unsigned a_stride, unsigned c_stride) {
      launch_wmma({true, true, true, a_stride, 16, c_stride}, x.data() + shift, x.data(), d.data(),
                  d.data(), false, stream);
    };

    EXPECT_FINDS(multiply(8, 16, 16), "wmma.load: address is not aligned to 32");
    EXPECT_FINDS(multiply(0, 20, 16), "wmma.load: rows must begin at multiples of 16 bytes");
    EXPECT_FINDS(multiply(0, 16, 18), "wmma.load.c: rows must begin at multiples of 16 bytes");
    EXPECT_EQ(error_of([&] { multiply(16, 24, 20); }), "");
  });
}

TEST(Ptx, StreamingLoadsAndStores) {
  on_every_schedule([](Device& device, StreamView stream) {
    for (int const bytes : {4, 8, 16}) {
      int const n = 200;
      std::vector<unsigned char> const source =
          bytes_of_positions(static_cast<std::size_t>(n * bytes));
      DeviceArray<unsigned char> const from{device, stream, source};
      DeviceArray<unsigned char> const to{device, stream, n * bytes};

      launch_streaming(bytes, from.data(), to.data(), n, stream);

      EXPECT_EQ(to.download(), source) << bytes;
      EXPECT_TRUE(to.intact());
    }
  });
}

TEST(Ptx, StreamingAccessesMustBeAligned) {
  if (has_gpu()) GTEST_SKIP() << "a GPU cannot go on after it";
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<unsigned char> const x{device, stream, 64};
    DeviceArray<unsigned char> const y{device, stream, 64};

    EXPECT_FINDS(launch_streaming(16, x.data() + 8, y.data(), 2, stream), "not aligned to 16");
    EXPECT_FINDS(launch_streaming(8, x.data(), y.data() + 4, 2, stream), "not aligned to 8");
    EXPECT_FINDS(launch_streaming(4, x.data() + 2, y.data(), 2, stream), "not aligned to 4");
  });
}

/// All words alike.
AtomicWords words_of(int value) {
  AtomicWords w{};
  auto const set = [&](auto& words) {
    for (auto& word : words) word = static_cast<std::remove_reference_t<decltype(word)>>(value);
  };
  set(w.add_u32), set(w.add_s32), set(w.add_u64), set(w.add_f32), set(w.add_f64);
  set(w.min_u32), set(w.max_u32), set(w.min_s32), set(w.max_s32);
  set(w.min_u64), set(w.max_u64), set(w.min_s64), set(w.max_s64);
  set(w.exchange_f32), set(w.exchange_u64), set(w.swap_u32), set(w.swap_f64);
  set(w.red_add_u32), set(w.red_add_u64), set(w.red_add_f32), set(w.red_add_f64);
  set(w.red_min_s32), set(w.red_max_u32), set(w.red_min_u64), set(w.red_max_s64);
  return w;
}

TEST(Ptx, AtomicsAddUpAndSelect) {
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<AtomicWords> const words{device, stream, std::vector{words_of(50)}};
    DeviceArray<AtomicWords> const olds{device, stream, 96};

    launch_atomics(words.data(), olds.data(), 96, stream);

    // 0 + ... + 95 = 4560. The smallest value is 0, or -3; the largest 95, or 92.
    AtomicWords const w = words.download().front();
    for (int k = 0; k < kAtomics; ++k) {
      EXPECT_EQ(w.add_u32[k], 4610) << k;
      EXPECT_EQ(w.add_s32[k], -4510) << k;
      EXPECT_EQ(w.add_u64[k], 4610) << k;
      EXPECT_EQ(w.add_f32[k], 4610) << k;
      EXPECT_EQ(w.add_f64[k], 4610) << k;
      EXPECT_EQ(w.min_u32[k], 0) << k;
      EXPECT_EQ(w.max_u32[k], 95) << k;
      EXPECT_EQ(w.min_s32[k], -3) << k;
      EXPECT_EQ(w.max_s32[k], 92) << k;
      EXPECT_EQ(w.min_u64[k], 0) << k;
      EXPECT_EQ(w.max_u64[k], 95) << k;
      EXPECT_EQ(w.min_s64[k], -3) << k;
      EXPECT_EQ(w.max_s64[k], 92) << k;
      EXPECT_EQ(w.swap_u32[k], 50) << k;
      EXPECT_EQ(w.swap_f64[k], 50) << k;
    }
    for (int k = 0; k < kReductions; ++k) {
      EXPECT_EQ(w.red_add_u32[k], 4610) << k;
      EXPECT_EQ(w.red_add_u64[k], 4610) << k;
      EXPECT_EQ(w.red_add_f32[k], 4610) << k;
      EXPECT_EQ(w.red_add_f64[k], 4610) << k;
      EXPECT_EQ(w.red_min_s32[k], -3) << k;
      EXPECT_EQ(w.red_max_u32[k], 95) << k;
      EXPECT_EQ(w.red_min_u64[k], 0) << k;
      EXPECT_EQ(w.red_max_s64[k], 92) << k;
    }
    // Nothing is lost or seen twice: what went in came out once, or is there.
    std::vector<AtomicWords> const old = olds.download();
    for (int k = 0; k < kAtomics; ++k) {
      double sum_f32 = w.exchange_f32[k];
      std::uint64_t sum_u64 = w.exchange_u64[k];
      std::vector<std::uint32_t> seen{w.add_u32[k]};
      for (AtomicWords const& own : old) {
        sum_f32 += own.exchange_f32[k];
        sum_u64 += own.exchange_u64[k];
        seen.push_back(own.add_u32[k]);
      }
      for (std::uint32_t i = 0; i < 96; ++i) {
        EXPECT_NE(std::find(seen.begin(), seen.end(), old[i].add_u32[k] + i), seen.end()) << k;
      }
      EXPECT_EQ(sum_f32, 4610) << k;
      EXPECT_EQ(sum_u64, 4610) << k;
    }
  });
}

TEST(Ptx, AtomicsReturnTheValueBefore) {
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<AtomicWords> const words{device, stream, std::vector{words_of(7)}};
    DeviceArray<AtomicWords> const olds{device, stream, std::vector<AtomicWords>(1)};

    launch_atomics(words.data(), olds.data(), 1, stream);

    AtomicWords const old = olds.download().front(), w = words.download().front();
    for (int k = 0; k < kAtomics; ++k) {
      EXPECT_EQ(old.add_u32[k], 7) << k;
      EXPECT_EQ(old.add_s32[k], 7) << k;
      EXPECT_EQ(old.add_u64[k], 7) << k;
      EXPECT_EQ(old.add_f32[k], 7) << k;
      EXPECT_EQ(old.add_f64[k], 7) << k;
      EXPECT_EQ(old.min_u32[k], 7) << k;
      EXPECT_EQ(old.max_u32[k], 7) << k;
      EXPECT_EQ(old.min_s32[k], 7) << k;
      EXPECT_EQ(old.max_s32[k], 7) << k;
      EXPECT_EQ(old.min_u64[k], 7) << k;
      EXPECT_EQ(old.max_u64[k], 7) << k;
      EXPECT_EQ(old.min_s64[k], 7) << k;
      EXPECT_EQ(old.max_s64[k], 7) << k;
      EXPECT_EQ(old.exchange_f32[k], 7) << k;
      EXPECT_EQ(old.exchange_u64[k], 7) << k;
      EXPECT_EQ(old.swap_u32[k], 7) << k;
      EXPECT_EQ(old.swap_f64[k], 7) << k;
      EXPECT_EQ(w.min_s32[k], -3) << k;
      EXPECT_EQ(w.max_s64[k], 7) << k;
      EXPECT_EQ(w.exchange_f32[k], 0) << k;
      EXPECT_EQ(w.swap_u32[k], 0) << k;
      EXPECT_EQ(w.swap_f64[k], 0) << k;
    }
  });
}

TEST(Ptx, LoadsSeeStores) {
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<std::uint32_t> const words{device, stream, 12};
    DeviceArray<double> const reals{device, stream, 12};

    launch_load_store(0x12345678, -0.1, words.data(), reals.data(), stream);

    EXPECT_EQ(words.download(), std::vector<std::uint32_t>(12, 0x12345678));
    EXPECT_EQ(reals.download(), std::vector<double>(12, -0.1));
    EXPECT_TRUE(words.intact() && reals.intact());
  });
}

TEST(Ptx, MessagesBetweenBlocksCarryWhatCameBefore) {
  on_every_schedule([](Device& device, StreamView stream) {
    for (Message const message : {Message::release_acquire_gpu, Message::release_acquire_sys,
                                  Message::fences_gpu, Message::exchange_acq_rel_gpu}) {
      DeviceArray<std::uint32_t> const words{device, stream, std::vector<std::uint32_t>(2)};
      DeviceArray<int> const data{device, stream, 64};
      DeviceArray<int> const out{device, stream, 64};

      launch_message(message, words.data(), data.data(), out.data(), stream);

      std::vector<int> expected(64);
      for (int i = 0; i < 64; ++i) expected[static_cast<std::size_t>(i)] = 2 * (100 + i);
      EXPECT_EQ(out.download(), expected) << static_cast<int>(message);
    }
  });
}

TEST(Ptx, MessagesOfTooWeakOrderOrScopeAreRaces) {
  if (kernel_mode() != KernelMode::race) GTEST_SKIP() << "only the race detector sees them";
  on_every_schedule([](Device& device, StreamView stream) {
    for (Message const message : {Message::relaxed, Message::release_acquire_cta}) {
      DeviceArray<std::uint32_t> const words{device, stream, std::vector<std::uint32_t>(2)};
      DeviceArray<int> const data{device, stream, 64};
      DeviceArray<int> const out{device, stream, 64};

      EXPECT_FINDS(launch_message(message, words.data(), data.data(), out.data(), stream), "race");
    }
  });
}

TEST(Ptx, MessagesWithinABlockNeedItsScopeOnly) {
  on_every_schedule([](Device& device, StreamView stream) {
    for (bool const shared_flag : {false, true}) {
      DeviceArray<std::uint32_t> const flag{device, stream, std::vector<std::uint32_t>(1)};
      DeviceArray<int> const data{device, stream, 32};
      DeviceArray<int> const out{device, stream, 32};

      launch_message_in_block(shared_flag, flag.data(), data.data(), out.data(), stream);

      std::vector<int> expected(32);
      for (int i = 0; i < 32; ++i) expected[static_cast<std::size_t>(i)] = 2 * (100 + i);
      EXPECT_EQ(out.download(), expected) << shared_flag;
    }
  });
}

TEST(Ptx, NamedBarriersHandOver) {
  on_every_schedule([](Device& device, StreamView stream) {
    std::vector<int> const values = small_integers(96, 1000, 5);
    DeviceArray<int> const in{device, stream, values};
    DeviceArray<int> const out{device, stream, 96};

    launch_named_barriers(in.data(), out.data(), 64, stream);

    std::vector<int> expected;
    for (std::size_t i = 0; i < 96; ++i) expected.push_back(2 * values[i / 32 * 32 + 31 - i % 32]);
    EXPECT_EQ(out.download(), expected);
  });
}

TEST(Ptx, NamedBarriersOfMoreThreadsThanTheBlockAreFound) {
  if (has_gpu()) GTEST_SKIP() << "a GPU waits for ever";
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<int> const in{device, stream, std::vector<int>(96)};
    DeviceArray<int> const out{device, stream, 96};

    EXPECT_FINDS(launch_named_barriers(in.data(), out.data(), 128, stream), ": 128 threads");
  });
}

TEST(Ptx, SpecialRegistersAndElection) {
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<Special> const out{device, stream, 64};

    launch_special(out.data(), stream);

    std::vector<Special> const seen = out.download();
    for (unsigned i = 0; i < 64; ++i) {
      EXPECT_EQ(seen[i].lane, i % 32);
      EXPECT_EQ(seen[i].elected, i % 32 == 0) << i;
      EXPECT_EQ(seen[i].elected_of_some, i % 32 == 5) << i;
      EXPECT_LT(seen[i].multiprocessor, static_cast<unsigned>(device.facts().units)) << i;
      EXPECT_EQ(seen[i].cycles_advance, 1) << i;
      EXPECT_EQ(seen[i].time_advances, 1) << i;
    }
  });
}

TEST(Ptx, RegistersMoveBetweenWarpgroups) {
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<int> const out{device, stream, 384};

    launch_registers(out.data(), stream);

    std::vector<int> expected(384);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(out.download(), expected);
  });
}

TEST(Ptx, BytesAndBits) {
  on_every_schedule([](Device& device, StreamView stream) {
    std::vector<std::uint32_t> const selectors{0x3210, 0x7654, 0x0246, 0x89AB, 0xFEDC, 0x1111};
    std::vector<std::uint32_t> const picked{0x80FF7F01, 0x12F4C3B2, 0x01FFB2F4,
                                            0x0000FFFF, 0x00FFFFFF, 0x7F7F7F7F};
    std::uint32_t const a = 0x80FF7F01, b = 0x12F4C3B2;
    DeviceArray<std::uint32_t> const there{device, stream, selectors};
    DeviceArray<std::uint32_t> const out{device, stream, 24};

    launch_bits(a, b, there.data(), out.data(), 6, stream);

    std::vector<std::uint32_t> expected = picked;
    for (std::uint32_t const c : selectors) expected.push_back(a ^ b ^ c);
    for (std::uint32_t const c : selectors) expected.push_back((a & b) | (a & c) | (b & c));
    // True for abc = 000, 001, 011, 100.
    for (std::uint32_t const c : selectors) {
      expected.push_back((~a & ~b & ~c) | (~a & ~b & c) | (~a & b & c) | (a & ~b & ~c));
    }
    EXPECT_EQ(out.download(), expected);
  });
}

}  // namespace
}  // namespace quadrille::test
