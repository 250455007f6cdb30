// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"
#include "report/columns.hpp"

#include <nlohmann/json.hpp>

#include <initializer_list>

namespace quadrille::report {

using Json = nlohmann::ordered_json;

/// The parts of `report --json`, as report.schema.json describes them.
Json run_json(measure::RunInfo const& info);
Json case_json(measure::Record const& record);

/// The columns that are listed so, under their keys.
Json columns_json(measure::Record const& record, std::initializer_list<In> in);

}  // namespace quadrille::report
