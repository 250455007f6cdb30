// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/trace_file.hpp"
#include "measure/record.hpp"
#include "report/scaling.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace quadrille::report {

/// Most numbers that a page holds of each kind that grows with ranks and repetitions: samples with
/// clocks and powers, times of ranks, pairs of ranks. About 10 bytes each.
inline constexpr std::size_t kPageNumbers = 200'000;

/// Most spans of a trace that a page draws, of whole repetitions.
inline constexpr std::size_t kPageSpans = 20'000;

/// A page that needs nothing but itself: charts and tables of results side by side, of how they scale
/// where that is given, and of what streams did in the traced repetitions. `files` are the names that the
/// results were read from. Samples beyond kPageNumbers are left out, which the page says, and so are
/// repetitions beyond kPageSpans.
std::string render_html(std::span<measure::RunResult const> results,
                        std::span<std::string const> files, std::optional<Scaling> const& scaling,
                        std::span<io::TracedSpan const> trace);

/// What makes a file one of these pages: its first bytes.
std::string_view html_begin();

/// A page without data: document, style, Chart.js, charts and tables as one text.
std::string_view html_page();
/// What a page shows: results, or a comparison.
std::string_view results_script();
std::string_view comparison_script();

}  // namespace quadrille::report
