// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ptx/threads_kernels.hpp"
#include "support/instruction_test.hpp"

#include <cmath>
#include <limits>
#include <numeric>

namespace quadrille::test {
namespace {

using device::Device;
using device::StreamView;

TEST(Threads, SpecialRegistersAndElection) {
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<Special> const out{device, stream, 64};

    launch_special(out.data(), stream);

    std::vector<Special> const seen = out.download();
    for (unsigned i = 0; i < 64; ++i) {
      EXPECT_EQ(seen[i].lane, i % 32);
      EXPECT_EQ(seen[i].elected, i % 32 == 0) << i;
      EXPECT_EQ(seen[i].elected_of_some, i % 32 == 5) << i;
      EXPECT_LT(seen[i].multiprocessor, static_cast<unsigned>(device.facts().multiprocessors)) << i;
      EXPECT_EQ(seen[i].cycles_advance, 1) << i;
      EXPECT_EQ(seen[i].time_advances, 1) << i;
    }
  });
}

TEST(Threads, RegistersMoveBetweenWarpgroups) {
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<int> const out{device, stream, 384};

    launch_registers(out.data(), stream);

    std::vector<int> expected(384);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(out.download(), expected);
  });
}

TEST(Threads, BytesAndBits) {
  on_every_schedule([](Device& device, StreamView stream) {
    std::vector<std::uint32_t> const selectors{0x3210, 0x7654, 0x0246, 0x89AB, 0xFEDC, 0x1111};
    std::vector<std::uint32_t> const picked{0x80FF7F01, 0x12F4C3B2, 0x01FFB2F4,
                                            0x0000FFFF, 0x00FFFFFF, 0x7F7F7F7F};
    std::uint32_t const a = 0x80FF7F01, b = 0x12F4C3B2;
    DeviceArray<std::uint32_t> const there{device, stream, selectors};
    DeviceArray<std::uint32_t> const out{device, stream, 24};

    launch_bits(a, b, there.data(), out.data(), 6, stream);

    std::vector<std::uint32_t> expected = picked;
    for (std::uint32_t const c : selectors) expected.push_back(a ^ b ^ c);
    for (std::uint32_t const c : selectors) expected.push_back((a & b) | (a & c) | (b & c));
    // True for abc = 000, 001, 011, 100.
    for (std::uint32_t const c : selectors) {
      expected.push_back((~a & ~b & ~c) | (~a & ~b & c) | (~a & b & c) | (a & ~b & ~c));
    }
    EXPECT_EQ(out.download(), expected);
  });
}

TEST(Threads, PowersOfTwo) {
  on_every_schedule([](Device& device, StreamView stream) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    std::vector<float> const x{0, -1, 10, -0.37F, 0.61F, -23.4F, -125.9F, -126.5F, -kInfinity, NAN};
    auto const n = static_cast<int>(x.size());
    DeviceArray<float> const there{device, stream, x}, out{device, stream, n};

    launch_powers(there.data(), out.data(), n, stream);

    std::vector<float> const got = out.download();
    for (std::size_t i = 0; i < 7; ++i) {
      double const want = std::exp2(static_cast<double>(x[i]));
      EXPECT_NEAR(got[i], want, 0x1p-22 * want) << x[i];
    }
    EXPECT_EQ(got[7], 0);
    EXPECT_EQ(got[8], 0);
    EXPECT_TRUE(std::isnan(got[9]));
  });
}

}  // namespace
}  // namespace quadrille::test
