// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/tunable.hpp"

#include "common/kernel_sources.hpp"
#include "device/runtime_kernel.hpp"
#include "gemm/gemm.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace quadrille::kernels {
namespace {

namespace fs = std::filesystem;

constexpr int kHopper = 90;

using core::Compute;
using core::DataType;

/// What is tuned, for one kind of the problems that it takes.
struct Family {
  Tunable const* tunable;
  ProblemKind kind;
};

/// Those of every operation.
std::vector<Family> families() {
  std::vector<Family> found;
  for (Variant<gemm::Problem> const& row : gemm::variants()) {
    if (row.tunable == nullptr) continue;
    for (Types const& types : row.types) {
      for (Layout const layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt}) {
        if (row.needs.layouts.contains(layout)) found.push_back({row.tunable, {types, layout}});
      }
    }
  }
  return found;
}

Tunable const& tunable_of(std::string_view name) {
  return *find(gemm::variants(), name, device::Kind::cuda)->tunable;
}
/// That of f32 products, and that of 16-bit products.
Tunable const& tiles() { return tunable_of("tuned_tiles"); }
Tunable const& half() { return tunable_of("mma_tuned"); }
constexpr ProblemKind kF32{DataType::f32, Layout::nn};
constexpr ProblemKind kNarrow{{DataType::f16, Compute::f16}, Layout::nt};
constexpr ProblemKind kWide{DataType::f16, Layout::nn};
constexpr ProblemKind kBf16{DataType::bf16, Layout::nn};

TEST(Tunable, HasTextsThatMeanTheSameConfiguration) {
  for (auto const& [tunable, kind] : families()) {
    for (Configuration const& configuration : legal_configurations(*tunable, kind, kHopper)) {
      std::string const text = to_text(*tunable, configuration);
      core::Parsed<Configuration> const read = parse_configuration(*tunable, text);
      ASSERT_TRUE(read) << text << ": " << read.why();
      ASSERT_EQ(*read, configuration) << text;
    }
  }
  EXPECT_EQ(to_text(tiles(), Configuration{128, 64, 16, 8, 4}), "BM=128,BN=64,BK=16,TM=8,TN=4");
  EXPECT_EQ(*parse_configuration(tiles(), "TN=4,TM=8,BK=16,BN=64,BM=128"),
            (Configuration{128, 64, 16, 8, 4}));
  EXPECT_EQ(*parse_configuration(tiles(), "BN=64"), (Configuration{128, 64, 16, 8, 8}));
  EXPECT_EQ(to_text(half(), half().preset),
            "BM=256,BN=128,BK=32,WM=64,WN=64,CONFLICTS=rotate,SLOTS=4,REGISTERS=across_chunks,"
            "RASTER=16,EPILOGUE=block_rotated,BLOCKS=1");
  EXPECT_EQ(
      *parse_configuration(half(), "CONFLICTS=xor,REGISTERS=in_chunk,EPILOGUE=direct,RASTER=3"),
      (Configuration{256, 128, 32, 64, 64, 3, 4, 1, 3, 0, 1}));
}

TEST(Tunable, RefusesOtherTexts) {
  for (char const* const text :
       {"", "BM", "BM=", "BM=128,BN=64,BK=16,TM=8,TN=4,TN=4", "BM=128,BN=64,BK=16,TM=8,TX=4",
        "BM=128,BN=64,BK=16,TM=8,TN=", "BM=128,BN=64,BK=16,TM=8,TN=4x", "BM=xor",
        "BM=128,BN=64,BK=16,TM=8,TN", "BM=128;BN=64", "BM=99999999999,BN=64,BK=16,TM=8,TN=4"}) {
    core::Parsed<Configuration> const read = parse_configuration(tiles(), text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.why().find("BM=,BN=,BK=,TM=,TN="), std::string::npos) << read.why();
  }
  for (char const* const text : {"CONFLICTS=", "CONFLICTS=2", "CONFLICTS=rotated"}) {
    core::Parsed<Configuration> const read = parse_configuration(half(), text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.why().find("CONFLICTS=none|pad|rotate|xor,"), std::string::npos) << read.why();
  }
}

TEST(Tunable, CompiledConfigurationsAreLegal) {
  for (auto const& [tunable, kind] : families()) {
    for (Configuration const& configuration : tunable->compiled) {
      EXPECT_EQ(illegal_reason(*tunable, configuration, kind, kHopper), "");
    }
    EXPECT_NE(std::ranges::find(tunable->compiled, tunable->preset), tunable->compiled.end());
  }
}

/// A few hundred, of which NVRTC compiles two or three in a second.
TEST(Tunable, LegalConfigurationsOfHalvesAreThoseThatTheKernelAllows) {
  for (auto const& [tunable, kind] : families()) {
    if (tunable != &half()) continue;
    std::vector<Configuration> const legal = legal_configurations(half(), kind, kHopper);
    EXPECT_GE(legal.size(), 100U) << to_text(kind.types);
    EXPECT_LE(legal.size(), 800U) << to_text(kind.types);
    EXPECT_NE(std::ranges::find(legal, half().preset), legal.end());
    int const sum_bytes = kind.types.compute == Compute::f16 ? 2 : 4;
    for (Configuration const& c : legal) {
      SCOPED_TRACE(to_text(half(), c));
      int const bm = c[0], bn = c[1], bk = c[2], blocks = c[10];
      int const threads = bm / c[3] * (bn / c[4]) * 32;
      EXPECT_TRUE(threads >= 32 && threads <= 1024);
      // Every pass of all threads copies eight or more whole rows of pieces of 8 elements.
      EXPECT_EQ(bm * bk / 8 % threads, 0);
      EXPECT_EQ(bn * bk / 8 % threads, 0);
      EXPECT_EQ(8 * threads % (kind.layout == Layout::nt ? bk : bn), 0);
      auto const needs = *half().needs(c, kind);
      EXPECT_EQ(needs.threads, threads);
      // Tiles of C in f16 lie there as a whole, others go by 16 rows of each warp.
      int const ring = c[6] * 2 * bk * (bm + bn);
      int const rows_of_c = sum_bytes == 2 ? bm * bn * 2 : threads / 2 * c[4] * sum_bytes;
      EXPECT_EQ(needs.shared_bytes, static_cast<std::size_t>(std::max(ring, rows_of_c)));
      EXPECT_LE((needs.shared_bytes + 1024) * static_cast<std::size_t>(blocks), 228U * 1024);
      EXPECT_GE(needs.registers, c[3] * c[4] / 32 * sum_bytes / 4 + 32);
      EXPECT_LE(needs.registers * threads * blocks, 64 * 1024);
    }
  }
  auto const is_legal = [](char const* changed, ProblemKind const& kind) {
    return illegal_reason(half(), *parse_configuration(half(), changed), kind, kHopper).empty();
  };
  for (char const* const changed :
       {"CONFLICTS=none", "CONFLICTS=pad", "CONFLICTS=xor", "SLOTS=2", "SLOTS=3", "REGISTERS=none",
        "REGISTERS=in_chunk", "RASTER=1", "RASTER=1000000", "EPILOGUE=direct", "EPILOGUE=padded",
        "BK=16,REGISTERS=none", "REGISTERS=none,BLOCKS=2",
        "BM=192,BK=48,REGISTERS=none,CONFLICTS=pad"}) {
    EXPECT_TRUE(is_legal(changed, kNarrow)) << changed;
  }
  EXPECT_FALSE(is_legal("REGISTERS=none,BLOCKS=2", kWide));  // 95 Ki registers
  for (char const* const changed : {"SLOTS=1,REGISTERS=none",
                                    "SLOTS=0",
                                    "SLOTS=12",
                                    "BLOCKS=2",
                                    "BM=128,BK=64,BLOCKS=2",
                                    "WM=128,WN=128,REGISTERS=none",
                                    "BK=16",
                                    "BK=8",
                                    "BM=0",
                                    "BM=-256",
                                    "BM=1073741824",
                                    "BN=1000000000,WN=16",
                                    "WM=48",
                                    "WM=8",
                                    "RASTER=0",
                                    "BLOCKS=0",
                                    "BM=192,BK=48,REGISTERS=none",
                                    "BLOCKS=3",
                                    "BK=96",
                                    "BM=64,BN=64,BK=1024",
                                    "WM=16,WN=16"}) {
    EXPECT_FALSE(is_legal(changed, kNarrow)) << changed;
  }
  // Rows of C of eight warps, where the ring is smaller.
  Configuration const wide =
      *parse_configuration(half(), "BM=128,BK=16,WM=16,WN=128,SLOTS=2,REGISTERS=none");
  EXPECT_EQ(half().needs(wide, kWide)->shared_bytes, 8U * 16 * 128 * 4);
  EXPECT_FALSE(half().needs(Configuration{256, 128, 32, 64, 64, 4, 4, 2, 16, 2, 1}, kNarrow));
}

TEST(Tunable, NamesTheKernelOfTheProblem) {
  auto const name = [](char const* changed, ProblemKind const& kind) {
    return kernel_program(half(), *parse_configuration(half(), changed), kind).kernel;
  };
  std::string const space = "quadrille::kernels::gemm::";
  auto const expected = [&](std::string const& inside) {
    return space + "gemm_mma_tuned_kernel<" + space + "HalfTile<" + space + "half_config(" +
           inside + ">>";
  };
  EXPECT_EQ(
      name("BM=128,BK=64,WN=32,CONFLICTS=pad,SLOTS=3,REGISTERS=in_chunk,RASTER=5,EPILOGUE=direct",
           kNarrow),
      expected("128, 128, 64, 64, 32, 1, 3, 1, 5, 0, 1), __half, __half, true"));
  // Of which one with f32 accumulators has twice as many registers.
  EXPECT_EQ(name("BM=64,BN=256,BLOCKS=2", kWide),
            expected("64, 256, 32, 64, 64, 2, 4, 2, 16, 4, 4), __half, float, false"));
  EXPECT_EQ(name("BM=64", kBf16),
            expected("64, 128, 32, 64, 64, 2, 4, 2, 16, 4, 1), __nv_bfloat16, float, false"));
}

TEST(Tunable, LegalTilesAreThoseThatTheKernelAllows) {
  std::vector<Configuration> const legal = legal_configurations(tiles(), kF32, kHopper);
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
    return illegal_reason(tiles(), Configuration{values...}, kF32, kHopper);
  };
  EXPECT_NE(reason(128, 128, 16, 6, 8), "");    // no whole vectors
  EXPECT_NE(reason(128, 128, 16, 16, 16), "");  // 256 accumulators
  EXPECT_NE(reason(256, 256, 32, 16, 8), "");   // 64 KiB of shared memory
  EXPECT_NE(reason(16, 16, 16, 8, 8), "");      // 4 threads
  EXPECT_NE(reason(0, 128, 16, 8, 8), "");
  EXPECT_NE(reason(128, 128, 16, 0, 8), "");
  EXPECT_NE(reason(-128, 128, 16, -8, 8), "");
  EXPECT_NE(reason(1 << 16, 1 << 16, 16, 8, 8), "");  // whose product no int holds
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
  }

  core::Parsed<device::CompiledKernel> compile(Configuration const& configuration) const {
    return device::compile(kernel_program(tiles(), configuration, kF32), kHopper,
                           folder_ / "kernels");
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (auto const& entry : fs::directory_iterator{folder_ / "kernels"}) found.push_back(entry);
    return found;
  }

  test::TemporaryFolder const temporary_;
  fs::path const folder_ = temporary_.path();
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

TEST_F(TunableCacheTest, CompilesEveryKindOfHalves) {
  Configuration const small = *parse_configuration(
      half(), "BM=64,BN=64,WM=32,WN=32,SLOTS=2,REGISTERS=none,EPILOGUE=direct");
  for (ProblemKind const& kind : {kNarrow, kWide, kBf16}) {
    core::Parsed<device::CompiledKernel> const kernel =
        device::compile(kernel_program(half(), small, kind), kHopper, "");
    ASSERT_TRUE(kernel) << kernel.why();
    EXPECT_NE(kernel->code.find(kernel->name), std::string::npos);
  }
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

/// What the code depends on: kernel, files and device.
TEST_F(TunableCacheTest, CompilesAnewWhatDiffers) {
  using Files = std::vector<device::SourceFile>;
  Files const sources{{"a.cuh", "#include \"b.cuh\"\n"},
                      {"b.cuh", "template <int n> __global__ void f(int* x) { *x = n; }\n"}};
  Files changed = sources, more = sources;
  changed[1].text = "template <int n> __global__ void f(int* x) { *x = n + 1; }\n";
  more.push_back({"c.cuh", ""});
  auto const is_cached = [&](Files const& all, char const* header, char const* kernel,
                             int capability) {
    core::Parsed<device::CompiledKernel> const compiled =
        device::compile({all, header, kernel}, capability, folder_ / "kernels");
    EXPECT_TRUE(compiled) << compiled.why();
    return compiled && compiled->is_cached;
  };
  auto const cached = [&] {
    return std::array{
        is_cached(sources, "a.cuh", "f<1>", kHopper), is_cached(sources, "a.cuh", "f<3>", kHopper),
        is_cached(sources, "a.cuh", "f<1>", 80),      is_cached(sources, "b.cuh", "f<1>", kHopper),
        is_cached(changed, "a.cuh", "f<1>", kHopper), is_cached(more, "a.cuh", "f<1>", kHopper)};
  };
  EXPECT_EQ(std::ranges::count(cached(), true), 0);
  EXPECT_EQ(std::ranges::count(cached(), false), 0);
  more.back().name = "d.cuh";
  EXPECT_FALSE(is_cached(more, "a.cuh", "f<1>", kHopper));

  // Files of another format, and of another kernel.
  for (fs::path const& path : files()) {
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    file << 'Q';
  }
  EXPECT_EQ(std::ranges::count(cached(), true), 0);
  for (fs::path const& path : files()) {
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    std::string format;
    std::getline(file, format);
    file << 'g';
  }
  EXPECT_EQ(std::ranges::count(cached(), true), 0);
}

/// Those of one architecture alone need its name with an "a".
TEST_F(TunableCacheTest, CompilesInstructionsOfOneArchitecture) {
  device::SourceFile const file{
      "a.cuh",
      "template <int n> __global__ void f() { asm volatile(\"wgmma.fence.sync.aligned;\"); }\n"};
  core::Parsed<device::CompiledKernel> const kernel =
      device::compile({{&file, 1}, "a.cuh", "f<1>"}, kHopper, "");
  ASSERT_TRUE(kernel) << kernel.why();
}

/// A cache is worth no error.
TEST_F(TunableCacheTest, DoesWithoutAFolder) {
  std::ofstream{folder_ / "kernels"} << "a file";
  core::Parsed<device::CompiledKernel> const kernel = compile(Configuration{32, 32, 16, 4, 4});
  ASSERT_TRUE(kernel) << kernel.why();
  EXPECT_FALSE(kernel->is_cached);
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
