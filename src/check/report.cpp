// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "check/report.hpp"

#include "core/text.hpp"
#include "report/document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace quadrille::check {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "quadrille-check";
constexpr int kVersion = 1;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json{}; }
Json text(std::string const& value) { return value.empty() ? Json{} : Json(value); }

double number_from(Json const& json) {
  return json.is_number() ? json.get<double>() : std::nan("");
}
std::string text_from(Json const& json) { return json.is_string() ? json.get<std::string>() : ""; }

std::string format_value(Metric const& metric, double value) {
  if (!std::isfinite(value)) return "-";
  return metric.unit == "s" ? core::format_seconds(value) : core::format_rate(value, metric.unit);
}

/// The worst of a node and its GPUs.
struct NodeVerdict {
  std::string node;
  std::vector<std::size_t> members{};  ///< indices of subjects
  std::size_t worst = 0;               ///< of them
};

std::vector<NodeVerdict> nodes_of(Checked const& checked) {
  std::vector<NodeVerdict> nodes;
  std::vector<Subject> const& subjects = checked.measured.subjects;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    auto found = std::ranges::find(nodes, subjects[i].node, &NodeVerdict::node);
    if (found == nodes.end()) {
      nodes.push_back({.node = subjects[i].node, .worst = i});
      found = std::prev(nodes.end());
    }
    found->members.push_back(i);
    bool const is_worse =
        checked.assessments[i].finding.verdict > checked.assessments[found->worst].finding.verdict;
    if (is_worse) found->worst = i;
  }
  return nodes;
}

/// "SLOW gpu 3: gemm_f64 -21 %, expected by peers"
std::string reason_of(Subject const& subject, Finding const& finding) {
  std::string reason{core::to_text(finding.verdict)};
  if (subject.gpu >= 0) reason += fmt::format(" gpu {}", subject.gpu);
  if (finding.metric != nullptr) reason += fmt::format(": {}", finding.metric->name);
  if (std::isfinite(finding.measured) && std::isfinite(finding.expected)) {
    reason +=
        fmt::format(" {:+.0f} %, expected by {}", 100 * (finding.measured / finding.expected - 1),
                    core::to_text(finding.judge));
  } else if (!finding.note.empty()) {
    reason += ": " + core::one_line(finding.note);
  }
  std::ranges::replace(reason, '"', '\'');  // it stands in quotation marks
  return reason;
}

int count(Checked const& checked, Verdict verdict) {
  return static_cast<int>(std::ranges::count_if(
      checked.assessments,
      [verdict](Assessment const& one) { return one.finding.verdict == verdict; }));
}

/// What ends the screen: "PASS", or the word of the exit code.
std::string_view word_of(Checked const& checked) {
  if (checked.measured.is_interrupted) return "INTERRUPTED";
  Verdict worst = Verdict::pass;
  for (Assessment const& one : checked.assessments) worst = std::max(worst, one.finding.verdict);
  return core::to_text(worst);
}

std::string summary_line(Checked const& checked) {
  auto const gpus = std::ranges::count_if(checked.measured.subjects,
                                          [](Subject const& one) { return one.gpu >= 0; });
  std::string line =
      fmt::format("CHECK {} nodes={} gpus={}", word_of(checked), nodes_of(checked).size(), gpus);
  int rates = 0, compared = 0;
  for (Assessment const& one : checked.assessments) {
    rates += one.rates;
    compared += one.compared;
  }
  for (auto const& [verdict, field] :
       {std::pair{Verdict::pass, "pass"}, std::pair{Verdict::slow, "slow"},
        std::pair{Verdict::broken, "broken"}, std::pair{Verdict::unknown, "unknown"}}) {
    line += fmt::format(" {}={}", field, count(checked, verdict));
  }
  return line +
         fmt::format(" compared={} of={} seconds={:.0f}\n", compared, rates, checked.seconds);
}

report::Table table_of(Checked const& checked) {
  report::Table table = report::text_table(
      {"verdict", "node", "metric", "measured", "expected", "judge", "action", "note"});
  for (NodeVerdict const& node : nodes_of(checked)) {
    for (std::size_t const i : node.members) {
      Finding const& finding = checked.assessments[i].finding;
      if (finding.verdict == Verdict::pass) continue;
      bool const has_metric = finding.metric != nullptr;
      table.add_row({std::string{core::to_text(finding.verdict)},
                     checked.measured.subjects[i].name(),
                     has_metric ? std::string{finding.metric->name} : "-",
                     has_metric ? format_value(*finding.metric, finding.measured) : "-",
                     has_metric ? format_value(*finding.metric, finding.expected) : "-",
                     std::string{core::to_text(finding.judge)},
                     std::string{core::to_text(finding.action)}, core::one_line(finding.note)});
    }
  }
  return table;
}

/// Of Slurm's NodeName: what stands behind a name here, as of fake nodes, is no part of it.
std::string host_of(std::string const& node) { return node.substr(0, node.find(' ')); }

/// Within one word of OpenMetrics or metrics.txt.
std::string label(std::string_view text) {
  std::string out;
  for (char const c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return core::one_line(out);
}

std::string nodecheck(Checked const& checked) {
  std::string out = "# node status message\n";
  for (NodeVerdict const& node : nodes_of(checked)) {
    Finding const& finding = checked.assessments[node.worst].finding;
    constexpr std::array kStatus{"PASS", "FAILED", "PERF-FAIL", "HW-FAIL"};  // of Verdict
    std::string name = node.node;
    std::ranges::replace(name, ' ', '_');
    out += fmt::format("{} {}{}\n", name, kStatus[static_cast<std::size_t>(finding.verdict)],
                       finding.verdict == Verdict::pass
                           ? ""
                           : " " + reason_of(checked.measured.subjects[node.worst], finding));
  }
  return out;
}

std::string metrics_text(Checked const& checked) {
  std::string out = "# medians over all nodes or GPUs, in B/s, FLOP/s or s\n";
  for (Metric const& metric : metrics()) {
    std::vector<double> values;
    for (Subject const& subject : checked.measured.subjects) {
      for (Reading const& reading : subject.readings) {
        if (reading.metric == &metric && reading.value > 0) values.push_back(reading.value);
      }
    }
    if (values.empty()) continue;
    std::ranges::sort(values);
    out += fmt::format("{0}_min={1:.6e}\n{0}_median={2:.6e}\n{0}_max={3:.6e}\n", metric.name,
                       values.front(), values[values.size() / 2], values.back());
  }
  for (auto const& [verdict, word] : enum_names(Verdict{})) {
    std::string name{word};
    std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(c | 0x20); });
    out += fmt::format("{}={}\n", name, count(checked, verdict));
  }
  return out;
}

std::string open_metrics(Checked const& checked) {
  std::string out =
      "# TYPE quadrille_check_verdict gauge\n"
      "# HELP quadrille_check_verdict 0 PASS, 1 UNKNOWN, 2 SLOW, 3 BROKEN\n";
  auto const labels = [](Subject const& subject) {
    return fmt::format("node=\"{}\",gpu=\"{}\"", label(subject.node),
                       subject.gpu < 0 ? "" : std::to_string(subject.gpu));
  };
  for (std::size_t i = 0; i < checked.assessments.size(); ++i) {
    out += fmt::format("quadrille_check_verdict{{{}}} {}\n", labels(checked.measured.subjects[i]),
                       static_cast<int>(checked.assessments[i].finding.verdict));
  }
  out +=
      "# TYPE quadrille_check_value gauge\n"
      "# HELP quadrille_check_value medians in B/s, FLOP/s or s\n";
  for (Subject const& subject : checked.measured.subjects) {
    for (Reading const& reading : subject.readings) {
      if (!(reading.value > 0)) continue;
      out += fmt::format("quadrille_check_value{{{},metric=\"{}\"}} {:.6e}\n", labels(subject),
                         reading.metric->name, reading.value);
    }
  }
  return out + "# EOF\n";
}

}  // namespace

Json to_json(std::vector<Subject> const& subjects) {
  Json all = Json::array();
  for (Subject const& subject : subjects) {
    Json readings = Json::object();
    for (Reading const& reading : subject.readings) {
      readings[std::string{reading.metric->name}] = {{"value", number(reading.value)},
                                                     {"unit", reading.metric->unit},
                                                     {"uncertainty", number(reading.uncertainty)},
                                                     {"limit", number(reading.limit)},
                                                     {"wrong", text(reading.wrong)},
                                                     {"missing", text(reading.missing)},
                                                     {"note", text(reading.note)}};
    }
    Json facts = Json::object();
    for (auto const& [name, value] : subject.facts) facts[name] = value;
    all.push_back({{"node", subject.node},
                   {"gpu", subject.gpu < 0 ? Json{} : Json(subject.gpu)},
                   {"model", subject.model},
                   {"lost", text(subject.lost)},
                   {"readings", readings},
                   {"facts", facts}});
  }
  return all;
}

core::Parsed<std::vector<Subject>> subjects_from(Json const& json) {
  using Result = core::Parsed<std::vector<Subject>>;
  std::vector<Subject> subjects;
  if (!json.is_array()) return Result::error("has no list of subjects");
  for (Json const& one : json) {
    Json const readings = one.is_object() ? one.value("readings", Json{}) : Json{};
    if (!readings.is_object()) return Result::error("has a subject without readings");
    Subject& subject = subjects.emplace_back();
    subject.node = text_from(one.value("node", Json{}));
    Json const gpu = one.value("gpu", Json{});
    subject.gpu = gpu.is_number_integer() ? gpu.get<int>() : -1;
    subject.model = text_from(one.value("model", Json{}));
    subject.lost = text_from(one.value("lost", Json{}));
    for (auto const& [name, reading] : readings.items()) {
      Metric const* const metric = find_metric(name);
      if (metric == nullptr || !reading.is_object()) {
        return Result::error(fmt::format("'{}' is no metric", core::one_line(name)));
      }
      subject.readings.push_back({.metric = metric,
                                  .value = number_from(reading.value("value", Json{})),
                                  .uncertainty = number_from(reading.value("uncertainty", Json{})),
                                  .limit = number_from(reading.value("limit", Json{})),
                                  .wrong = text_from(reading.value("wrong", Json{})),
                                  .missing = text_from(reading.value("missing", Json{})),
                                  .note = text_from(reading.value("note", Json{}))});
    }
    Json const facts = one.value("facts", Json::object());
    for (auto const& [name, value] : facts.items())
      subject.facts.emplace_back(name, text_from(value));
  }
  return subjects;
}

core::Exit Checked::exit() const {
  core::Exit const exit = exit_of(assessments);
  return measured.is_interrupted ? core::worse(exit, core::Exit::interrupted) : exit;
}

std::string render(Checked const& checked, report::Terminal const& terminal) {
  report::Document page;
  report::Table table = table_of(checked);
  if (table.rows() > 0) page.add_table(std::move(table));
  std::vector<std::string> right, drained;
  for (NodeVerdict const& node : nodes_of(checked)) {
    Finding const& finding = checked.assessments[node.worst].finding;
    if (finding.verdict == Verdict::pass) right.push_back(node.node);
    if (finding.action != Action::reset && finding.action != Action::isolate) continue;
    drained.push_back(
        fmt::format("scontrol update NodeName={} State=DRAIN Reason=\"quadrille: {}\"",
                    host_of(node.node), reason_of(checked.measured.subjects[node.worst], finding)));
  }
  for (std::size_t i = 0; i < checked.assessments.size(); ++i) {
    Subject const& subject = checked.measured.subjects[i];
    if (checked.assessments[i].finding.verdict == Verdict::pass || subject.facts.empty()) continue;
    std::vector<std::string> facts;
    for (auto const& [name, value] : subject.facts) facts.push_back(name + ": " + value);
    page.add_text(core::one_line(fmt::format("{}: {}", subject.name(), fmt::join(facts, "; "))));
  }
  page.add_gap();
  if (!right.empty()) {
    page.add_text(fmt::format("PASS {} node{}: {}", right.size(), right.size() == 1 ? "" : "s",
                              fmt::join(right, " ")));
  }
  if (!checked.measured.worst_pair.empty()) {
    page.add_text("slowest pair of nodes: " + checked.measured.worst_pair);
  }
  std::string out = write_text(page, terminal);
  // Whole lines, whatever the width: they are to be copied.
  for (std::string const& line : drained) out += line + '\n';
  return out + summary_line(checked);
}

Json document_of(Checked const& checked) {
  Json subjects = to_json(checked.measured.subjects);
  for (std::size_t i = 0; i < checked.assessments.size(); ++i) {
    Assessment const& one = checked.assessments[i];
    bool const is_pass = one.finding.verdict == Verdict::pass;
    Json const judge = is_pass ? Json{} : Json(core::to_text(one.finding.judge));
    Json const metric = one.finding.metric == nullptr ? Json{} : Json(one.finding.metric->name);
    subjects[i].update({{"verdict", core::to_text(one.finding.verdict)},
                        {"action", core::to_text(one.finding.action)},
                        {"judge", judge},
                        {"metric", metric},
                        {"measured", number(one.finding.measured)},
                        {"expected", number(one.finding.expected)},
                        {"reason", text(one.finding.note)},
                        {"rates", one.rates},
                        {"compared", one.compared}});
  }
  return {{"schema", kSchema},
          {"version", kVersion},
          {"verdict", word_of(checked)},
          {"exit_code", static_cast<int>(checked.exit())},
          {"seed", checked.seed},
          {"seconds", checked.seconds},
          {"worst_pair", text(checked.measured.worst_pair)},
          {"subjects", subjects}};
}

core::Parsed<std::vector<Subject>> read_document(std::string_view text, std::string_view origin) {
  using Result = core::Parsed<std::vector<Subject>>;
  Json const json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("schema", Json{}) != kSchema) {
    return Result::error(
        fmt::format("{}: is no result of a check; --json and --output write one", origin));
  }
  Result subjects = subjects_from(json.value("subjects", Json{}));
  if (!subjects) return Result::error(fmt::format("{}: {}", origin, subjects.why()));
  return subjects;
}

std::vector<OutputFile> files_of(Checked const& checked) {
  return {{"check.json", document_of(checked).dump(2) + '\n'},
          {"nodecheck.txt", nodecheck(checked)},
          {"metrics.txt", metrics_text(checked)},
          {"metrics.prom", open_metrics(checked)}};
}

}  // namespace quadrille::check
