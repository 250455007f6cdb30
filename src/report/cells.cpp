// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/cells.hpp"

#include "core/text.hpp"
#include "report/columns.hpp"

#include <fmt/format.h>

#include <cmath>

namespace quadrille::report {
namespace {

using measure::Outcome;
using measure::Record;

std::string of_hundred(std::optional<double> share) {
  return share && std::isfinite(*share) ? fmt::format("{:.0f} %", *share) : "-";
}

}  // namespace

std::string shown(std::string_view text) { return core::one_line(text); }

std::string bracketed(std::string text, bool is_doubtful) {
  return is_doubtful && text != "-" ? fmt::format("({})", text) : text;
}

std::string percent(std::optional<double> ratio) {
  return of_hundred(ratio ? std::optional{100 * *ratio} : std::nullopt);
}

std::string text_of(std::string_view key, Record const& r) { return shown(cell(column(key), r)); }

std::string vendor_share(Record const& r) {
  return bracketed(percent(has_speed(r) ? r.ratio_to_vendor : std::nullopt), r.vendor_is_suspect);
}
std::string copy_share(Record const& r) {
  return bracketed(percent(has_speed(r) ? r.ratio_to_copy : std::nullopt), r.copy_is_suspect);
}
std::string local_share(Record const& r) {
  return bracketed(percent(has_speed(r) ? r.share_of_local : std::nullopt), r.local_is_suspect);
}
std::string peak_share(Record const& r) {
  return has_speed(r) ? of_hundred(percent_of_peak(r)) : "-";
}
std::string ceiling_share(Record const& r) {
  return has_speed(r) ? of_hundred(percent_of_ceiling(r)) : "-";
}
std::string name_of(Record const& r) { return shown(fmt::format("{} {}", r.name, r.variant)); }

bool counts_calls(Record const& r) { return r.unit == "call/s"; }

bool is_tabled(Record const& r) {
  bool const began = r.outcome != Outcome::interrupted || r.time.n > 0;
  return began && r.outcome != Outcome::unsupported && r.outcome != Outcome::skip;
}

Tone tone_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass: return Tone::plain;
    case Outcome::skip:
    case Outcome::unsupported: return Tone::faint;
    case Outcome::wrong_library:
    case Outcome::interrupted: return Tone::warn;
    default: return Tone::bad;
  }
}

std::string why(Record const& r) {
  std::string text = r.reason;
  std::string const itself = fmt::format("variant '{}' ", r.variant);
  if (std::size_t const at = text.find(itself); at != text.npos) text.erase(at, itself.size());
  bool const names_more =
      r.outcome == Outcome::fail && !r.check.first_wrong.empty() && r.check.first_wrong != r.reason;
  if (names_more) text += (text.empty() ? "" : "; ") + r.check.first_wrong;
  return shown(text);
}

}  // namespace quadrille::report
