// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/semantics.hpp"

#include <atomic>

namespace quadrille::device {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, DeviceSemantics, testing::Values(Kind::cuda));

TEST(CudaDevice, FactsNameTheGpu) {
  Facts const facts = cuda_device_facts(0);
  EXPECT_EQ(facts.uuid.size(), std::string{"GPU-01234567-89ab-cdef-0123-456789abcdef"}.size());
  EXPECT_TRUE(facts.uuid.starts_with("GPU-")) << facts.uuid;
  EXPECT_EQ(facts.pci.size(), std::string{"0000:18:00.0"}.size()) << facts.pci;
  EXPECT_GE(facts.compute_capability, 70);
  EXPECT_GT(facts.peak_bandwidth, 1e11);
  EXPECT_GT(facts.l2_bytes, std::size_t{1} << 20);
  EXPECT_GT(facts.clock_hz, 5e8);
  EXPECT_GT(facts.memory_clock_hz, 5e8);
}

TEST(CudaDevice, TelemetryIsPlausibleWhereThereIsSome) {
  auto const device = make_cuda_device(0);
  std::optional<Telemetry> const now = device->telemetry();
  if (!now) GTEST_SKIP() << "NVML is not here";
  EXPECT_GT(now->clock_hz, 1e8);
  EXPECT_LE(now->clock_hz, 1.05 * device->facts().clock_hz);
}

TEST(CudaDevice, SynchronisesAllStreams) {
  auto const device = make_cuda_device(0);
  Stream const stream{*device};
  std::atomic<bool> done = false;
  stream.view().run([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    done = true;
  });
  cuda_synchronize();
  EXPECT_TRUE(done);
}

TEST(CudaDevice, TellsItsUnitsAnew) {
  EXPECT_EQ(cuda_multiprocessors(0), cuda_device_facts(0).multiprocessors);
  EXPECT_GT(cuda_multiprocessors(0), 0);
}

TEST(CudaDevice, AGpuThatIsNotThereIsRefused) {
  auto const failure = test::failure_of([] { make_cuda_device(1000); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, core::Exit::environment);
}

}  // namespace
}  // namespace quadrille::device
