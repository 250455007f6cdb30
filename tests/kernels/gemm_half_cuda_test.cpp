// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "gemm/gemm.hpp"
#include "kernels/gemm_data.hpp"
#include "kernels/gemm_half_configs.hpp"
#include "kernels/gemm_rows.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

/// The products of 16-bit matrices, and of f32 in tf32 and bf16.
namespace quadrille::kernels::gemm {
namespace {

using core::Compute;
using core::DataType;
using test::DeviceArray;
using test::FarMatrix;
using test::KernelMode;

constexpr Types kTf32{DataType::f32, Compute::tf32}, kBf16{DataType::f32, Compute::bf16};

bool takes(VariantInfo const& row, Types const& types) {
  return std::find(row.types.begin(), row.types.end(), types) != row.types.end();
}

/// All, or those that take rows which end inside of a piece of 16 bytes.
enum class Rows { all, ragged };
std::vector<std::string_view> rows(Rows which = Rows::all) {
  std::vector<std::string_view> names;
  for (Variant<Problem> const& row : variants()) {
    bool const is_of_ladder = takes(row, DataType::f16) || takes(row, kTf32) || takes(row, kBf16);
    if (row.where != Where::cuda || row.role == Role::vendor || !is_of_ladder) continue;
    if (!takes_any_extents(row)) continue;
    if (which != Rows::all && row.needs.row_bytes >= 16) continue;
    names.push_back(row.name);
  }
  return names;
}

class GemmHalfCudaTest : public testing::TestWithParam<std::string_view> {
 protected:
  Variant<Problem> const& variant() const {
    return test::row(variants(), GetParam(), device::Kind::cuda);
  }

  std::vector<Layout> layouts() const {
    std::vector<Layout> taken;
    for (Layout const layout : kLayouts) {
      if (variant().needs.layouts.contains(layout)) taken.push_back(layout);
    }
    return taken;
  }

  /// In every type and layout; in the interpreter, where layouts are many, each in turn.
  void expect(std::vector<Case> const& cases) {
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      for (Case const& spec : cases) {
        std::size_t turn = 0;
        for (Types const& types : variant().types) {
          std::vector<Layout> taken = layouts();
          if (taken.size() > 2 && test::kernel_mode() != KernelMode::gpu) {
            taken = {taken[turn++ % taken.size()]};
          }
          for (Layout const layout : taken) {
            expect_product(variant(), types, spec, layout, device, stream);
          }
        }
      }
    });
  }

  /// The types and layouts take turns.
  void expect_by_turns(std::vector<Case> const& cases) {
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      auto types = variant().types.begin();
      std::vector<Layout> const taken = layouts();
      std::size_t layout = 0;
      for (Case const& spec : cases) {
        expect_product(variant(), *types, spec, taken[layout], device, stream);
        layout = (layout + 1) % taken.size();
        if (++types != variant().types.end()) continue;
        types = variant().types.begin();
        layout = (layout + 1) % taken.size();
      }
    });
  }
};

/// The last piece of a row of C, of B and of A is not the last of a tile; nor is the last row.
TEST_P(GemmHalfCudaTest, EqualsReferenceAtEdges) {
  if (test::kernel_mode() == KernelMode::gpu) {
    expect({{257, 120, 40, -0.75, 0.5}, {1000, 904, 1104}, {513, 264, 328, 2, 1}});
  } else {
    bool const has_large_tiles = variant().needs.tile.rows > 16;
    expect({{has_large_tiles ? 250 : 30, has_large_tiles ? 120 : 24, 40, -0.75, 0.5}});
  }
}

/// Up to more than a ring of chunks, of which the last one is whole or not.
TEST_P(GemmHalfCudaTest, EqualsReferenceForAnyNumberOfChunks) {
  std::vector<Case> const cases{{257, 8, 8}, {7, 136, 32},         {31, 128, 64},
                                {9, 16, 96}, {33, 24, 104, 2, -1}, {17, 8, 168, 1}};
  if (test::kernel_mode() == KernelMode::gpu) {
    expect(cases);
  } else {
    expect_by_turns(cases);
  }
}

TEST_P(GemmHalfCudaTest, TakesEmptyExtents) {
  expect_by_turns({{0, 8, 8}, {8, 0, 8}, {8, 16, 0}, {8, 16, 0, 1, -2}});
}

/// In the interpreter, layouts take turns. Columns are whole pieces, or not where a row takes
/// that.
TEST_P(GemmHalfCudaTest, OperandsLieAnywhereOrAreRefused) {
  bool const is_gpu = test::kernel_mode() == KernelMode::gpu;
  std::int64_t const n = variant().needs.row_bytes >= 16 ? 72 : 75,
                     k = variant().needs.row_bytes >= 16 ? 40 : 37;
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    std::vector<Layout> const all = layouts();
    std::size_t turn = 0;
    for (Types const& types : variant().types) {
      for (Shifts const& shifts : one_at_a_time()) {
        for (Layout const layout : is_gpu ? all : std::vector{all[turn++ % all.size()]}) {
          expect_product(variant(), types, {133, n, k, -0.75, 0.5}, layout, device, stream, {},
                         shifts);
          if (!is_gpu) continue;
          expect_product(variant(), types, {1027, 27 * n, 9 * k}, layout, device, stream, {},
                         shifts);
        }
      }
    }
  });
}

TEST_P(GemmHalfCudaTest, RowsMayBeFarApart) {
  constexpr std::int64_t kRows = FarMatrix<float>::kRows;
  for (Layout const layout : layouts()) {
    // Every matrix has that many rows.
    std::int64_t const n = is_b_transposed(layout) ? kRows : 8,
                       k = layout == Layout::nt ? 8 : kRows;
    if (takes(variant(), DataType::f16)) {
      expect_far_product<core::f16>(variant(), DataType::f16, kRows, n, k, layout);
    }
    for (auto const& in : {kTf32, kBf16}) {
      if (takes(variant(), in)) expect_far_product<float>(variant(), in, kRows, n, k, layout);
    }
  }
}

TEST_P(GemmHalfCudaTest, ReasonsKnowTheProductsThatFit) {
  auto const reason = [&](Types const& types, std::int64_t n, std::int64_t k, bool transpose_a,
                          bool transpose_b) {
    device::MatrixView const a{nullptr, types.in, transpose_a ? k : 8, transpose_a ? 8 : k,
                               transpose_a ? 8 : k};
    device::MatrixView const b{nullptr, types.in, transpose_b ? n : k, transpose_b ? k : n,
                               transpose_b ? k : n};
    device::MatrixView const c{nullptr, types.out, 8, n, n};
    return variant().unsupported_reason({a, b, c, 1, 0, transpose_a, transpose_b, types.compute});
  };
  bool const has_pieces = variant().needs.row_bytes == 16 || variant().needs.ld_bytes == 16;
  // One that takes f32 as it is, too, has its own test.
  EXPECT_EQ(reason({DataType::f32}, 8, 16, false, false),
            takes(variant(), DataType::f32) ? "" : "has no type f32");
  if (takes(variant(), kTf32)) {
    for (Layout const layout : layouts()) {
      bool const transpose_a = is_a_transposed(layout), transpose_b = is_b_transposed(layout);
      EXPECT_EQ(reason(kTf32, 12, 16, transpose_a, transpose_b), "");
      EXPECT_EQ(reason(kTf32, 10, 16, transpose_a, transpose_b).find("in multiples of 4") < 1000,
                variant().needs.ld_bytes == 16);
    }
  }
  if (!takes(variant(), DataType::f16)) return;
  for (bool const transpose_b : {false, true}) {
    Types const f16{DataType::f16};
    EXPECT_EQ(reason(f16, 8, 16, false, transpose_b), "");
    EXPECT_EQ(reason(f16, 12, 16, false, transpose_b).find("in multiples of 8") < 1000, has_pieces);
    EXPECT_EQ(reason(f16, 8, 12, false, transpose_b).find("in multiples of 8") < 1000, has_pieces);
    EXPECT_EQ(reason(f16, 8, 16, true, transpose_b).find("takes layout nn, nt") < 1000,
              !variant().needs.layouts.contains(Layout::tn));
    EXPECT_EQ(reason({DataType::f16, Compute::f16, DataType::f32}, 8, 16, false, transpose_b),
              "has no type f16:f16:f32");
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, GemmHalfCudaTest, testing::ValuesIn(rows()), test::RowName{});

/// In tf32: rings that turn more than twice, with an even and an odd number of stages, and go on in
/// the next tile; more tiles than blocks, of every kind; rows of C that end inside of a piece; tiles
/// that are split, among few and many.
TEST_P(GemmHalfCudaTest, Tf32TurnsItsRingAndSplitsTiles) {
  if (!takes(variant(), kTf32)) GTEST_SKIP() << "does not take it";
  bool const is_gpu = test::kernel_mode() == KernelMode::gpu;
  std::vector<Case> cases{
      {270, 301, 456, -1, 0.5}, {7, 1030, 100, 2, 1}, {10, 20, 1600, 1, 1}, {10, 520, 1000}};
  if (is_gpu) {
    for (Case const& more : {Case{4000, 3001, 520, 1, -1},
                             {1, 1, 1},
                             {33, 2500, 1000},
                             {300, 200, 20000},
                             {2176, 2176, 2176, 1, 1}}) {
      cases.push_back(more);
    }
  }
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    std::size_t turn = 0;
    for (Case const& spec : cases) {
      std::vector<Layout> const all = layouts();
      std::vector<Layout> const taken =
          is_gpu ? all : std::vector<Layout>{all[turn++ % all.size()]};
      for (Layout const layout : taken) {
        expect_product(variant(), kTf32, spec, layout, device, stream);
      }
    }
  });
}

TEST(GemmHalfCuda, RoundedF32RefusesTooLittleScratchForCopies) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<float> const x{device, stream, 64};
    device::MatrixView const view{x.data(), DataType::f32, 8, 8, 8};
    auto const launch = [&](std::string_view name, bool transpose_a, bool transpose_b,
                            Compute compute = Compute::tf32) {
      test::row(variants(), name, device::Kind::cuda)
          .launch({view, view, view, 1, 0, transpose_a, transpose_b, compute}, stream);
    };
    EXPECT_FAILS(launch("wgmma_rounded", false, false, Compute::bf16), "bytes of scratch memory");
    EXPECT_FAILS(launch("wgmma_persistent", false, false), "bytes of scratch memory");
    EXPECT_FAILS(launch("wgmma_persistent", true, true), "bytes of scratch memory");
    EXPECT_FAILS(launch("wgmma_register_operand", true, false), "bytes of scratch memory");
  });
}

/// Of rows that need not end with a piece of 16 bytes.
class GemmAnyRowsCudaTest : public GemmHalfCudaTest {};

/// Also several tiles of a block, each with more chunks than a ring has, and of each kind that
/// wgmma_persistent chooses from.
TEST_P(GemmAnyRowsCudaTest, EqualsReference) {
  std::vector<Case> const cases{
      {1, 1, 1},      {259, 517, 20, -0.75, 0.5}, {390, 264, 392, 1, 1}, {19, 21, 583},
      {70, 140, 150}, {300, 250, 392, 1, 1}};
  if (test::kernel_mode() == KernelMode::gpu) {
    expect(cases);
    expect({{1027, 2051, 333, 2, -1}, {777, 555, 2049}, {1500, 2550, 333}, {1270, 1290, 333}});
  } else {
    expect_by_turns(cases);
    expect({{30, 37, 19, 2, -1}});
  }
}

/// Several tiles of a block, of every width, each of one chunk: C is still on its way to memory when the
/// next tile is stored.
TEST(GemmHalfCuda, StoresTilesThatFollowEachOtherClosely) {
  Variant<Problem> const& variant = test::row(variants(), "wgmma_persistent", device::Kind::cuda);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (Types const& types : variant.types) {
      for (std::int64_t const n : {64, 128, 192, 256}) {
        expect_product(variant, types,
                       {test::kernel_mode() == KernelMode::gpu ? 60000 : 1500, n, 32}, Layout::nt,
                       device, stream);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Variants, GemmAnyRowsCudaTest, testing::ValuesIn(rows(Rows::ragged)),
                         test::RowName{});

TEST(GemmHalfCuda, RefusesTooLittleScratchForCopies) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<core::f16> const x{device, stream, 64};
    device::MatrixView const aligned{x.data(), DataType::f16, 3, 3, 8};
    device::MatrixView const unaligned{x.data(), DataType::f16, 3, 3, 3};
    Variant<Problem> const& variant = test::row(variants(), "wgmma_persistent", device::Kind::cuda);

    EXPECT_FAILS(variant.launch({unaligned, aligned, aligned}, stream),
                 "bytes of scratch memory where rows are not aligned to 16 bytes");
    EXPECT_FAILS(variant.launch({aligned, unaligned, aligned}, stream), "bytes of scratch memory");
  });
}

/// Other tiles, slots, permutations, registers and ways to C, with several slabs of blocks: what can
/// be left out or changed in the ladder's last kernel. On a GPU also compiled at run time.
TEST(GemmHalfCuda, TakesOtherConfigurations) {
  Variant<Problem> const& tuned = test::row(variants(), "mma_tuned", device::Kind::cuda);
  constexpr Case kCase{133, 136, 104, -0.75, 0.5};
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (auto const& [variant, configuration] : test::half_cases()) {
      for (Types const& types : variant.types) {
        for (Layout const layout : {Layout::nn, Layout::nt}) {
          expect_product(variant, types, kCase, layout, device, stream);
          if (test::kernel_mode() != KernelMode::gpu) continue;
          expect_product(tuned, types, kCase, layout, device, stream, configuration);
        }
      }
    }
  });
}

TEST(GemmHalfCuda, TunedTakesWhatTheProblemAllows) {
  Variant<Problem> const& tuned = test::row(variants(), "mma_tuned", device::Kind::cuda);
  auto const reason = [&](Configuration const& configuration, Types const& types,
                          bool transpose_b = false) {
    device::MatrixView const a{nullptr, types.in, 64, 64, 64}, c{nullptr, types.out, 64, 64, 64};
    return tuned.unsupported_reason(
        {a, a, c, 1, 0, false, transpose_b, types.compute, configuration});
  };
  Types const narrow{DataType::f16, Compute::f16}, wide{DataType::f16};
  for (test::HalfCase const& one : test::half_cases()) {
    EXPECT_EQ(reason(one.configuration, narrow), "");
    EXPECT_EQ(reason(one.configuration, wide, true), "");
  }
  auto const text = [&](char const* changed) {
    return *parse_configuration(*tuned.tunable, changed);
  };
  // 256 accumulators of a lane, in half as many registers where they are f16.
  Configuration const large = text("WM=64,WN=128,REGISTERS=none");
  EXPECT_EQ(reason(large, narrow), "");
  EXPECT_NE(reason(large, wide).find("does not allow BM=256,BN=128,BK=32,WM=64,WN=128"),
            std::string::npos);
  // Places of rows of B that turn.
  Configuration const slim = text("BN=32,WN=32,CONFLICTS=xor");
  EXPECT_EQ(reason(slim, narrow, true), "");
  EXPECT_NE(reason(slim, narrow, false), "");

  std::string const refused = tuned.tunable->prepare(
      *tuned.tunable, text("SLOTS=1"), {narrow, Layout::nn}, test::kernel_device().facts());
  EXPECT_NE(refused.find("SLOTS=1"), std::string::npos) << refused;
}

/// Two and three slabs of 16 blocks side by side, of which the last has one: the second runs upwards.
TEST(GemmHalfCuda, BlocksRunInSlabs) {
  if (test::kernel_mode() != KernelMode::gpu) GTEST_SKIP() << "takes long; see the test above";
  Variant<Problem> const& variant = test::row(variants(), "mma_async_stage4", device::Kind::cuda);
  Types const types{DataType::f16, Compute::f16};
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    expect_product(variant, types, {1030, 2184, 40}, Layout::nt, device, stream);
    expect_product(variant, types, {1030, 4232, 40}, Layout::nt, device, stream);
  });
}

}  // namespace
}  // namespace quadrille::kernels::gemm
