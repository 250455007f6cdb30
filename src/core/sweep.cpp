// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <utility>
#include <vector>

namespace quadrille::core {
namespace {

using Texts = std::vector<std::string>;

constexpr std::size_t kMaxValues = 10000;
constexpr std::string_view kRangeSyntax = "a range is start:end:+step or start:end:*factor";

std::string_view trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split_trimmed(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    std::size_t const at = std::min(text.find(separator), text.size());
    parts.push_back(trim(text.substr(0, at)));
    if (at == text.size()) return parts;
    text.remove_prefix(at + 1);
  }
}

bool is_tuple(std::string_view text) { return text.starts_with('(') && text.ends_with(')'); }

std::vector<std::string_view> tuple_elements(std::string_view text) {
  return split_trimmed(text.substr(1, text.size() - 2), ',');
}

Parsed<Texts> expand_range(std::string_view text, std::vector<std::string_view> const& parts) {
  using Out = Parsed<Texts>;
  bool const factor = parts[2].starts_with('*');
  if (!factor && !parts[2].starts_with('+')) {
    return Out::error(fmt::format("'{}': {}", text, kRangeSyntax));
  }
  auto const start = parse_count(parts[0]);
  auto const end = parse_count(parts[1]);
  auto const step = parse_count(parts[2].substr(1));
  for (auto const* const number : {&start, &end, &step}) {
    if (!*number) return Out::error(fmt::format("'{}': {}", text, number->why()));
  }
  if (*start > *end) return Out::error(fmt::format("'{}' ends before it starts", text));
  if (factor ? *start < 1 || *step < 2 : *step < 1) {
    return Out::error(fmt::format(
        "'{}' does not advance: a step must be at least 1, a factor 2, its start 1", text));
  }
  Texts values;
  for (std::int64_t v = *start;;) {
    if (values.size() == kMaxValues) {
      return Out::error(fmt::format("'{}' has more than {} values", text, kMaxValues));
    }
    values.push_back(fmt::format("{}", v));
    if (factor ? v > *end / *step : v > *end - *step) return values;
    v = factor ? v * *step : v + *step;
  }
}

/// Anything but a tuple.
Parsed<Texts> expand_element(std::string_view text) {
  auto const parts = split_trimmed(text, ':');
  if (parts.size() == 3) return expand_range(text, parts);
  return Texts{std::string{text}};
}

// No name is so long, and the distance would take its time.
constexpr std::size_t kLongestName = 100;
// A list of more is no help.
constexpr std::size_t kMaxListed = 50;

/// Letters to insert, delete, replace or swap with their neighbour until `a` reads as `b`, in either
/// case (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  auto const same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  };
  // rows[i][j]: of the first i letters of `a` and the first j of `b`.
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      std::size_t const replaced = rows[i - 1][j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1);
      rows[i][j] = std::min({replaced, rows[i - 1][j] + 1, rows[i][j - 1] + 1});
      bool const swapped = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
      if (swapped) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

}  // namespace

Parsed<Texts> expand_sweep(std::string_view text) {
  if (!is_tuple(text)) return expand_element(text);
  std::vector<Texts> elements;
  std::size_t length = 1;
  std::vector<std::string_view> const parts = tuple_elements(text);
  if (parts.size() > Extents{}.value.size()) {
    return Parsed<Texts>::error(
        fmt::format("'{}' has more than {} extents", text, Extents{}.value.size()));
  }
  for (std::string_view const element : parts) {
    auto values = expand_element(element);
    if (!values) return values;
    if (values->size() > 1 && length > 1 && values->size() != length) {
      return Parsed<Texts>::error(
          fmt::format("'{}': ranges of one tuple advance together, but have {} and {} values", text,
                      length, values->size()));
    }
    length = std::max(length, values->size());
    elements.push_back(*values);
  }
  if (length == 1) return Texts{std::string{text}};
  Texts out;
  for (std::size_t i = 0; i < length; ++i) {
    Texts row;
    for (Texts const& values : elements) row.push_back(values[values.size() == 1 ? 0 : i]);
    out.push_back(fmt::format("({})", fmt::join(row, ",")));
  }
  return out;
}

Parsed<Extents> parse_size(std::string_view text) {
  using Out = Parsed<Extents>;
  Extents size;
  if (text.starts_with("auto")) {
    std::string_view share = text.substr(4);
    double percent = 0;
    bool good = share.starts_with(':') && share.ends_with('%') && share.size() > 2;
    if (good) {
      share = share.substr(1, share.size() - 2);
      auto const [end, problem] =
          std::from_chars(share.data(), share.data() + share.size(), percent);
      good = problem == std::errc{} && end == share.data() + share.size();
    }
    if (!good || !(percent > 0 && percent <= 100)) {
      return Out::error(fmt::format("'{}' is not a share of memory such as \"auto:70%\"", text));
    }
    size.count = 1;
    size.auto_fraction = percent / 100;
    return size;
  }
  auto const elements = is_tuple(text) ? tuple_elements(text) : std::vector<std::string_view>{text};
  if (elements.size() > size.value.size()) {
    return Out::error(fmt::format("'{}' has more than {} extents", text, size.value.size()));
  }
  for (std::string_view const element : elements) {
    if (element.find(':') != std::string_view::npos) {
      return Out::error(fmt::format("'{}': {}", element, kRangeSyntax));
    }
    auto const count = parse_count(element);
    if (!count) return Out::error(count.why());
    size.value[static_cast<std::size_t>(size.count++)] = *count;
  }
  return size;
}

Parsed<std::vector<NamedConfiguration>> parse_configurations(std::string_view text) {
  std::vector<NamedConfiguration> found;
  if (text == "auto") return found;
  for (std::string_view const part : split_trimmed(text, ';')) {
    std::size_t const blank = std::min(part.find(' '), part.size());
    std::string_view const configuration = trim(part.substr(blank));
    if (part.empty() || configuration.find(' ') != configuration.npos) {
      return Parsed<std::vector<NamedConfiguration>>::error(
          fmt::format("'{}': write \"VARIANT NAME=VALUE,...\", several by ';'", text));
    }
    found.push_back({std::string{part.substr(0, blank)}, std::string{configuration}});
  }
  return found;
}

std::vector<NamedConfiguration> configurations_of(Case const& spec) {
  auto const read = parse_configurations(spec.config);
  QUAD_REQUIRE(read, read.why());
  return *read;
}

Parsed<Texts> parse_device_map(std::string_view text) {
  Texts entries;
  for (std::string_view const entry : split_trimmed(text, ',')) {
    if (entry.empty()) {
      return Parsed<Texts>::error(fmt::format(
          "'{}' is not a list of GPUs such as \"0,2,4,6\", each an index, UUID or PCI address",
          text));
    }
    entries.emplace_back(entry);
  }
  return entries;
}

Parsed<Config> expand_grids(Config const& config, int ranks) {
  Config out{config.run, {}, config.about};
  std::set<std::string> taken;
  for (Case const& spec : config.cases) {
    std::int64_t const layers = spec.workload->layers(spec);
    if (ranks % layers != 0) {
      return Parsed<Config>::error(
          fmt::format("case '{}': layers = {} do not divide {} ranks; take a divisor of {}",
                      spec.name, layers, ranks, ranks));
    }
    auto const of_layer = static_cast<int>(ranks / layers);
    std::vector<GridShape> grids;
    Texts texts;
    for (int rows = 1; rows <= of_layer; ++rows) {
      if (of_layer % rows != 0) continue;
      grids.push_back({rows, of_layer / rows});
      texts.push_back(fmt::format("{}x{}", rows, of_layer / rows));
    }
    std::size_t const first = out.cases.size();
    bool const chosen = spec.workload->keys.grid && spec.grid != GridShape{};
    if (chosen && spec.grid == kAllGrids) {
      for (std::size_t i = 0; i < grids.size(); ++i) {
        out.cases.push_back(spec);
        out.cases.back().grid = grids[i];
        out.cases.back().name = fmt::format("{}.{}", spec.name, texts[i]);
      }
    } else {
      out.cases.push_back(spec);
      auto const processes = static_cast<std::int64_t>(spec.grid.rows) * spec.grid.cols;
      if (chosen && processes != of_layer) {
        return Parsed<Config>::error(
            fmt::format("case '{}': grid {}x{} has {} processes, but there are {} ranks{}; use "
                        "auto or one of {}",
                        spec.name, spec.grid.rows, spec.grid.cols, processes, of_layer,
                        layers == 1 ? "" : " in a layer", fmt::join(texts, ", ")));
      }
    }
    for (std::size_t i = first; i < out.cases.size(); ++i) {
      if (taken.insert(out.cases[i].name).second) continue;
      return Parsed<Config>::error(
          fmt::format("two cases are called '{}' once grids are expanded; names must differ",
                      out.cases[i].name));
    }
  }
  return out;
}

std::string suggestion(std::string_view name, std::span<std::string const> candidates,
                       std::string_view otherwise) {
  std::vector<std::pair<std::size_t, std::string_view>> known;  // the nearest first
  for (std::string const& candidate : candidates) {
    if (std::max(name.size(), candidate.size()) > kLongestName) continue;
    known.emplace_back(edit_distance(name, candidate), candidate);
  }
  std::ranges::stable_sort(known, {}, [](auto const& one) { return one.first; });
  for (auto const& [distance, candidate] : known) {
    std::size_t const most = std::max(name.size(), candidate.size()) / 3;
    if (distance >= name.size() || distance > std::max<std::size_t>(1, most)) continue;
    return fmt::format(" (did you mean '{}'?)", candidate);
  }
  if (otherwise.empty() || known.size() <= kMaxListed) return std::string{otherwise};
  return fmt::format("; of {} the nearest are {}, {} and {}", candidates.size(), known[0].second,
                     known[1].second, known[2].second);
}

}  // namespace quadrille::core
