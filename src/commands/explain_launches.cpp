// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/explain_launches.hpp"

#include "core/config.hpp"
#include "core/text.hpp"
#include "device/block_limits.hpp"
#include "device/kernel_text.hpp"
#include "device/known_devices.hpp"
#include "report/document.hpp"
#include "report/glossary.hpp"
#include "report/open.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace quadrille::commands {
namespace {

using LaunchText = core::Parsed<std::string>;

constexpr int kWarpLanes = 32;

/// What a subject is, to be wrapped where it is shown.
std::string paragraph(std::string_view subject) {
  std::string text{report::meaning_of("subject", subject)};
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// Occupancy

struct NamedGpu {
  std::string name;
  int compute_capability = 0;
};

/// Of which the limits are known: those that plans are made for, and what is here beside them.
std::vector<NamedGpu> known_gpus() {
  std::vector<NamedGpu> all;
  for (device::KnownDevice const& known : device::known_devices()) {
    if (known.kind() == device::Kind::cuda) {
      all.push_back({std::string{known.name}, known.facts.compute_capability});
    }
  }
  if (device::cuda_device_count() == 0) return all;
  device::Facts const here = device::cuda_device_facts(0);
  if (device::known_device_like(here) == nullptr)
    all.push_back({here.name, here.compute_capability});
  return all;
}

std::string limits_table(std::vector<NamedGpu> const& shown) {
  report::Table table;
  table.add_columns({{"device", 0, report::Align::left},
                     {"capability"},
                     {"threads"},
                     {"warps"},
                     {"blocks"},
                     {"registers"},
                     {"a warp takes"},
                     {"shared memory"},
                     {"a block takes"}});
  for (NamedGpu const& gpu : shown) {
    device::Multiprocessor const offered = device::multiprocessor(gpu.compute_capability);
    if (offered.threads == 0) continue;
    table.add_row(
        {gpu.name, fmt::format("{}.{}", gpu.compute_capability / 10, gpu.compute_capability % 10),
         fmt::format("{}", offered.threads), fmt::format("{}", offered.threads / kWarpLanes),
         fmt::format("{}", offered.blocks), fmt::format("{}", offered.registers),
         fmt::format("{} at a time", offered.register_unit),
         core::format_bytes(static_cast<double>(offered.shared_bytes)),
         fmt::format("{} B at a time, {} B more", offered.shared_unit, offered.shared_reserved)});
  }
  report::Document page;
  page.add_text(paragraph("occupancy"));
  page.add_gap();
  page.add_table(std::move(table));
  return write_text(page, report::terminal_of_output());
}

/// "registers; by shared memory 4": the lowest limit, and the next.
std::string bound_text(device::BlockLimits const& limits) {
  std::array<std::pair<int, std::string_view>, 4> all{{{limits.threads, "threads"},
                                                       {limits.registers, "registers"},
                                                       {limits.shared_memory, "shared memory"},
                                                       {limits.blocks, "blocks"}}};
  std::ranges::stable_sort(all, {}, &std::pair<int, std::string_view>::first);
  auto const& [least, what] = all[0];
  auto const& [next, other] = all[1];
  return least == next ? fmt::format("{} and {}", what, other)
                       : fmt::format("{}; by {} {}", what, other, next);
}

LaunchText occupancy_of(measure::RunResult const& result, std::string const& file) {
  report::Table table;
  table.add_columns({{"variant", 0, report::Align::left},
                     {"kernel", 0, report::Align::left},
                     {"threads"},
                     {"registers"},
                     {"shared"},
                     {"by threads"},
                     {"by registers"},
                     {"by shared memory"},
                     {"by blocks"},
                     {"resident"},
                     {"of threads"},
                     {"bound by", 0, report::Align::left}});
  table.columns[1].short_width = 24;
  table.repeated = 2;
  table.is_cut = true;
  std::set<std::pair<std::string, std::string>> had;
  bool is_readable = true;
  device::Facts const here =
      device::cuda_device_count() > 0 ? device::cuda_device_facts(0) : device::Facts{};
  for (measure::Record const& record : result.records) {
    auto const known = std::ranges::find_if(
        device::known_devices(), [&](auto const& one) { return one.facts.name == record.device; });
    int const capability = known != device::known_devices().end() ? known->facts.compute_capability
                           : here.name == record.device           ? here.compute_capability
                                                                  : 0;
    device::Multiprocessor const offered = device::multiprocessor(capability);
    for (std::string const& text : record.kernels) {
      auto const kernel = device::kernel_from_text(text);
      is_readable = is_readable && kernel && offered.threads > 0;
      if (!is_readable || !had.emplace(record.variant, text).second) continue;
      auto const threads = static_cast<int>(kernel->block[0] * kernel->block[1] * kernel->block[2]);
      device::BlockNeeds const needs{threads, kernel->registers, kernel->shared_bytes};
      device::BlockLimits const limits = block_limits(offered, needs);
      int const resident = resident_blocks(offered, needs);
      table.add_row({record.variant, core::one_line(kernel->name), fmt::format("{}", threads),
                     fmt::format("{}", kernel->registers),
                     fmt::format("{} B", kernel->shared_bytes), fmt::format("{}", limits.threads),
                     fmt::format("{}", limits.registers), fmt::format("{}", limits.shared_memory),
                     fmt::format("{}", limits.blocks), fmt::format("{}", resident),
                     fmt::format("{:.0f} %", 100.0 * resident * threads / offered.threads),
                     bound_text(limits)});
    }
  }
  if (!is_readable) {
    return LaunchText::error(fmt::format(
        "{}: its kernels are of another version of this program or of a device whose limits "
        "are not known; run its input again",
        file));
  }
  if (table.rows() == 0) {
    return LaunchText::error(
        fmt::format("{}: there are no kernels in it; results of GPUs have them", file));
  }
  report::Document page;
  page.add_text(paragraph("occupancy"));
  page.add_gap();
  page.add_table(std::move(table));
  return write_text(page, report::terminal_of_output());
}

// Indices

/// "2", "1x4", "8x4x2"; nothing where it is none of these.
std::optional<std::vector<int>> extents_of(std::string_view text) {
  std::vector<int> extents;
  char const* at = text.data();
  char const* const end = at + text.size();
  while (extents.size() < 3) {
    int value = 0;
    auto const [behind, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || value < 1) return {};
    extents.push_back(value);
    if (behind == end) return extents;
    if (*behind != 'x') return {};
    at = behind + 1;
  }
  return {};
}

struct LaunchShape {
  std::vector<int> grid, block;
};

int product_of(std::vector<int> const& extents) {
  // Never above the limit, so that it cannot overflow.
  std::int64_t product = 1;
  for (int const extent : extents) product = std::min<std::int64_t>(product * extent, 1 << 20);
  return static_cast<int>(product);
}

/// Where element `i` is, x first; extents that are missing are 1.
std::array<int, 3> place_of(int i, std::vector<int> const& extents) {
  std::array<int, 3> place{};
  for (std::size_t d = 0; d < extents.size(); ++d) {
    place[d] = i % extents[d];
    i /= extents[d];
  }
  return place;
}

/// "(0)", "(3 1)".
std::string place_text(int i, std::vector<int> const& extents) {
  std::array<int, 3> const place = place_of(i, extents);
  std::string text = fmt::format("({}", place[0]);
  for (std::size_t d = 1; d < extents.size(); ++d) text += fmt::format(" {}", place[d]);
  return text + ")";
}

/// The number of a thread in all rows of the grid one after the other, each as wide as all its blocks.
int row_major_id(LaunchShape const& shape, int block, int thread) {
  std::array<int, 3> const b = place_of(block, shape.grid), t = place_of(thread, shape.block);
  int const x = b[0] * shape.block[0] + t[0], y = b[1] * shape.block[1] + t[1];
  return shape.grid[0] * shape.block[0] * y + x;
}

void add_shape(report::Document& page, LaunchShape const& shape) {
  // By the dimension of each: the number of a block in the grid, of a thread in its block.
  constexpr std::array<std::string_view, 3> kBlock{
      "blockIdx.x", "blockIdx.y * gridDim.x + blockIdx.x",
      "(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x"};
  constexpr std::array<std::string_view, 3> kThread{
      "threadIdx.x", "threadIdx.y * blockDim.x + threadIdx.x",
      "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x"};
  int const threads = product_of(shape.block), blocks = product_of(shape.grid);
  bool const has_rows = shape.grid.size() == 2 && shape.block.size() == 2;
  page.add_title(
      fmt::format("grid {}, block {}", fmt::join(shape.grid, "x"), fmt::join(shape.block, "x")));
  page.add_text(fmt::format("block = {}", kBlock.at(shape.grid.size() - 1)));
  page.add_text(fmt::format("thread = {}", kThread.at(shape.block.size() - 1)));
  page.add_text("warp = thread / 32, lane = thread % 32");
  page.add_text(fmt::format("my_id = block * {} + thread", threads));
  if (has_rows) {
    page.add_text("x = blockIdx.x * blockDim.x + threadIdx.x");
    page.add_text("y = blockIdx.y * blockDim.y + threadIdx.y");
    page.add_text("my_id by rows = y * gridDim.x * blockDim.x + x");
  }
  page.add_gap();
  report::Table table;
  table.add_columns({{"blockIdx"}, {"block"}, {"warp"}, {"threadIdx"}, {"to"}, {"my_id"}, {"to"}});
  if (has_rows) table.add_columns({{"by rows"}, {"to"}});
  for (int block = 0; block < blocks; ++block) {
    for (int first = 0; first < threads; first += kWarpLanes) {
      int const last = std::min(first + kWarpLanes, threads) - 1;
      std::vector<std::string> cells{place_text(block, shape.grid),
                                     fmt::format("{}", block),
                                     fmt::format("{}", first / kWarpLanes),
                                     place_text(first, shape.block),
                                     place_text(last, shape.block),
                                     fmt::format("{}", block * threads + first),
                                     fmt::format("{}", block * threads + last)};
      if (has_rows) {
        cells.push_back(fmt::format("{}", row_major_id(shape, block, first)));
        cells.push_back(fmt::format("{}", row_major_id(shape, block, last)));
      }
      table.add_row(cells);
    }
  }
  page.add_table(std::move(table));
}

}  // namespace

core::Parsed<std::string> explain_occupancy(std::string const& device_or_result) {
  std::vector<NamedGpu> const all = known_gpus();
  if (device_or_result.empty()) return limits_table(all);
  auto const gpu = std::ranges::find(all, device_or_result, &NamedGpu::name);
  if (gpu != all.end()) return limits_table({*gpu});
  if (!std::filesystem::exists(device_or_result)) {
    std::vector<std::string> names;
    for (NamedGpu const& one : all) names.push_back(one.name);
    return LaunchText::error(
        fmt::format("'{}' is neither a result nor a GPU whose limits are known{}: these are {}",
                    core::one_line(device_or_result), core::suggestion(device_or_result, names),
                    fmt::join(names, ", ")));
  }
  core::Parsed<measure::RunResult> const result = report::open_result(device_or_result);
  if (!result) return LaunchText::error(result.why());
  return occupancy_of(*result, device_or_result);
}

core::Parsed<std::string> explain_indices(std::vector<std::string> const& grid_and_block) {
  std::vector<LaunchShape> shapes{{{2}, {64}}, {{1, 4}, {32, 4}}};
  if (!grid_and_block.empty()) {
    auto const grid = extents_of(grid_and_block[0]);
    auto const block = grid_and_block.size() == 2 ? extents_of(grid_and_block[1]) : std::nullopt;
    if (!grid || !block || product_of(*block) > 1024 || product_of(*grid) > 1024) {
      return LaunchText::error(
          "takes the extents of a grid and of a block, of one to three dimensions and at most 1024 "
          "blocks and threads each: quadrille explain indices 2x2 32x4");
    }
    shapes = {{*grid, *block}};
  }
  report::Document page;
  page.add_text(paragraph("indices"));
  for (LaunchShape const& shape : shapes) {
    page.add_gap();
    add_shape(page, shape);
  }
  return write_text(page, report::terminal_of_output());
}

}  // namespace quadrille::commands
