// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0

// Planning looks at every size that a search for the largest may try, and at what a user mistyped: it must
// end soon, whatever the size.
#include "support/mpi_world.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

namespace quadrille::workloads {
namespace {

constexpr std::int64_t kSizes[] = {1, 1LL << 20, (1LL << 31) + 1, 1LL << 40};
constexpr int kRanks = 4, kRank = 1;

/// Of this thread, which no other process on the machine takes.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The workload, with keys that make its pipelines long.
struct Plan {
  std::string_view workload, keys;
};
constexpr Plan kLong[] = {
    {"ptrans", "panel = 1"},
    {"ptrans", "block = 1"},
    {"summa", "panel = 1"},
    {"summa", "block = 1"},
    {"summa", "schedule = \"cannon\""},
    {"summa", "schedule = \"cannon\"\nblock = 1"},
    {"summa", "layers = 4\nblock = 1"},
    {"reduction", "reproducible = true"},
    {"paged_decode", "lengths = \"long_tail\""},
};

core::Parsed<core::Config> resolved(Plan const& plan, std::string const& size) {
  return core::resolve(fmt::format("[[case]]\nworkload = \"{}\"\nsize = \"{}\"\n{}\n",
                                   plan.workload, size, plan.keys),
                       "test", {}, name_table());
}

/// Everything that planning asks of a case.
void look_at(core::Case const& spec, measure::WorkloadEntry const& entry) {
  device::Device const& device = test::world().device();
  double const begin = cpu_seconds();
  auto const workload = entry.make(spec, kRanks, kRank);
  auto const memory = [&](measure::Selection const& selected) {
    measure::Description const d = workload->describe(selected);
    return d.memory_bytes + d.host_bytes + workload->scratch_bytes(selected, device.facts());
  };
  double const none = memory({});
  std::optional<double> least;
  for (kernels::VariantInfo const* row : entry.variants) {
    if (!workload->unsupported_reason(*row, device).empty()) continue;
    EXPECT_LE(none, memory({row})) << row->name;
    least = std::min(least.value_or(memory({row})), memory({row}));
  }
  // A search asks first whether a size fits without variants, before it asks each of them.
  if (least) {
    EXPECT_GE(2 * none + (1 << 20), *least);
  }
  // A thousand times what it takes.
  EXPECT_LT(cpu_seconds() - begin, 2);
}

class Planning : public testing::TestWithParam<Plan> {};

TEST_P(Planning, EndsForAnySize) {
  measure::WorkloadEntry const* const entry =
      *std::ranges::find(workloads(), GetParam().workload,
                         [](measure::WorkloadEntry const* known) { return known->schema.name; });
  std::size_t const n = entry->schema.extents.size();
  for (std::int64_t const size : kSizes) {
    // One extent of many, as a typing error has it.
    for (std::size_t large = 0; large < n; ++large) {
      std::vector<std::int64_t> extents(n, 1);
      extents[large] = size;
      auto const config = resolved(GetParam(), fmt::format("({})", fmt::join(extents, ",")));
      if (!config) continue;
      SCOPED_TRACE(fmt::format("{}", fmt::join(extents, " x ")));
      look_at(config->cases.at(0), *entry);
    }
    // All of them, as a search for the largest has it.
    auto const config = resolved(GetParam(), "auto:50%");
    if (!config) continue;
    SCOPED_TRACE(fmt::format("{} each way", size));
    core::Case spec = config->cases.at(0);
    spec.size = {.value = {}, .count = static_cast<int>(n)};
    spec.size.value.fill(size);
    look_at(spec, *entry);
  }
}

std::vector<Plan> plans() {
  std::vector<Plan> all(std::begin(kLong), std::end(kLong));
  for (measure::WorkloadEntry const* entry : workloads()) all.push_back({entry->schema.name, ""});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Of, Planning, testing::ValuesIn(plans()), [](auto const& plan) {
  return fmt::format("{}_{}", plan.param.workload, plan.index);
});

}  // namespace
}  // namespace quadrille::workloads
