// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/enum_names.hpp"

namespace quadrille::commands {

/// As what `report` shows results.
enum class ReportForm { table, details, markdown, csv, json, ladder, osu, nccl_tests };
constexpr auto enum_names(ReportForm) {
  return core::EnumNames<ReportForm, 8>{{{ReportForm::table, "table"},
                                         {ReportForm::details, "details"},
                                         {ReportForm::markdown, "markdown"},
                                         {ReportForm::csv, "csv"},
                                         {ReportForm::json, "json"},
                                         {ReportForm::ladder, "ladder"},
                                         {ReportForm::osu, "osu"},
                                         {ReportForm::nccl_tests, "nccl-tests"}}};
}

}  // namespace quadrille::commands
