// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"
#include "report/columns.hpp"

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quadrille::report {

using Json = nlohmann::ordered_json;

/// The parts of `report --json`, as report.schema.json describes them.
Json run_json(measure::RunInfo const& info);
Json case_json(measure::Record const& record);

/// Null where it is empty.
Json text_json(std::string const& text);
/// Names and values as an object.
Json facts_json(std::vector<std::pair<std::string, std::string>> const& facts);

/// The columns that are listed so, under their keys.
Json columns_json(measure::Record const& record, std::initializer_list<In> in);

/// html_page() with one of its scripts, and the data that the script shows.
std::string make_page(std::string_view script, Json const& data);

}  // namespace quadrille::report
