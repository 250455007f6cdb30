// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/world.hpp"
#include "commands/commands.hpp"
#include "commands/help.hpp"
#include "commands/selftest_cases.hpp"
#include "core/process.hpp"
#include "measure/case_runner.hpp"
#include "measure/fault.hpp"
#include "report/document.hpp"
#include "run/input.hpp"
#include "run/output.hpp"
#include "run/plan.hpp"
#include "workloads/registry.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace quadrille::commands {
namespace {

using Json = nlohmann::ordered_json;
using measure::Fault;
using measure::Outcome;
using run::refuse;

struct SelftestArguments {
  std::vector<std::string> sets;  ///< of [run] alone
  std::vector<std::string> only;
  bool json = false;
};

/// What became of one measurement under one fault, or under none.
struct Cell {
  Fault fault = Fault::none;
  std::string id, workload, type, transport;
  Outcome outcome = Outcome::error;
  std::string reason;
};

enum class Detection { unsupported, good, bad };

/// A fault must be found, and where there is none, nothing may be.
Detection detection_of(Cell const& cell) {
  // Of a library that is wrong by itself nothing is known of our check.
  if (cell.outcome == Outcome::unsupported || cell.outcome == Outcome::wrong_library) {
    return Detection::unsupported;
  }
  Outcome const wanted = cell.fault == Fault::none ? Outcome::pass : Outcome::fail;
  return cell.outcome == wanted ? Detection::good : Detection::bad;
}

/// The cases of both texts that --only keeps.
core::Parsed<core::Config> read_cases(comm::World const& world,
                                      SelftestArguments const& arguments) {
  // Files come and go where the user is: a folder that all nodes see.
  std::vector<std::string> sets{"run.device=auto", "run.output=."};
  sets.insert(sets.end(), arguments.sets.begin(), arguments.sets.end());
  core::Config config;
  std::vector<core::Case> specs;
  std::vector<std::string> notes;  // on the settings, the same with each text
  for (auto const& [prefix, text] :
       {std::pair{"deep.", +kDeepCases}, std::pair{"", +kSmallCases}}) {
    core::Parsed<core::Config> read =
        core::resolve(text, "selftest", sets, workloads::name_table(), false, &notes);
    if (read) read = core::expand_grids(*read, world.size());
    if (!read) return read;
    config.run = read->run;
    for (core::Case const& spec : read->cases) specs.emplace_back(spec).name = prefix + spec.name;
  }
  for (std::string const& note : notes) {
    if (world.rank() == 0) core::print_error("note: {}\n", note);
  }
  config.cases = std::move(specs);
  return run::keep_only(std::move(config), arguments.only);
}

/// Those that exchange data once for each transport that serves this world.
std::vector<core::Case> over_transports(comm::World const& world,
                                        std::vector<core::Case> const& specs) {
  std::vector<core::Case> cases;
  for (core::Case spec : specs) {
    // The variants that the cases name are those of hosts.
    if (world.device().kind() == device::Kind::cuda) spec.variants = {"best"};
    if (!spec.workload->keys.transport) {
      cases.push_back(spec);
      continue;
    }
    for (comm::TransportEntry const* entry : comm::transports()) {
      if (!entry->serves(world)) continue;
      core::Case& one = cases.emplace_back(spec);
      one.transport = entry->name;
      one.name = fmt::format("{}.{}", spec.name, entry->name);
    }
  }
  return cases;
}

/// Collective.
void measure_planned(comm::World& world, run::Planned const& planned, Fault fault,
                     std::shared_ptr<measure::BestRows> const& best_rows,
                     std::vector<Cell>& cells) {
  core::Case spec = measure::with_fault(planned.spec, fault);
  // What is wrong in one repetition needs another that is checked.
  spec.repetitions = fault == Fault::once ? 2 : 1;
  measure::CaseOptions options;
  options.best_rows = best_rows;
  options.decorate = [fault, data = spec.data](std::unique_ptr<measure::Workload> workload) {
    return measure::make_faulty(std::move(workload), fault, data);
  };
  for (measure::Record const& record :
       measure::measure_case(world, spec, *planned.entry, options)) {
    cells.push_back({fault, record.id, record.workload, record.type, record.transport,
                     record.outcome, record.reason});
  }
}

std::vector<Fault> all_faults() {
  std::vector<Fault> faults;
  for (auto const& [fault, word] : enum_names(Fault{})) faults.push_back(fault);
  return faults;
}

/// Of a workload over a transport: the worst that happened under a fault.
using Matrix = std::map<std::pair<std::string, std::string>, std::map<Fault, Detection>>;

report::Table table_of(Matrix const& matrix, std::vector<Fault> const& faults) {
  report::Table table = report::text_table({"workload", "transport"});
  for (std::size_t i = 0; i < faults.size(); ++i) {
    table.columns.push_back({.head = faults[i] == Fault::none ? "clean" : fmt::format("{}", i),
                             .align = report::Align::left});
  }
  for (auto const& [of, found] : matrix) {
    std::vector<std::string> row{of.first, of.second};
    for (Fault const fault : faults) {
      auto const at = found.find(fault);
      row.push_back(at == found.end()                      ? ""
                    : at->second == Detection::bad         ? "MISS"
                    : at->second == Detection::unsupported ? "-"
                    : fault == Fault::none                 ? "ok"
                                                           : "x");
    }
    table.add_row(row);
  }
  return table;
}

std::string render(std::vector<Cell> const& cells) {
  std::vector<Fault> const faults = all_faults();
  Matrix matrix;
  std::string bad;
  for (Cell const& cell : cells) {
    Detection const detection = detection_of(cell);
    auto& found = matrix[{cell.workload, cell.transport}];
    Detection& worst = found.try_emplace(cell.fault, detection).first->second;
    worst = std::max(worst, detection);
    if (detection != Detection::bad) continue;
    bad += fmt::format("MISSED: {} in {} ({}, {}): {} {}\n", core::to_text(cell.fault), cell.id,
                       cell.type, cell.transport, core::to_text(cell.outcome), cell.reason);
  }
  // By the workload where the fault applies to none of its cases.
  std::map<std::string, std::map<Fault, std::set<std::string>>> unsupported;
  for (Cell const& cell : cells) {
    if (detection_of(cell) != Detection::unsupported) continue;
    bool const is_whole =
        matrix[{cell.workload, cell.transport}][cell.fault] == Detection::unsupported;
    unsupported[cell.reason][cell.fault].insert(is_whole ? cell.workload : cell.id);
  }
  report::Document page;
  page.add_text("x caught, - UNSUPPORTED");
  page.add_table(table_of(matrix, faults));
  report::Table legend = report::text_table({"", "", ""});
  for (std::size_t i = 0; i < faults.size(); ++i) {
    if (faults[i] == Fault::none) continue;
    legend.add_row({fmt::format("{}", i), std::string{core::to_text(faults[i])},
                    std::string{measure::summary_of(faults[i])}});
  }
  page.add_gap();
  page.add_table(legend);
  for (auto const& [reason, by_fault] : unsupported) {
    page.add_gap();
    page.add_text("UNSUPPORTED: " + reason);
    report::Table where = report::text_table({"", ""});
    for (auto const& [fault, ids] : by_fault) {
      where.add_row({std::string{core::to_text(fault)}, fmt::format("{}", fmt::join(ids, " "))});
    }
    page.add_table(where);
  }
  return write_text(page, report::terminal_of_output()) + (bad.empty() ? "" : '\n' + bad);
}

Json json_of(std::vector<Cell> const& cells, std::vector<std::string_view> const& not_tried,
             bool passed) {
  Json list = Json::array();
  for (Cell const& cell : cells) {
    list.push_back({{"fault", core::to_text(cell.fault)},
                    {"id", cell.id},
                    {"workload", cell.workload},
                    {"type", cell.type},
                    {"transport", cell.transport},
                    {"verdict", core::to_text(cell.outcome)},
                    {"reason", cell.reason.empty() ? Json{} : Json(cell.reason)}});
  }
  return {{"passed", passed}, {"not_tried", not_tried}, {"cells", list}};
}

/// As far as nobody interrupts it.
std::vector<Cell> inject_all(comm::World& world, run::Plan const& plan,
                             std::vector<Fault> const& faults) {
  std::vector<Cell> cells;
  auto const best_rows = std::make_shared<measure::BestRows>();
  for (std::size_t f = 0; f < faults.size(); ++f) {
    if (world.interrupted()) break;
    if (world.rank() == 0) {
      core::print_error("[{}/{}] {}\n", f + 1, faults.size(), core::to_text(faults[f]));
    }
    for (run::Planned const& planned : plan.cases) {
      if (!planned.problem.empty()) {
        cells.push_back({faults[f], planned.spec.name, std::string{planned.spec.workload->name},
                         std::string{core::to_text(planned.spec.type)}, planned.spec.transport,
                         Outcome::unsupported, planned.problem});
        continue;
      }
      measure_planned(world, planned, faults[f], best_rows, cells);
      if (world.interrupted()) break;
    }
  }
  return cells;
}

/// Starts MPI and injects every fault into every workload over every transport that exists here.
/// Exit::wrong_result where one is not found, or a run without a fault fails.
core::Exit selftest(SelftestArguments const& arguments, int& argc, char**& argv) {
  comm::World world{argc, argv};
  world.require_launcher();
  bool const first = world.rank() == 0;
  core::Parsed<core::Config> const read = read_cases(world, arguments);
  if (!read) return refuse(world, read.why(), core::Exit::bad_config);
  core::Config config = *read;
  world.enter_phase("open the device", config.run.timeout.init_s);
  if (std::string const why = world.choose_devices(config.run); !why.empty()) {
    return refuse(world, why, core::Exit::environment);
  }
  world.open(config.run);
  config.cases = over_transports(world, config.cases);
  run::Plan const plan = run::make_plan(world, config);

  std::vector<Fault> const faults = all_faults();
  std::vector<Cell> const cells = inject_all(world, plan, faults);
  bool const interrupted = world.interrupted();
  auto const count = [&](Detection detection) {
    return std::ranges::count(cells, detection, detection_of);
  };
  std::vector<std::string_view> nowhere, not_tried;
  for (Fault const fault : faults) {
    if (world.size() == 1 && measure::needs_ranks(fault)) {
      not_tried.push_back(core::to_text(fault));
      continue;
    }
    bool const is_found = std::ranges::any_of(cells, [fault](Cell const& cell) {
      return cell.fault == fault && detection_of(cell) == Detection::good;
    });
    if (!is_found) nowhere.push_back(core::to_text(fault));
  }
  bool const passed = count(Detection::bad) == 0 && nowhere.empty() && !interrupted;
  if (first && arguments.json) {
    core::print("{}\n", json_of(cells, not_tried, passed).dump(2));
  }
  if (first && !arguments.json) {
    core::print("{}", render(cells));
    if (!nowhere.empty()) {
      core::print("\nNowhere caught: {}\n", fmt::join(nowhere, " "));
    }
    if (!not_tried.empty()) {
      core::print("\nNot tried, for want of a second rank (mpirun -n 2): {}\n",
                  fmt::join(not_tried, " "));
    }
    core::print("\nSELFTEST {} good={} missed={} unsupported={}\n", passed ? "PASS" : "FAIL",
                count(Detection::good), count(Detection::bad), count(Detection::unsupported));
  }
  world.group().barrier();
  return interrupted ? core::Exit::interrupted
         : passed    ? core::Exit::pass
                     : core::Exit::wrong_result;
}

}  // namespace

void add_selftest(CLI::App& app, Action& action) {
  auto const arguments = std::make_shared<SelftestArguments>();
  CLI::App* const command =
      app.add_subcommand("selftest", "Inject every fault into every workload: each must be found");
  add_sets(*command, arguments->sets, "run.KEY=VALUE, as of `quadrille run`");
  add_only(*command, arguments->only, "Names of workloads or cases to test");
  command->add_flag("--json", arguments->json, "As one JSON document");
  command->footer("Example: mpirun -n 2 quadrille selftest --only gemm,summa");
  command->callback([&action, arguments] {
    action = [arguments](int& argc, char**& argv) { return selftest(*arguments, argc, argv); };
  });
}

}  // namespace quadrille::commands
