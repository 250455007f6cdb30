// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/host_arch.hpp"

#include <gtest/gtest.h>

namespace quadrille::kernels {
namespace {

TEST(HostArch, NamesWhatIsRequiredButNotSupported) {
  InstructionMask const sse3 = 1, avx2 = 1 << 6, fma = 1 << 7;

  EXPECT_EQ(missing(sse3 | avx2, sse3 | avx2 | fma), 0U);
  EXPECT_EQ(missing(0, 0), 0U);
  EXPECT_EQ(to_text(missing(sse3 | avx2 | fma, sse3)), "avx2 fma");
  EXPECT_EQ(to_text(sse3), "sse3");
  EXPECT_EQ(to_text(0), "");
}

TEST(HostArch, ThisProcessLacksNothingOrItWouldNotBeHere) {
  EXPECT_EQ(missing_instructions(), "");
  EXPECT_EQ(missing(kRequiredInstructions, supported_instructions()), 0U);
}

TEST(HostArch, RefusesWithNamesAndExitCode3) {
  EXPECT_EXIT(refuse_cpu(1U << 6 | 1U << 13), testing::ExitedWithCode(3),
              "FATAL .* lacks: avx2 avx512f; build here, or with -DQUADRILLE_HOST_ARCH");
}

}  // namespace
}  // namespace quadrille::kernels
