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

struct Choice {
  std::string best;  ///< what "best" is, with the reason where it does not run
  Names refused;     ///< own rows of the type that the GPU does not run, each with its reason
};

measure::WorkloadEntry const& entry_called(std::string_view name) {
  auto const all = workloads();
  return **std::ranges::find(all, name, [](auto const* one) { return one->schema.name; });
}

Choice chosen(std::string_view name, std::vector<std::int64_t> const& size,
              kernels::Types const& types, device::Facts const& facts) {
  measure::WorkloadEntry const& entry = entry_called(name);
  core::Case spec;
  spec.workload = &entry.schema;
  spec.parameters = entry.schema.defaults;
  spec.type = types.in;
  spec.compute = types.compute;
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
    if (is_told && row.supports(types.in))
      choice.refused.push_back(fmt::format("{} {}", row.name, reasons[i]));
  }
  return choice;
}

std::string best(std::string_view name, std::vector<std::int64_t> const& size,
                 kernels::Types const& types, int compute_capability) {
  return chosen(name, size, types, test::facts_with(compute_capability, 132)).best;
}

TEST(Architectures, BestFallsBackToWhatTheDeviceRuns) {
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
  kernels::Types const half{DataType::f16, core::Compute::f16};
  EXPECT_EQ(best("peak", {1 << 30}, half, 90), "wgmma_loop");
  EXPECT_EQ(best("peak", {1 << 30}, half, 80), "fma_loop");
}

/// "wgmma_persistent REASON" for each own row of a bf16 product with such a requirement.
template <class Has>
Names refused_for(std::string const& reason, Has const& has) {
  Names told;
  for (kernels::VariantInfo const* row : entry_called("gemm").variants) {
    bool const is_one = row->where == kernels::Where::cuda && row->supports(DataType::bf16);
    if (is_one && has(row->needs)) told.push_back(fmt::format("{} {}", row->name, reason));
  }
  return told;
}

TEST(Architectures, RowsSayWhatTheyNeed) {
  auto const refused = [](device::Facts const& facts) {
    return chosen("gemm", {1024, 1024, 1024}, DataType::bf16, facts).refused;
  };
  auto const is_exact = [](kernels::Requirements const& needs) { return needs.exact_capability; };
  auto const is_hopper = [&](kernels::Requirements const& needs) {
    return needs.compute_capability == 90 && !is_exact(needs);
  };
  auto const together = [](Names names, Names const& others) {
    names.insert(names.end(), others.begin(), others.end());
    std::ranges::sort(names);
    return names;
  };
  auto const sorted = [&](Names names) { return together(std::move(names), {}); };

  EXPECT_EQ(refused(test::facts_with(90, 132)), Names{});
  Names const on_later =
      refused_for("needs compute capability 9.0 exactly, this device has 10.0", is_exact);
  EXPECT_NE(std::ranges::find(on_later,
                              "wgmma_persistent needs compute capability 9.0 exactly, this device "
                              "has 10.0"),
            on_later.end());
  EXPECT_EQ(refused(test::facts_with(100, 132)), on_later);
  EXPECT_EQ(
      sorted(refused(test::facts_with(80, 132))),
      together(refused_for("needs compute capability 9.0 exactly, this device has 8.0", is_exact),
               refused_for("needs compute capability 9.0, this device has 8.0", is_hopper)));
  device::Facts older = test::facts_with(90, 132);
  older.code = {80, false};
  auto const needs_code = [](std::string const& architecture) {
    return fmt::format(
        "needs kernels for {0}, this program has those of sm_80 for this device; configure it "
        "with -DQUADRILLE_CUDA_ARCHITECTURES={1}",
        architecture, architecture.substr(3));
  };
  EXPECT_EQ(sorted(refused(older)), together(refused_for(needs_code("sm_90a"), is_exact),
                                             refused_for(needs_code("sm_90"), is_hopper)));
}

TEST(Architectures, EveryWorkloadWithCudaRowsHasSomeForEach) {
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
