// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/copy_data.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace quadrille::kernels::copy {
namespace {

using test::DeviceArray;

/// The vendor's row serves GPUs too. Kokkos has a test of its own.
bool is_tested(VariantInfo const& row) {
  return row.runs_on(device::Kind::cuda) && row.where != Where::kokkos;
}

class CopyCudaTest : public testing::TestWithParam<std::string_view> {
 protected:
  Variant<Problem> const& variant() const {
    return test::row(variants(), GetParam(), device::Kind::cuda);
  }
};

TEST_P(CopyCudaTest, CopiesEveryByteAndNoOther) {
  // Around pieces, a block's share with accesses of 16 and of 1 byte, chunks of the ring.
  std::vector<std::int64_t> const sizes{0,    1,    15,    16,    17,    255,   1023, 1024,
                                        1025, 4095, 16383, 16384, 16385, 33000, 70001};
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (std::int64_t const n : sizes) {
      expect_copied(device, stream, variant(), n, 0, 0);
      expect_copied(device, stream, variant(), n, 16, 48);
      if (GetParam() == "bulk_async") continue;
      for (std::int64_t const offset : {1, 2, 3, 4, 8}) {
        expect_copied(device, stream, variant(), n, offset, offset);
        expect_copied(device, stream, variant(), n, 16 - offset, 16);
        expect_copied(device, stream, variant(), n, 5, 5 + offset);
      }
    }
  });
}

TEST_P(CopyCudaTest, TurnsTheRingOver) {
  // More chunks than all rings hold, on a GPU of any size up to 200 multiprocessors.
  bool const gpu = test::kernel_mode() == test::KernelMode::gpu;
  std::int64_t const n = gpu ? std::int64_t{200} << 20 : std::int64_t{4} << 20;
  if (!gpu && GetParam() != "bulk_async") GTEST_SKIP() << "no ring";
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    expect_copied(device, stream, variant(), n + 9, 0, 0);
  });
}

TEST_P(CopyCudaTest, BytesMayExceed32Bits) {
  using Long = test::LongArray<std::uint32_t>;  // four times as many bytes
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  if (!Long::fits(device, 2)) GTEST_SKIP() << "too little memory";
  Long from{device, stream, 0}, to{device, stream, 0xFF};
  std::uint32_t value = 0;
  for (std::int64_t const i : Long::places()) from.set(i, ++value);

  variant().launch({to.data(), from.data(), 4 * test::long_size()}, stream);

  value = 0;
  for (std::int64_t const i : Long::places()) EXPECT_EQ(to.get(i), ++value) << "word " << i;
  EXPECT_EQ(to.get(test::long_size() / 2), 0U);
}

TEST_P(CopyCudaTest, ConstraintsAreRefused) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    expect_refusals(device, stream, variant());
    if (GetParam() == "bulk_async") {
      DeviceArray<std::uint8_t> const x{device, stream, 256};
      std::uint8_t* const data = x.data();
      EXPECT_FAILS(variant().launch({data + 1, data + 32, 8}, stream), "take another variant");
      EXPECT_FAILS(variant().launch({data, data + 40, 8}, stream), "aligned to 16 bytes");
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Variants, CopyCudaTest,
                         testing::ValuesIn(test::names_of(variants(), is_tested)), test::RowName{});

}  // namespace
}  // namespace quadrille::kernels::copy
