// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/sampler_data.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

namespace quadrille::kernels::sampler {
namespace {

class SamplerCudaTest : public testing::TestWithParam<std::string_view> {};

TEST_P(SamplerCudaTest, DrawsByTheDefinition) {
  Variant<Problem> const& variant = test::row(variants(), GetParam(), device::Kind::cuda);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    expect_all_right(device, stream, variant);
    expect_no_batch(device, stream, variant);
    expect_all_beams_right(device, stream, variant);
  });
}

INSTANTIATE_TEST_SUITE_P(Variants, SamplerCudaTest,
                         testing::ValuesIn(test::names_of(variants(), test::is_cuda_row)),
                         test::RowName{});

}  // namespace
}  // namespace quadrille::kernels::sampler
