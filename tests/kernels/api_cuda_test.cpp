// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "api/api.hpp"
#include "common/delay.hpp"
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

TEST(ApiCudaTest, DelayTakesAsLongAsAsked) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    constexpr std::uint64_t kNanoseconds = 200'000;
    device::Event begin{device}, end{device};
    launch_delay(1, stream);  // loads the kernel

    stream.record(begin);
    launch_delay(kNanoseconds, stream);
    stream.record(end);
    end.synchronize();

    if (test::kernel_mode() != test::KernelMode::gpu) return;  // elsewhere it counts calls
    EXPECT_GE(end.seconds_since(begin), kNanoseconds * 1e-9);
    EXPECT_LE(end.seconds_since(begin), kNanoseconds * 1.2e-9);
  });
}

TEST(ApiCudaTest, ConstraintsAreRefused) {
  test::on_every_schedule([](device::Device&, device::StreamView stream) {
    EXPECT_FAILS(count(nullptr, stream), "counters are missing");
  });
}

}  // namespace
}  // namespace quadrille::kernels::api
