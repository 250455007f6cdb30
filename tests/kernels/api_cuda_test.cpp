// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "api/api.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

namespace quadrille::kernels::api {
namespace {

TEST(ApiCudaTest, CountsEveryLaunch) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    test::DeviceArray<std::int64_t> const counters{device, stream, {7, -1, 1LL << 40, 0}};

    for (int i = 0; i < 3; ++i) count(counters.data(), stream);
    stream.synchronize();

    EXPECT_EQ(counters.download(), (std::vector<std::int64_t>{10, 2, (1LL << 40) + 3, 3}));
    EXPECT_TRUE(counters.intact());
  });
}

TEST(ApiCudaTest, ConstraintsAreRefused) {
  test::on_every_schedule([](device::Device&, device::StreamView stream) {
    EXPECT_FAILS(count(nullptr, stream), "counters are missing");
  });
}

}  // namespace
}  // namespace quadrille::kernels::api
