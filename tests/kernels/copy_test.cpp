// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "copy/copy.hpp"

#include "kernels/host_kernels.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

namespace quadrille::kernels::copy {
namespace {

using test::Guarded;

/// Target and source are off alignment by different amounts.
void expect_copied(Variant<Problem> const& variant, std::int64_t n, std::int64_t offset) {
  test::Host host;
  Guarded<std::int8_t> from{n, offset}, to{n, 2 * offset};
  from.generate(core::DataKind::integer, 1);

  variant.launch({to.data(), from.data(), n}, host.stream);
  host.stream.view().synchronize();

  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < n; ++i) wrong += to[i] != from[i];
  EXPECT_EQ(wrong, 0) << variant.name << " n " << n << " offset " << offset;
  EXPECT_TRUE(to.intact()) << variant.name << " n " << n << " offset " << offset;
}

TEST(Copy, EveryVariantCopiesEveryByte) {
  for (Variant<Problem> const& variant : variants()) {
    if (!variant.runs_on(device::Kind::host)) continue;
    for (std::int64_t const n : test::kSizes) {
      for (std::int64_t const offset : {0, 1, 3, 8, 31}) expect_copied(variant, n, offset);
    }
  }
}

TEST(Copy, TargetsLargerThanTheCachesAreStreamedRight) {
  for (std::int64_t const offset : {0, 1, 16}) {
    expect_copied(test::row(variants(), "host_simd"), (4 << 20) + 77, offset);
  }
}

TEST(Copy, ConstraintsAreRefused) {
  test::Host host;
  std::vector<char> data(64);

  for (Variant<Problem> const& variant : variants()) {
    if (!variant.runs_on(device::Kind::host)) continue;
    EXPECT_FAILS(variant.launch({data.data(), data.data() + 32, -1}, host.stream), "negative");
    EXPECT_FAILS(variant.launch({nullptr, data.data(), 8}, host.stream), "missing");
    EXPECT_FAILS(variant.launch({data.data(), data.data() + 7, 8}, host.stream), "overlap");
  }
}

}  // namespace
}  // namespace quadrille::kernels::copy
