// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/tuned_table.hpp"

#include "core/former_names.hpp"
#include "core/text.hpp"
#include "core/toml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace quadrille::measure {
namespace {

/// The texts of an entry by their keys.
struct Text {
  std::string_view key;
  std::string& (*of)(TunedEntry&);
};
constexpr Text kTexts[] = {
    {"operation", [](TunedEntry& entry) -> std::string& { return entry.of.operation; }},
    {"device", [](TunedEntry& entry) -> std::string& { return entry.of.device; }},
    {"type", [](TunedEntry& entry) -> std::string& { return entry.of.type; }},
    {"layout", [](TunedEntry& entry) -> std::string& { return entry.of.layout; }},
    {"shape", [](TunedEntry& entry) -> std::string& { return entry.of.shape; }},
    {"problem", [](TunedEntry& entry) -> std::string& { return entry.of.problem; }},
    {"variant", [](TunedEntry& entry) -> std::string& { return entry.variant; }},
    {"config", [](TunedEntry& entry) -> std::string& { return entry.configuration; }}};
constexpr std::string_view kRate = "rate";

bool is_whole(TunedEntry const& entry) {
  return !entry.of.operation.empty() && !entry.of.device.empty() && !entry.of.type.empty() &&
         !entry.of.shape.empty() && !entry.variant.empty() && entry.rate > 0 &&
         std::isfinite(entry.rate);
}

/// Why a table is no entry; empty where it is one.
std::string read_entry(toml::table const& table, TunedEntry& entry) {
  for (auto const& [key, node] : table) {
    auto const text = std::ranges::find(kTexts, key.str(), &Text::key);
    if (text != std::end(kTexts) && node.is_string()) {
      text->of(entry) = core::with_present_variants(key.str(), node.as_string()->get());
    } else if (key.str() == kRate && node.is_number()) {
      entry.rate = *node.value<double>();
    } else {
      return fmt::format("'{}' is no key of an entry, or no value for it", key.str());
    }
  }
  return is_whole(entry) ? "" : "an entry needs operation, device, type, shape, variant and rate";
}

}  // namespace

std::string shape_class(std::span<std::int64_t const> extents) {
  std::string text;
  for (std::int64_t const extent : extents) {
    double const exponent =
        std::round(std::log2(static_cast<double>(std::max<std::int64_t>(1, extent))));
    std::int64_t const power = std::int64_t{1} << static_cast<int>(std::clamp(exponent, 6.0, 14.0));
    text += fmt::format("{}{}", text.empty() ? "" : "x", power);
  }
  return text;
}

core::Parsed<TunedTable> TunedTable::parse(std::string_view text, std::string_view origin) {
  auto const error = [&](std::int64_t line, std::string_view why) {
    return core::Parsed<TunedTable>::error(fmt::format("{}:{}: {}", origin, line, why));
  };
  if (core::SyntaxError const found = core::find_syntax_error(text); found.line > 0) {
    return error(found.line, found.why);
  }
  toml::parse_result const parsed = toml::parse(text);
  if (!parsed) return error(parsed.error().source().begin.line, parsed.error().description());
  TunedTable table;
  for (auto const& [key, node] : parsed.table()) {
    auto const* const list = node.as_array();
    if (key.str() != "tuned" || list == nullptr || !list->is_homogeneous<toml::table>()) {
      return error(node.source().begin.line,
                   "a table of tuned configurations consists of [[tuned]]");
    }
    for (toml::node const& element : *list) {
      TunedEntry entry;
      std::string const why = read_entry(*element.as_table(), entry);
      if (!why.empty()) return error(element.source().begin.line, why);
      table.put(std::move(entry));
    }
  }
  return table;
}

std::string TunedTable::to_toml() const {
  std::string text;
  for (TunedEntry entry : entries_) {
    text += fmt::format("{}[[tuned]]\n", text.empty() ? "" : "\n");
    for (Text const& item : kTexts) {
      if (!item.of(entry).empty())
        text += fmt::format("{} = {}\n", item.key, core::quote(item.of(entry)));
    }
    text += fmt::format("{} = {:.6e}\n", kRate, entry.rate);
  }
  return text;
}

void TunedTable::put(TunedEntry entry) {
  if (!is_whole(entry)) return;
  auto const known = std::ranges::find_if(entries_, [&](TunedEntry const& other) {
    return other.of == entry.of && other.variant == entry.variant;
  });
  if (known == entries_.end()) {
    entries_.push_back(std::move(entry));
  } else {
    *known = std::move(entry);
  }
}

void TunedTable::put_problem(TunedEntry entry) {
  if (!is_whole(entry)) return;
  std::erase_if(entries_, [&](TunedEntry const& other) { return other.of == entry.of; });
  auto const is_problem = [](TunedEntry const& other) { return !other.of.problem.empty(); };
  if (std::ranges::count_if(entries_, is_problem) >= static_cast<std::ptrdiff_t>(kMaxProblems)) {
    entries_.erase(std::ranges::find_if(entries_, is_problem));
  }
  entries_.push_back(std::move(entry));
}

std::vector<TunedEntry> TunedTable::find(TuningClass const& of) const {
  std::vector<TunedEntry> found;
  for (TunedEntry const& entry : entries_) {
    if (entry.of == of) found.push_back(entry);
  }
  std::ranges::stable_sort(found, std::greater{}, &TunedEntry::rate);
  return found;
}

}  // namespace quadrille::measure
