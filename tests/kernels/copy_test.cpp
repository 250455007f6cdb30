// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "copy/copy.hpp"

#include "kernels/copy_data.hpp"
#include "kernels/host_kernels.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

namespace quadrille::kernels::copy {
namespace {

TEST(Copy, EveryVariantCopiesEveryByte) {
  test::Host host;
  for (Variant<Problem> const& variant : test::rows_of(variants(), test::is_host_row)) {
    for (std::int64_t const n : test::kSizes) {
      for (std::int64_t const offset : {0, 1, 3, 8, 31}) {
        expect_copied(*host.device, host.stream, variant, n, offset, 2 * offset);
      }
    }
  }
}

TEST(Copy, TargetsLargerThanTheCachesAreStreamedRight) {
  test::Host host;
  for (std::int64_t const offset : {0, 1, 16}) {
    expect_copied(*host.device, host.stream, test::row(variants(), "host_simd"), (4 << 20) + 77,
                  offset, 2 * offset);
  }
}

TEST(Copy, ConstraintsAreRefused) {
  test::Host host;
  std::vector<char> data(64);

  for (Variant<Problem> const& variant : test::rows_of(variants(), test::is_host_row)) {
    EXPECT_FAILS(variant.launch({data.data(), data.data() + 32, -1}, host.stream), "negative");
    EXPECT_FAILS(variant.launch({nullptr, data.data(), 8}, host.stream), "missing");
    EXPECT_FAILS(variant.launch({data.data(), data.data() + 7, 8}, host.stream), "overlap");
  }
}

}  // namespace
}  // namespace quadrille::kernels::copy
