// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/architecture_kernels.hpp"
#include "support/kernel_test.hpp"

namespace quadrille::test {
namespace {

// What rows are allowed by is what the GPU runs.
TEST(Architecture, FactsSayWhatTheDeviceRuns) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    DeviceArray<CompiledFor> const out{device, stream, 1};

    launch_compiled_for(out.data(), stream);

    CompiledFor const found = out.download()[0];
    device::CodeArchitecture const& code = device.facts().code;
    EXPECT_EQ(code.compute_capability, found.compute_capability);
    EXPECT_EQ(code.compute_capability == 90 && code.exact, found.sm90a == 1);
  });
}

}  // namespace
}  // namespace quadrille::test
