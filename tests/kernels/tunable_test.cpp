// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/tunable.hpp"

#include "common/kernel_sources.hpp"
#include "device/runtime_kernel.hpp"
#include "gemm/gemm.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace quadrille::kernels {
namespace {

namespace fs = std::filesystem;

constexpr int kHopper = 90;

/// Those of every operation.
std::vector<Tunable const*> families() {
  std::vector<Tunable const*> found;
  for (Variant<gemm::Problem> const& row : gemm::variants()) {
    if (row.tunable != nullptr) found.push_back(row.tunable);
  }
  return found;
}

/// That of f32 products.
Tunable const& tiles() { return *families().front(); }

TEST(Tunable, HasTextsThatMeanTheSameConfiguration) {
  for (Tunable const* family : families()) {
    for (Configuration const& configuration : legal_configurations(*family, kHopper)) {
      std::string const text = to_text(*family, configuration);
      core::Parsed<Configuration> const read = parse_configuration(*family, text);
      ASSERT_TRUE(read) << text << ": " << read.why();
      ASSERT_EQ(*read, configuration) << text;
    }
  }
  EXPECT_EQ(to_text(tiles(), Configuration{128, 64, 16, 8, 4}), "BM=128,BN=64,BK=16,TM=8,TN=4");
  EXPECT_EQ(*parse_configuration(tiles(), "TN=4,TM=8,BK=16,BN=64,BM=128"),
            (Configuration{128, 64, 16, 8, 4}));
}

TEST(Tunable, RefusesOtherTexts) {
  for (char const* const text :
       {"", "BM=128", "BM=128,BN=64,BK=16,TM=8,TN=4,TN=4", "BM=128,BN=64,BK=16,TM=8,TX=4",
        "BM=128,BN=64,BK=16,TM=8,TN=", "BM=128,BN=64,BK=16,TM=8,TN=4x",
        "BM=128,BN=64,BK=16,TM=8,TN", "BM=128;BN=64", "BM=99999999999,BN=64,BK=16,TM=8,TN=4"}) {
    core::Parsed<Configuration> const read = parse_configuration(tiles(), text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.why().find("BM=,BN=,BK=,TM=,TN="), std::string::npos) << read.why();
  }
}

TEST(Tunable, CompiledConfigurationsAreLegal) {
  for (Tunable const* family : families()) {
    for (Configuration const& configuration : family->compiled) {
      EXPECT_EQ(illegal_reason(*family, configuration, kHopper), "");
    }
    EXPECT_NE(std::ranges::find(family->compiled, family->preset), family->compiled.end());
  }
}

TEST(Tunable, LegalTilesAreThoseThatTheKernelAllows) {
  std::vector<Configuration> const legal = legal_configurations(tiles(), kHopper);
  EXPECT_EQ(legal.size(), 416U);
  for (Configuration const& c : legal) {
    int const threads = c[0] * c[1] / (c[3] * c[4]);
    EXPECT_TRUE(threads % 32 == 0 && threads >= 32 && threads <= 1024);
    // Every pass of all threads copies whole float4 of whole rows.
    EXPECT_EQ(c[0] * c[2] % (4 * threads), 0);
    EXPECT_EQ(c[2] * c[1] % (4 * threads), 0);
    EXPECT_LE((c[0] + c[1]) * c[2] * 4, 48 * 1024);
  }
  auto const reason = [](auto... values) {
    return illegal_reason(tiles(), Configuration{values...}, kHopper);
  };
  EXPECT_NE(reason(128, 128, 16, 6, 8), "");    // no whole vectors
  EXPECT_NE(reason(128, 128, 16, 16, 16), "");  // 256 accumulators
  EXPECT_NE(reason(256, 256, 32, 16, 8), "");   // 64 KiB of shared memory
  EXPECT_NE(reason(16, 16, 16, 8, 8), "");      // 4 threads
  EXPECT_NE(reason(0, 128, 16, 8, 8), "");
  EXPECT_NE(reason(128, 128, 16, 0, 8), "");
  EXPECT_NE(reason(-128, 128, 16, -8, 8), "");
  // 512 threads of 176 registers: more than the register file.
  std::string const wide = reason(256, 256, 16, 8, 16);
  EXPECT_NE(wide.find("multiprocessor"), std::string::npos) << wide;
}

/// A folder for one test.
class TunableCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string const absent = device::runtime_compiler_absent();
    if (!absent.empty()) GTEST_SKIP() << absent;
    folder_ = fs::temp_directory_path() /
              ("quadrille_tunable_test_" +
               std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "_" +
               std::to_string(getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  core::Parsed<device::CompiledKernel> compile(Configuration const& configuration) const {
    return device::compile(kernel_program(tiles(), configuration), kHopper, folder_ / "kernels");
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (auto const& entry : fs::directory_iterator{folder_ / "kernels"}) found.push_back(entry);
    return found;
  }

  fs::path folder_;
};

TEST_F(TunableCacheTest, CompilesAtRunTimeWhatTheBuildCompiles) {
  core::Parsed<device::CompiledKernel> const kernel = compile(Configuration{64, 64, 16, 4, 8});
  ASSERT_TRUE(kernel) << kernel.why();
  EXPECT_TRUE(
      kernel->code.starts_with("\x7f"
                               "ELF"));
  EXPECT_NE(kernel->name.find("gemm_tuned_kernel"), std::string::npos) << kernel->name;
  EXPECT_NE(kernel->code.find(kernel->name), std::string::npos);
  EXPECT_FALSE(kernel->is_cached);
}

TEST_F(TunableCacheTest, TakesFromTheCacheWhatItHas) {
  core::Parsed<device::CompiledKernel> const first = compile(Configuration{32, 32, 16, 4, 4});
  core::Parsed<device::CompiledKernel> const again = compile(Configuration{32, 32, 16, 4, 4});
  ASSERT_TRUE(first && again);
  EXPECT_TRUE(again->is_cached);
  EXPECT_EQ(again->code, first->code);
  EXPECT_EQ(again->name, first->name);
  ASSERT_EQ(files().size(), 1U);

  // Half a file is none.
  fs::resize_file(files().front(), fs::file_size(files().front()) / 2);
  core::Parsed<device::CompiledKernel> const anew = compile(Configuration{32, 32, 16, 4, 4});
  ASSERT_TRUE(anew);
  EXPECT_FALSE(anew->is_cached);
  EXPECT_EQ(anew->code, first->code);
  EXPECT_TRUE(compile(Configuration{32, 32, 16, 4, 4})->is_cached);
}

TEST_F(TunableCacheTest, TellsWhatTheCompilerSays) {
  core::Parsed<device::CompiledKernel> const kernel = compile(Configuration{16, 16, 16, 16, 16});
  ASSERT_FALSE(kernel);
  EXPECT_NE(kernel.why().find("static assertion"), std::string::npos) << kernel.why();
  EXPECT_FALSE(fs::exists(folder_ / "kernels"));
}

/// Headers of instructions, for kernels to come.
TEST_F(TunableCacheTest, CompilesInstructions) {
  std::vector<device::SourceFile> files(kernel_sources().begin(), kernel_sources().end());
  std::string text;
  for (device::SourceFile const& file : kernel_sources()) {
    if (file.name.find("/ptx/") != file.name.npos)
      text += "#include \"" + std::string{file.name} + "\"\n";
  }
  text += "template <int n> __global__ void kernel(int* x) { *x = n; }\n";
  files.push_back({"all.cuh", text});
  core::Parsed<device::CompiledKernel> const kernel =
      device::compile({files, "all.cuh", "kernel<1>"}, kHopper, "");
  ASSERT_TRUE(kernel) << kernel.why();
}

}  // namespace
}  // namespace quadrille::kernels
