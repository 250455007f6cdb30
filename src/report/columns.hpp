// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace quadrille::report {

/// What a column holds of one record. Missing is std::monostate: null in JSON, an empty field in
/// CSV, "-" on screen.
using Value = std::variant<std::monostate, double, std::int64_t, bool, std::string,
                           std::vector<std::int64_t>, std::vector<std::string>>;

/// A wrong result has neither a speed nor legs; an interrupted one has those of what it sampled.
bool has_speed(measure::Record const& record);
bool has_legs(measure::Record const& record);
/// What is not finite is missing.
Value finite(std::optional<double> value);
/// The same, of a record that has a speed.
Value speed(measure::Record const& record, std::optional<double> value);

enum class Align { left, right };

/// The head of a column on screen.
struct Heading {
  std::string_view text;
  std::size_t width = 0;  ///< at least, so that tables of different runs mostly line up
  Align align = Align::right;
};

/// Which exports list a column. JSON has some of the others in its inner objects or behind them.
enum class In {
  none,
  csv,
  json,
  both,
  legs  ///< CSV, and the object "legs" of JSON
};

/// A fact of a record: text, Markdown, CSV and JSON are made of these.
struct Column {
  std::string_view key;  ///< in CSV and JSON
  In in;
  Value (*value)(measure::Record const&);
  Heading heading{};  ///< empty: not on screen
  /// How a number looks on screen; without it, to_text().
  std::string (*number)(double value, measure::Record const&) = nullptr;
  std::string_view metric{};  ///< its entry in the glossary; else that of its key
  /// The text on screen, where it is not that of the value.
  std::string (*text)(measure::Record const&) = nullptr;
};
/// In the order of CSV and JSON.
std::span<Column const> columns();
/// The column of this key; ends the job where there is none.
Column const& column(std::string_view key);

/// "16Ki,16Ki,4Ki"
std::string size_text(std::span<std::int64_t const> size);
/// A value as one text: empty where it is missing, numbers with all their digits.
std::string to_text(Value const& value);
/// What stands on screen in this column.
std::string cell(Column const& column, measure::Record const& record);

/// What stands on screen of a further rate.
struct ExtraText {
  std::string value;
  std::string unit;  ///< of a count; empty where the value has it already
};
ExtraText extra_text(measure::SecondaryMetric const& extra, measure::Record const& record);

}  // namespace quadrille::report
