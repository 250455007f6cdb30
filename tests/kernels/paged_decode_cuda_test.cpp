// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/paged_decode_data.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

namespace quadrille::kernels::paged_decode {
namespace {

using core::DataType;

class PagedDecodeCudaTest : public testing::TestWithParam<std::string_view> {};

TEST_P(PagedDecodeCudaTest, EqualsSums) {
  Variant<Problem> const& variant = test::row(variants(), GetParam(), device::Kind::cuda);
  // A row takes either kind of keys.
  bool const is_latent =
      variant
          .unsupported_reason(unallocated({.head_size = kLatentKey, .latent = true}, DataType::f16))
          .empty();
  std::vector<Cache> const& caches = is_latent ? kLatentCaches : kCaches;
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (Cache const& cache : caches) expect_right<core::f16>(device, stream, variant, cache);
    expect_right<core::bf16>(device, stream, variant, caches[0]);
    expect_right<core::bf16>(device, stream, variant, caches[0], {}, 24);
    for (attention::Offsets const& offsets : attention::kOffsets) {
      if (is_latent && offsets.v > 0) continue;  // v has no memory of its own
      expect_right<core::f16>(device, stream, variant, caches[0], offsets);
    }
  });
}

/// More heads and tiles than a block has, at a size that fills a GPU.
TEST(PagedDecodeCuda, LatentKeysOfManySequences) {
  if (test::kernel_mode() != test::KernelMode::gpu) GTEST_SKIP() << "is for a GPU";
  Variant<Problem> const& variant = test::row(variants(), "latent_wgmma", device::Kind::cuda);
  Cache cache{.heads = 70, .head_size = kLatentKey, .block_size = 64, .latent = true};
  for (std::int32_t s = 0; s < 60; ++s) cache.lengths.push_back(s * 37 % 500);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    expect_right<core::f16>(device, stream, variant, cache);
  });
}

INSTANTIATE_TEST_SUITE_P(Variants, PagedDecodeCudaTest,
                         testing::ValuesIn(test::names_of(variants(), test::is_cuda_row)),
                         test::RowName{});

TEST(PagedDecodeCuda, RefusesWhatVariantsDoNotTake) {
  auto const reason = [](std::string_view name, Shape const& shape, void* v) {
    Problem problem = unallocated(shape, DataType::f16);
    problem.v.data = v;
    return test::row(variants(), name, device::Kind::cuda).unsupported_reason(problem);
  };
  Shape const large_group{.heads = 32};
  Shape const many{.sequences = 1 << 17};
  Shape const long_one{.longest = 1 << 24};

  EXPECT_NE(reason("paged", large_group, nullptr).find("up to 16 heads"), std::string::npos);
  EXPECT_NE(reason("gather_then_attend", many, nullptr).find("65535 sequences"), std::string::npos);
  EXPECT_NE(reason("paged_split", long_one, nullptr).find("8388480 tokens"), std::string::npos);
  for (std::string_view const name : {"paged", "vendor"}) {
    EXPECT_NE(reason(name, {}, reinterpret_cast<void*>(std::uintptr_t{8})).find("v aligned"),
              std::string::npos);
  }
  Shape const latent{.head_size = kLatentKey, .latent = true};
  for (std::string_view const name : {"paged", "paged_bulk", "contiguous"}) {
    EXPECT_EQ(reason(name, latent, nullptr), "takes no latent keys");
  }
  EXPECT_EQ(reason("latent_wgmma", {}, nullptr), "takes latent keys alone");
  EXPECT_NE(reason("vendor", {.sequences = 2, .tokens = 40, .longest = 24}, nullptr), "");
  if (test::kernel_mode() != test::KernelMode::gpu) return;
  EXPECT_EQ(reason("vendor", {.sequences = 2, .blocks = 6, .tokens = 96, .longest = 48}, nullptr),
            "");
}

/// It would write behind it.
TEST(PagedDecodeCuda, RefusesTooLittleScratch) {
  test::on_every_schedule([&](device::Device&, device::StreamView stream) {
    Problem const problem = unallocated(
        {.sequences = 1, .blocks = 40, .tokens = 600, .longest = 600}, core::DataType::f16);
    Variant<Problem> const& variant = test::row(variants(), "paged_split", device::Kind::cuda);
    EXPECT_GT(variant.scratch_bytes(problem, stream.facts()), 0U);
    EXPECT_FAILS(variant.launch(problem, stream), "bytes of scratch memory, got 0");
  });
}

}  // namespace
}  // namespace quadrille::kernels::paged_decode
