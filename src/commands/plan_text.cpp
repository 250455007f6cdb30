// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/plan_text.hpp"

#include "report/document.hpp"
#include "run/progress.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace quadrille::commands {

std::string render_plan(run::Plan const& plan, int ranks) {
  report::Table table = report::text_table(
      {"case", "workload", "type", "size", "device", "host", "time", "variants"});
  for (run::Planned const& planned : plan.cases) {
    std::vector<std::string_view> running, left_out, unsupported;
    for (measure::Selected const& selected : planned.selected.variants) {
      auto& names = selected.unsupported.empty() ? running
                    : selected.is_left_out       ? left_out
                                                 : unsupported;
      names.push_back(selected.info->name);
    }
    std::string variants = fmt::format("{}", fmt::join(running, " "));
    if (!planned.unsupported.empty()) variants = "unsupported: " + planned.unsupported;
    if (!planned.too_few_ranks.empty()) variants = planned.too_few_ranks;
    if (!left_out.empty()) variants += fmt::format("; left out: {}", fmt::join(left_out, " "));
    if (!unsupported.empty()) {
      variants += fmt::format("; unsupported: {}", fmt::join(unsupported, " "));
    }
    core::Extents const& size = planned.spec.size;
    std::string const& problem = planned.problem;
    table.add_row(
        {planned.spec.name, std::string{planned.spec.workload->name},
         std::string{core::to_text(planned.spec.type)},
         fmt::format("{}", fmt::join(size.value.begin(), size.value.begin() + size.count, ",")),
         planned.memory.device > 0 ? core::format_bytes(planned.memory.device) : "-",
         core::format_bytes(planned.memory.host), run::format_duration(planned.seconds),
         problem.empty() ? variants : "cannot run: " + problem});
  }
  double seconds = 0;
  for (run::Planned const& planned : plan.cases) seconds += planned.seconds;
  report::Document page;
  page.add_text(fmt::format("{} for each of {} ranks; {} in all, if rates are usual",
                            run::format_memory(plan.memory), ranks, run::format_duration(seconds)));
  page.add_table(table);
  std::vector<run::NamedProblem> const problems = run::named_problems(plan);
  if (!problems.empty()) page.add_text("variants that cases name and that cannot run here:");
  for (auto const& [name, variant, reason] : problems) {
    page.add_labelled("", 2, fmt::format("{} {}: {}", name, variant, reason), report::Tone::plain);
  }
  return write_text(page, report::terminal_of_output());
}

std::string plan_as_json(run::Plan const& plan, device::Facts const& device, int ranks) {
  using Json = nlohmann::ordered_json;
  auto const json_of = [](measure::Memory const& memory) {
    return Json{{"device", memory.device}, {"host", memory.host}};
  };
  double seconds = 0;
  Json cases = Json::array();
  for (run::Planned const& planned : plan.cases) {
    core::Extents const& size = planned.spec.size;
    Json variants = Json::array();
    for (measure::Selected const& selected : planned.selected.variants) {
      variants.push_back(
          {{"name", selected.info->name},
           {"reason", selected.unsupported.empty() ? Json{} : Json(selected.unsupported)},
           {"left_out", selected.is_left_out}});
    }
    std::string const& why = !planned.problem.empty()         ? planned.problem
                             : !planned.too_few_ranks.empty() ? planned.too_few_ranks
                                                              : planned.unsupported;
    cases.push_back({{"name", planned.spec.name},
                     {"workload", planned.spec.workload->name},
                     {"type", core::to_text(planned.spec.type)},
                     {"size", std::vector(size.value.begin(), size.value.begin() + size.count)},
                     {"memory", json_of(planned.memory)},
                     {"seconds", planned.seconds},
                     {"reason", why.empty() ? Json{} : Json(why)},
                     {"variants", variants}});
    seconds += planned.seconds;
  }
  Json cannot_run = Json::array();
  for (auto const& [name, variant, reason] : run::named_problems(plan)) {
    cannot_run.push_back({{"case", name}, {"variant", variant}, {"reason", reason}});
  }
  Json const whole{{"device", device.name}, {"ranks", ranks}, {"memory", json_of(plan.memory)},
                   {"seconds", seconds},    {"cases", cases}, {"cannot_run", cannot_run}};
  return whole.dump(2) + "\n";
}

}  // namespace quadrille::commands
