// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/transpose_blocks_data.hpp"
#include "kernels/transpose_data.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"
#include "transpose/transpose_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace quadrille::kernels::transpose {
namespace {

using core::DataType;
using test::DeviceArray;

/// The shapes that a variant does not refuse, here those of kShapes.
bool takes(Variant<Problem> const& variant, DataType type, Shape shape, Layout layout) {
  auto const size = static_cast<std::int64_t>(core::size_of(type));
  bool const aligned = layout.in_offset % 16 == 0 && layout.out_offset % 16 == 0 &&
                       (shape.n + layout.in_pad) * size % 16 == 0 &&
                       (shape.m + layout.out_pad) * size % 16 == 0;
  if (variant.name == "register_4x4") return aligned && shape.m % 4 == 0 && shape.n % 4 == 0;
  if (variant.name == "bulk_tensor") return aligned && shape.m * size % 16 == 0;
  if (variant.name == "register_strip") {
    std::int64_t const thin = std::min(shape.m, shape.n) * size;
    return aligned && thin % 16 == 0 && thin <= 128;
  }
  if (variant.needs.ld_bytes == 16) return aligned;
  if (variant.name == "in_place") return shape.m == shape.n && layout.in_pad == layout.out_pad;
  return true;
}

/// Around tiles of 32, 64 and 128, patches of 2 to 16, thin ones either way.
std::vector<Shape> const kShapes{
    {0, 0},   {0, 7},    {7, 0},    {1, 1},     {2, 2},     {31, 33},  {33, 31},   {32, 32},
    {64, 64}, {65, 63},  {63, 129}, {128, 192}, {130, 70},  {192, 80}, {132, 260}, {97, 97},
    {1, 300}, {513, 1},  {3, 1027}, {4, 1100},  {1100, 4},  {900, 7},  {16, 400},  {400, 16},
    {20, 30}, {129, 31}, {200, 33}, {144, 144}, {160, 160}, {12, 20},  {17, 34},
};

class TransposeCudaTest : public testing::TestWithParam<std::tuple<std::string_view, DataType>> {
 protected:
  Variant<Problem> const& variant() const {
    return test::row(variants(), std::get<0>(GetParam()), device::Kind::cuda);
  }
  DataType type() const { return std::get<1>(GetParam()); }
  void expect_all(std::vector<Shape> const& shapes, Layout layout) {
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      for (Shape const& shape : shapes) {
        if (takes(variant(), type(), shape, layout)) {
          expect_exact(device, stream, variant(), type(), shape, layout);
        }
      }
    });
  }
  std::int64_t size() const { return static_cast<std::int64_t>(core::size_of(type())); }
};

TEST_P(TransposeCudaTest, ReasonsKnowTheShapesThatFit) {
  for (Shape const& shape : kShapes) {
    Problem const problem{{nullptr, type(), shape.m, shape.n, shape.n},
                          {nullptr, type(), shape.n, shape.m, shape.m}};
    EXPECT_EQ(variant().unsupported_reason(problem).empty(), takes(variant(), type(), shape, {}))
        << shape.m << " x " << shape.n;
  }
}

TEST_P(TransposeCudaTest, MovesEveryElementAndNoOther) { expect_all(kShapes, {}); }

TEST_P(TransposeCudaTest, RowsMayBePadded) {
  std::int64_t const vector = 16 / size();
  std::vector<Shape> const shapes{{64, 64}, {96, 48}, {144, 144}, {16, 272}, {272, 16}, {4, 544}};

  expect_all(shapes, {.in_pad = vector, .out_pad = 2 * vector});
  expect_all(shapes, {.in_pad = vector, .out_pad = vector});
  expect_all(shapes, {.in_pad = 3, .out_pad = 0});
  expect_all(shapes, {.in_pad = 0, .out_pad = 5});
}

TEST_P(TransposeCudaTest, MatricesMayBeginAnywhere) {
  std::vector<Shape> const shapes{{65, 63}, {128, 64}, {97, 97}, {4, 300}, {300, 4}};

  expect_all(shapes, {.in_offset = size(), .out_offset = 3 * size()});
  expect_all(shapes, {.in_offset = 0, .out_offset = size()});
  expect_all(shapes, {.in_offset = size(), .out_offset = 0});
}

TEST_P(TransposeCudaTest, RowsMayEndInsideOfAPiece) {
  // Aligned rows of a few elements more than whole pieces.
  std::int64_t const vector = 16 / size();
  for (Shape const shape : {Shape{65, 66}, Shape{130, 131}, Shape{67, 129}, Shape{80, 131}}) {
    expect_all({shape},
               {.in_pad = vector - shape.n % vector, .out_pad = vector - shape.m % vector});
  }
}

TEST_P(TransposeCudaTest, RowsMayBeFarApart) {
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  core::visit_type(type(), [&](auto zero) {
    using T = decltype(zero);
    using Far = test::FarMatrix<T>;
    if (!Far::fits(device, variant().in_place ? 1 : 2)) GTEST_SKIP() << "too little memory";
    constexpr std::int64_t kSide = Far::kRows;
    Bytes const bytes = random_bytes(kSide * kSide * sizeof(T));
    std::vector<T> values(kSide * kSide), want(kSide * kSide);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    for (std::size_t e = 0; e < want.size(); ++e) {
      want[e] = values[e % kSide * kSide + e / kSide];
    }
    device::MatrixView const any{nullptr, type(), kSide, kSide, kSide};
    if (std::string const reason = variant().unsupported_reason({any, any}); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    Far const in{device, stream, kSide, values};
    std::optional<Far> out;
    if (!variant().in_place) out.emplace(device, stream, kSide, std::vector<T>(values.size()));
    Far const& result = out ? *out : in;

    variant().launch({in.view(type()), result.view(type())}, stream);

    std::vector<T> const got = result.download();
    EXPECT_EQ(std::memcmp(got.data(), want.data(), bytes.size()), 0);
  });
}

// More tiles than the rings of all resident blocks hold, so that every stage is filled three times.
TEST(TransposeCuda, BulkTensorTurnsItsRing) {
  bool const gpu = test::kernel_mode() == test::KernelMode::gpu;
  Variant<Problem> const& variant = test::row(variants(), "bulk_tensor", device::Kind::cuda);
  struct Case {
    DataType type;
    Shape shape;  // in the interpreter: seven tiles for each of 8, 16, 36 and 16 blocks
  };
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (Case one : {Case{DataType::f64, {240, 896}}, Case{DataType::f32, {448, 1000}},
                     Case{DataType::bf16, {1000, 1024}}, Case{DataType::i8, {880, 2040}}}) {
      if (gpu) one.shape = {8 * one.shape.m, 8 * one.shape.n};
      expect_exact(device, stream, variant, one.type, one.shape,
                   {.in_pad = 16 - one.shape.n % 16, .out_pad = 16});
    }
  });
}

// Strips of every width, the last one short and ending inside of a piece.
TEST(TransposeCuda, RegisterStripsMeet) {
  Variant<Problem> const& variant = test::row(variants(), "register_strip", device::Kind::cuda);
  for (DataType const type : {DataType::f64, DataType::f32, DataType::bf16, DataType::i8}) {
    std::int64_t const vector = 16 / static_cast<std::int64_t>(core::size_of(type));
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      for (std::int64_t const pieces : {1, 2, 3, 8}) {
        std::int64_t const thin = pieces * vector;
        std::int64_t const longer = 1024 / pieces * vector + 8 * vector + 1;
        std::int64_t const pad = vector - 1;
        expect_exact(device, stream, variant, type, {longer, thin}, {.out_pad = pad});
        expect_exact(device, stream, variant, type, {thin, longer}, {.in_pad = pad});
      }
    });
  }
}

// More than one band, the last one lower, and more columns than rows of tiles.
TEST(TransposeCuda, BandsAndDiagonalsReachEveryTile) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (Variant<Problem> const& variant : variants()) {
      bool const has_order = variant.where == Where::cuda && variant.needs.ld_bytes == 16;
      if (!has_order || !takes(variant, DataType::f64, {650, 130}, {})) continue;
      expect_exact(device, stream, variant, DataType::f64, {650, 130}, {});
      expect_exact(device, stream, variant, DataType::f64, {130, 650}, {});
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Variants, TransposeCudaTest,
                         testing::ValuesIn(rows_and_sizes(test::is_cuda_row)), test::RowName{});

TEST(TransposeCuda, RefusesWhatATechniqueCannotDo) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    DeviceArray<float> x{device, stream, 4096};
    DeviceArray<float> y{device, stream, 4096};
    auto const view = [](float* data, std::int64_t m, std::int64_t n, std::int64_t ld) {
      return device::MatrixView{data, DataType::f32, m, n, ld};
    };
    auto const fails = [&](std::string_view name, Problem const& problem, char const* text) {
      EXPECT_FAILS(test::launch(variants(), name, problem, stream), text);
    };
    Problem const odd_ld{view(x.data(), 8, 8, 9), view(y.data(), 8, 8, 8)};
    Problem const odd_begin{view(x.data() + 1, 8, 8, 8), view(y.data(), 8, 8, 8)};
    Problem const odd_out{view(x.data(), 8, 8, 8), view(y.data() + 2, 8, 8, 8)};
    Problem const half{{x.data(), DataType::f16, 8, 8, 8}, {y.data(), DataType::f16, 8, 8, 8}};
    std::int64_t const long_extent = std::int64_t{1} << 31;

    for (std::string_view const name :
         {"register_4x4", "register_strip", "wide_tile_diagonal", "bulk_tensor"}) {
      fails(name, odd_ld, "leading dimension");
      for (Problem const& problem : {odd_begin, odd_out}) {
        fails(name, problem, "aligned to 16 bytes");
      }
    }
    fails("register_4x4", half, "has no type f16");
    fails("wide_tile_diagonal", half, "has no type f16");
    fails("register_strip", {view(x.data(), 36, 36, 36), view(y.data(), 36, 36, 36)},
          "needs an extent of 16, 32 ... 128 bytes, the smaller one has 144");
    fails("register_4x4", {view(x.data(), 6, 8, 8), view(y.data(), 8, 6, 8)}, "multiples of 4");
    fails("bulk_tensor",
          {view(x.data(), 4, long_extent, long_extent), view(y.data(), long_extent, 4, 4)},
          "takes a number of columns up to");
    fails("bulk_tensor", {view(x.data(), 6, 8, 8), view(y.data(), 8, 6, 8)},
          "rows of out of whole 16 bytes");
    fails("in_place", {view(x.data(), 4, 8, 8), view(x.data(), 8, 4, 8)}, "square");
    fails("in_place", {view(x.data(), 8, 8, 8), view(y.data(), 8, 8, 8)}, "same matrix");
    fails("in_place", {view(x.data(), 8, 8, 8), view(x.data(), 8, 8, 9)}, "same matrix");
    fails("naive_8x32",
          {view(x.data(), 32 * long_extent, 1, 1),
           view(y.data(), 1, 32 * long_extent, 32 * long_extent)},
          "takes at most 2147483646 tiles of 8 x 32");
  });
}

/// Sectors per request.
struct Sectors {
  double read = 0;
  double written = 0;
  bool operator==(Sectors const&) const = default;
};

std::optional<Sectors> sectors_per_request(std::string_view name, core::DataType type,
                                           std::int64_t rows = 1024, std::int64_t cols = 1024) {
  auto const counted =
      accesses_of(test::row(variants(), name, device::Kind::cuda),
                  {{nullptr, type, rows, cols, cols}, {nullptr, type, cols, rows, rows}});
  if (!counted) return {};
  auto const of_request = [](Requests const& all) {
    return static_cast<double>(all.parts) / static_cast<double>(all.requests);
  };
  Accesses const& accesses = counted->part->block;
  return Sectors{of_request(accesses.global_loads), of_request(accesses.global_stores)};
}

TEST(TransposeAccess, IsWhatTheProfilerOfTheSourceCounted) {
  auto const f32 = [](std::string_view variant) {
    return sectors_per_request(variant, core::DataType::f32);
  };

  EXPECT_EQ(f32("naive_32x8"), (Sectors{4, 32}));
  EXPECT_EQ(f32("naive_16x16"), (Sectors{4, 16}));
  EXPECT_EQ(f32("naive_8x32"), (Sectors{4, 8}));
  EXPECT_EQ(f32("naive_4x64"), (Sectors{8, 4}));
  EXPECT_EQ(f32("register_4x4"), (Sectors{16, 16}));
  EXPECT_EQ(f32("shared_tile"), (Sectors{4, 4}));
  EXPECT_EQ(f32("shared_swizzled"), (Sectors{16, 16}));
  EXPECT_EQ(f32("wide_tile_diagonal"), (Sectors{16, 16}));
  EXPECT_EQ(sectors_per_request("naive_32x8", core::DataType::f64), (Sectors{8, 32}));
  EXPECT_EQ(sectors_per_request("shared_swizzled", core::DataType::i64), (Sectors{16, 16}));
  EXPECT_EQ(sectors_per_request("shared_swizzled", core::DataType::i8), (Sectors{16, 16}));
  EXPECT_FALSE(sectors_per_request("register_4x4", core::DataType::f64));
  EXPECT_FALSE(f32("bulk_tensor"));
}

TEST(TransposeAccess, OfRowsBetweenSectorsAndOfThinMatricesIsNotCounted) {
  constexpr core::DataType kType = core::DataType::f32;
  EXPECT_TRUE(sectors_per_request("naive_32x8", kType, 1000, 2000));
  EXPECT_FALSE(sectors_per_request("naive_32x8", kType, 1025, 1024));
  EXPECT_FALSE(sectors_per_request("naive_32x8", kType, 1024, 1025));
  EXPECT_FALSE(sectors_per_request("shared_swizzled", kType, 1024, 8));
}

TEST(TransposeAccess, TheTableShowsTheCounts) {
  int counted = 0;
  for (Variant<Problem> const& variant : variants()) {
    if (!variant.runs_on(device::Kind::cuda)) continue;
    auto const sectors = sectors_per_request(variant.name, core::DataType::f32);
    if (!sectors) continue;
    ++counted;
    std::string const text = "f32 sectors per request " +
                             std::to_string(static_cast<int>(sectors->read)) + " and " +
                             std::to_string(static_cast<int>(sectors->written));

    EXPECT_NE(variant.summary.find(text), std::string_view::npos) << variant.summary;
  }
  EXPECT_EQ(counted, 10);
}

TEST(TransposeAccess, SwizzledSlotsAreAPermutationWithoutConflicts) {
  auto const check = []<class S>(S) {
    std::vector<int> used(S::kSide * S::kPieces);
    for (int row = 0; row < S::kSide; ++row) {
      for (int piece = 0; piece < S::kPieces; ++piece) {
        ++used[static_cast<std::size_t>(S::slot(row, piece))];
      }
    }
    EXPECT_EQ(std::count(used.begin(), used.end(), 1), S::kSide * S::kPieces);
    // Eight lanes store 16 bytes at a time: each to its own eighth of the 128 bytes of all banks.
    for (int first = 0; first < S::kThreadTiles; first += 8) {
      for (int c = 0; c < S::kVector; ++c) {
        unsigned banks = 0;
        for (int lane = 0; lane < 8; ++lane) {
          Position const corner = S::read(first + lane, 0);
          banks |= 1U << (S::slot(corner.col + c, corner.row / S::kVector) % 8);
        }
        EXPECT_EQ(banks, 0xFFU) << S::kVector << " a piece, thread tile " << first;
      }
    }
    for (int first = 0; first < S::kSide * S::kPieces; first += 8) {
      unsigned banks = 0;
      for (int lane = 0; lane < 8; ++lane) {
        Position const at = S::written(first + lane);
        banks |= 1U << (S::slot(at.row, at.col / S::kVector) % 8);
      }
      EXPECT_EQ(banks, 0xFFU) << S::kVector << " a piece, piece " << first;
    }
  };
  check(Swizzled<8>{});
  check(Swizzled<4>{});
  check(Swizzled<2>{});
  check(Swizzled<1>{});
  check(WideTile<8>{});
  check(WideTile<4>{});
}

void expect_blocks(DataType type, CommonIndices const& rows, CommonIndices const& cols, Path path) {
  test::on_every_schedule([=](device::Device& device, device::StreamView stream) {
    test::expect_blocks(device, stream, type, rows, cols, path);
  });
}

TEST(TransposeBlocksCudaTest, MovesAllBlocksInOneLaunch) {
  for (auto const& [rows, cols] : test::blocks_cases()) {
    for (DataType const type : {DataType::f64, DataType::f32, DataType::f16, DataType::i8}) {
      expect_blocks(type, rows, cols, Path::memory);
    }
    expect_blocks(DataType::f32, rows, cols, Path::link);
  }
}

// More tiles than blocks of threads, which take turns.
TEST(TransposeBlocksCudaTest, BlocksOfThreadsTakeTurns) {
  std::int64_t const many = 32 * 2 * test::kernel_device().facts().multiprocessors + 1;
  expect_blocks(DataType::f64, test::common_of(many, 48, 2), test::common_of(40, 40, 2),
                Path::link);
  expect_blocks(DataType::f64, test::common_of(40, 40, 2), test::common_of(many, 48, 2),
                Path::link);
}

TEST(TransposeBlocksCudaTest, RefusesBlocksWithoutExtent) {
  device::StreamView const none;
  CommonIndices const good = test::common_of(4, 2, 2), bad{4, 0, {}, {}};
  device::MatrixView const f32{nullptr, DataType::f32, 9, 9, 9},
      f64{nullptr, DataType::f64, 9, 9, 9};
  EXPECT_FAILS(transpose_blocks({f32, f32, good, bad}, none), "must have an extent");
  EXPECT_FAILS(transpose_blocks({f32, f64, good, good}, none), "differ in type");
}

}  // namespace
}  // namespace quadrille::kernels::transpose
