// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ptx/threads_kernels.hpp"
#include "support/instruction_test.hpp"

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

}  // namespace
}  // namespace quadrille::test
