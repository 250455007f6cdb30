// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "gemm/gemm.hpp"
#include "kernels/gemm_data.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

/// The products that take thin shapes alone.
namespace quadrille::kernels::gemm {
namespace {

using core::Compute;
using core::DataType;
using test::DeviceArray;
using test::FarMatrix;
using test::KernelMode;

constexpr std::string_view kInner = "thin_k";
constexpr std::string_view kTall = "tall";

class GemmThinCudaTest : public testing::TestWithParam<std::string_view> {
 protected:
  Variant<Problem> const& variant() const {
    return test::row(variants(), GetParam(), device::Kind::cuda);
  }
  bool is_tall() const { return GetParam() == kTall; }

  /// In every type and layout; in the interpreter, each case in every type and in layouts in turn.
  void expect(std::vector<Case> const& cases) {
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      std::size_t turn = 0;
      for (Case const& spec : cases) {
        ++turn;
        for (Types const& types : variant().types) {
          for (Layout const layout : kLayouts) {
            bool const is_its_turn = layout == kLayouts[turn % std::size(kLayouts)];
            if (test::kernel_mode() == KernelMode::gpu || is_its_turn) {
              expect_product(variant(), types, spec, layout, device, stream);
            }
          }
          ++turn;
        }
      }
    });
  }
};

/// Around pieces, instructions and chunks of every type, in all extents.
TEST_P(GemmThinCudaTest, EqualsReferenceAtEveryEdge) {
  std::vector<Case> cases{
      {1, 1, 1},        {2, 3, 5, -1, 0.5}, {32, 32, 32, 1, 1}, {31, 29, 30, -0.75, 0},
      {7, 8, 9, 2, -1}, {17, 15, 16},       {16, 16, 17, 1, -2}};
  if (is_tall()) {
    cases.insert(cases.end(), {{40, 13, 3}, {63, 24, 20, 0.5, 2}, {65, 9, 32}});
  } else {
    cases.insert(cases.end(), {{13, 27, 40}, {24, 6, 63, 0.5, 2}, {9, 32, 129}});
  }
  if (test::kernel_mode() == KernelMode::gpu) {
    cases.push_back(is_tall() ? Case{10003, 32, 32, -1, 0.5} : Case{32, 32, 10003, -1, 0.5});
  }
  expect(cases);
}

TEST_P(GemmThinCudaTest, EqualsReferenceForAllSmallExtents) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    auto types = variant().types.begin();
    std::size_t turn = 0;
    // A step that has no factor in common with extents, types or layouts.
    std::int64_t const step = test::kernel_mode() == KernelMode::gpu ? 53 : 211;
    constexpr std::int64_t kMax = 40;
    for (std::int64_t one = 0; one < kMax * kMax * kMax; one += step) {
      Case const spec{1 + one % kMax, 1 + one / kMax % kMax, 1 + one / kMax / kMax, 1,
                      static_cast<double>(one % 3 - 1)};
      bool const fits = spec.n <= 32 && (is_tall() ? spec.k <= 32 : spec.m <= 32);
      if (!fits) continue;
      expect_product(variant(), *types, spec, kLayouts[turn++ / 6 % 4], device, stream);
      if (++types == variant().types.end()) types = variant().types.begin();
    }
  });
}

TEST_P(GemmThinCudaTest, TakesEmptyExtents) {
  expect({{0, 5, 3}, {5, 0, 3}, {3, 5, 0}, {3, 5, 0, 1, -2}});
}

TEST_P(GemmThinCudaTest, OperandsLieAnywhereOrAreRefused) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (Types const& types : variant().types) {
      for (Shifts const& shifts : one_at_a_time()) {
        expect_product(variant(), types, {9, 16, 32}, Layout::nt, device, stream, {}, shifts);
      }
    }
  });
}

/// Every ring turns in every block, and ends somewhere. Few rows or columns otherwise: what is tested
/// is which chunk comes when.
TEST_P(GemmThinCudaTest, RingsTurn) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    // At least, of warps; times chunks of 128 bytes, or 32 rows.
    std::int64_t const warps = std::int64_t{16} * device.facts().multiprocessors;
    int turn = 0;
    for (Types const& types : variant().types) {
      auto const size = static_cast<std::int64_t>(core::size_of(types.in));
      Case const spec = is_tall() ? Case{warps * 32 * 7 + 5, 3, size == 8 ? 18 : 3, -1, 0.5}
                                  : Case{3, 5, warps * 5 * (128 / size) + 5, -1, 0.5};
      expect_product(variant(), types, spec, kLayouts[turn++ % 4], device, stream);
    }
  });
}

/// Two runs in other orders of blocks and warps.
TEST_P(GemmThinCudaTest, HasTheSameBitsInEverySchedule) {
  EXPECT_FALSE(variant().any_order);
  std::vector<float> first;
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    Case const spec = is_tall() ? Case{700, 9, 30} : Case{9, 7, 4003};
    for (int run = 0; run < 2; ++run) {
      std::vector<float> c = expect_elements<float, float>(variant(), {DataType::f32}, spec,
                                                           Layout::nn, device, stream);
      std::erase_if(c, [](float x) { return std::isnan(x); });  // what lies behind rows
      if (first.empty()) first = c;
      EXPECT_TRUE(c == first);
    }
  });
}

TEST_P(GemmThinCudaTest, RowsMayBeFarApart) {
  constexpr std::int64_t kRows = FarMatrix<float>::kRows;
  for (Layout const layout : kLayouts) {
    expect_far_product<float>(variant(), DataType::f32, is_tall() ? kRows : 20, 10,
                              is_tall() ? 30 : kRows, layout);
  }
}

TEST_P(GemmThinCudaTest, RefusesOtherShapesTypesAndRows) {
  auto const reason = [&](DataType type, std::int64_t m, std::int64_t n, std::int64_t k,
                          std::int64_t ld = 64, Compute compute = Compute::automatic) {
    device::MatrixView const a{nullptr, type, m, k, std::max(ld, k)},
        b{nullptr, type, k, n, std::max(ld, n)}, c{nullptr, type, m, n, std::max(ld, n)};
    return variant().unsupported_reason({.a = a, .b = b, .c = c, .compute = compute});
  };
  for (DataType const type : {DataType::f64, DataType::f32, DataType::f16, DataType::bf16}) {
    EXPECT_EQ(reason(type, 32, 32, 32), "");
    EXPECT_EQ(reason(type, 31, 29, 7), "");
    EXPECT_EQ(reason(type, 1 << 20, 32, 32).empty(), is_tall());
    EXPECT_EQ(reason(type, 32, 32, 1 << 20).empty(), !is_tall());
    EXPECT_NE(reason(type, 8, 33, 8).find("up to 32"), std::string::npos);
    EXPECT_NE(reason(type, 33, 8, 33).find("up to 32"), std::string::npos);
    EXPECT_NE(reason(type, 8, 8, 8, 65).find("leading dimensions in multiples of"),
              std::string::npos);
  }
  EXPECT_EQ(reason(DataType::i32, 8, 8, 8), "has no type i32");
  EXPECT_EQ(reason(DataType::f32, 8, 8, 8, 64, Compute::tf32), "has no type f32:tf32");
  EXPECT_EQ(reason(DataType::f16, 8, 8, 8, 64, Compute::f16), "has no type f16:f16");
}

INSTANTIATE_TEST_SUITE_P(Variants, GemmThinCudaTest, testing::Values(kInner, kTall),
                         test::RowName{});

/// Rows of A around the columns of an instruction, tiles that are not full, rings that turn, clusters of all
/// sizes that share a long k.
TEST(GemmThinCuda, FewRowsMeetAllColumns) {
  Variant<Problem> const& variant = test::row(variants(), "wgmma_thin", device::Kind::cuda);
  std::vector<Case> cases{{1, 130, 72},
                          {8, 256, 40, -0.75, 0.5},
                          {9, 24, 512, 2, 1},
                          {16, 120, 1100},
                          {33, 8, 64, 1, -1},
                          {64, 136, 200},
                          {65, 128, 96, 2},
                          {128, 136, 264, 1, 1},
                          {3, 16, 0, 1, -2},
                          {0, 16, 8},
                          {5, 0, 8},
                          // More tiles than the interpreter has multiprocessors.
                          {20, 776, 136, 1, 0.5},
                          {100, 521, 72},
                          {8, 1024, 40, 2}};
  if (test::kernel_mode() == KernelMode::gpu) {
    cases.insert(
        cases.end(),
        {{17, 4096, 4104}, {100, 14336, 1032}, {7, 520, 20000, 1, 0.5}, {64, 28677, 264, 1, 1}});
  }
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    auto types = variant.types.begin();
    for (Case const& spec : cases) {
      for (Layout const layout : {Layout::nn, Layout::nt}) {
        expect_product(variant, *types, spec, layout, device, stream);
        if (++types == variant.types.end()) types = variant.types.begin();
      }
    }
    for (Shifts const& shifts : one_at_a_time()) {
      expect_product(variant, *types, {9, 16, 32}, Layout::nt, device, stream, {}, shifts);
    }
  });
  Problem const tall{.a = {nullptr, DataType::f16, 129, 64, 64},
                     .b = {nullptr, DataType::f16, 64, 64, 64},
                     .c = {nullptr, DataType::f16, 129, 64, 64}};
  EXPECT_EQ(variant.unsupported_reason(tall), "takes up to 128 rows of C, which has 129");
}

TEST(GemmThinCuda, InnerProductsRefuseTooLittleScratch) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<float> const x{device, stream, 16};
    device::MatrixView const view{x.data(), DataType::f32, 4, 4, 4};
    Problem problem{view, view, view};
    Variant<Problem> const& variant = test::row(variants(), kInner, device::Kind::cuda);

    EXPECT_FAILS(variant.launch(problem, stream), "bytes of scratch memory");
    problem.scratch = x.data();
    problem.scratch_bytes = 16 * sizeof(float);
    EXPECT_FAILS(variant.launch(problem, stream), "bytes of scratch memory");
  });
}

/// What "best" takes, in each type that these products take.
TEST(GemmThinCuda, ThinShapesAreTakenBeforeAllOthers) {
  auto const best = [](Types const& types, std::int64_t m, std::int64_t n, std::int64_t k) {
    Problem const problem{.a = {nullptr, types.in, m, k, k},
                          .b = {nullptr, types.in, k, n, n},
                          .c = {nullptr, types.out, m, n, n},
                          .compute = types.compute};
    Variant<Problem> const* chosen = nullptr;
    for (Variant<Problem> const& row : variants()) {
      bool const takes = row.role == Role::own && row.where == Where::cuda &&
                         row.unsupported_reason(problem).empty();
      if (takes && (chosen == nullptr || row.preference > chosen->preference)) chosen = &row;
    }
    return chosen->name;
  };
  for (Types const& types : test::row(variants(), kInner, device::Kind::cuda).types) {
    SCOPED_TRACE(to_text(types));
    EXPECT_EQ(best(types, 32, 32, 1 << 20), kInner);
    EXPECT_EQ(best(types, 8, 32, 4096), kInner);
    EXPECT_EQ(best(types, 1 << 20, 16, 16), kTall);
    EXPECT_EQ(best(types, 4096, 32, 32), kTall);
    for (std::int64_t const n : {64, 1024}) {
      EXPECT_NE(best(types, 1024, n, 1024), kInner);
      EXPECT_NE(best(types, 1024, n, 1024), kTall);
      EXPECT_NE(best(types, 32, n, 4096), kInner);
      EXPECT_NE(best(types, 4096, n, 32), kTall);
    }
  }
}

}  // namespace
}  // namespace quadrille::kernels::gemm
