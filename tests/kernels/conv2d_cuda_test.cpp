// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv2d_data.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

namespace quadrille::kernels::conv2d {
namespace {

using core::DataType;

using Row = std::tuple<std::string_view, Types>;

/// Every variant with all types that it takes.
std::vector<Row> rows() {
  std::vector<Row> all;
  for (Variant<Problem> const& row : test::rows_of(variants(), test::is_cuda_row)) {
    for (Types const& types : row.types) all.emplace_back(row.name, types);
  }
  return all;
}

class Conv2dCudaTest : public testing::TestWithParam<Row> {
 protected:
  Variant<Problem> const& variant() const {
    return test::row(variants(), std::get<0>(GetParam()), device::Kind::cuda);
  }
  void expect_all(std::vector<Shape> const& shapes, Offsets const& offsets = {}) {
    Types const types = std::get<1>(GetParam());
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      for (Shape const& shape : shapes) {
        for (DataLayout const layout : kLayouts) {
          auto const check = [&](auto zero) {
            expect_right<decltype(zero)>(device, stream, variant(), shape, layout, types.compute,
                                         offsets);
          };
          switch (types.in) {
            case DataType::f32: check(float{}); break;
            case DataType::f16: check(core::f16{}); break;
            default: check(core::bf16{}); break;
          }
        }
      }
    });
  }
};

TEST_P(Conv2dCudaTest, EqualsSums) { expect_all(kShapes); }

/// Few channels, whole vectors of them, and windows of 3 x 3 with a stride of 1.
TEST_P(Conv2dCudaTest, TensorsMayBeginAnywhere) {
  for (Offsets const& offsets : {Offsets{.x = 1}, {.w = 1}, {.y = 1}}) {
    expect_all({kShapes[2], kShapes[14], kShapes[16]}, offsets);
  }
}

/// Some shape that is not empty, or nothing of this would be a test.
TEST_P(Conv2dCudaTest, TakesConvolutionsInBothLayouts) {
  Types const types = std::get<1>(GetParam());
  for (DataLayout const layout : kLayouts) {
    auto const taken = std::ranges::count_if(kShapes, [&](Shape const& shape) {
      return variant()
          .unsupported_reason(unallocated(shape, layout, types.in, types.compute))
          .empty();
    });
    EXPECT_GE(taken, 6) << core::to_text(layout);
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, Conv2dCudaTest, testing::ValuesIn(rows()), [](auto const& row) {
  Types const types = std::get<1>(row.param);
  return std::string{std::get<0>(row.param)} + "_" + std::string{core::to_text(types.in)} + "_" +
         std::string{core::to_text(types.compute)};
});

/// Each width of its tiles, where the interpreter's multiprocessors choose it; then blocks with several
/// tiles, whose ring goes on from one to the next.
TEST(Conv2dCuda, WgmmaHasTilesOfEachWidth) {
  Shape const positions{.n = 1, .c = 8, .h = 20, .w = 21, .r = 1, .s = 2};
  auto const of_filters = [&](std::int64_t k) {
    Shape shape = positions;
    shape.k = k;
    return shape;
  };
  Shape const many{.n = 3, .c = 8, .h = 21, .w = 22, .k = 40, .r = 2, .s = 2};
  auto const& variant = test::row(variants(), "implicit_gemm_wgmma", device::Kind::cuda);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (Shape const& shape : {of_filters(248), of_filters(190), of_filters(120), many}) {
      expect_right<core::f16>(device, stream, variant, shape, DataLayout::nhwc, core::Compute::f32);
    }
  });
}

/// Blocks with several tiles, whose pixels take the place of those before, and warps with several groups
/// of filters.
TEST(Conv2dCuda, BlocksForFewChannelsStay) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    Shape const many{.n = 4 * device.facts().multiprocessors + 3,
                     .c = 3,
                     .h = 5,
                     .w = 6,
                     .k = 70,
                     .r = 3,
                     .s = 3,
                     .stride = 2};
    for (DataLayout const layout : kLayouts) {
      expect_right<float>(device, stream, test::row(variants(), "few_channels", device::Kind::cuda),
                          many, layout, core::Compute::f32);
      expect_right<core::f16>(device, stream,
                              test::row(variants(), "few_channels_mma", device::Kind::cuda), many,
                              layout, core::Compute::f32);
    }
  });
}

/// Lines of outputs that begin anywhere in a sector, in one tile and in several that overlap. Some
/// are shorter than a sector, or just as long.
TEST(Conv2dCuda, TilesForFewChannelsOverlapInOddLines) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    Shape shape{.n = 2, .c = 1, .h = 11, .k = 11, .r = 3, .s = 3};
    auto const& few = test::row(variants(), "few_channels", device::Kind::cuda);
    auto const& mma = test::row(variants(), "few_channels_mma", device::Kind::cuda);
    for (std::int64_t const outputs : {1, 8, 16, 33, 57, 63, 65, 81, 115}) {
      SCOPED_TRACE(outputs);
      shape.w = outputs + 2;
      for (Offsets const& offsets : {Offsets{}, {.y = 1}}) {
        expect_right<float>(device, stream, few, shape, DataLayout::nchw, core::Compute::f32,
                            offsets);
        expect_right<core::f16>(device, stream, mma, shape, DataLayout::nchw, core::Compute::f32,
                                offsets);
        expect_right<float>(device, stream, mma, shape, DataLayout::nchw, core::Compute::tf32,
                            offsets);
      }
    }
  });
}

TEST(Conv2dCuda, RefusesWhatWgmmaDoesNotTake) {
  auto const& variant = test::row(variants(), "implicit_gemm_wgmma", device::Kind::cuda);
  Shape const good{.c = 8, .h = 300, .w = 300, .k = 4, .r = 2, .s = 2};
  auto const reason_with = [&](auto&& change, DataType type = DataType::f16) {
    Shape shape = good;
    change(shape);
    return variant.unsupported_reason(
        unallocated(shape, DataLayout::nhwc, type,
                    type == DataType::f32 ? core::Compute::tf32 : core::Compute::automatic));
  };
  auto const has = [](std::string const& reason, char const* what) {
    return reason.find(what) != std::string::npos;
  };
  constexpr char const* kFar = "windows of up to 256 pixels";

  EXPECT_EQ(reason_with([](Shape&) {}), "");
  EXPECT_EQ(reason_with([](Shape& z) { z.stride = 8; }), "");
  EXPECT_EQ(reason_with([](Shape& z) { z.padding = z.dilation = 128; }), "");
  EXPECT_EQ(reason_with([](Shape& z) { z.padding = 127; }), "");
  EXPECT_EQ(reason_with([](Shape& z) { z.dilation = 128; }), "");
  EXPECT_EQ(reason_with([](Shape& z) { z.c = 4; }, DataType::f32), "");
  EXPECT_TRUE(has(reason_with([](Shape& z) { z.c = 12; }), "multiples of 8"));
  EXPECT_TRUE(has(reason_with([](Shape& z) { z.c = 6; }, DataType::f32), "multiples of 4"));
  EXPECT_TRUE(has(reason_with([](Shape& z) { z.groups = 2; }), "multiples of 8"));
  EXPECT_TRUE(has(reason_with([](Shape& z) { z.stride = 9; }), "strides up to 8"));
  EXPECT_TRUE(has(reason_with([](Shape& z) { z.padding = 129; }), kFar));
  EXPECT_TRUE(has(reason_with([](Shape& z) {
                    z.padding = 128;
                    z.r = 1;
                  }),
                  kFar));
  EXPECT_TRUE(has(reason_with([](Shape& z) { z.dilation = 129; }), kFar));
  EXPECT_TRUE(has(reason_with([](Shape& z) {
                    z.dilation = 256;
                    z.padding = 128;
                  }),
                  kFar));
  Problem unaligned = unallocated(good, DataLayout::nhwc, DataType::f16);
  unaligned.w.data = reinterpret_cast<void*>(8);
  EXPECT_TRUE(has(variant.unsupported_reason(unaligned), "aligned to 16 bytes"));
  unaligned.layout = DataLayout::nchw;
  EXPECT_EQ(variant.unsupported_reason(unaligned), "");
}

TEST(Conv2dCuda, RefusesWhatVariantsDoNotTake) {
  auto const reason = [](std::string_view name, Shape const& shape) {
    return test::row(variants(), name, device::Kind::cuda)
        .unsupported_reason(unallocated(shape, DataLayout::nchw, DataType::f32));
  };
  Shape const many_images{.n = 1 << 17};
  Shape const huge{.n = 1 << 12, .c = 1 << 10, .h = 64, .w = 64};

  EXPECT_NE(reason("naive", many_images).find("65535 images"), std::string::npos);
  Shape const many_groups{.c = 1 << 17, .k = 1 << 17, .groups = 1 << 17};
  Shape const long_line{.w = 2, .s = 2, .stride = 1 << 20, .padding = 1 << 30, .dilation = 1 << 30};
  Shape const colours{.c = 5, .h = 9, .w = 9, .k = 4, .r = 3, .s = 3};
  Shape const wide{.c = 3, .h = 9, .w = 99, .k = 4, .r = 3, .s = 40};
  Shape const many_filters{.c = 4, .h = 9, .w = 9, .k = 2000, .r = 7, .s = 7};

  EXPECT_NE(reason("implicit_gemm", many_groups).find("65535 groups"), std::string::npos);
  EXPECT_NE(reason("implicit_gemm", long_line).find("with their padding"), std::string::npos);
  EXPECT_NE(reason("im2col_gemm", huge).find("elements, x has"), std::string::npos);
  EXPECT_NE(reason("few_channels", colours).find("1 to 4 channels"), std::string::npos);
  EXPECT_NE(reason("few_channels", wide).find("in width"), std::string::npos);
  EXPECT_NE(reason("few_channels", many_filters).find("200 KiB"), std::string::npos);
  auto const mma_reason = [](Shape const& shape) {
    return test::row(variants(), "few_channels_mma", device::Kind::cuda)
        .unsupported_reason(unallocated(shape, DataLayout::nchw, DataType::f16));
  };
  Shape const grouped{.c = 4, .h = 9, .w = 9, .k = 4, .r = 3, .s = 3, .groups = 2};
  EXPECT_NE(mma_reason(colours).find("1 to 4 channels"), std::string::npos);
  EXPECT_NE(mma_reason(grouped).find("one group"), std::string::npos);
  EXPECT_EQ(mma_reason(wide), "");
  EXPECT_NE(mma_reason(many_filters).find("200 KiB"), std::string::npos);
  EXPECT_NE(reason("implicit_gemm_mma", colours).find("has no type f32"), std::string::npos);
  EXPECT_NE(reason("naive", huge).find("elements, x has"), std::string::npos);
}

}  // namespace
}  // namespace quadrille::kernels::conv2d
