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
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// "best" is the best: as fast as the fastest own row of the case, within what both are known to.
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

/// One of several, as likely as each other.
template <std::size_t N>
char const* one_of(std::uint64_t& state, char const* const (&names)[N]) {
  return names[draw(state, N)];
}

std::string drawn_product(std::uint64_t& state) {
  struct Typed {
    char const *type, *compute;
  };
  constexpr Typed kTypes[]{
      {"f32", "auto"}, {"f64", "auto"}, {"f16", "auto"}, {"bf16", "auto"}, {"f32", "tf32"}};
  auto const [type, compute] = kTypes[draw(state, is_on_gpu() ? 5 : 2)];
  double const most = is_on_gpu() ? 4096 : 500;
  std::int64_t const m = extent(state, most), n = extent(state, most), k = extent(state, most);
  return fmt::format("type = \"{}\"\ncompute = \"{}\"\nlayout = \"{}\"\nsize = \"({},{},{})\"\n",
                     type, compute, one_of(state, {"nn", "nn", "nt", "tn", "tt"}), m, n, k);
}

/// Of a vector. On a host no shorter one, whose microseconds are those of its scheduler.
std::string drawn_line(std::uint64_t& state) {
  return fmt::format("type = \"{}\"\nsize = {}\n", one_of(state, {"f32", "f64"}),
                     is_on_gpu() ? extent(state, 256e6) : 1'000'000 + extent(state, 8e6));
}

std::string drawn_transpose(std::uint64_t& state) {
  double const most = is_on_gpu() ? 16384 : 3000;
  return fmt::format("type = \"{}\"\nsize = \"({},{})\"\n", one_of(state, {"f32", "f64", "f16"}),
                     extent(state, most), extent(state, most));
}

std::string drawn_convolution(std::uint64_t& state) {
  std::int64_t const image = extent(state, is_on_gpu() ? 112 : 40);
  char const* const filter = one_of(state, {"1,1", "3,3", "5,5"});
  return fmt::format(
      "type = \"{}\"\nlayout = \"{}\"\npadding = {}\nsize = \"({},{},{},{},{},{})\"\n",
      is_on_gpu() ? one_of(state, {"f32", "f16", "bf16"}) : "f32", one_of(state, {"nchw", "nhwc"}),
      (filter[0] - '0') / 2, is_on_gpu() ? 1 + draw(state, 32) : 1,
      extent(state, is_on_gpu() ? 512 : 64), image, image, extent(state, is_on_gpu() ? 512 : 64),
      filter);
}

std::string drawn_attention(std::uint64_t& state) {
  std::int64_t const tokens = extent(state, is_on_gpu() ? 8192 : 300);
  std::uint64_t const kv_heads = 1 + draw(state, 4);
  return fmt::format("type = \"{}\"\nmask = \"{}\"\nsize = \"({},{},{},{},{},{})\"\n",
                     is_on_gpu() ? one_of(state, {"f16", "bf16"}) : "f32",
                     one_of(state, {"full", "causal"}), 1 + draw(state, 4),
                     kv_heads * (1 + draw(state, 4)), kv_heads, tokens, tokens,
                     one_of(state, {"64", "128"}));
}

std::string drawn_decode(std::uint64_t& state) {
  std::uint64_t const kv_heads = 1 + draw(state, 8);
  return fmt::format("type = \"{}\"\nsize = \"({},{},{},{},{})\"\n", one_of(state, {"f16", "bf16"}),
                     1 + draw(state, is_on_gpu() ? 64 : 4), kv_heads * (1 + draw(state, 4)),
                     kv_heads, extent(state, is_on_gpu() ? 8192 : 1000),
                     one_of(state, {"64", "128"}));
}

struct Operation {
  char const* workload;
  std::string (*drawn)(std::uint64_t& state);
};
void PrintTo(Operation const& operation, std::ostream* out) { *out << operation.workload; }

class BestTest : public testing::TestWithParam<Operation> {};

/// What "best" takes of the time of the fastest own row.
struct Finding {
  double ratio_low = 0;
  std::string text;
};
/// Nothing of a case that no own row takes.
std::optional<Finding> found(core::Case spec) {
  measure::WorkloadEntry const& entry = entry_of(*spec.workload);
  // Rows that nobody would take may need minutes for what others do in microseconds.
  for (kernels::VariantInfo const* row : entry.variants) {
    bool const is_rival = row->role == kernels::Role::own && row->preference >= 0 &&
                          row->runs_on(world().device().kind());
    if (is_rival) spec.variants.emplace_back(row->name);
  }
  std::vector<measure::Record> const records = measure::measure_case(world(), spec, entry, {});
  world().enter_phase("best", 0);
  measure::Record const& best = records.front();  // as it is asked for first
  if (best.outcome == measure::Outcome::unsupported) return {};
  measure::Record const* fastest = &best;
  for (measure::Record const& record : records) {
    if (record.time.n > 0 && record.time.median < fastest->time.median) fastest = &record;
  }
  core::Summary const ratio = measure::paired_ratio(*fastest, best);
  return Finding{
      best.time.median > 0 ? ratio.median_low : std::numeric_limits<double>::infinity(),
      fmt::format(
          "{} {} {} {}: {} {} ({}), fastest {} {}: {:.3f} [{:.3f}, {:.3f}] {}", spec.workload->name,
          core::to_text(spec.type), core::to_text(spec.compute),
          fmt::join(std::span{spec.size.value}.first(static_cast<std::size_t>(spec.size.count)),
                    " x "),
          best.variant, core::format_seconds(best.time.median), best.implementation,
          fastest->variant, core::format_seconds(fastest->time.median), ratio.median,
          ratio.median_low, ratio.median_high, best.reason)};
}

TEST_P(BestTest, IsAsFastAsTheFastestOwnRow) {
  if (world().size() > 1) GTEST_SKIP() << "is for one rank";
  auto const [workload, drawn] = GetParam();
  int const cases = is_on_gpu() && drawn == drawn_product ? 60 : 12;
  double const allowed = is_on_gpu() ? 0.03 : 0.1;
  std::uint64_t state = 34;
  for (int i = 0; i < cases;) {
    std::string const text = fmt::format(
        "[run]\nvendor = \"off\"\ncheck = \"off\"\nrepetitions = 9\nsuspect = \"none\"\n"
        "warmup = {{ count = 2, seconds = 0 }}\n[[case]]\nworkload = \"{}\"\n"
        "variant = \"best\"\n{}",
        workload, drawn(state));
    auto const config = core::resolve(text, "best", {}, name_table());
    ASSERT_TRUE(config) << config.why() << '\n' << text;
    // A choice is wrong that is wrong again and again: a moment of a busy machine is not.
    std::optional<Finding> finding = found(config->cases.at(0));
    if (!finding) continue;  // f32 in other layouts than nn, but for thin products
    ++i;
    for (int again = 0; again < 2 && !(finding->ratio_low <= 1 + allowed); ++again) {
      fmt::print("{}, again\n", finding->text);
      finding = found(config->cases.at(0));
    }
    fmt::print("{}\n", finding->text);
    EXPECT_LE(finding->ratio_low, 1 + allowed) << finding->text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Operations, BestTest,
    testing::Values(Operation{"gemm", drawn_product}, Operation{"vector", drawn_line},
                    Operation{"copy", drawn_line}, Operation{"reduction", drawn_line},
                    Operation{"integral", drawn_line}, Operation{"transpose", drawn_transpose},
                    Operation{"conv2d", drawn_convolution}, Operation{"attention", drawn_attention},
                    Operation{"paged_decode", drawn_decode}),
    [](auto const& tested) { return std::string{tested.param.workload}; });

}  // namespace
}  // namespace quadrille::workloads
