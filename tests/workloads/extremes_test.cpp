// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0

// What checks say of right and of damaged results where numbers are as large, as small or as alike as they
// can be: a right one passes and each fault that is put into it fails, or a right one is not judged either and
// the reason is given. No fault passes.
#include "measure/case_runner.hpp"
#include "measure/fault.hpp"
#include "support/mpi_world.hpp"
#include "workloads/checks/limits.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace quadrille::workloads {
namespace {

using measure::Fault, measure::Outcome;

constexpr char const* kRun = R"(
[run]
transport = "mpi"
repetitions = 1
warmup = { count = 1, seconds = 0 }
vendor = "off"
[[case]]
)";

struct Extreme {
  char const* name;
  /// A part of the reason why a right result is not judged; empty: it passes.
  char const* reason;
  char const* keys;
};
void PrintTo(Extreme const& extreme, std::ostream* stream) { *stream << extreme.name; }

#define QUAD_GEMM "workload = \"gemm\"\nvariant = [\"host_simd\", \"kokkos\"]\n"
#define QUAD_SUMMA "workload = \"summa\"\nsize = 64\n"
#define QUAD_CONV2D "workload = \"conv2d\"\n"

constexpr char const* kAbove = "beyond the largest number";
constexpr char const* kBelow = "below the normal numbers";

constexpr Extreme kExtremes[] = {
    {"f32_alpha_infinite", "infinite in f32", QUAD_GEMM "type = 'f32'\nsize = 64\nalpha = 1e39"},
    {"f32_beta_infinite", "infinite in f32", QUAD_GEMM "type = 'f32'\nsize = 64\nbeta = -1e39"},
    {"f32_alpha_vanishes", "is 0 in f32", QUAD_GEMM "type = 'f32'\nsize = 64\nalpha = 1e-60"},
    {"f64_alpha_0", "other than 0", QUAD_GEMM "type = 'f64'\nsize = 64\nalpha = 0"},
    {"f32_some_infinite", kAbove, QUAD_GEMM "type = 'f32'\nsize = 64\nalpha = 1e38"},
    {"f32_large", "", QUAD_GEMM "type = 'f32'\nsize = 64\nalpha = 1e36"},
    {"f32_small", "", QUAD_GEMM "type = 'f32'\nsize = 64\nalpha = 1e-35"},
    {"f32_below", kBelow, QUAD_GEMM "type = 'f32'\nsize = 64\nalpha = 1e-40"},
    {"f32_beside_large_c0", "not below the result",
     QUAD_GEMM "type = 'f32'\nsize = 64\nbeta = 1e30"},
    {"f16_most_infinite", kAbove, QUAD_GEMM "type = 'f16'\nsize = '(48,40,256)'\nalpha = 1e5"},
    {"f16_some_infinite", kAbove, QUAD_GEMM "type = 'f16'\nsize = '(48,40,256)'\nalpha = 1e4"},
    {"f16_large", "", QUAD_GEMM "type = 'f16'\nsize = '(48,40,256)'\nalpha = 1e3"},
    {"f16_below", kBelow, QUAD_GEMM "type = 'f16'\nsize = '(48,40,256)'\nalpha = 1e-6"},
    {"f16_long_sums", kAbove, QUAD_GEMM "type = 'f16'\nsize = '(3,4,70000)'\ndata = 'constant'"},
    {"bf16_large", "", QUAD_GEMM "type = 'bf16'\nsize = 64\nalpha = 1e36"},
    {"f64_squares_underflow", "", QUAD_GEMM "type = 'f64'\nsize = 64\nalpha = 1e-150"},
    {"f64_least", "", QUAD_GEMM "type = 'f64'\nsize = 64\nalpha = 1e-305\nbeta = 1e-305"},
    {"f64_below", kBelow, QUAD_GEMM "type = 'f64'\nsize = 64\nalpha = 1e-310"},
    {"f64_squares_overflow", "", QUAD_GEMM "type = 'f64'\nsize = 64\nalpha = 1e200"},
    {"f64_largest", "", QUAD_GEMM "type = 'f64'\nsize = 64\nalpha = 1e306\nbeta = 1e306"},
    {"f64_some_infinite", kAbove, QUAD_GEMM "type = 'f64'\nsize = 64\nalpha = 1e308"},
    {"i32_wraps", kAbove, QUAD_GEMM "type = 'i32'\nsize = 64\nalpha = 1000000000"},
    {"i8_wraps", "",
     "workload = 'gemm'\nvariant = 'host_simd'\ntype = 'i8'\nlayout = 'nt'\nsize = "
     "'(3,1,3000000)'\n"
     "data = 'constant'\nalpha = 1000"},
    {"gemm_zeros", "", QUAD_GEMM "type = 'f32'\nsize = 64\ndata = 'zeros'"},
    {"gemm_i32_zeros", "", QUAD_GEMM "type = 'i32'\nsize = 64\ndata = 'zeros'"},
    {"summa_infinite", "infinite in f32", QUAD_SUMMA "type = 'f32'\nalpha = 1e39"},
    {"summa_some_infinite", kAbove, QUAD_SUMMA "type = 'f32'\nalpha = 1e38"},
    {"summa_squares_underflow", "", QUAD_SUMMA "type = 'f64'\nalpha = 1e-150\nbeta = 1e-150"},
    {"summa_squares_overflow", "", QUAD_SUMMA "type = 'f64'\nalpha = 1e200"},
    {"summa_zeros", "", QUAD_SUMMA "type = 'f64'\ndata = 'zeros'"},
    {"conv2d_all_infinite", kAbove,
     QUAD_CONV2D "type = 'f16'\nsize = '(1,8192,3,4,2,3,3)'\ndata = 'constant'"},
    {"conv2d_some_infinite", kAbove,
     QUAD_CONV2D "type = 'f16'\nsize = '(1,2048,4,4,4,3,3)'\ndata = 'scaled'"},
    {"conv2d_zeros", "", QUAD_CONV2D "type = 'f32'\nsize = '(2,6,9,11,10,3,3)'\ndata = 'zeros'"},
    {"conv2d_halo_zeros", "",
     "workload = 'conv2d_halo'\ntype = 'f32'\nsize = '(2,6,19,23,10,3,3)'\ndata = 'zeros'"},
    {"attention_zeros", "",
     "workload = 'attention'\ntype = 'f32'\nsize = '(1,2,1,40,40,64)'\ndata = 'zeros'"},
    {"attention_alike", "",
     "workload = 'attention'\ntype = 'f32'\nsize = '(1,2,1,40,40,64)'\ndata = 'constant'"},
    {"attention_steep", "",
     "workload = 'attention'\ntype = 'f32'\nsize = '(1,2,1,40,40,64)'\ndata = 'scaled'"},
    {"ring_attention_zeros", "",
     "workload = 'ring_attention'\ntype = 'f32'\nsize = '(1,2,1,80,64)'\ndata = 'zeros'"},
    {"paged_decode_zeros", "",
     "workload = 'paged_decode'\ntype = 'f32'\nsize = '(3,2,1,70,64)'\ndata = 'zeros'"},
    {"sum_of_zeros", "", "workload = 'reduction'\ntype = 'f64'\nsize = 10007\ndata = 'zeros'"},
    {"least_of_zeros", "",
     "workload = 'reduction'\ntype = 'f64'\nsize = 10007\ndata = 'zeros'\noperation = 'min'"},
    {"sum_of_a_part_of_ranks", "", "workload = 'reduction'\ntype = 'f64'\nsize = 1"},
    {"norm_of_scaled", "",
     "workload = 'reduction'\ntype = 'f32'\nsize = 1007\ndata = 'scaled'\noperation = 'norm2'"},
    {"reproducible_zeros", "",
     "workload = 'reduction'\ntype = 'f64'\nsize = 10007\ndata = 'zeros'\nreproducible = true"},
    {"integral_of_one_cell", "",
     "workload = 'integral'\nintegrand = 'gauss'\ntype = 'f64'\nsize = 1"},
    {"vector_zeros", "", "workload = 'vector'\ntype = 'f32'\nsize = 107\ndata = 'zeros'"},
    {"copy_zeros", "", "workload = 'copy'\ntype = 'f32'\nsize = 107\ndata = 'zeros'"},
    {"transpose_zeros", "",
     "workload = 'transpose'\ntype = 'f32'\nsize = '(33,35)'\ndata = 'zeros'"},
    {"ptrans_alike", "",
     "workload = 'ptrans'\ntype = 'f64'\nsize = '(33,35)'\npanel = 16\ndata = 'constant'"},
    {"allreduce_zeros", "", "workload = 'allreduce'\ntype = 'f32'\nsize = 1007\ndata = 'zeros'"},
    {"broadcast_alike", "", "workload = 'broadcast'\ntype = 'f32'\nsize = 1007\ndata = 'constant'"},
    {"alltoall_zeros", "", "workload = 'alltoall'\ntype = 'f32'\nsize = 1007\ndata = 'zeros'"},
    {"sendrecv_alike", "", "workload = 'sendrecv'\ntype = 'f32'\nsize = 1007\ndata = 'constant'"},
};

#undef QUAD_GEMM
#undef QUAD_SUMMA
#undef QUAD_CONV2D

class ExtremesTest : public testing::TestWithParam<Extreme> {
 protected:
  std::vector<measure::Record> records(Fault fault) const {
    auto const config =
        core::resolve(fmt::format("{}{}\n", kRun, GetParam().keys), "test", {}, name_table());
    EXPECT_TRUE(config) << config.why();
    if (!config) return {};
    core::Parsed<core::Config> const expanded = core::expand_grids(*config, test::world().size());
    EXPECT_TRUE(expanded) << expanded.why();
    core::Case spec = measure::with_fault(expanded->cases.at(0), fault);
    if (fault == Fault::once) spec.repetitions = 2;
    measure::CaseOptions options;
    options.decorate = [&](std::unique_ptr<measure::Workload> workload) {
      return measure::make_faulty(std::move(workload), fault, spec.data);
    };
    return measure::measure_case(test::world(), spec, entry_of(*spec.workload), options);
  }
};

TEST(Limits, AnInfinityIsRightWithItsSignAlone) {
  double const infinity = std::numeric_limits<double>::infinity();
  Limits limits{core::DataType::f32, core::Compute::f32};
  // A sum whose parts all fit, just beyond the largest f32.
  Limits::Element element{.got = infinity, .want = 3.41e38, .bound = 1e33, .ab = 3.4e38};

  EXPECT_TRUE(limits.is_beyond(element));
  element.got = -infinity;
  EXPECT_FALSE(limits.is_beyond(element));
  element.want = -element.want;
  EXPECT_TRUE(limits.is_beyond(element));
  element.got = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(limits.is_beyond(element));
  EXPECT_FALSE(limits.is_beyond({.got = infinity, .want = 3e38, .bound = 1e33, .ab = 3.4e38}));
}

TEST(Limits, AnInfinityBeginsAtTheLargestNumberOfItsType) {
  for (auto const& [type, largest] :
       {std::pair{core::DataType::f16, 0x1.ffcp15}, std::pair{core::DataType::bf16, 0x1.fep127},
        std::pair{core::DataType::e4m3, 0x1.cp8}, std::pair{core::DataType::e5m2, 0x1.cp15}}) {
    Limits limits{type, core::Compute::f32};
    Limits::Element element{.got = std::numeric_limits<double>::infinity(), .want = largest};

    EXPECT_TRUE(limits.is_beyond(element)) << core::to_text(type);
    element.want = std::nextafter(largest, 0);
    EXPECT_FALSE(limits.is_beyond(element)) << core::to_text(type);
  }
}

TEST_P(ExtremesTest, RightResultsPassOrAreNotJudged) {
  std::vector<measure::Record> const all = records(Fault::none);
  ASSERT_FALSE(all.empty());
  // Alone, a rank exchanges nothing.
  bool const is_alone = test::world().size() == 1 && all[0].outcome == Outcome::unsupported &&
                        all[0].reason.starts_with("needs 2 ranks");
  std::string const reason = is_alone ? all[0].reason : GetParam().reason;
  for (measure::Record const& record : all) {
    EXPECT_EQ(record.outcome, reason.empty() ? Outcome::pass : Outcome::unsupported)
        << record.id << ": " << record.reason;
    EXPECT_NE(record.reason.find(reason), std::string::npos) << record.id << ": " << record.reason;
  }
}

TEST_P(ExtremesTest, NoFaultPasses) {
  for (auto const& [fault, name] : enum_names(Fault{})) {
    if (fault == Fault::none) continue;
    for (measure::Record const& record : records(fault)) {
      std::string const told = fmt::format("{} in {}: {}", name, record.id, record.reason);
      EXPECT_NE(record.reason, "") << told;
      // Where a right result is judged, nothing but the fault may be the reason that this one is not.
      bool const is_excused = *GetParam().reason != '\0' ||
                              record.reason.starts_with("this fault ") ||
                              record.reason.starts_with("needs 2 ranks");
      if (is_excused && record.outcome == Outcome::unsupported) continue;
      EXPECT_EQ(record.outcome, Outcome::fail) << told;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ExtremesTest, testing::ValuesIn(kExtremes),
                         [](auto const& tested) { return std::string{tested.param.name}; });

}  // namespace
}  // namespace quadrille::workloads
