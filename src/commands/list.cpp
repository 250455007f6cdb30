// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/transport.hpp"
#include "commands/commands.hpp"
#include "device/device.hpp"
#include "report/columns.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <vector>

namespace quadrille::commands {
namespace {

/// Empty when the variant can run on this machine.
std::string why_not(kernels::VariantInfo const& variant, std::string const& why_no_gpu) {
  if (variant.runs_on(device::Kind::host)) return {};
  if (!variant.is_built()) return "built without CUDA";
  if (!why_no_gpu.empty()) return why_no_gpu;
  if (device::cuda_device_facts(0).compute_capability < variant.min_sm) {
    return fmt::format("needs compute capability {}.{}", variant.min_sm / 10, variant.min_sm % 10);
  }
  return {};
}

std::string status(std::string const& reason) {
  return reason.empty() ? "available" : "unavailable: " + reason;
}

void list_variants(bool json) {
  std::string why_no_gpu;
  if (device::cuda_device_count(&why_no_gpu) > 0) why_no_gpu.clear();
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (measure::WorkloadEntry const* entry : workloads::workloads()) {
    for (kernels::VariantInfo const* row : entry->variants()) {
      std::string const reason = why_not(*row, why_no_gpu);
      std::vector<std::string> types;
      for (core::DataType const type : row->types) types.emplace_back(core::to_text(type));
      if (json) {
        nlohmann::ordered_json& out = rows.emplace_back();
        out["workload"] = entry->schema.name;
        out["name"] = row->name;
        out["backend"] = core::to_text(row->backend);
        out["types"] = types;
        out["needs"] = row->needs;
        out["source"] = row->source;
        out["available"] = reason.empty();
        out["reason"] = reason.empty() ? nlohmann::ordered_json{} : nlohmann::ordered_json(reason);
      } else {
        fmt::print("{:<10} {:<13} {:<10} {:<16} {:<10} {}\n", entry->schema.name, row->name,
                   core::to_text(row->backend), fmt::join(types, " "), status(reason),
                   row->summary);
      }
    }
  }
  if (json) fmt::print("{}\n", rows.dump(2));
}

void list_rows(bool json, std::vector<std::array<std::string, 3>> const& rows) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (auto const& [name, summary, reason] : rows) {
    if (json) {
      out.push_back(
          {{"name", name},
           {"summary", summary},
           {"available", reason.empty()},
           {"reason", reason.empty() ? nlohmann::ordered_json{} : nlohmann::ordered_json(reason)}});
    } else {
      fmt::print("{:<14} {:<10} {}\n", name, status(reason), summary);
    }
  }
  if (json) fmt::print("{}\n", out.dump(2));
}

}  // namespace

core::Exit list(ListArguments const& arguments) {
  std::vector<std::array<std::string, 3>> rows;
  if (arguments.what == "variants") {
    list_variants(arguments.json);
    return core::Exit::pass;
  }
  if (arguments.what == "workloads") {
    for (auto const* entry : workloads::workloads())
      rows.push_back({std::string{entry->schema.name}, std::string{entry->summary}, ""});
  } else if (arguments.what == "transports") {
    for (comm::TransportEntry const* entry : comm::transports()) {
      rows.push_back({std::string{entry->name}, std::string{entry->summary},
                      entry->unavailable_reason(nullptr)});
    }
  } else {
    for (auto const& one : report::metrics()) {
      std::string_view const first = one.meaning.substr(0, one.meaning.find('\n'));
      rows.push_back({std::string{one.name}, std::string{first}, ""});
    }
  }
  list_rows(arguments.json, rows);
  return core::Exit::pass;
}

core::Exit explain(std::string const& name) {
  bool found = false;
  std::vector<std::string> names;
  for (report::Metric const& metric : report::metrics()) {
    names.emplace_back(metric.name);
    if (metric.name != name) continue;
    fmt::print("{} [{}]\n{}\n", metric.name, metric.unit, metric.meaning);
    found = true;
  }
  for (measure::WorkloadEntry const* entry : workloads::workloads()) {
    names.emplace_back(entry->schema.name);
    std::vector<std::string_view> keys;
    for (core::Option const& option : core::common_options()) {
      if (core::accepts(option, entry->schema)) keys.push_back(option.key);
    }
    if (entry->schema.name == name) {
      fmt::print(
          "{}: {}\n  work      {} (s: bytes of an element)\n  size      {}\n  ranks     {}\n"
          "  keys      {}\n",
          entry->schema.name, entry->summary, entry->work, fmt::join(entry->schema.extents, ", "),
          entry->local ? "each does the whole work at once" : "work together",
          fmt::join(keys, " "));
      if (!entry->schema.options.empty()) {
        fmt::print("{}", core::options_help(entry->schema));
      }
      for (auto const* row : entry->variants())
        fmt::print("  variant   {:<13} {}\n", row->name, row->summary);
      found = true;
    }
    for (kernels::VariantInfo const* row : entry->variants()) {
      names.emplace_back(row->name);
      if (row->name != name) continue;
      std::vector<std::string_view> types;
      for (core::DataType const type : row->types) types.push_back(core::to_text(type));
      fmt::print("{} of {}: {}\n  backend   {}\n  types     {}\n  needs     {}\n  source    {}\n",
                 row->name, entry->schema.name, row->summary, core::to_text(row->backend),
                 fmt::join(types, " "), row->needs, row->source);
      found = true;
    }
  }
  if (found) return core::Exit::pass;
  std::string const near = core::nearest_name(name, names);
  fmt::print(
      stderr,
      "quadrille: nothing is called '{}'{}; see `quadrille list workloads|variants|metrics`\n",
      name, near.empty() ? "" : fmt::format(", did you mean '{}'?", near));
  return core::Exit::bad_config;
}

}  // namespace quadrille::commands
