// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/transport.hpp"
#include "commands/commands.hpp"
#include "commands/explain.hpp"
#include "commands/help.hpp"
#include "commands/inputs.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "device/device.hpp"
#include "device/known_devices.hpp"
#include "measure/fault.hpp"
#include "report/document.hpp"
#include "report/glossary.hpp"
#include "report/profile.hpp"
#include "run/output.hpp"
#include "workloads/peers/peer.hpp"
#include "workloads/registry.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace quadrille::commands {
namespace {

using Json = nlohmann::ordered_json;

struct ListArguments {
  std::string what = "workloads";  ///< one of words_of("TABLE")
  std::string workload, type;  ///< of variants, those of this workload and for arrays of this type
  bool json = false;
  bool here = false;  ///< of inputs, those for the devices of this machine, for scripts
};

/// Those of a row that cases of the workload can have.
std::vector<kernels::Types> reached_types(measure::WorkloadEntry const& entry,
                                          kernels::VariantInfo const& variant) {
  std::vector<kernels::Types> types;
  std::ranges::copy_if(variant.types, std::back_inserter(types), [&](kernels::Types const& one) {
    return !entry.keeps_type || one.in == one.out;
  });
  return types;
}

/// What the arrays of a case may hold, each once.
std::vector<std::string_view> types_of(measure::WorkloadEntry const& entry,
                                       kernels::VariantInfo const& variant) {
  std::vector<kernels::Types> const reached = reached_types(entry, variant);
  std::vector<std::string_view> types;
  for (auto const& [type, word] : enum_names(core::DataType{})) {
    if (std::ranges::find(reached, type, &kernels::Types::in) != reached.end()) {
      types.push_back(word);
    }
  }
  return types;
}

/// What of a workload does not depend on the case: that of the smallest.
measure::Traits traits_of(measure::WorkloadEntry const& entry) {
  core::Case spec;
  spec.workload = &entry.schema;
  spec.parameters = entry.schema.defaults;
  spec.size.value.fill(1);
  spec.size.count = static_cast<int>(entry.schema.extents.size());
  return entry.make(spec, 1, 0)->describe({}).traits;
}

Json json_of_reason(std::string const& reason) { return reason.empty() ? Json{} : Json(reason); }

Json json_of(measure::WorkloadEntry const& entry) {
  measure::Traits const traits = traits_of(entry);
  std::vector<std::string_view> keys;
  for (core::Option const* option : core::options_of(entry.schema)) keys.push_back(option->key);
  return {{"name", entry.schema.name},
          {"summary", entry.summary},
          {"work", entry.work},
          {"extents", entry.schema.extents},
          {"keys", keys},
          {"communicates", traits.communicates},
          {"has_legs", traits.has_legs},
          {"min_ranks", traits.min_ranks}};
}

Json json_of(measure::WorkloadEntry const& entry, kernels::VariantInfo const& variant) {
  std::string const reason = unavailable_reason(variant);
  std::vector<std::string> computes;
  for (kernels::Types const& types : reached_types(entry, variant)) {
    computes.push_back(kernels::to_text(types));
  }
  return {{"workload", entry.schema.name},
          {"name", variant.name},
          {"role", core::to_text(variant.role)},
          {"where", core::to_text(variant.where)},
          {"types", types_of(entry, variant)},
          {"computes", computes},
          {"needs", kernels::to_text(variant.needs)},
          {"source", variant.source},
          {"summary", variant.summary},
          {"caveat", json_of_reason(std::string{variant.caveat})},
          {"available", reason.empty()},
          {"reason", json_of_reason(reason)}};
}

Json json_of(ShippedInput const& input) {
  core::About const& about = input.about;
  return {{"name", input.name},       {"path", input.path},   {"purpose", about.purpose},
          {"devices", about.devices}, {"ranks", about.ranks}, {"memory", about.memory},
          {"seconds", about.seconds}};
}

/// What an input covers of a document.
struct SourceItem {
  core::Covered covered;
  std::string input;
};

/// In the order of documents and of places in them, "kernel 2" before "kernel 10".
core::Parsed<std::vector<SourceItem>> source_items() {
  using Result = core::Parsed<std::vector<SourceItem>>;
  auto const inputs = shipped_inputs();
  if (!inputs) return Result::error(inputs.why());
  std::vector<SourceItem> items;
  for (ShippedInput const& input : *inputs) {
    for (core::Covered const& covered : input.about.covers) items.push_back({covered, input.name});
  }
  std::ranges::stable_sort(items, [](SourceItem const& a, SourceItem const& b) {
    core::Covered const &x = a.covered, &y = b.covered;
    if (x.document != y.document) return x.document < y.document;
    return strverscmp(x.place.c_str(), y.place.c_str()) < 0;
  });
  return items;
}

Json json_of(SourceItem const& source) {
  auto const or_null = [](std::string_view text) { return text.empty() ? Json{} : Json(text); };
  core::Covered const& item = source.covered;
  return {{"document", item.document},
          {"place", item.place},
          {"item", item.item},
          {"input", source.input},
          {"cases", or_null(item.cases)},
          {"variant", or_null(item.variant)},
          {"command", or_null(item.command)}};
}

/// A table for each document.
void print_sources(std::vector<SourceItem> const& items) {
  std::string_view document;
  report::Document page;
  report::Table table;
  auto const add_table = [&] {
    if (document.empty()) return;
    page.add_gap();
    page.add_title(std::string{document});
    page.add_table(table);
  };
  for (SourceItem const& source : items) {
    core::Covered const& item = source.covered;
    if (item.document != document) {
      add_table();
      document = item.document;
      table = report::text_table({"place", "what it has", "shown by"});
    }
    std::string shown = item.command;
    if (shown.empty()) {
      shown = fmt::format("inputs/{}.toml", source.input);
      // Longer than a line: the whole input has them.
      if (item.cases.size() < 80) shown += fmt::format(" --only {}", item.cases);
    }
    if (!item.variant.empty()) shown += fmt::format(": {}", item.variant);
    table.add_row({item.place, item.item, std::move(shown)});
  }
  add_table();
  core::print("{}", write_text(page, report::terminal_of_output()));
}

/// "host 20 s, H200": devices, and the time where it is known.
std::string devices_text(core::About const& about) {
  std::vector<std::string> devices;
  for (std::string const& device : about.devices) {
    auto const seconds = about.seconds.find(device);
    devices.push_back(seconds == about.seconds.end()
                          ? device
                          : fmt::format("{} {:.0f} s", device, seconds->second));
  }
  return fmt::format("{}", fmt::join(devices, ", "));
}

void print(report::Table const& table) {
  core::print("{}", write_text(table, report::terminal_of_output()));
}

void print_inputs(std::vector<ShippedInput> const& inputs) {
  report::Table table = report::text_table({"input", "ranks", "purpose"});
  for (ShippedInput const& input : inputs) {
    table.add_row(
        {input.name, fmt::format("{}", fmt::join(input.about.ranks, ", ")),
         core::one_line(fmt::format("{}; {}", input.about.purpose, devices_text(input.about)))});
  }
  print(table);
}

/// Inputs for the GPUs of this machine, or else for hosts, each with the first of its numbers of ranks
/// that there are devices for.
void print_inputs_here(std::vector<ShippedInput> const& inputs) {
  int const gpus = device::cuda_device_count();
  device::KnownDevice const* const known =
      gpus > 0 ? device::known_device_like(device::cuda_device_facts(0))
               : device::known_device(device::kHostName);
  if (known == nullptr) return;
  std::int64_t const most = gpus > 0 ? gpus : std::max(2U, std::thread::hardware_concurrency());
  for (ShippedInput const& input : inputs) {
    core::About const& about = input.about;
    auto const ranks = std::ranges::find_if(about.ranks, [&](auto n) { return n <= most; });
    bool const is_for_it = std::ranges::find(about.devices, known->name) != about.devices.end();
    if (!is_for_it || ranks == about.ranks.end()) continue;
    core::print("{}\t{}\t{}\n", *ranks, known->name, input.path);
  }
}

/// "all", or the types that arrays of a variant may hold.
std::string types_text(measure::WorkloadEntry const& entry, kernels::VariantInfo const& variant) {
  std::vector<std::string_view> const types = types_of(entry, variant);
  bool const all = std::ranges::equal(variant.types, kernels::kEveryType);
  return all ? "all" : fmt::format("{}", fmt::join(types, " "));
}

using Rows = std::vector<kernels::VariantInfo const*>;
/// The variants of each workload that has any of those asked for.
std::vector<std::pair<measure::WorkloadEntry const*, Rows>> chosen_variants(
    ListArguments const& arguments) {
  std::vector<std::pair<measure::WorkloadEntry const*, Rows>> chosen;
  for (measure::WorkloadEntry const* entry : workloads::workloads()) {
    if (!arguments.workload.empty() && arguments.workload != entry->schema.name) continue;
    Rows rows;
    for (kernels::VariantInfo const* row : entry->variants) {
      std::vector<std::string_view> const types = types_of(*entry, *row);
      bool const has_type = std::ranges::find(types, arguments.type) != types.end();
      if (arguments.type.empty() || has_type) rows.push_back(row);
    }
    if (!rows.empty()) chosen.emplace_back(entry, std::move(rows));
  }
  return chosen;
}

void print_variants(ListArguments const& arguments) {
  bool is_first = true;
  for (auto const& [entry, rows] : chosen_variants(arguments)) {
    report::Table table =
        report::text_table({entry->schema.name, "role", "where", "runs", "summary"});
    for (kernels::VariantInfo const* row : rows) {
      table.add_row({"  " + std::string{row->name}, std::string{core::to_text(row->role)},
                     std::string{core::to_text(row->where)},
                     unavailable_reason(*row).empty() ? "yes" : "no",
                     fmt::format("{}: {}{}{}", types_text(*entry, *row), row->summary,
                                 row->caveat.empty() ? "" : "; ", row->caveat)});
    }
    if (!is_first) core::print("\n");
    is_first = false;
    print(table);
  }
}

/// On one line, without its stop.
std::string first_sentence(std::string_view text) {
  std::string line{text};
  std::ranges::replace(line, '\n', ' ');
  std::size_t const next = line.find(". ");
  return next == line.npos && line.ends_with('.') ? line.substr(0, line.size() - 1)
                                                  : line.substr(0, next);
}

void print_plain(Json const& entries) {
  report::Table table = report::text_table({"", ""});
  for (Json const& entry : entries) {
    std::string summary = entry["summary"];
    if (entry.contains("reason") && !entry["reason"].is_null()) {
      summary += " (unavailable: " + std::string{entry["reason"]} + ")";
    }
    table.add_row({entry["name"], summary});
  }
  print(table);
}

}  // namespace

std::string unavailable_reason(kernels::VariantInfo const& variant) {
  if (variant.runs_on(device::Kind::host)) return {};
  if (!variant.is_built()) return "built without CUDA";
  std::string why_no_gpu;
  if (device::cuda_device_count(&why_no_gpu) == 0) return why_no_gpu;
  std::string const reason =
      kernels::unsupported_reason(variant, device::Kind::cuda, device::cuda_device_facts(0));
  return reason.empty() ? workloads::library_unavailable(variant) : reason;
}

namespace {

core::Exit refused(std::string_view why) {
  core::print_error("quadrille: {}\n", core::one_line(why));
  return core::Exit::environment;
}

core::Exit list(ListArguments const& arguments) {
  Json entries = Json::array();
  bool const is_filtered = !arguments.workload.empty() || !arguments.type.empty();
  if (is_filtered && arguments.what != "variants") {
    return run::refuse("a workload and --type choose among variants: quadrille list variants gemm");
  }
  if (arguments.what == "variants") {
    if (!arguments.json) {
      print_variants(arguments);
      return core::Exit::pass;
    }
    for (auto const& [entry, rows] : chosen_variants(arguments)) {
      for (kernels::VariantInfo const* row : rows) entries.push_back(json_of(*entry, *row));
    }
  } else if (arguments.what == "inputs") {
    core::Parsed<std::vector<ShippedInput>> const inputs = shipped_inputs();
    if (!inputs) return refused(inputs.why());
    if (arguments.here) print_inputs_here(*inputs);
    if (!arguments.here && !arguments.json) print_inputs(*inputs);
    if (!arguments.json) return core::Exit::pass;
    for (ShippedInput const& input : *inputs) entries.push_back(json_of(input));
  } else if (arguments.what == "workloads") {
    for (measure::WorkloadEntry const* entry : workloads::workloads()) {
      entries.push_back(json_of(*entry));
    }
  } else if (arguments.what == "transports") {
    for (comm::TransportEntry const* entry : comm::transports()) {
      std::string const reason = entry->unavailable_reason(nullptr);
      entries.push_back({{"name", entry->name},
                         {"summary", entry->summary},
                         {"selectable", entry->is_selectable},
                         {"available", reason.empty()},
                         {"reason", json_of_reason(reason)}});
    }
  } else if (arguments.what == "sources") {
    auto const items = source_items();
    if (!items) return refused(items.why());
    if (!arguments.json) {
      print_sources(*items);
      return core::Exit::pass;
    }
    for (SourceItem const& item : *items) entries.push_back(json_of(item));
  } else if (arguments.what == "counters") {
    for (report::ProfileCounter const& counter : report::profile_counters()) {
      entries.push_back({{"name", counter.name}, {"summary", counter.label}});
    }
  } else if (arguments.what == "faults") {
    for (auto const& [fault, word] : enum_names(measure::Fault{})) {
      if (fault == measure::Fault::none) continue;
      entries.push_back({{"name", word}, {"summary", measure::summary_of(fault)}});
    }
  } else {
    for (report::ExplainedMetric const& metric : report::metrics()) {
      entries.push_back({{"name", metric.name},
                         {"summary", first_sentence(metric.meaning)},
                         {"unit", metric.unit}});
    }
  }
  if (arguments.json) {
    core::print("{}\n", entries.dump(2));
  } else {
    print_plain(entries);
  }
  return core::Exit::pass;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  auto const arguments = std::make_shared<ListArguments>();
  CLI::App* const command = app.add_subcommand(
      "list",
      "List workloads, variants, inputs, sources (items of documents, and what shows them), "
      "transports, metrics, counters (of profiles) or faults");
  one_of(command->add_option("what", arguments->what,
                             "workloads | variants | inputs | sources | transports | metrics | "
                             "counters | faults"),
         "TABLE");
  one_of(command->add_option("workload", arguments->workload, "Of variants those of this workload"),
         "WORKLOAD");
  one_of(
      command->add_option("--type", arguments->type, "Of variants those for arrays of this type"),
      "TYPE");
  CLI::Option* const json = command->add_flag("--json", arguments->json, "As JSON");
  command
      ->add_flag("--here", arguments->here,
                 "Of inputs those for the devices here: lines of ranks, device and file with tabs "
                 "between")
      ->excludes(json);
  command->footer("Example: quadrille list variants gemm --type bf16");
  command->callback(
      [&action, arguments] { action = [arguments](int&, char**&) { return list(*arguments); }; });
}

}  // namespace quadrille::commands
