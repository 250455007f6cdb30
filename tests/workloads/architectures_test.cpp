// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/selection.hpp"
#include "support/fake_device.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace quadrille::workloads {
namespace {

using core::DataType;
using Names = std::vector<std::string>;

/// Cases on GPUs of other architectures, of programs compiled for them.
class Architectures : public testing::Test {
 protected:
  void SetUp() override {
    kernels::VariantInfo gpu;
    gpu.where = kernels::Where::cuda;
    if (!gpu.is_built()) GTEST_SKIP() << "built without CUDA";
  }
};

struct Choice {
  std::string best;  ///< what "best" is, with the reason where it does not run
  Names refused;     ///< own rows of the type that the GPU does not run, each with its reason
};

Choice chosen(std::string_view name, std::vector<std::int64_t> const& size, DataType type,
              device::Facts const& facts) {
  auto const all = workloads();
  measure::WorkloadEntry const& entry =
      **std::ranges::find(all, name, [](auto const* one) { return one->schema.name; });
  core::Case spec;
  spec.workload = &entry.schema;
  spec.parameters = entry.schema.defaults;
  spec.type = type;
  spec.size.count = static_cast<int>(size.size());
  std::ranges::copy(size, spec.size.value.begin());
  spec.variants = {"best"};
  spec.vendor = core::VendorLine::off;
  test::FakeDevice const gpu{device::Kind::cuda, facts};
  auto const workload = entry.make(spec, 1, 0);
  Names const reasons = measure::unsupported_reasons(*workload, entry, spec, gpu);

  Choice choice;
  for (measure::Selected const& selected :
       measure::select_variants(entry, spec, gpu, workload->describe({}), 1, reasons)) {
    choice.best = selected.unsupported.empty() ? selected.info->name : selected.unsupported;
  }
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    kernels::VariantInfo const& row = *entry.variants[i];
    bool const is_told = reasons[i].find("compute capability") != std::string::npos ||
                         reasons[i].find("needs kernels") != std::string::npos;
    if (is_told && row.supports(type))
      choice.refused.push_back(fmt::format("{} {}", row.name, reasons[i]));
  }
  return choice;
}

std::string best(std::string_view name, std::vector<std::int64_t> const& size, DataType type,
                 int compute_capability) {
  return chosen(name, size, type, test::facts_with(compute_capability, 132)).best;
}

TEST_F(Architectures, BestFallsBackToWhatTheDeviceRuns) {
  std::vector<std::int64_t> const product{1024, 1024, 1024};

  EXPECT_EQ(best("gemm", product, DataType::bf16, 90), "wgmma_persistent");
  EXPECT_EQ(best("gemm", product, DataType::bf16, 100), "mma_async_stage4");
  EXPECT_EQ(best("gemm", product, DataType::bf16, 80), "mma_async_stage4");
  EXPECT_EQ(best("gemm", product, DataType::f64, 90), "dmma");
  EXPECT_EQ(best("gemm", product, DataType::f64, 100), "dmma");
  EXPECT_EQ(best("gemm", product, DataType::f64, 80), "thread_tile_2d");
  EXPECT_EQ(best("gemm", product, DataType::f32, 90), "simt_producer");
  EXPECT_EQ(best("gemm", product, DataType::f32, 100), "simt_producer");
  EXPECT_EQ(best("gemm", product, DataType::f32, 80), "thread_tile_2d");
  EXPECT_EQ(best("peak", {1 << 30}, DataType::f16, 90), "wgmma_loop");
  EXPECT_EQ(best("peak", {1 << 30}, DataType::f16, 100), "mma_loop");
  EXPECT_EQ(best("peak", {1 << 30}, DataType::f16, 80),
            "variant 'wgmma_loop' needs compute capability 9.0 exactly, this device has 8.0");
}

TEST_F(Architectures, RowsSayWhatTheyNeed) {
  auto const refused = [](device::Facts const& facts) {
    return chosen("gemm", {1024, 1024, 1024}, DataType::bf16, facts).refused;
  };
  auto const of_wgmma = [](std::string const& reason) {
    Names told;
    for (std::string const tiles :
         {"one_warpgroup", "specialised", "multicast", "persistent", "persistent_128x256",
          "persistent_128x192", "persistent_128x128"}) {
      told.push_back("wgmma_" + tiles + " " + reason);
    }
    return told;
  };

  EXPECT_EQ(refused(test::facts_with(90, 132)), Names{});
  EXPECT_EQ(refused(test::facts_with(100, 132)),
            of_wgmma("needs compute capability 9.0 exactly, this device has 10.0"));
  EXPECT_EQ(refused(test::facts_with(80, 132)),
            of_wgmma("needs compute capability 9.0 exactly, this device has 8.0"));
  device::Facts older = test::facts_with(90, 132);
  older.code = {80, false};
  EXPECT_EQ(refused(older),
            of_wgmma("needs kernels for sm_90a, this program has those of sm_80 for this device; "
                     "configure it with -DQUADRILLE_CUDA_ARCHITECTURES=90a"));
}

TEST_F(Architectures, EveryWorkloadWithCudaRowsHasSomeForEach) {
  for (measure::WorkloadEntry const* entry : workloads()) {
    for (int const capability : {80, 90, 100}) {
      SCOPED_TRACE(fmt::format("{} on {}", entry->schema.name, capability));
      auto const has_row = [&](int on) {
        return std::ranges::any_of(entry->variants, [&](kernels::VariantInfo const* row) {
          return row->role == kernels::Role::own && row->where == kernels::Where::cuda &&
                 kernels::unsupported_reason(*row, device::Kind::cuda, test::facts_with(on, 132))
                     .empty();
        });
      };
      EXPECT_EQ(has_row(capability), has_row(90));
    }
  }
}

}  // namespace
}  // namespace quadrille::workloads
