// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/published_launch.hpp"

#include "core/types.hpp"
#include "gemm/gemm.hpp"
#include "integral/integral.hpp"
#include "pipeline/pipeline.hpp"
#include "reduction/reduction.hpp"
#include "simt/recorded_launches.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"
#include "transpose/transpose.hpp"
#include "vector/vector.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// What the shipped inputs say that sources launched, and what the interpreter is asked to launch.
namespace quadrille::kernels {
namespace {

using core::DataType, core::Extents, core::PublishedLaunch;
using device::StreamView;
using Launches = std::vector<simt::Launch>;
using Texts = std::vector<std::string>;

/// Of a case in an input, with what [run] says for all.
struct Published {
  std::string workload;
  Extents size;
  DataType type = DataType::f64, accumulator = DataType::f64;
  core::Compute compute = core::Compute::automatic;
  bool transpose_b = false;
  Texts figures, launches;
};

Texts texts(toml::node_view<toml::node const> node) {
  Texts all;
  if (auto const one = node.value<std::string>()) all.push_back(*one);
  if (auto const* const many = node.as_array()) {
    for (toml::node const& each : *many) all.push_back(each.value_or(std::string{}));
  }
  return all;
}

Extents size_of(toml::node_view<toml::node const> node) {
  Extents size;
  std::string text = node.as_integer() ? std::to_string(node.value_or(std::int64_t{0}))
                                       : node.value_or(std::string{});
  while (!text.empty()) {
    std::size_t const to = std::min(text.find(','), text.size());
    size.value.at(static_cast<std::size_t>(size.count++)) = *core::parse_count(text.substr(0, to));
    text.erase(0, to + 1);
  }
  return size;
}

std::vector<Published> published_in(std::filesystem::path const& input) {
  toml::table const file = toml::parse_file(input.string());
  toml::node_view<toml::node const> const run = file["run"];
  std::vector<Published> all;
  for (toml::node const& node : *file["case"].as_array()) {
    toml::node_view<toml::node const> const spec{node};
    auto const get = [&](char const* key) { return spec[key] ? spec[key] : run[key]; };
    Published one{.workload = spec["workload"].value_or(std::string{}),
                  .size = {},
                  .figures = texts(spec["published"]),
                  .launches = texts(get("published_launch"))};
    if (one.figures.empty()) continue;
    one.size = size_of(spec["size"]);
    one.type = *core::parse_enum<DataType>(get("type").value_or(std::string{"f64"}));
    one.accumulator = *core::parse_enum<DataType>(spec["accumulator"].value_or(std::string{"f64"}));
    one.compute = *core::parse_enum<core::Compute>(get("compute").value_or(std::string{"auto"}));
    one.transpose_b = spec["layout"].value_or(std::string{}).ends_with('t');
    all.push_back(one);
  }
  return all;
}

/// The i-th array, of any size, which is not there: no kernel runs.
void* array(std::uintptr_t i) { return reinterpret_cast<void*>((i + 1) << 40); }

gemm::Problem problem_of(Published const& of, gemm::Problem /*unset*/) {
  std::int64_t const m = of.size[0], n = of.size[1], k = of.size[2];
  gemm::Problem p;
  p.a = {array(0), of.type, m, k, k};
  p.b = of.transpose_b ? device::MatrixView{array(1), of.type, n, k, k}
                       : device::MatrixView{array(1), of.type, k, n, n};
  p.c = {array(2), of.type, m, n, n};
  p.transpose_b = of.transpose_b;
  p.compute = of.compute;
  return p;
}

transpose::Problem problem_of(Published const& of, transpose::Problem /*unset*/) {
  std::int64_t const m = of.size[0], n = of.size[1];
  return {{array(0), of.type, m, n, n}, {array(1), of.type, n, m, m}};
}

vector::Problem problem_of(Published const& of, vector::Problem /*unset*/) {
  vector::Problem p;
  p.type = of.type;
  p.x = array(0);
  p.y = array(1);
  p.out = array(2);
  p.n = of.size[0];
  return p;
}

/// What launches fill or copy is theirs for as long as the test runs.
template <class T>
T* memory(std::size_t bytes) {
  static std::vector<test::DeviceArray<unsigned char>> kept;
  device::Device& device = test::kernel_device();
  static device::Stream const stream{device};
  kept.emplace_back(device, stream, static_cast<std::int64_t>(bytes + 256));
  auto const address = reinterpret_cast<std::uintptr_t>(kept.back().data());
  return reinterpret_cast<T*>((address + 255) / 256 * 256);
}

reduction::Problem problem_of(Published const& of, reduction::Problem /*unset*/) {
  reduction::Problem p;
  p.type = of.type;
  p.accumulator = of.accumulator;
  p.x = p.y = array(0);
  p.n = of.size[0];
  p.result = memory<double>(sizeof(double));
  p.scratch_bytes = reduction::scratch_bytes(p.n);
  p.scratch = memory<void>(p.scratch_bytes);
  return p;
}

integral::Problem problem_of(Published const& of, integral::Problem /*unset*/) {
  integral::Problem p;
  p.type = of.type;
  p.cells = p.count = of.size[0];
  p.result = memory<double>(sizeof(double));
  p.scratch_bytes = integral::scratch_bytes(p.count);
  p.scratch = memory<void>(p.scratch_bytes);
  p.host_scratch =
      memory<double>(static_cast<std::size_t>(integral::partial_sums(p.count) + 1) * 8);
  return p;
}

/// What a workload's row launches; nothing of a row that is no CUDA kernel of ours.
using Launcher = std::optional<Launches> (*)(Published const&, std::string_view, StreamView);

template <class Problem, Variants<Problem> (*variants)()>
std::optional<Launches> launches(Published const& of, std::string_view name, StreamView stream) {
  Variant<Problem> const* const row = find(variants(), name, device::Kind::cuda);
  if (row == nullptr || row->where != Where::cuda || row->role == Role::vendor) return {};
  Problem const p = problem_of(of, Problem{});
  return simt::launches_of([&] { row->launch(p, stream); });
}

std::optional<Launches> pipeline_launches(Published const& of, std::string_view /*name*/,
                                          StreamView stream) {
  pipeline::Interval interval;
  interval.type = of.type;
  interval.cells = of.size[0];
  interval.upper = 1;
  interval.partials = static_cast<double*>(array(0));
  interval.count = (interval.cells + pipeline::kItemsPerPartial - 1) / pipeline::kItemsPerPartial;
  return simt::launches_of([&] { pipeline::launch_integrate(interval, stream); });
}

/// Of calls of the runtime.
std::optional<Launches> nothing(Published const& /*of*/, std::string_view /*name*/,
                                StreamView /*stream*/) {
  return {};
}

std::map<std::string_view, Launcher> const kLaunchers{
    {"api", nothing},
    {"copy", nothing},
    {"gemm", launches<gemm::Problem, gemm::variants>},
    {"integral", launches<integral::Problem, integral::variants>},
    {"pipeline", pipeline_launches},
    {"reduction", launches<reduction::Problem, reduction::variants>},
    {"transpose", launches<transpose::Problem, transpose::variants>},
    {"vector", launches<vector::Problem, vector::variants>}};

std::array<std::int64_t, 3> extents(dim3 const& n) { return {n.x, n.y, n.z}; }
std::string text(dim3 const& n) { return fmt::format("{}x{}x{}", n.x, n.y, n.z); }

class PublishedLaunches : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(PublishedLaunches, AreThoseOfTheKernelsBesideThem) {
  device::Stream const stream{test::kernel_device()};
  std::set<std::string> used, stated;
  for (Published const& of : published_in(GetParam())) {
    stated.insert(of.launches.begin(), of.launches.end());
    std::set<std::string> variants;
    for (std::string const& figure : of.figures) {
      variants.insert(figure.substr(0, figure.find_first_of(" :")));
    }
    for (std::string const& variant : variants) {
      auto const launcher = kLaunchers.find(of.workload);
      std::optional<Launches> const here =
          launcher == kLaunchers.end() ? std::nullopt : launcher->second(of, variant, stream);
      auto const entry = std::ranges::find_if(of.launches, [&](std::string const& each) {
        return core::parse_published_launch(each)->variant == variant;
      });
      if (entry == of.launches.end()) {
        EXPECT_FALSE(here || launcher == kLaunchers.end())
            << variant << " has a figure and no published_launch";
        continue;
      }
      used.insert(*entry);
      PublishedLaunch const published = *core::parse_published_launch(*entry);
      if (!published.why_none.empty()) continue;
      ASSERT_TRUE(here && !here->empty()) << *entry << ": nothing is launched";
      simt::Launch const& launch = here->front();
      EXPECT_TRUE(published.is(of.size, extents(launch.grid), extents(launch.block)))
          << *entry << ", here " << text(launch.grid) << " blocks, " << text(launch.block)
          << " threads";
    }
  }
  EXPECT_EQ(used, stated) << "stated of variants without a figure";
}

std::vector<std::filesystem::path> inputs() {
  std::vector<std::filesystem::path> all;
  for (auto const& entry : std::filesystem::directory_iterator{QUADRILLE_INPUTS}) {
    if (entry.path().extension() == ".toml" && !published_in(entry.path()).empty()) {
      all.push_back(entry.path());
    }
  }
  std::ranges::sort(all);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Inputs, PublishedLaunches, testing::ValuesIn(inputs()),
                         [](auto const& input) {
                           std::string name = input.param.stem().string();
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace quadrille::kernels
