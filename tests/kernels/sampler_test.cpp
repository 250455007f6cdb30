// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "sampler/sampler.hpp"

#include "kernels/host_kernels.hpp"
#include "kernels/sampler_data.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

namespace quadrille::kernels::sampler {
namespace {

class SamplerTest : public testing::TestWithParam<std::string_view> {
 protected:
  Variant<Problem> const& variant() const { return test::row(variants(), GetParam()); }
  test::Host host_;
};

TEST_P(SamplerTest, DrawsByTheDefinition) {
  expect_all_right(*host_.device, host_.stream, variant());
}
TEST_P(SamplerTest, DrawsTheSameInAnyBatch) {
  expect_no_batch(*host_.device, host_.stream, variant());
}
TEST_P(SamplerTest, ExtendsBeamsByTheDefinition) {
  expect_all_beams_right(*host_.device, host_.stream, variant());
}
/// Weights 1, 2, 5: shares of many requests are theirs, within five standard deviations.
TEST_P(SamplerTest, DrawsAsOftenAsWeightsSay) {
  constexpr std::int64_t kRequests = 20000;
  Problem const p = unallocated(kRequests, 3, core::DataType::f32);
  std::vector<float> logits;
  for (std::int64_t i = 0; i < kRequests; ++i) {
    for (double const weight : {1, 2, 5}) logits.push_back(static_cast<float>(std::log(weight)));
  }
  Drawn const got = drawn(*host_.device, host_.stream, variant(), p, logits);
  for (std::int32_t token = 0; token < 3; ++token) {
    double const share = (token == 0 ? 1 : token == 1 ? 2 : 5) / 8.0;
    auto const count = static_cast<double>(std::ranges::count(got.tokens, token));
    EXPECT_NEAR(count, share * kRequests, 5 * std::sqrt(kRequests * share * (1 - share)));
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, SamplerTest,
                         testing::ValuesIn(test::names_of(variants(), test::is_host_row)),
                         test::RowName{});

TEST(Sampler, OrdersKeysByLogitAndIndex) {
  EXPECT_GT(key_of(2, 9), key_of(1, 0));
  EXPECT_GT(key_of(1, 3), key_of(1, 4));
  EXPECT_GT(key_of(-1, 0), key_of(-2, 0));
  EXPECT_GT(key_of(0.5F, 0), key_of(-0.5F, 0));
  EXPECT_GT(key_of(-0.0F, 3), key_of(0.0F, 4));
}

TEST(Sampler, SaysWhatItDoesNotTake) {
  Problem p = unallocated(2, 50, core::DataType::f16);
  EXPECT_EQ(error_of(p), "");
  p.top_k = 51;
  EXPECT_EQ(error_of(p), "top_k = 51 is beyond a vocabulary of 50; take 0 for all");
  p.top_k = 5;
  p.temperature = 0;
  EXPECT_EQ(error_of(p), "temperature = 0 takes the likeliest of all; take top_k and top_p out");
  p.temperature = 1;
  p.top_p = 0;
  EXPECT_EQ(error_of(p), "top_p = 0: take more than 0 and at most 1, which is all");
  p.top_p = 1;
  p.temperature = -1;
  EXPECT_NE(error_of(p), "");
  EXPECT_NE(error_of(unallocated(2, 0, core::DataType::f16)), "");
  EXPECT_EQ(error_of(unallocated(2, 3, core::DataType::f16, 4)),
            "4 beams are more than a vocabulary of 3 has tokens for; take fewer");
  EXPECT_EQ(error_of(unallocated(2, 50, core::DataType::f16, 33)),
            "beams = 33: take 1 to 32, or 0 to draw tokens");
  p = unallocated(2, 50, core::DataType::f16, 2);
  p.top_k = 3;
  EXPECT_EQ(
      error_of(p),
      "beams take the likeliest of all tokens; take top_k and top_p out, and a temperature of "
      "more than 0");
}

TEST(Sampler, RefusesWhatDoesNotFitTogether) {
  test::Host host;
  Problem p = unallocated(2, 50, core::DataType::f16);
  p.tokens.cols = p.tokens.ld = 1;
  EXPECT_FAILS(test::row(variants(), "reference").launch(p, host.stream), "other extents");
  p = unallocated(2, 50, core::DataType::f16, 3);
  --p.logits.rows;
  EXPECT_FAILS(test::row(variants(), "reference").launch(p, host.stream), "other extents");
}

TEST(Sampler, CountsLogitsAndWhatIsWritten) {
  EXPECT_EQ(bytes_moved(unallocated(3, 50, core::DataType::f16)), 3 * (50 * 2 + 16));
}

}  // namespace
}  // namespace quadrille::kernels::sampler
