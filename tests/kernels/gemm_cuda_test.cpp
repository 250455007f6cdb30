// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/kernel_facts.hpp"
#include "gemm/gemm.hpp"
#include "kernels/gemm_data.hpp"
#include "kernels/gemm_rows.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace quadrille::kernels::gemm {
namespace {

using core::DataType;
using test::DeviceArray;
using test::FarMatrix;
using test::KernelMode;

constexpr Types kF32{DataType::f32}, kF64{DataType::f64};

/// The rows for f32 and f64, computed in these, and for any extents. The interpreter has no vendor's
/// libraries.
std::vector<std::string_view> rows() {
  std::vector<std::string_view> names;
  for (Variant<Problem> const& row : variants()) {
    bool const runs = row.role != Role::vendor || test::kernel_mode() == KernelMode::gpu;
    bool const takes_them = std::any_of(row.types.begin(), row.types.end(), [](Types const& types) {
      return types == kF32 || types == kF64;
    });
    bool const is_one = row.where == Where::cuda && row.role != Role::demonstration && runs &&
                        takes_them && takes_any_extents(row);
    if (is_one) names.push_back(row.name);
  }
  return names;
}

bool takes_vectors_only(VariantInfo const& variant) {
  return variant.needs.row_bytes > 1 || variant.needs.ld_bytes > 1;
}

/// With rows that are aligned to 16 bytes, for variants that need that or that are quicker, or not. They
/// end inside of a piece where the variant takes that.
void expect_product(Variant<Problem> const& variant, Types const& types, Case spec,
                    device::Device& device, device::StreamView stream, bool vectors,
                    Configuration const& tuned = {}, Layout layout = Layout::nn) {
  if (vectors && (variant.needs.row_bytes > 1 || variant.needs.ld_bytes == 1)) {
    spec.n = (spec.n + 3) / 4 * 4;
    spec.k = (spec.k + 3) / 4 * 4;
  }
  expect_product(variant, types, spec, layout, device, stream, tuned,
                 vectors ? Shifts{} : kUnaligned);
}
void expect_product(Variant<Problem> const& variant, Types const& types, Case const& spec,
                    device::Device& device, device::StreamView stream) {
  expect_product(variant, types, spec, device, stream, takes_vectors_only(variant));
}

class GemmCudaTest : public testing::TestWithParam<std::string_view> {
 protected:
  Variant<Problem> const& variant() const {
    return test::row(variants(), GetParam(), device::Kind::cuda);
  }

  DataType type_of_row() const {
    return variant().supports(DataType::f32) ? DataType::f32 : DataType::f64;
  }

  std::vector<Types> types() const {
    std::vector<Types> all;
    for (Types const& one : {kF32, kF64}) {
      if (variant().supports(one.in)) all.push_back(one);
    }
    return all;
  }

  void expect(std::vector<Case> const& cases) {
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      for (Case const& one : cases) {
        for (Types const& of : types()) expect_product(variant(), of, one, device, stream);
      }
    });
  }
};

TEST_P(GemmCudaTest, TakesEmptyExtents) {
  expect({{0, 5, 3}, {5, 0, 3}, {3, 5, 0}, {3, 5, 0, 1, -2}});
}

TEST_P(GemmCudaTest, EqualsReferenceAroundTileBoundaries) {
  expect({{1, 1, 1},
          {31, 33, 31, 1, 1},
          {33, 31, 33, -0.75, 0},
          {64, 64, 8},
          {65, 63, 9, 0.5, -2},
          {3, 140, 5, 2, 0.5},
          {131, 5, 17}});
}

TEST_P(GemmCudaTest, EqualsReferenceOnSeveralTiles) {
  if (test::kernel_mode() == KernelMode::gpu) {
    expect({{256, 512, 128}, {257, 259, 131, -1, 1}, {1000, 900, 1100, 1, 0}});
  } else {
    expect({{128, 256, 32, 1, 1}, {130, 260, 36, -1, 1}});
  }
}

TEST_P(GemmCudaTest, OperandsLieAnywhereOrAreRefused) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (Types const& of : types()) {
      for (Shifts const& shifts : one_at_a_time()) {
        expect_product(variant(), of, {70, 76, 36, -0.75, 0.5}, Layout::nn, device, stream, {},
                       shifts);
      }
    }
  });
}

TEST_P(GemmCudaTest, RowsMayBeFarApart) {
  constexpr std::int64_t kRows = FarMatrix<float>::kRows;
  for (Types const& of : types()) {
    auto const expect = of == kF32 ? expect_far_product<float> : expect_far_product<double>;
    expect(variant(), of, kRows, 8, kRows, Layout::nn);
  }
}

/// On a GPU those that are compiled now, too, of which one has most threads, one fewest.
TEST(GemmCuda, TunedTakesItsConfiguration) {
  Variant<Problem> const& variant = test::row(variants(), "tuned_tiles", device::Kind::cuda);
  std::vector<Configuration> tiles{Configuration{32, 64, 16, 4, 4}, Configuration{64, 64, 8, 8, 8}};
  if (test::kernel_mode() == KernelMode::gpu) {
    for (Configuration const& more :
         {Configuration{64, 64, 16, 4, 8}, Configuration{128, 128, 32, 4, 4},
          Configuration{32, 32, 16, 8, 4}, Configuration{256, 64, 16, 16, 8}}) {
      tiles.push_back(more);
    }
  }
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (Configuration const& tile : tiles) {
      SCOPED_TRACE(to_text(*variant.tunable, tile));
      ASSERT_EQ(variant.tunable->prepare(*variant.tunable, tile, {}, device.facts()), "");
      expect_product(variant, kF32, {130, 140, 36, -1, 1}, device, stream, true, tile);
    }
  });
  std::string const refused = variant.tunable->prepare(
      *variant.tunable, Configuration{16, 16, 16, 8, 8}, {}, test::kernel_device().facts());
  EXPECT_NE(refused.find("does not allow BM=16"), std::string::npos) << refused;
}

/// Few tiles and many stages: tiles are cut among all blocks, in two and in many parts, and a block
/// has the end of one, others whole, and the begin of another.
TEST(GemmCuda, StreamKCutsTiles) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (std::string_view const name :
         {"simt_async_128x256", "stream_k", "tma_producer", "simt_producer"}) {
      Variant<Problem> const& variant = test::row(variants(), name, device::Kind::cuda);
      bool const vectors = takes_vectors_only(variant);
      if (test::kernel_mode() == KernelMode::gpu) {
        for (Case const& one : {Case{128, 256, 32 * 1024}, Case{1000, 1500, 2000, -1, 0.5},
                                Case{1536, 1536, 1536}, Case{2176, 2176, 512, 1, 1}}) {
          expect_product(variant, kF32, one, device, stream, vectors);
        }
      } else {
        expect_product(variant, kF32, {9, 300, 360, -1, 0.5}, device, stream, vectors);
        // More than two rings for each block.
        if (name != "stream_k") {
          expect_product(variant, kF32, {9, 200, 1160}, device, stream, true);
        }
        if (name == "simt_async_128x256") {
          expect_product(variant, kF32, {128, 256, 192}, device, stream);
          expect_product(variant, kF32, {3, 2300, 128}, device, stream);
        }
      }
    }
  });
}

/// Rings that go on in the next tile.
TEST(GemmCuda, RingsGoOnInTheNextTile) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (std::string_view const name :
         {"persistent", "stream_k", "tma_producer", "simt_producer"}) {
      expect_product(test::row(variants(), name, device::Kind::cuda), kF32, {9, 1060, 100, -1, 0.5},
                     device, stream, true);
    }
  });
}

/// Rings that turn more than twice and go on in the next tile; tiles that are cut, in four parts and
/// so that a block has the end of one and the begin of the next. The first two have tiles of
/// 128 x 128, the others of 128 x 64.
TEST(GemmCuda, DmmaTurnsItsRingAndCutsTiles) {
  Variant<Problem> const& variant = test::row(variants(), "dmma", device::Kind::cuda);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    expect_product(variant, kF64, {130, 512, 112}, device, stream, true);
    expect_product(variant, kF64, {5, 640, 1500}, device, stream, true);
    expect_product(variant, kF64, {128, 700, 100}, device, stream, true);
    expect_product(variant, kF64, {7, 50, 523, -1, 0.5}, device, stream, true);
    expect_product(variant, kF64, {5, 260, 700}, device, stream, true);
    if (test::kernel_mode() != KernelMode::gpu) return;
    for (Case const& one :
         {Case{129, 127, 16}, Case{1000, 1500, 2000, -1, 0.5}, Case{1024, 1024, 1024},
          Case{2176, 2176, 512, 1, 1}, Case{4096, 2050, 100, 2, 0}}) {
      expect_product(variant, kF64, one, device, stream, true);
    }
  });
}

/// The largest grid of the kernels that a launch asks for.
std::int64_t max_blocks(Variant<Problem> const& variant, Problem const& problem,
                        device::StreamView stream) {
  std::int64_t most = 0;
  for (device::KernelFacts const& kernel :
       device::recorded_kernels(stream, [&] { variant.launch(problem, stream); })) {
    most = std::max(most, kernel.grid[0] * kernel.grid[1] * kernel.grid[2]);
  }
  return most;
}

TEST(GemmCuda, PersistentVariantsLeaveMultiprocessorsToOthers) {
  int bounded = 0;
  for (Variant<Problem> const& variant : variants()) {
    if (variant.role != Role::own || !variant.specifics.notes.bounds_multiprocessors) continue;
    SCOPED_TRACE(variant.name);
    ++bounded;
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      for (bool const yields : {false, true}) {
        Case const one{200, 520, 100, -1, 0.5, 2, yields};
        for (Types const& types : variant.types) {
          bool const is_plain = types == kF32 || types == kF64;
          if (is_plain) expect_product(variant, types, one, device, stream, true);
        }
      }
      if (test::kernel_mode() != KernelMode::gpu) return;
      for (Types const& types : variant.types) {
        constexpr std::int64_t kSide = 1024;
        DeviceArray<double> const x{device, stream, kSide * kSide};
        device::MatrixView const in{x.data(), types.in, kSide, kSide, kSide};
        device::MatrixView const out{x.data(), types.out, kSide, kSide, kSide};
        Problem problem{in, in, out};
        problem.compute = types.compute;
        // The layout that no operand is copied for, which takes blocks of its own.
        problem.transpose_b = true;
        problem.transpose_b = variant.unsupported_reason(problem).empty();
        auto const bytes = variant.scratch_bytes(problem, device.facts());
        DeviceArray<std::byte> const scratch{device, stream, static_cast<std::int64_t>(bytes)};
        stream.fill(scratch.data(), 0, bytes);
        problem.scratch = scratch.data();
        problem.scratch_bytes = bytes;
        EXPECT_GT(max_blocks(variant, problem, stream), 10);
        problem.multiprocessors = 10;
        EXPECT_LE(max_blocks(variant, problem, stream), 10);
        problem.yields = true;
        EXPECT_GT(max_blocks(variant, problem, stream), 10) << "a block for each tile";
      }
    });
  }
  EXPECT_EQ(bounded, 8);
}

TEST(GemmCuda, DmmaTakesEveryLayout) {
  bool const is_gpu = test::kernel_mode() == KernelMode::gpu;
  Variant<Problem> const& variant = test::row(variants(), "dmma", device::Kind::cuda);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (Layout const layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt}) {
      for (bool const vectors : {false, true}) {
        for (std::int64_t const n : {133, 60}) {  // tiles of 128 x 128, of 128 x 64
          expect_product(variant, kF64, {130, n, 37, -1, 0.5}, device, stream, vectors, {}, layout);
        }
        if (is_gpu) {
          expect_product(variant, kF64, {1000, 900, 1100, 2, 1}, device, stream, vectors, {},
                         layout);
        }
      }
    }
  });
}

TEST(GemmCuda, DmmaRefusesTooLittleScratchForCopies) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<double> const x{device, stream, 16};
    device::MatrixView const aligned{x.data(), DataType::f64, 3, 3, 4};
    device::MatrixView const unaligned{x.data(), DataType::f64, 3, 3, 3};
    Variant<Problem> const& variant = test::row(variants(), "dmma", device::Kind::cuda);

    EXPECT_FAILS(variant.launch({unaligned, aligned, aligned}, stream),
                 "bytes of scratch memory where rows are not aligned to 16 bytes");
    EXPECT_FAILS(variant.launch({aligned, unaligned, aligned}, stream), "bytes of scratch memory");
  });
}

/// More tiles down than a band of them has, and a last band with fewer.
TEST(GemmCuda, TilesAreTakenInBands) {
  std::pair<std::string_view, Case> const cases[] = {
      {"simt_async_64x64", {9 * 64 + 5, 136, 12}},
      {"persistent", {9 * 128 + 5, 8, 12}},
      {"warp_tile_block_swizzle", {9 * 128 + 5, 136, 12}}};
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (auto const& [name, one] : cases) {
      expect_product(test::row(variants(), name, device::Kind::cuda), kF32, one, device, stream);
    }
  });
}

/// Tiles inside of C and at its edges, with and without vectors; more than two rings of stages each.
TEST(GemmCuda, SimtAsyncTurnsItsRingInsideAndAtEdges) {
  std::pair<std::string_view, Case> const cases[] = {
      {"simt_async_128x256", {133, 264, 290, -1, 0.5}},
      {"simt_async_128x256", {133, 264, 96}},  // an access beyond leaves the operands
      {"multistage", {133, 264, 292, -1, 0.5}},
      {"tma_producer", {133, 266, 292, -1, 0.5}},
      {"simt_producer", {133, 264, 290, -1, 0.5}},
      {"simt_async_128x128", {133, 136, 146, -1, 0.5}},
      {"simt_async_64x128", {69, 136, 290, -1, 0.5}},
      {"simt_async_64x64", {69, 72, 578, -1, 0.5}}};
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (auto const& [name, one] : cases) {
      Variant<Problem> const& variant = test::row(variants(), name, device::Kind::cuda);
      for (bool const vectors : {false, true}) {
        if (!vectors && takes_vectors_only(variant)) continue;
        expect_product(variant, kF32, one, device, stream, vectors);
      }
    }
  });
}

TEST(GemmCuda, VendorTakesEveryTypeThatItListsInEveryLayout) {
  if (test::kernel_mode() != KernelMode::gpu) GTEST_SKIP() << "the interpreter has no libraries";
  Variant<Problem> const& vendor = test::row(variants(), "vendor", device::Kind::cuda);
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  // The last is so deep for its size that libraries cut k.
  for (Case const& one : {Case{64, 96, 128},
                          {65, 63, 9, 0.5, -2},
                          {200, 136, 1000, -1, 1},
                          {3, 5, 0, 1, -2},
                          {32, 40, 16384, 0.5, 1}}) {
    for (Types const& types : vendor.types) {
      for (Layout const layout : kLayouts) {
        for (Shifts const& shifts : {Shifts{}, kUnaligned}) {
          expect_product(vendor, types, one, layout, device, stream, {}, shifts);
        }
      }
    }
  }
}

TEST_P(GemmCudaTest, RefusesTransposedOperandsAndOtherTypes) {
  if (variant().needs.layouts.contains(Layout::tn)) GTEST_SKIP() << "takes them";
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<double> const x{device, stream, 16};
    auto const view = [&](DataType type) { return device::MatrixView{x.data(), type, 4, 4, 4}; };
    device::MatrixView const good = view(type_of_row()), i8 = view(DataType::i8);

    EXPECT_FAILS(variant().launch({good, good, good, 1, 0, true, false}, stream),
                 "takes layout nn, not tn; take another variant");
    EXPECT_FAILS(variant().launch({good, good, good, 1, 0, false, true}, stream),
                 "takes layout nn, not nt");
    EXPECT_FAILS(variant().launch({i8, i8, i8}, stream), "has no type i8");
  });
}

TEST_P(GemmCudaTest, ReasonsKnowTheProductsThatFit) {
  bool const vectors = takes_vectors_only(variant());
  DataType const type = type_of_row();
  auto const takes = [&](std::int64_t n, std::int64_t k, bool transpose_a = false) {
    device::MatrixView const a{nullptr, type, 4, k, k};
    device::MatrixView const b{nullptr, type, k, n, n};
    device::MatrixView const c{nullptr, type, 4, n, n};
    return variant().unsupported_reason({a, b, c, 1, 0, transpose_a}).empty();
  };
  EXPECT_TRUE(takes(8, 4));
  EXPECT_EQ(takes(type == DataType::f64 ? 7 : 6, 4), !vectors);
  EXPECT_EQ(takes(8, 5), !vectors);
  EXPECT_EQ(takes(8, 4, true), variant().needs.layouts.contains(Layout::tn));
}

TEST_P(GemmCudaTest, RefusesWhatDoesNotFitVectors) {
  if (variant().needs.row_bytes == 1) GTEST_SKIP() << "has no such constraint";
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<float> const x{device, stream, 128};
    auto const view = [&](std::int64_t m, std::int64_t n, std::int64_t ld, std::int64_t offset) {
      return device::MatrixView{x.data() + offset, DataType::f32, m, n, ld};
    };
    auto const good = view(4, 4, 8, 0);
    auto const refused = [&](device::MatrixView const& a, device::MatrixView const& b,
                             device::MatrixView const& c, char const* text) {
      EXPECT_FAILS(variant().launch({a, b, c}, stream), text);
    };

    refused(view(4, 3, 8, 0), view(3, 4, 8, 0), good, "multiples of 4");
    refused(good, view(4, 3, 8, 0), view(4, 3, 8, 0), "multiples of 4");
    refused(view(4, 4, 7, 0), good, good, "multiples of 4");
    refused(good, view(4, 4, 7, 0), good, "multiples of 4");
    refused(good, good, view(4, 4, 7, 0), "multiples of 4");
    refused(view(4, 4, 8, 1), good, good, "aligned to 16 bytes; take another variant");
    refused(good, view(4, 4, 8, 2), good, "aligned to 16 bytes; take another variant");
    refused(good, good, view(4, 4, 8, 3), "aligned to 16 bytes; take another variant");
  });
}

INSTANTIATE_TEST_SUITE_P(Variants, GemmCudaTest, testing::ValuesIn(rows()), test::RowName{});

TEST(GemmCuda, DemonstrationsAreWrong) {
  constexpr std::int64_t kExtent = 8;
  int demonstrations = 0;
  for (Variant<Problem> const& variant : variants()) {
    if (variant.role != Role::demonstration) continue;
    ++demonstrations;
    // Others for each: a GPU's shared memory still has what the one before wrote there.
    std::vector<float> values(kExtent * kExtent);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(demonstrations) * (1 + 0.37F * static_cast<float>(i));
    }
    double expected = 0;  // the second element of the product of the matrix with itself
    for (std::size_t l = 0; l < kExtent; ++l) {
      expected += double{values[l]} * values[l * kExtent + 1];
    }
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      DeviceArray<float> const x{device, stream, values};
      DeviceArray<float> const y{device, stream, x.size()};
      auto const view = [&](float* data) {
        return device::MatrixView{data, DataType::f32, kExtent, kExtent, kExtent};
      };

      variant.launch({view(x.data()), view(x.data()), view(y.data())}, stream);

      double const got = y.download()[1];
      EXPECT_FALSE(std::abs(got - expected) <= 0.01 * expected) << variant.name;
      EXPECT_TRUE(y.intact());
    });
  }
  EXPECT_EQ(demonstrations, 2);
}

TEST(GemmCuda, RefusesMoreTilesOrSteps) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<float> const x{device, stream, 16};
    std::int64_t const huge = std::int64_t{1} << 31;
    auto const view = [&](std::int64_t m, std::int64_t n) {
      return device::MatrixView{x.data(), DataType::f32, m, n, n};
    };
    Variant<Problem> const& naive = test::row(variants(), "naive", device::Kind::cuda);

    EXPECT_FAILS(naive.launch({view(4, huge), view(huge, 4), view(4, 4)}, stream),
                 "takes a number of columns up to");
    EXPECT_FAILS(naive.launch({view(65536 * 32, 4), view(4, 4), view(65536 * 32, 4)}, stream),
                 "takes a number of rows up to");
  });
}

TEST(GemmCuda, SplitKRefusesTooLittleScratch) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<float> const x{device, stream, 16};
    device::MatrixView const view{x.data(), DataType::f32, 4, 4, 4};
    Problem problem{view, view, view};
    problem.scratch = x.data();
    problem.scratch_bytes = 15 * sizeof(float);

    EXPECT_FAILS(test::row(variants(), "split_k", device::Kind::cuda).launch(problem, stream),
                 "bytes of scratch memory");
  });
}

TEST(GemmCuda, SplitKSplitsWhereTilesAreFew) {
  device::Facts device;
  device.multiprocessors = 132;
  auto const scratch = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    Problem const problem{.a = {nullptr, DataType::f32, m, k, k},
                          .b = {nullptr, DataType::f32, k, n, n},
                          .c = {nullptr, DataType::f32, m, n, n}};
    return static_cast<std::int64_t>(
        test::row(variants(), "split_k", device::Kind::cuda).scratch_bytes(problem, device));
  };
  auto const slices = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return (scratch(m, n, k) / 4 - kScratchCounters) / (m * n);
  };
  EXPECT_EQ(slices(128, 128, 4096), 32);
  EXPECT_EQ(slices(128, 128, 1 << 20), 64);
  EXPECT_EQ(slices(4096, 4096, 4096), 1);
  EXPECT_EQ(slices(128, 128, 64), 1);
  EXPECT_EQ(scratch(0, 0, 0), 4 * kScratchCounters);
  EXPECT_EQ(scratch(256, 128, 4096), 4 * (kScratchCounters + 32 * 256 * 128));
}

}  // namespace
}  // namespace quadrille::kernels::gemm
