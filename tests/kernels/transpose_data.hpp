// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/kernel_test.hpp"
#include "support/rows.hpp"
#include "transpose/transpose.hpp"

#include <cstring>
#include <string_view>
#include <tuple>
#include <vector>

/// Transposes with known results, for rows of every device.
namespace quadrille::kernels::transpose {

using Bytes = std::vector<std::uint8_t>;

struct Shape {
  std::int64_t m, n;
};

/// How matrices lie: elements that rows are longer by, and bytes from alignment.
struct Layout {
  std::int64_t in_pad = 0, out_pad = 0, in_offset = 0, out_offset = 0;
};

inline Bytes random_bytes(std::size_t n) {
  Bytes bytes(n);
  // No exponent of all ones: BLAS, which multiplies by 1, may quiet a NaN.
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < n; ++i, word >>= 8) {
    if (i % 8 == 0) word = core::mix(i);
    bytes[i] = static_cast<std::uint8_t>(word & 0x3f);
  }
  return bytes;
}

/// Bytes of an m x n matrix whose rows are ld elements long.
inline std::int64_t extent_of(std::int64_t m, std::int64_t n, std::int64_t ld,
                              core::DataType type) {
  return (m == 0 ? 0 : (m - 1) * ld + n) * static_cast<std::int64_t>(core::size_of(type));
}

/// `out` with the elements of in^T, and all else as it was.
inline void transpose_bytes(Bytes const& in, std::int64_t in_ld, Bytes& out, std::int64_t out_ld,
                            Shape shape, std::size_t size) {
  for (std::int64_t i = 0; i < shape.m; ++i) {
    for (std::int64_t j = 0; j < shape.n; ++j) {
      std::memcpy(out.data() + static_cast<std::size_t>(j * out_ld + i) * size,
                  in.data() + static_cast<std::size_t>(i * in_ld + j) * size, size);
    }
  }
}

inline void expect_exact(device::Device& device, device::StreamView stream,
                         Variant<Problem> const& variant, core::DataType type, Shape shape,
                         Layout layout) {
  SCOPED_TRACE(testing::Message() << variant.name << " " << core::to_text(type) << " " << shape.m
                                  << " x " << shape.n << " pads " << layout.in_pad << " "
                                  << layout.out_pad << " offsets " << layout.in_offset << " "
                                  << layout.out_offset);
  std::int64_t const in_ld = shape.n + layout.in_pad;
  std::int64_t const out_ld = shape.m + layout.out_pad;
  Bytes const values =
      random_bytes(static_cast<std::size_t>(extent_of(shape.m, shape.n, in_ld, type)));
  bool const in_place = variant.in_place;
  Bytes want(static_cast<std::size_t>(extent_of(shape.n, shape.m, out_ld, type)), 0xFF);
  if (in_place) want = values;
  transpose_bytes(values, in_ld, want, out_ld, shape, core::size_of(type));
  test::DeviceArray<std::uint8_t> in{device, stream, values, layout.in_offset};
  test::DeviceArray<std::uint8_t> out{device, stream, static_cast<std::int64_t>(want.size()),
                                      layout.out_offset};
  test::DeviceArray<std::uint8_t> const& result = in_place ? in : out;

  variant.launch(
      {{in.data(), type, shape.m, shape.n, in_ld}, {result.data(), type, shape.n, shape.m, out_ld}},
      stream);
  stream.synchronize();

  // All bytes at once: elements, and guards before, between and behind the rows.
  EXPECT_TRUE(result.download() == want);
  EXPECT_TRUE(result.intact());
  if (!in_place) {
    EXPECT_TRUE(in.download() == values);
  }
}

/// Every row that a test takes, with a type of each size that it moves.
template <class Takes>
std::vector<std::tuple<std::string_view, core::DataType>> rows_and_sizes(Takes&& takes) {
  std::vector<std::tuple<std::string_view, core::DataType>> all;
  for (Variant<Problem> const& variant : test::rows_of(variants(), takes)) {
    for (core::DataType const type :
         {core::DataType::f64, core::DataType::f32, core::DataType::bf16, core::DataType::i8}) {
      if (variant.supports(type)) all.emplace_back(variant.name, type);
    }
  }
  return all;
}

}  // namespace quadrille::kernels::transpose
