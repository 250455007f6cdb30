// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ring_attention_data.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

namespace quadrille::kernels::ring_attention {
namespace {

using core::DataType;

class RingAttentionCudaTest : public testing::TestWithParam<std::string_view> {};

TEST_P(RingAttentionCudaTest, EqualsSums) {
  Variant<Problem> const& variant = test::row(variants(), GetParam(), device::Kind::cuda);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (Ring const& ring : kRings) expect_right<core::f16>(device, stream, variant, ring, 1);
    expect_right<core::bf16>(device, stream, variant, kRings[4], 1);
    for (attention::Offsets const& offsets : attention::kOffsets) {
      expect_right<core::f16>(device, stream, variant, kRings[0], 1, offsets);
    }
  });
}

TEST_P(RingAttentionCudaTest, TakesScoresWhoseExponentialsOverflow) {
  Variant<Problem> const& variant = test::row(variants(), GetParam(), device::Kind::cuda);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    expect_right<core::bf16>(device, stream, variant, kRings[4], 100);
  });
}

INSTANTIATE_TEST_SUITE_P(Variants, RingAttentionCudaTest,
                         testing::ValuesIn(test::names_of(variants(), test::is_cuda_row)),
                         test::RowName{});

TEST(RingAttentionCuda, RefusesWhatVariantsDoNotTake) {
  auto const reason = [](Problem const& problem) {
    return test::row(variants(), "flash_merge", device::Kind::cuda).unsupported_reason(problem);
  };
  Problem odd = unallocated({}, {}, DataType::f16);
  odd.state.sums = reinterpret_cast<float*>(std::uintptr_t{8});
  EXPECT_NE(reason(odd).find("state aligned to 16 bytes"), std::string::npos);
  EXPECT_NE(reason(unallocated({.keys = 1 << 24}, {}, DataType::f16)).find("keys of a head"),
            std::string::npos);
  EXPECT_NE(reason(unallocated({}, {}, DataType::f32)).find("no type f32"), std::string::npos);
}

}  // namespace
}  // namespace quadrille::kernels::ring_attention
