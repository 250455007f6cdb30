// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/profile.hpp"

#include "core/config.hpp"
#include "core/files.hpp"
#include "device/kernel_text.hpp"
#include "gemm/gemm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace quadrille::report {
namespace {

/// As ncu 2025.3 writes them, with --print-units base and without.
constexpr std::string_view kHeader =
    R"csv("ID","Process ID","Kernel Name","Block Size","Grid Size","CC",)csv"
    R"csv("gpu__time_duration.sum","dram__bytes_read.sum","smsp__inst_executed.sum",)csv"
    R"csv("smsp__sass_inst_executed_op_shared_ld.sum",)csv"
    R"csv("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",)csv"
    R"csv("smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",)csv"
    R"csv("smsp__average_warps_issue_stalled_wait_per_issue_active.ratio","launch__func_cache_config")csv";
constexpr std::string_view kUnits =
    R"csv("","","","","","","ns","byte","inst","inst","sector","inst","inst","")csv";
constexpr std::string_view kScaledUnits =
    R"csv("","","","","","","us","Mbyte","inst","inst","sector","inst","inst","")csv";
constexpr std::string_view kShifted =
    R"csv("0","715","void unnamed>::vector_misaligned_kernel<float, Add>(const T1 *, T2)",)csv"
    R"csv("(256, 1, 1)","(32768, 1, 1)","9.0","16,224","1,027,584","5,560,000","1,390,000",)csv"
    R"csv("2,621,440","3","1","CachePreferNone")csv";

std::string lines(std::initializer_list<std::string_view> all) {
  return fmt::format("{}\n", fmt::join(all, "\n"));
}

measure::RunResult result_of(std::string_view variant, std::string_view kernel) {
  measure::Record record;
  record.workload = "vector";
  record.variant = variant;
  record.size = {8 << 20};
  core::Case spec;
  spec.published_counts = {"misaligned sectors, global loads: 2621440"};
  record.spec = std::make_shared<core::Case>(spec);
  record.kernels = {device::to_text({.name = std::string{kernel},
                                     .grid = {32768, 1, 1},
                                     .block = {256, 1, 1},
                                     .registers = 16,
                                     .resident_blocks = 8},
                                    {})};
  record.extras = {{"global memory, sectors read", 2'621'000, "sectors"}};
  measure::RunResult result;
  result.records = {record};
  return result;
}

/// The cells behind a row's label.
std::vector<std::string> row_of(std::string const& text, std::string const& label) {
  std::istringstream all{text};
  for (std::string line; std::getline(all, line);) {
    if (!line.starts_with(label + "  ")) continue;
    std::istringstream rest{line.substr(label.size())};
    return {std::istream_iterator<std::string>{rest}, {}};
  }
  return {};
}

using Cells = std::vector<std::string>;

TEST(Profile, IsReadFromTheRawPage) {
  auto const launches = read_profile(
      lines({"==PROF== Connected to process 715", kHeader, kUnits, kShifted, "==PROF== Done"}));

  ASSERT_TRUE(launches) << launches.why();
  ASSERT_EQ(launches->size(), 1U);
  ProfiledLaunch const& launch = launches->front();
  EXPECT_EQ(launch.kernel, "vector_misaligned_kernel<float, Add>");
  EXPECT_EQ(launch.grid, (std::array<std::int64_t, 3>{32768, 1, 1}));
  EXPECT_EQ(launch.block, (std::array<std::int64_t, 3>{256, 1, 1}));
  EXPECT_DOUBLE_EQ(launch.counters.at("gpu__time_duration.sum"), 16.224e-6);
  EXPECT_EQ(launch.counters.at("dram__bytes_read.sum"), 1'027'584);
  EXPECT_FALSE(launch.counters.contains("launch__func_cache_config"));
}

TEST(Profile, IsReadInOtherUnitsAndWithoutThem) {
  auto const scaled = read_profile(lines({kHeader, kScaledUnits, kShifted}));
  auto const plain = read_profile(lines({kHeader, kShifted, kShifted}));

  ASSERT_TRUE(scaled && plain);
  EXPECT_DOUBLE_EQ(scaled->front().counters.at("gpu__time_duration.sum"), 16224e-6);
  EXPECT_DOUBLE_EQ(scaled->front().counters.at("dram__bytes_read.sum"), 1'027'584e6);
  ASSERT_EQ(plain->size(), 2U);
  EXPECT_EQ(plain->back().counters.at("gpu__time_duration.sum"), 16224);
}

TEST(Profile, OfScopesAndArgumentsHasTheName) {
  auto const name_of = [](std::string_view written) {
    std::string const line = fmt::format(R"csv("0","{}","(1, 1, 1)","(1, 1, 1)","1")csv", written);
    auto const launches =
        read_profile(lines({R"csv("ID","Kernel Name","Block Size","Grid Size","x.sum")csv", line}));
    return launches ? launches->front().kernel : launches.why();
  };
  EXPECT_EQ(name_of("gemm_naive_kernel(const float *)"), "gemm_naive_kernel");
  EXPECT_EQ(name_of("void a::<unnamed>::k_kernel<float, (int)8>(T1 *)"), "k_kernel<float, (int)8>");
  EXPECT_EQ(name_of("void a::k_kernel<b::C>(T1, int (*)(int))"), "k_kernel<b::C>");
}

TEST(Profile, OfAnotherTextIsRefused) {
  auto const why = [](std::string const& text) {
    auto const launches = read_profile(text);
    return launches ? std::string{} : launches.why();
  };
  EXPECT_NE(why("").find("ncu --csv --page raw"), std::string::npos);
  EXPECT_NE(why("case,workload\na,b\n").find("is no table of Nsight Compute"), std::string::npos);
  EXPECT_NE(why(lines({kHeader, kUnits})).find("ncu profiled none"), std::string::npos);
  EXPECT_NE(
      why(lines({kHeader, kUnits, R"csv("0","715")csv"})).find("line 3: has not the 14 fields"),
      std::string::npos);
  std::string const open{kShifted.substr(0, kShifted.size() - 1)};
  EXPECT_NE(why(lines({kHeader, kUnits, open})).find("line 3"), std::string::npos);
  std::string flat{kShifted};
  flat.replace(flat.find("(256, 1, 1)"), 11, "256");
  EXPECT_NE(why(lines({kHeader, kUnits, flat})).find("line 3: has no grid"), std::string::npos);
}

TEST(Profile, StandsBesidePredictionAndDocument) {
  auto const launches = *read_profile(lines({kHeader, kUnits, kShifted}));
  // The driver writes template arguments otherwise.
  auto const result = result_of("misaligned", "vector_misaligned_kernel<float, Add<float> >");

  std::string const text = render_profile(launches, &result, {.width = 120});

  EXPECT_NE(text.find("misaligned\n"), std::string::npos) << text;
  EXPECT_EQ(row_of(text, "sectors, global loads"), (Cells{"2621440", "2621000", "2621440"}))
      << text;
  EXPECT_EQ(row_of(text, "instructions"), (Cells{"5560000", "-", "-"})) << text;
  EXPECT_EQ(row_of(text, "shared loads"), (Cells{"25.0", "%", "-", "-"})) << text;
  EXPECT_EQ(row_of(text, "stalled: mio throttle"), (Cells{"75.0", "%", "-", "-"})) << text;
  EXPECT_LT(text.find("stalled: mio throttle"), text.find("stalled: wait"));
  EXPECT_EQ(text.find("second-level hits"), std::string::npos) << "not counted: " << text;
}

TEST(Profile, OfAnotherLaunchHasCountsAlone) {
  auto const launches = *read_profile(lines({kHeader, kUnits, kShifted}));
  auto const other = result_of("misaligned", "vector_one_element_kernel<float, Add>");
  for (measure::RunResult const* result :
       {static_cast<measure::RunResult const*>(nullptr), &other}) {
    std::string const text = render_profile(launches, result, {.width = 120});
    EXPECT_EQ(row_of(text, "sectors, global loads"), (Cells{"2621440", "-", "-"})) << text;
  }
}

/// Of an input on an H200, as jobs/profile.sh writes it, with the columns that are shown.
std::vector<ProfiledLaunch> kept_profile(std::string const& input) {
  std::string const path = fmt::format("{}/{}.csv", QUADRILLE_PROFILES, input);
  core::Parsed<std::string> const text = core::read_file(path, 1 << 20);
  EXPECT_TRUE(text) << path;
  auto const launches = read_profile(text ? *text : "");
  EXPECT_TRUE(launches) << launches.why();
  return launches ? *launches : std::vector<ProfiledLaunch>{};
}
/// The only launch of such a kernel, whatever its template arguments.
ProfiledLaunch const& launch_of(std::vector<ProfiledLaunch> const& all, std::string const& kernel) {
  auto const found = std::ranges::find_if(all, [&](ProfiledLaunch const& one) {
    return one.kernel.substr(0, one.kernel.find('<')) == kernel;
  });
  static ProfiledLaunch const none;
  EXPECT_NE(found, all.end()) << kernel;
  return found == all.end() ? none : *found;
}

TEST(Profile, OfAGpuHasTheAccessesThatTheInterpreterCounts) {
  auto const launches = kept_profile("sgemm-worklog");
  device::MatrixView const view{nullptr, core::DataType::f32, 4096, 4096, 4096};
  kernels::gemm::Problem const problem{view, view, view};
  for (std::string const name :
       {"naive", "naive_flat", "coalesced", "shared_tile", "thread_tile_1d", "thread_tile_2d",
        "transposed_a", "vectorized", "warp_tile", "double_buffer_split", "double_buffer_async",
        "multistage", "thread_tile_8x16"}) {
    SCOPED_TRACE(name);
    auto const* const row = kernels::find(kernels::gemm::variants(), name, device::Kind::cuda);
    ASSERT_NE(row, nullptr);
    auto const traffic = kernels::gemm::traffic_of(*row, problem);
    ASSERT_TRUE(traffic);
    auto const& counters = launch_of(launches, fmt::format("gemm_{}_kernel", name)).counters;
    auto const& loads = traffic->accesses.global_loads;
    EXPECT_EQ(counters.at("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), loads.requests);
    EXPECT_EQ(counters.at("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), loads.parts);
  }
}

TEST(Profile, OfAGpuHasWhatDocumentsReadFromTheirs) {
  auto const worklog = kept_profile("sgemm-worklog");
  auto const hits = [&](std::string const& kernel) {
    return launch_of(worklog, kernel).counters.at("lts__t_sector_hit_rate.pct");
  };
  EXPECT_GT(hits("gemm_warp_tile_block_swizzle_kernel"), hits("gemm_warp_tile_kernel"));

  auto const note = kept_profile("coalescing");
  constexpr auto kSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
  EXPECT_EQ(launch_of(note, "vector_one_element_kernel").counters.at(kSectors), 2'097'152);
  EXPECT_EQ(launch_of(note, "vector_misaligned_kernel").counters.at(kSectors), 2'621'440);

  EXPECT_EQ(kept_profile("tutorial-reduction").size(), 11U);
}

TEST(Profile, AsksForEachCounterOnce) {
  std::set<std::string_view> names;
  for (ProfileCounter const& counter : profile_counters()) {
    EXPECT_TRUE(names.insert(counter.name).second) << counter.name;
    EXPECT_FALSE(counter.label.empty());
  }
}

}  // namespace
}  // namespace quadrille::report
