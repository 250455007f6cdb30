// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/swept_keys.hpp"

#include "report/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>

namespace quadrille::report {
namespace {

using measure::Record;
using Values = std::map<std::string, std::string, std::less<>>;

using core::Case;

/// Of the keys that `takes` takes.
Values values_of(Case const& spec, auto&& takes) {
  Values values;
  for (core::Option const* option : core::options_of(*spec.workload)) {
    if (option->key == "name" || !takes(*option)) continue;
    std::string value = value_of(*option, spec);
    if (!value.empty()) values.emplace(option->key, std::move(value));
  }
  return values;
}

bool is_any(core::Option const&) { return true; }
bool is_of_problem(core::Option const& option) { return !option.selects_method; }

}  // namespace

std::string_view swept_name(Record const& record) {
  std::string_view const name = record.name;
  return name.substr(0, name.find('.'));
}

std::string apart_from_transport(Record const& record) {
  if (!record.spec) return record.name;
  std::string text{swept_name(record)};
  for (auto const& [key, value] : values_of(without<&Case::transport>(*record.spec), is_any)) {
    text += fmt::format("\n{} = {}", key, value);
  }
  return text;
}

std::string apart_from_choices(Record const& record) {
  if (!record.spec) return {};
  // Without what neither changes what is computed nor is a choice that somebody could copy.
  Case const spec =
      without<&Case::variants, &Case::config, &Case::size, &Case::size_host, &Case::published_on,
              &Case::published, &Case::published_launch, &Case::published_counts>(*record.spec);
  std::string text;
  for (auto const& [key, value] : values_of(spec, is_of_problem)) {
    text += fmt::format("{} = {}\n", key, value);
  }
  return text;
}

std::string choices_unlike(Record const& record, Record const& other) {
  if (!record.spec || !other.spec) return {};
  Values const theirs = values_of(*other.spec, std::mem_fn(&core::Option::selects_method));
  std::vector<std::string> choices;
  for (auto const& [key, value] :
       values_of(*record.spec, std::mem_fn(&core::Option::selects_method))) {
    auto const before = theirs.find(key);
    bool const differs = before == theirs.end() || before->second != value;
    if (differs) choices.push_back(fmt::format("{} = {}", key, value));
  }
  return fmt::format("{}", fmt::join(choices, ", "));
}

SweptKeys::SweptKeys(std::span<Record const* const> records) {
  struct Seen {
    Values values;  ///< of the first case
    std::set<std::string> keys;
  };
  std::map<std::string_view, Seen> sweeps;
  for (Record const* record : records) {
    auto const [known, is_new] = values_.try_emplace(record->name);
    if (!is_new || !record->spec) continue;
    // Members of a record, and what a sweep writes once for each of its cases, are shown otherwise.
    Case const spec = without<&Case::variants, &Case::size, &Case::size_host, &Case::type,
                              &Case::grid, &Case::transport, &Case::published_on, &Case::published,
                              &Case::published_launch, &Case::published_counts>(*record->spec);
    known->second = values_of(spec, is_any);
    auto const [seen, is_first] = sweeps.try_emplace(swept_name(*record));
    if (is_first) seen->second.values = known->second;
    Values const& first = seen->second.values;
    auto const note = [&](Values const& mine, Values const& other) {
      for (auto const& [key, value] : mine) {
        auto const found = other.find(key);
        if (found == other.end() || found->second != value) seen->second.keys.insert(key);
      }
    };
    note(known->second, first);
    note(first, known->second);
  }
  std::set<std::string> all;
  for (auto const& [name, seen] : sweeps) {
    std::vector<std::string>& keys = keys_by_sweep_[std::string{name}];
    keys.assign(seen.keys.begin(), seen.keys.end());
    all.insert(keys.begin(), keys.end());
  }
  keys_.assign(all.begin(), all.end());
}

std::vector<std::string> const& SweptKeys::keys_of(Record const& record) const {
  static std::vector<std::string> const kNone;
  auto const found = keys_by_sweep_.find(swept_name(record));
  return found == keys_by_sweep_.end() ? kNone : found->second;
}

std::string SweptKeys::value(Record const& record, std::string const& key) const {
  auto const values = values_.find(record.name);
  if (values == values_.end()) return "-";
  auto const found = values->second.find(key);
  return found == values->second.end() ? "-" : found->second;
}

}  // namespace quadrille::report
