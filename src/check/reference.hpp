// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/judges.hpp"
#include "core/units.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace quadrille::check {

/// Reads a table of devices, in TOML:
///
///   [[device]]
///   model = "NVIDIA H200"
///   measured = "node07, 2026-01-31T12:00:00Z"
///   gemm_f64 = { median = 5.9e13, band = 0.05 }
///
/// `origin` names the text in messages. A band may be left out.
core::Parsed<Reference> read_reference(std::string_view text, std::string_view origin);

/// The table that is shipped.
Reference shipped_reference();

/// The table of these subjects: of each model the median of each of its rates, and the band that those of
/// all its subjects keep, and a quarter more, at least the metric's. What is wrong or not known is left out.
std::string reference_of(std::vector<Subject> const& subjects, std::string_view measured);

}  // namespace quadrille::check
