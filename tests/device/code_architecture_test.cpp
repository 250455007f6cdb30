// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/code_architecture.hpp"

#include "support/expect_fails.hpp"

#include <gtest/gtest.h>

namespace quadrille::device {
namespace {

/// "80", "90a", "none": what a GPU runs.
std::string code(std::string_view architectures, int compute_capability) {
  CodeArchitecture const found = code_for(architectures, compute_capability);
  if (found.compute_capability == 0) return found.exact ? "exactly none" : "none";
  return std::to_string(found.compute_capability) + (found.exact ? "a" : "");
}

TEST(CodeFor, ThreeArchitectures) {
  constexpr std::string_view three = "80,90a,100";

  EXPECT_EQ(code(three, 75), "none");
  EXPECT_EQ(code(three, 80), "80");
  EXPECT_EQ(code(three, 86), "80");
  EXPECT_EQ(code(three, 90), "90a");
  EXPECT_EQ(code(three, 100), "100");
  EXPECT_EQ(code(three, 103), "100");
  EXPECT_EQ(code(three, 120), "100") << "from PTX";
}

TEST(CodeFor, ArchitectureSpecificCodeRunsNowhereElse) {
  EXPECT_EQ(code("90a", 90), "90a");
  EXPECT_EQ(code("90a", 100), "none");
  EXPECT_EQ(code("90a", 80), "none");
}

TEST(CodeFor, PtxRunsOnLaterDevices) {
  EXPECT_EQ(code("80", 90), "80");
  EXPECT_EQ(code("80-virtual", 90), "80");
  EXPECT_EQ(code("80-real", 90), "none");
  EXPECT_EQ(code("80-real", 89), "80");
  EXPECT_EQ(code("86-real", 80), "none");
  EXPECT_EQ(code("90-virtual", 80), "none");
}

TEST(CodeFor, FamilyCodeRunsInItsFamily) {
  EXPECT_EQ(code("100f", 103), "100");
  EXPECT_EQ(code("100f", 120), "none");
}

TEST(CodeFor, MachineCodeAndLaterArchitecturesGoFirst) {
  EXPECT_EQ(code("80,86", 86), "86");
  EXPECT_EQ(code("86,80", 86), "86");
  EXPECT_EQ(code("80-real,86-virtual", 86), "80");
  EXPECT_EQ(code("80,90", 100), "90");
}

TEST(CodeFor, OfTwoForOneDeviceTheLesserIsReliedOn) {
  EXPECT_EQ(code("90,90a", 90), "90");
  EXPECT_EQ(code("90a,90", 90), "90");
}

TEST(CodeFor, RefusesWords) { EXPECT_FAILS(code_for("native", 90), "is no number"); }

TEST(MissingCode, NamesTheWayOut) {
  Facts gpu;
  gpu.name = "Tester";
  gpu.index = 2;
  gpu.compute_capability = 80;

  EXPECT_EQ(missing_code_reason(gpu),
            "GPU 2 (Tester, compute capability 8.0): this program has no kernels for it; configure "
            "it with -DQUADRILLE_CUDA_ARCHITECTURES=80, or set run.device = \"host\"");
  gpu.code = {80, false};
  EXPECT_EQ(missing_code_reason(gpu), "");
}

}  // namespace
}  // namespace quadrille::device
