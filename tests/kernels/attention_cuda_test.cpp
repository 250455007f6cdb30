// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_data.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

namespace quadrille::kernels::attention {
namespace {

using core::DataType;

class AttentionCudaTest : public testing::TestWithParam<std::tuple<std::string_view, DataType>> {
 protected:
  void expect_all(std::vector<Shape> const& shapes, double scores, Offsets const& offsets = {}) {
    auto const [name, type] = GetParam();
    Variant<Problem> const& variant = test::row(variants(), name, device::Kind::cuda);
    int taken = 0;
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      for (Shape const& shape : shapes) {
        decltype(&expect_right<float>) const expect =
            type == DataType::f32    ? expect_right<float>
            : type == DataType::f16  ? expect_right<core::f16>
            : type == DataType::e4m3 ? expect_right<core::e4m3>
                                     : expect_right<core::bf16>;
        if (expect(device, stream, variant, shape, {.scores = scores}, offsets)) ++taken;
      }
    });
    if (taken == 0 && offsets.are_none()) GTEST_SKIP() << "takes none of these shapes";
  }
};

/// Types differ in conversions alone.
TEST_P(AttentionCudaTest, EqualsSums) {
  bool const is_first = std::get<1>(GetParam()) == DataType::f16;
  expect_all(is_first ? kShapes : std::vector{kShapes[0], kShapes[4]}, 1);
}

TEST_P(AttentionCudaTest, TakesScoresWhoseExponentialsOverflow) { expect_all({kShapes[4]}, 100); }

TEST_P(AttentionCudaTest, TakesEqualScores) { expect_all({kShapes[0]}, 0); }

TEST_P(AttentionCudaTest, OperandsLieAnywhereOrAreRefused) {
  for (Offsets const& offsets : kOffsets) expect_all({kShapes[0]}, 1, offsets);
}

INSTANTIATE_TEST_SUITE_P(Variants, AttentionCudaTest,
                         testing::ValuesIn(test::names_with_types_of(variants(),
                                                                     test::is_cuda_row)),
                         test::RowName{});

/// More tiles of queries than blocks, each with several tiles of keys: a block goes on in the middle of
/// its ring. The cache has room for some of the heads' keys, at a head size of 64 for two of three.
TEST(AttentionCuda, BlocksTakeSeveralTilesOfQueries) {
  Variant<Problem> const& variant = test::row(variants(), "flash_wgmma", device::Kind::cuda);
  std::int64_t const heads = test::kernel_mode() == test::KernelMode::gpu ? 150 : 3;
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (std::int64_t const head_size : {64, 128}) {
      Shape const shape{.heads = heads,
                        .kv_heads = heads,
                        .queries = 200,
                        .keys = 370,
                        .head_size = head_size,
                        .mask = kCausal};
      expect_right<core::f16>(device, stream, variant, shape);
    }
  });
}

/// Groups of heads, rows that see no key, tiles that are not full, in both types.
TEST(AttentionCuda, TakesAHeadSizeOf256) {
  Variant<Problem> const& variant = test::row(variants(), "flash_wgmma", device::Kind::cuda);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    expect_right<core::f16>(
        device, stream, variant,
        {.heads = 2, .kv_heads = 1, .queries = 130, .keys = 170, .head_size = 256});
    expect_right<core::bf16>(device, stream, variant,
                             {.queries = 90, .keys = 85, .head_size = 256, .mask = kCausal});
  });
  EXPECT_EQ(test::row(variants(), "flash_v2", device::Kind::cuda)
                .unsupported_reason(unallocated({.head_size = 256}, DataType::f16)),
            "takes head sizes 64 and 128, this is 256");
}

/// Heads in groups, tiles that are not full, several tiles of keys, rows that see no key, scores whose
/// exponentials overflow, many tiles of queries.
TEST(AttentionCuda, TakesE4m3) {
  Variant<Problem> const& variant = test::row(variants(), "flash_wgmma", device::Kind::cuda);
  std::int64_t const heads = test::kernel_mode() == test::KernelMode::gpu ? 150 : 3;
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    auto const expect = [&](Shape const& shape, Sizes const& sizes = {}) {
      EXPECT_TRUE(expect_right<core::e4m3>(device, stream, variant, shape, sizes));
    };
    expect({.batch = 2, .heads = 2, .kv_heads = 1, .queries = 130, .keys = 176, .head_size = 128});
    expect({.queries = 90, .keys = 80, .head_size = 128, .mask = kCausal});
    expect({.queries = 40, .keys = 272, .head_size = 128}, {.scores = 100});
    expect({.queries = 5, .keys = 0, .head_size = 128});
    // So many that what the tensor cores cut off is more than the rounding of weights, were it all in one sum.
    expect({.queries = 8, .keys = 8192, .head_size = 128}, {.of_values = core::DataKind::positive});
    expect({.heads = heads,
            .kv_heads = heads,
            .queries = 200,
            .keys = 368,
            .head_size = 128,
            .mask = kCausal});
  });
  EXPECT_EQ(variant.unsupported_reason(unallocated({.keys = 24, .head_size = 128}, DataType::e4m3)),
            "takes e4m3 of head size 128, with a multiple of 16 keys");
}

TEST(AttentionCuda, RefusesWhatVariantsDoNotTake) {
  auto const reason = [](std::string_view name, Problem const& problem) {
    return test::row(variants(), name, device::Kind::cuda).unsupported_reason(problem);
  };
  Shape const many_heads{.batch = 1 << 10, .heads = 64};
  Shape const many_keys{.keys = 1 << 24};
  Shape const many_queries{.queries = 1 << 20};

  EXPECT_NE(reason("flash_v1", unallocated(many_heads, DataType::f32)).find("65535 heads"),
            std::string::npos);
  EXPECT_NE(reason("flash_v2", unallocated(many_keys, DataType::f16)).find("keys of a head"),
            std::string::npos);
  EXPECT_NE(reason("naive", unallocated(many_queries, DataType::f32)).find("1048560 queries"),
            std::string::npos);
  for (std::string_view const name : {"flash_v2", "flash_wgmma", "vendor"}) {
    for (device::MatrixView Problem::*const operand :
         {&Problem::q, &Problem::k, &Problem::v, &Problem::o}) {
      Problem odd = unallocated({}, DataType::f16);
      (odd.*operand).data = reinterpret_cast<void*>(std::uintptr_t{8});
      EXPECT_NE(reason(name, odd).find("aligned to 16 bytes"), std::string::npos) << name;
    }
  }
  EXPECT_NE(reason("flash_v2", unallocated({}, DataType::f32)).find("no type f32"),
            std::string::npos);
}

}  // namespace
}  // namespace quadrille::kernels::attention
