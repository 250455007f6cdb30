// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rowwise_data.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

namespace quadrille::kernels::rowwise {
namespace {

class RowwiseCudaTest : public testing::TestWithParam<std::string_view> {};

TEST_P(RowwiseCudaTest, EqualsTheFormula) {
  Variant<Problem> const& variant = test::row(variants(), GetParam(), device::Kind::cuda);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    expect_all_right(device, stream, variant);
  });
}

INSTANTIATE_TEST_SUITE_P(Variants, RowwiseCudaTest,
                         testing::ValuesIn(test::names_of(variants(), test::is_cuda_row)),
                         test::RowName{});

}  // namespace
}  // namespace quadrille::kernels::rowwise
