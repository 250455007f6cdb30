// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/junit.hpp"

#include "core/text.hpp"
#include "report/cells.hpp"
#include "report/columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace quadrille::report {
namespace {

using measure::Outcome;
using Ending = JunitCase::Ending;

/// As text or in an attribute.
std::string xml(std::string_view text) {
  std::string escaped;
  for (char const c : core::one_line(text)) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string test_case(JunitCase const& one) {
  std::string text =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(one.workload), xml(one.name));
  if (one.seconds && std::isfinite(*one.seconds)) {
    text += fmt::format(" time=\"{:.9f}\"", *one.seconds);
  }
  text += ">\n";
  std::string const message = xml(one.message);
  auto const failed = [&](std::string_view element) {
    text +=
        fmt::format("      <{} type=\"{}\" message=\"{}\"/>\n", element, xml(one.type), message);
  };
  switch (one.ending) {
    case Ending::passed:
      text += message.empty() ? "" : fmt::format("      <system-out>{}</system-out>\n", message);
      break;
    case Ending::failure: failed("failure"); break;
    case Ending::error: failed("error"); break;
    case Ending::skipped: text += fmt::format("      <skipped message=\"{}\"/>\n", message); break;
  }
  return text + "    </testcase>\n";
}

Ending ending_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass:
    case Outcome::wrong_library: return Ending::passed;  // of another's library
    case Outcome::fail: return Ending::failure;
    case Outcome::skip:
    case Outcome::unsupported: return Ending::skipped;
    case Outcome::error:
    case Outcome::timeout:
    case Outcome::interrupted: break;
  }
  return Ending::error;
}

/// Its verdict with the reason, its rate, and why that is SUSPECT.
std::string message_of(measure::Record const& record) {
  std::vector<std::string> parts{std::string{core::to_text(record.outcome)}};
  if (std::string const reason = why(record); !reason.empty()) parts.push_back(reason);
  if (std::string const rate = text_of("rate", record); rate != "-") parts.push_back(rate);
  for (std::string const& doubt : record.suspect) parts.push_back("SUSPECT: " + doubt);
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::string write_junit(std::string_view suite,
                        std::vector<std::pair<std::string, std::string>> const& properties,
                        std::vector<JunitCase> const& cases) {
  auto const number_of = [&](Ending ending) {
    return std::ranges::count(cases, ending, &JunitCase::ending);
  };
  std::string text = fmt::format(
      "{} version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
      kJunitBegin, xml(suite), cases.size(), number_of(Ending::failure), number_of(Ending::error),
      number_of(Ending::skipped));
  if (!properties.empty()) {
    text += "    <properties>\n";
    for (auto const& [name, value] : properties) {
      text += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", xml(name), xml(value));
    }
    text += "    </properties>\n";
  }
  for (JunitCase const& one : cases) text += test_case(one);
  return text + "  </testsuite>\n</testsuites>\n";
}

std::string render_junit(measure::RunResult const& result) {
  std::vector<JunitCase> cases;
  for (measure::Record const& record : result.records) {
    cases.push_back({.workload = record.workload,
                     .name = record.id,
                     .ending = ending_of(record.outcome),
                     .type = core::to_text(record.outcome),
                     .message = message_of(record)});
    if (has_speed(record)) cases.back().seconds = record.time.median;
  }
  measure::Ending const ending = measure::ending_of(result);
  bool const is_told = std::ranges::any_of(cases, [](JunitCase const& one) {
    return one.ending == Ending::failure || one.ending == Ending::error;
  });
  if (!ending.has_passed() && !is_told) {
    cases.push_back({.workload = "run",
                     .name = result.info.run_id,
                     .ending = Ending::error,
                     .type = core::to_text(Outcome::error),
                     .message = ending.reason});
  }
  std::vector<std::pair<std::string, std::string>> properties{{"run_id", result.info.run_id},
                                                              {"started", result.info.started},
                                                              {"finished", result.info.finished},
                                                              {"status", result.info.status}};
  properties.insert(properties.end(), result.info.build.begin(), result.info.build.end());
  return write_junit("quadrille run", properties, cases);
}

}  // namespace quadrille::report
