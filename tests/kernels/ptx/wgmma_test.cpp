// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ptx/wgmma_kernels.hpp"
#include "support/instruction_test.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace quadrille::test {
namespace {

/// The bits of an integer of small magnitude as an element of the type.
std::uint32_t bits_of(int value, WgmmaType type) {
  if (type == WgmmaType::s8) return static_cast<std::uint32_t>(value);  // elements take a byte
  if (type == WgmmaType::e4m3) return core::e4m3{static_cast<double>(value)}.bits;
  if (type == WgmmaType::e5m2) return core::e5m2{static_cast<double>(value)}.bits;
  if (type == WgmmaType::tf32) return f32_bits(value);
  return type == WgmmaType::bf16 ? bf16_bits(value) : f16_bits(value);
}

TEST(Wgmma, BitsOfElements) {
  EXPECT_EQ(bits_of(1, WgmmaType::f16), 0x3C00U);
  EXPECT_EQ(bits_of(-2, WgmmaType::f16), 0xC000U);
  EXPECT_EQ(bits_of(1024, WgmmaType::f16), 0x6400U);
  EXPECT_EQ(bits_of(-3, WgmmaType::bf16), 0xC040U);
}

std::string name_of(WgmmaCase const& c) {
  constexpr char const* kTypes[] = {"f16", "f16 in f16", "bf16", "tf32", "s8", "e4m3", "e5m2"};
  constexpr int kSpans[] = {0, 32, 64, 128};
  return std::string{kTypes[static_cast<int>(c.type)]} + ", n " + std::to_string(c.n) + ", A " +
         (c.a_in_registers ? "in registers"
          : c.a_mn_major   ? "M-major"
                           : "K-major") +
         ", B " + (c.b_mn_major ? "N-major" : "K-major") + ", swizzle " +
         std::to_string(kSpans[static_cast<int>(c.swizzle)]);
}

void check_cases(std::span<WgmmaCase const> cases) {
  for (WgmmaCase const& c : cases) {
    SCOPED_TRACE(name_of(c));
    auto const n = static_cast<std::size_t>(c.n);
    std::size_t const k = 256 / bytes_of(c.type);
    WgmmaType const result = c.type == WgmmaType::f16_in_f16 ? WgmmaType::f16
                             : c.type == WgmmaType::s8       ? WgmmaType::s8  // s32
                                                             : WgmmaType::tf32;     // f32
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

TEST(Wgmma, F16) { check_cases(wgmma_f16_cases()); }

TEST(Wgmma, OtherTypes) { check_cases(wgmma_other_cases()); }

TEST(Wgmma, FenceOfOperandsLeavesTheirValues) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    auto const values = small_integers<float>(14, 128, 1000);
    DeviceArray<float> const in{device, stream, values};
    DeviceArray<std::uint32_t> const out{device, stream, 256};

    launch_wgmma_fence_operand(in.data(), out.data(), stream);

    std::vector<std::uint32_t> expected;
    for (float const value : values) expected.push_back(std::bit_cast<std::uint32_t>(value));
    for (std::size_t i = 0; i < 128; ++i) expected.push_back(std::rotl(expected[i], 16));
    EXPECT_EQ(out.download(), expected);
    EXPECT_TRUE(out.intact());
  });
}

TEST(Wgmma, Pipeline) {
  for (int const k : {8, 64, 136, 448}) {
    constexpr std::size_t kN = 128;
    auto const depth = static_cast<std::size_t>(k);
    std::vector<std::uint16_t> a, b;
    for (std::size_t i = 0; i < 64 * depth; ++i) {
      a.push_back(f16_bits(small_integer(12, i, 8)));
    }
    for (std::size_t i = 0; i < kN * depth; ++i) {
      b.push_back(f16_bits(small_integer(13, i, 8)));
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
      auto const tiles = [k](DeviceArray<std::uint16_t> const& matrix, unsigned rows) {
        return ptx::Tensor2d{.data = matrix.data(),
                             .type = core::DataType::f16,
                             .rows = rows,
                             .columns = k,
                             .leading = k,
                             .box_rows = rows,
                             .box_columns = 64,
                             .swizzle = ptx::Swizzle::bytes_128};
      };

      launch_wgmma_pipeline(tiles(da, 64), tiles(db, kN), k, d.data(), stream);

      EXPECT_EQ(d.download(), expected) << "k " << k;
      EXPECT_TRUE(d.intact());
    });
  }
}

TEST(Wgmma, MisuseIsFound) {
  if (has_gpu()) GTEST_SKIP() << "a GPU diagnoses none of this";
  auto const product = [](WgmmaMisuse misuse) {
    return outcomes([misuse](device::Device& device, device::StreamView stream) {
      std::vector<std::uint32_t> const ones(64 * 16, bits_of(1, WgmmaType::f16));
      DeviceArray<std::uint32_t> const a{device, stream, ones};
      DeviceArray<std::uint32_t> const b{device, stream, ones};
      DeviceArray<float> const d{device, stream, 64 * 64};
      launch_wgmma_misuse(a.data(), b.data(), d.data(), misuse, stream);
      auto const values = d.download();
      if (misuse == WgmmaMisuse::use_before_wait) {
        return !std::all_of(values.begin(), values.end(), [](float v) { return std::isnan(v); });
      }
      return values == std::vector<float>(64 * 64, 16.0F);
    });
  };

  expect_each(product(WgmmaMisuse::none), "right");
  expect_each(product(WgmmaMisuse::no_proxy_fence), "fence_proxy_async()");
  expect_each(product(WgmmaMisuse::no_fence), "no wgmma_fence()");
  expect_each(product(WgmmaMisuse::use_before_wait), "wrong");
  expect_each(product(WgmmaMisuse::overwrite_operand), "written between its issue and its wait",
              "race on dynamic shared memory");
}

}  // namespace
}  // namespace quadrille::test
