// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "copy/copy.hpp"

#include "kernels/copy_data.hpp"
#include "kernels/host_kernels.hpp"
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
  for (Variant<Problem> const& variant : test::rows_of(variants(), test::is_host_row)) {
    expect_refusals(*host.device, host.stream, variant);
  }
}

}  // namespace
}  // namespace quadrille::kernels::copy
