// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/compare_identity.hpp"

#include "comm/grid.hpp"
#include "core/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace quadrille::report {
namespace {

using measure::Record;

/// The members that say what is computed, but for the workload's own parameters.
void visit_problem(auto&& visit) {
  visit("workload", &Identity::workload);
  visit("variant", &Identity::variant);
  visit("type", &Identity::type);
  visit("size", &Identity::size);
  visit("compute", &Identity::compute);
  visit("config", &Identity::configuration);
  visit("transport", &Identity::transport);
  visit("grid", &Identity::grid);
  visit("legs", &Identity::legs);
  visit("data", &Identity::data);
}

void visit_conditions(auto&& visit) {
  visit("ranks", &Identity::ranks);
  visit("device", &Identity::devices);
  visit("modelled link", &Identity::modelled_link);
  visit("throttle", &Identity::throttle);
  visit("clock", &Identity::clock);
  visit("timing", &Identity::timing);
  visit("cache", &Identity::cache);
  visit("chunk_bytes", &Identity::chunk_bytes);
  visit("nccl_ctas", &Identity::nccl_ctas);
  visit("work of a repetition", &Identity::amount);
}

std::string text_of(std::string const& value) { return value.empty() ? "none" : value; }
std::string text_of(Carrier const& value) { return text_of(value.name); }
std::string text_of(bool value) { return value ? "yes" : "no"; }
std::string text_of(std::int64_t value) { return fmt::format("{}", value); }
std::string text_of(double value) { return fmt::format("{}", value); }
std::string text_of(core::NamedEnum auto value) { return std::string{core::to_text(value)}; }
std::string text_of(core::GridShape value) { return fmt::format("{}x{}", value.rows, value.cols); }
std::string text_of(std::vector<std::int64_t> const& values) {
  return fmt::format("{}", fmt::join(values, ","));
}
std::string text_of(std::vector<std::string> const& values) { return list_runs(values); }

/// All extents, of which a configuration leaves out those that repeat the last.
std::vector<std::int64_t> extents_of(Record const& record, core::Case const& spec) {
  std::vector<std::int64_t> size = record.size;
  std::size_t const all = spec.workload->extents.size();
  if (!size.empty() && size.size() < all) size.resize(all, size.back());
  return size;
}

core::GridShape grid_of(core::Case const& spec, int ranks) {
  bool const is_automatic = spec.workload->keys.grid && spec.grid.rows <= 0 && ranks > 0;
  return is_automatic ? comm::near_square(ranks) : spec.grid;
}

std::string configuration_of(core::Case const& spec, std::string const& variant) {
  for (core::NamedConfiguration const& one : core::configurations_of(spec)) {
    if (one.variant == variant) return one.configuration;
  }
  return {};
}

std::vector<std::string> devices_of(Record const& record, measure::RunInfo const& info) {
  std::vector<std::string> devices{record.device};
  for (std::size_t i = 1; i < info.ranks.size(); ++i) devices.push_back(info.ranks[i].device);
  return devices;
}

}  // namespace

std::string list_runs(std::vector<std::string> const& texts) {
  std::string list;
  for (auto at = texts.begin(); at != texts.end();) {
    auto const end = std::find_if(at, texts.end(), [&](auto const& text) { return text != *at; });
    if (at != texts.begin()) list += ", ";
    if (end - at > 1) list += fmt::format("{} x ", end - at);
    list += *at;
    at = end;
  }
  return list;
}

core::Parsed<Identity> identity_of(Record const& record, measure::RunInfo const& info) {
  if (!record.spec) return core::Parsed<Identity>::error(record.unreadable);
  core::Case const& spec = *record.spec;
  Identity identity{.workload = record.workload,
                    .type = record.type,
                    .variant = record.variant,
                    .data = record.data,
                    .transport = {record.transport, record.transport_is_chosen},
                    .size = extents_of(record, spec),
                    .compute = core::compute_for(spec.type, spec.compute),
                    .grid = grid_of(spec, record.ranks),
                    .configuration = configuration_of(spec, record.variant),
                    .legs = spec.legs,
                    .spec = spec};
  identity.ranks = record.ranks;
  identity.devices = devices_of(record, info);
  identity.modelled_link = record.modelled_link;
  identity.throttle = record.modelled_link ? spec.throttle : 0;
  identity.clock = spec.clock;
  identity.timing = record.timing;
  identity.cache = spec.cache;
  bool const communicates = record.transport != "none";
  identity.chunk_bytes = communicates && info.settings ? info.settings->chunk_bytes : 0;
  identity.nccl_ctas = communicates ? spec.nccl_ctas : 0;
  identity.amount = record.amount;
  return identity;
}

std::vector<Difference> differences(Identity const& base, Identity const& now) {
  std::vector<Difference> found;
  auto const note = [&](char const* what, auto member) {
    if (base.*member == now.*member) return;
    found.push_back({what, text_of(base.*member), text_of(now.*member)});
  };
  visit_problem(note);
  if (base.spec.workload == now.spec.workload) {
    core::OptionTarget was{.run = {}, .spec = base.spec}, is{.run = {}, .spec = now.spec};
    for (core::Option const& option : base.spec.workload->options) {
      std::string const old_value = option.get(was), new_value = option.get(is);
      if (old_value != new_value) {
        found.push_back({std::string{option.key}, old_value, new_value});
      }
    }
  }
  visit_conditions(note);
  return found;
}

std::vector<Difference> sampling_settings(std::vector<core::Case> const& base,
                                          core::Case const& now) {
  auto const value_of = [](core::Option const& option, core::Case const& spec) {
    core::OptionTarget draft{.run = {}, .spec = spec};
    return option.get(draft);
  };
  std::vector<Difference> found;
  for (core::Option const* option : core::options_of(*now.workload)) {
    // What chooses measurements sweeps, or is of one case.
    if (option->sweeps || option->scope != core::Option::Scope::run_and_case) continue;
    std::string const is = value_of(*option, now);
    std::vector<std::string> was;
    for (core::Case const& spec : base) was.push_back(value_of(*option, spec));
    if (std::ranges::count(was, is) == std::ssize(was)) continue;
    found.push_back({std::string{option->key}, list_runs(was), is});
  }
  return found;
}

bool same_problem(Identity const& base, Identity const& now) {
  bool same = true;
  visit_problem([&](char const*, auto member) { same = same && base.*member == now.*member; });
  return same && base.spec.parameters == now.spec.parameters;
}

}  // namespace quadrille::report
