// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"
#include "report/document.hpp"

#include <set>

namespace quadrille::report {

/// A table for each workload, with `best` rows set off, the legs of overlap, links between ranks,
/// what has no result and why, and the notes that tables cite. What all rows of a table have in common
/// stands in its title; keys that differ within a sweep have columns.
void add_tables(Document& page, measure::RunResult const& result,
                std::set<measure::Record const*> const& best);

}  // namespace quadrille::report
