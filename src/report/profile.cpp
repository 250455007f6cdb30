// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/profile.hpp"

#include "core/config.hpp"
#include "core/text.hpp"
#include "device/kernel_text.hpp"
#include "report/document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace quadrille::report {
namespace {

using measure::Record;
using Launches = core::Parsed<std::vector<ProfiledLaunch>>;
using Fields = std::vector<std::string>;

// Reading

/// The fields of a line of RFC 4180 that has no line break in quotes; nothing where a quote is open.
std::optional<Fields> fields_of(std::string_view line) {
  Fields fields(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    char const c = line[i];
    bool const is_escaped = is_quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"';
    if (is_escaped) {
      fields.back() += line[++i];
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return is_quoted ? std::nullopt : std::optional{fields};
}

/// What a value in this unit is multiplied by, so that it is in bytes or seconds.
double factor_of(std::string_view unit) {
  constexpr std::pair<std::string_view, double> kFactors[]{
      {"Kbyte", 1e3}, {"Mbyte", 1e6},    {"Gbyte", 1e9}, {"ns", 1e-9},     {"nsecond", 1e-9},
      {"us", 1e-6},   {"usecond", 1e-6}, {"ms", 1e-3},   {"msecond", 1e-3}};
  auto const* const found =
      std::ranges::find(kFactors, unit, &std::pair<std::string_view, double>::first);
  return found == std::end(kFactors) ? 1 : found->second;
}

/// "1,027,584.5"; nothing for what is no number.
std::optional<double> number_of(std::string text) {
  std::erase(text, ',');
  char* end = nullptr;
  double const value = std::strtod(text.c_str(), &end);
  bool const is_number = !text.empty() && end == text.c_str() + text.size();
  return is_number ? std::optional{value} : std::nullopt;
}

/// "(128, 64, 1)".
std::optional<std::array<std::int64_t, 3>> extents_of(std::string const& text) {
  long long x = 0, y = 0, z = 0;
  if (std::sscanf(text.c_str(), "(%lld, %lld, %lld)", &x, &y, &z) != 3) return {};
  return std::array<std::int64_t, 3>{x, y, z};
}

/// "gemm_kernel<float, 8>" of "void quadrille::kernels::<unnamed>::gemm_kernel<float, 8>(float *)", of
/// which ncu writes "void unnamed>::..." in its tables.
std::string kernel_name(std::string name) {
  for (std::size_t at = 0; (at = name.find("<unnamed>::", at)) != name.npos;) name.erase(at, 11);
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) {
      name.resize(i);
      break;
    }
  }
  std::size_t const scope = name.rfind("::", name.find('<'));
  if (scope != name.npos) return name.substr(scope + 2);
  return name.starts_with("void ") ? name.substr(5) : name;
}

/// The columns of a header, where it is one.
struct Header {
  std::size_t id, kernel, block, grid;
  Fields names;
};
std::optional<Header> header_of(Fields const& fields) {
  auto const column = [&](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(fields, name) - fields.begin());
  };
  Header header{column("ID"), column("Kernel Name"), column("Block Size"), column("Grid Size"),
                fields};
  bool const is_whole =
      std::max({header.id, header.kernel, header.block, header.grid}) < fields.size();
  return is_whole ? std::optional{std::move(header)} : std::nullopt;
}

// Showing

/// A counter, or several added up, and what it is shown beside.
struct CounterRow {
  std::string_view label, unit;
  std::vector<std::string_view> counters;
  std::string_view predicted{};  ///< the metric of a record
  std::string_view share_of{};   ///< shown as a share of this counter
};

std::vector<CounterRow> const& rows() {
  constexpr std::string_view kInstructions = "smsp__inst_executed.sum";
  static std::vector<CounterRow> const all{
      {"time", "s", {"gpu__time_duration.sum"}},
      {"instructions", "", {kInstructions}},
      {"global loads", "%", {"smsp__sass_inst_executed_op_global_ld.sum"}, {}, kInstructions},
      {"global stores", "%", {"smsp__sass_inst_executed_op_global_st.sum"}, {}, kInstructions},
      {"shared loads", "%", {"smsp__sass_inst_executed_op_shared_ld.sum"}, {}, kInstructions},
      {"shared stores", "%", {"smsp__sass_inst_executed_op_shared_st.sum"}, {}, kInstructions},
      {"fused multiply-add pipe", "%", {"smsp__inst_executed_pipe_fma.sum"}, {}, kInstructions},
      {"double-precision pipe", "%", {"smsp__inst_executed_pipe_fp64.sum"}, {}, kInstructions},
      {"integer and logic pipe", "%", {"smsp__inst_executed_pipe_alu.sum"}, {}, kInstructions},
      {"tensor pipe", "%", {"smsp__inst_executed_pipe_tensor.sum"}, {}, kInstructions},
      {"threads per instruction", "", {"smsp__thread_inst_executed_per_inst_executed.ratio"}},
      {"branch efficiency", "%", {"smsp__sass_average_branch_targets_threads_uniform.pct"}},
      {"requests, global loads",
       "",
       // Those of cp.async among them.
       {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"},
       "global memory, requests read"},
      {"requests, global stores",
       "",
       {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"},
       "global memory, requests written"},
      {"sectors, global loads",
       "",
       {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"},
       "global memory, sectors read"},
      {"sectors, global stores",
       "",
       {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"},
       "global memory, sectors written"},
      {"sectors per request, read",
       "",
       {"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"},
       "sectors per request, read"},
      {"sectors per request, written",
       "",
       {"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"},
       "sectors per request, written"},
      {"wavefronts, global loads",
       "",
       {"l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum"}},
      {"wavefronts, global stores",
       "",
       {"l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_st.sum"}},
      {"wavefronts, shared memory",
       "",
       {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"},
       "shared memory"},
      {"bank conflicts, loads",
       "",
       {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"},
       "bank conflicts, loads"},
      {"bank conflicts, stores",
       "",
       {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"},
       "bank conflicts, stores"},
      {"first-level hits, loads", "%", {"l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct"}},
      {"first-level hits, stores", "%", {"l1tex__t_sector_pipe_lsu_mem_global_op_st_hit_rate.pct"}},
      {"second-level hits", "%", {"lts__t_sector_hit_rate.pct"}},
      {"memory, read", "B", {"dram__bytes_read.sum"}},
      {"memory, written", "B", {"dram__bytes_write.sum"}},
      {"throughput, compute", "%", {"sm__throughput.avg.pct_of_peak_sustained_elapsed"}},
      {"throughput, memory",
       "%",
       {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"}},
      {"throughput, device memory",
       "%",
       {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"}},
      {"occupancy reached", "%", {"sm__warps_active.avg.pct_of_peak_sustained_active"}}};
  return all;
}

/// Counters of warps that wait for one reason, for each instruction that is issued.
constexpr std::string_view kStall = "smsp__average_warps_issue_stalled_",
                           kStallEnd = "_per_issue_active.ratio";
constexpr std::size_t kMaxStalls = 5;

/// The measurements of a launch: those with a kernel of this name and launch, or at least of a template
/// of this name, whose arguments ncu may write otherwise.
std::vector<Record const*> records_of(ProfiledLaunch const& launch,
                                      measure::RunResult const& result) {
  std::vector<Record const*> exact, similar;
  auto const base = [](std::string_view name) { return name.substr(0, name.find('<')); };
  for (Record const& record : result.records) {
    bool is_exact = false, is_similar = false;
    for (std::string const& text : record.kernels) {
      auto const kernel = device::kernel_from_text(text);
      if (!kernel || kernel->grid != launch.grid || kernel->block != launch.block) continue;
      is_exact = is_exact || kernel->name == launch.kernel;
      is_similar = is_similar || base(kernel->name) == base(launch.kernel);
    }
    if (is_exact) exact.push_back(&record);
    if (is_similar) similar.push_back(&record);
  }
  return exact.empty() ? similar : exact;
}

std::string shown(double value, std::string_view unit) {
  if (unit == "s") return core::format_seconds(value);
  if (unit == "B") return core::format_bytes(value);
  if (unit == "%") return fmt::format("{:.1f} %", value);
  bool const is_count = value == std::round(value);
  return is_count ? fmt::format("{:.0f}", value) : fmt::format("{:.2f}", value);
}

/// The sum of a row's counters, of which those that this GPU does not have may be missing, all but the
/// first.
std::optional<double> counted(CounterRow const& row, ProfiledLaunch const& launch) {
  double sum = 0;
  for (std::string_view const name : row.counters) {
    auto const found = launch.counters.find(name);
    if (found != launch.counters.end()) sum += found->second;
    if (found == launch.counters.end() && name == row.counters.front()) return {};
  }
  if (row.share_of.empty()) return sum;
  auto const whole = launch.counters.find(row.share_of);
  if (whole == launch.counters.end() || !(whole->second > 0)) return {};
  return 100 * sum / whole->second;
}

std::string predicted(CounterRow const& row, Record const* record) {
  if (record == nullptr || row.predicted.empty()) return "-";
  auto const found =
      std::ranges::find(record->extras, row.predicted, &measure::SecondaryMetric::name);
  return found == record->extras.end() ? "-" : shown(found->amount, row.unit);
}

/// What the case says that a document counted.
std::string published(CounterRow const& row, Record const* record) {
  if (record == nullptr || !record->spec) return "-";
  std::string const of = fmt::format("{} {}: ", record->variant, row.label);
  for (std::string_view const text : record->spec->published_counts) {
    if (text.starts_with(of)) return shown(*core::parse_real(text.substr(of.size())), row.unit);
  }
  return "-";
}

void add_stalls(Table& table, ProfiledLaunch const& launch) {
  std::vector<std::pair<double, std::string>> stalls;
  double all = 0;
  for (auto const& [name, value] : launch.counters) {
    if (!name.starts_with(kStall) || !name.ends_with(kStallEnd)) continue;
    std::string reason = name.substr(kStall.size(), name.size() - kStall.size() - kStallEnd.size());
    std::ranges::replace(reason, '_', ' ');
    stalls.emplace_back(value, std::move(reason));
    all += value;
  }
  std::ranges::sort(stalls, std::greater{});
  stalls.resize(std::min(stalls.size(), kMaxStalls));
  for (auto const& [value, reason] : stalls) {
    if (!(value > 0)) continue;
    table.add_row({"stalled: " + reason, shown(100 * value / all, "%"), "-", "-"});
  }
}

}  // namespace

std::vector<ProfileCounter> profile_counters() {
  std::vector<ProfileCounter> all;
  for (CounterRow const& row : rows()) {
    for (std::string_view const name : row.counters) all.push_back({name, row.label});
  }
  return all;
}

core::Parsed<std::vector<ProfiledLaunch>> read_profile(std::string_view csv) {
  std::vector<ProfiledLaunch> launches;
  std::optional<Header> header;
  Fields units;
  std::int64_t line_number = 0;
  for (std::size_t at = 0; at < csv.size();) {
    std::size_t const end = std::min(csv.find('\n', at), csv.size());
    std::string_view const line = csv.substr(at, end - at);
    at = end + 1;
    ++line_number;
    auto const fields = fields_of(line);
    if (!header) {
      if (fields) header = header_of(*fields);
      continue;
    }
    if (line.empty() || line.starts_with("==")) continue;
    auto const fault = [&](std::string_view what) {
      return Launches::error(fmt::format("line {}: {}", line_number, what));
    };
    if (!fields || fields->size() != header->names.size()) {
      return fault(
          fmt::format("has not the {} fields of the header; profile again", header->names.size()));
    }
    // The line of units is of no launch.
    if ((*fields)[header->id].empty()) {
      units = *fields;
      continue;
    }
    auto const grid = extents_of((*fields)[header->grid]);
    auto const block = extents_of((*fields)[header->block]);
    if (!grid || !block) return fault("has no grid and block such as (128, 1, 1)");
    ProfiledLaunch launch{kernel_name((*fields)[header->kernel]), *grid, *block, {}};
    for (std::size_t i = 0; i < fields->size(); ++i) {
      auto const value = number_of((*fields)[i]);
      if (!value) continue;
      launch.counters[header->names[i]] = *value * factor_of(units.empty() ? "" : units[i]);
    }
    launches.push_back(std::move(launch));
  }
  if (!header) {
    return Launches::error(
        "is no table of Nsight Compute: there is no line with \"ID\", \"Kernel Name\", \"Block "
        "Size\" and "
        "\"Grid Size\"; write it with ncu --csv --page raw, as jobs/profile.sh does");
  }
  if (launches.empty()) return Launches::error("has no launch: ncu profiled none");
  return launches;
}

std::string render_profile(std::vector<ProfiledLaunch> const& launches,
                           measure::RunResult const* result, Terminal const& terminal) {
  Document page;
  for (ProfiledLaunch const& launch : launches) {
    std::vector<Record const*> const records =
        result == nullptr ? std::vector<Record const*>{} : records_of(launch, *result);
    Record const* const record = records.empty() ? nullptr : records.front();
    std::vector<std::string> names;
    for (Record const* const one : records) {
      if (std::ranges::find(names, one->variant) == names.end()) names.push_back(one->variant);
    }
    page.add_gap();
    if (!names.empty()) page.add_title(core::one_line(fmt::format("{}", fmt::join(names, ", "))));
    page.add_text(core::one_line(device::launch_text(launch.kernel, launch.grid, launch.block)));
    page.add_gap();
    Table table;
    table.add_columns({{"counter", 0, Align::left}, {"counted"}, {"predicted"}, {"published"}});
    for (CounterRow const& row : rows()) {
      auto const value = counted(row, launch);
      if (!value) continue;
      table.add_row({std::string{row.label}, shown(*value, row.unit), predicted(row, record),
                     published(row, record)});
    }
    add_stalls(table, launch);
    page.add_table(std::move(table));
  }
  return write_text(page, terminal);
}

}  // namespace quadrille::report
