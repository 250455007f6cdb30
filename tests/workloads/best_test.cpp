// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/config.hpp"
#include "core/generator.hpp"
#include "core/units.hpp"
#include "measure/case_runner.hpp"
#include "support/mpi_world.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

/// "best" of products is the best: as fast as the fastest own row of the case, within what both are
/// known to.
namespace quadrille::workloads {
namespace {

using test::world;

bool is_on_gpu() { return world().device().kind() == device::Kind::cuda; }

/// A number below `n` for each draw.
std::uint64_t draw(std::uint64_t& state, std::uint64_t n) { return core::mix(++state) % n; }

/// Extents of all magnitudes, whole multiples of a power of two more often than not.
std::int64_t extent(std::uint64_t& state, double most) {
  double const share = static_cast<double>(draw(state, 1000)) / 1000;
  double const least = 16;
  auto const n = static_cast<std::int64_t>(least * std::pow(most / least, share));
  constexpr std::int64_t kWhole[]{1, 8, 64, 128};
  std::int64_t const whole = kWhole[draw(state, 4)];
  return std::max(whole, n / whole * whole);
}

/// A case that times all rows and has "best" among them.
std::string drawn(std::uint64_t& state) {
  struct Typed {
    char const *type, *compute;
  };
  constexpr Typed kTypes[]{
      {"f32", "auto"}, {"f64", "auto"}, {"f16", "auto"}, {"bf16", "auto"}, {"f32", "tf32"}};
  auto const [type, compute] = kTypes[draw(state, is_on_gpu() ? 5 : 2)];
  constexpr char const* kLayouts[]{"nn", "nn", "nt", "tn", "tt"};
  double const most = is_on_gpu() ? 4096 : 500;
  std::int64_t const m = extent(state, most), n = extent(state, most), k = extent(state, most);
  return fmt::format(
      "[run]\nvendor = \"off\"\ncheck = \"off\"\nrepetitions = 9\nsuspect = \"none\"\n"
      "warmup = {{ count = 2, seconds = 0 }}\n[[case]]\nworkload = \"gemm\"\ntype = \"{}\"\n"
      "compute = \"{}\"\nlayout = \"{}\"\nsize = \"({},{},{})\"\nvariant = [\"best\", \"all\"]\n",
      type, compute, kLayouts[draw(state, 5)], m, n, k);
}

TEST(BestTest, IsAsFastAsTheFastestOwnRow) {
  if (world().size() > 1) GTEST_SKIP() << "is for one rank";
  int const shapes = is_on_gpu() ? 60 : 12;
  double const allowed = is_on_gpu() ? 0.03 : 0.1;
  std::uint64_t state = 34;
  for (int i = 0; i < shapes;) {
    std::string const text = drawn(state);
    auto const config = core::resolve(text, "best", {}, name_table());
    ASSERT_TRUE(config) << config.why() << '\n' << text;
    core::Case const& spec = config->cases.at(0);
    std::vector<measure::Record> const records =
        measure::measure_case(world(), spec, entry_of(*spec.workload), {});
    world().enter_phase("best", 0);
    measure::Record const& best = records.front();  // as it is asked for first
    // No own row takes f32 in other layouts than nn, but for thin products.
    if (best.outcome == measure::Outcome::unsupported) continue;
    ++i;
    ASSERT_GT(best.time.median, 0) << text << best.reason;
    std::string told =
        fmt::format("{} {} {} x {} x {}: {} {} ({})", core::to_text(spec.type),
                    core::to_text(spec.compute), spec.size[0], spec.size[1], spec.size[2],
                    best.variant, core::format_seconds(best.time.median), best.implementation);
    measure::Record const* fastest = &best;
    for (measure::Record const& record : records) {
      bool const is_timed = record.role == "own" && record.time.n > 0;
      if (is_timed && record.time.median < fastest->time.median) fastest = &record;
    }
    core::Summary const ratio = measure::paired_ratio(*fastest, best);
    told += fmt::format(", fastest {} {}: {:.3f} [{:.3f}, {:.3f}]", fastest->variant,
                        core::format_seconds(fastest->time.median), ratio.median, ratio.median_low,
                        ratio.median_high);
    fmt::print("{}\n", told);
    EXPECT_LE(ratio.median_low, 1 + allowed) << told;
  }
}

}  // namespace
}  // namespace quadrille::workloads
