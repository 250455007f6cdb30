// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/job_guard.hpp"
#include "commands/build_info.hpp"
#include "commands/commands.hpp"
#include "commands/help.hpp"
#include "core/generator.hpp"
#include "core/process.hpp"
#include "core/user_cache.hpp"
#include "io/whole_file.hpp"
#include "measure/tuner.hpp"
#include "report/document.hpp"
#include "run/input.hpp"
#include "run/output.hpp"
#include "run/plan.hpp"
#include "run/tuned.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace quadrille::commands {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;
using measure::Candidate;
using run::refuse;

struct TuneArguments {
  std::string operation;          ///< a workload with tunable variants
  std::vector<std::string> sets;  ///< run.KEY=VALUE, or KEY=VALUE of the case
  std::string output;       ///< the table that takes what is found; "": that of the user's cache
  bool exhaustive = false;  ///< time everything as `run` does
  bool restart = false;     ///< forget what an interrupted search has found
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What a person sees meanwhile, on stderr: one moving line on a terminal, a line now and then
/// elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(std::string name) : name_{std::move(name)} {}
  ~ProgressLine() {
    if (is_terminal_) core::print_error("\r\033[K");
  }
  ProgressLine(ProgressLine const&) = delete;
  ProgressLine& operator=(ProgressLine const&) = delete;

  /// `done` of `of` alike steps that began at `start`.
  void update(std::string const& what, std::size_t done, std::size_t of, Clock::time_point start) {
    auto const now = Clock::now();
    if (now < said_ + std::chrono::milliseconds{is_terminal_ ? 200 : 5000}) return;
    said_ = now;
    double const left = done == 0 ? 0
                                  : seconds_since(start) * static_cast<double>(of - done) /
                                        static_cast<double>(done);
    core::print_error("{}{}: {}, {} of {}, about {} left{}", is_terminal_ ? "\r\033[K" : "", name_,
                      what, done, of, done == 0 ? "?" : core::format_seconds(left),
                      is_terminal_ ? "" : "\n");
  }

 private:
  std::string name_;
  bool is_terminal_ = isatty(STDERR_FILENO) == 1;
  Clock::time_point said_{};
};

/// What a search has found so far, a line for each sample, until it has ended: another one of the same
/// candidates for the same case goes on with it.
class SearchJournal {
 public:
  SearchJournal(std::string const& key, std::vector<Candidate> const& candidates, bool restart)
      : known_(candidates.size()) {
    std::string const folder = core::user_cache();
    if (folder.empty()) return;
    std::uint64_t hash = 0;
    for (char const c : key) hash = core::mix(hash + static_cast<unsigned char>(c));
    path_ = fmt::format("{}/tune/{:016x}.jsonl", folder, hash);
    std::error_code error;
    fs::create_directories(path_.parent_path(), error);
    if (restart) fs::remove(path_, error);
    if (!read(key, candidates)) {
      known_.assign(candidates.size(), {});
      std::ofstream{path_} << Json{{"search", key}}.dump() << '\n';
    }
    file_.open(path_, std::ios::app);
  }

  std::vector<std::vector<double>> const& known() const { return known_; }
  std::size_t samples() const {
    std::size_t sum = 0;
    for (std::vector<double> const& costs : known_) sum += costs.size();
    return sum;
  }
  void add(Candidate const& candidate, double cost) {
    // A search that cannot be kept must be made again, which is no reason to end it.
    file_ << Json{{"candidate", candidate.name()}, {"cost", cost}}.dump() << std::endl;
  }
  void remove() {
    std::error_code error;
    if (!path_.empty()) fs::remove(path_, error);
  }

 private:
  /// False where there is none of this search. What follows a torn line does not count.
  bool read(std::string const& key, std::vector<Candidate> const& candidates) {
    std::ifstream file{path_};
    std::string line;
    if (!std::getline(file, line)) return false;
    Json const head = Json::parse(line, nullptr, false);
    if (!head.is_object() || head.value("search", "") != key) return false;
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < candidates.size(); ++i) places[candidates[i].name()] = i;
    while (std::getline(file, line)) {
      Json const sample = Json::parse(line, nullptr, false);
      bool const is_whole = sample.is_object() && sample.contains("candidate") &&
                            sample.contains("cost") && sample["candidate"].is_string() &&
                            sample["cost"].is_number();
      auto const place =
          is_whole ? places.find(sample["candidate"].get<std::string>()) : places.end();
      if (place == places.end()) break;
      known_[place->second].push_back(sample["cost"]);
    }
    return true;
  }

  fs::path path_;
  std::ofstream file_;
  std::vector<std::vector<double>> known_;
};

/// Makes all configurations ready, side by side, and takes out those that cannot be.
void prepare_all(comm::World const& world, std::string const& name,
                 kernels::ProblemKind const& kind, std::vector<Candidate>& candidates) {
  auto const start = Clock::now();
  std::vector<std::string> problems(candidates.size());
  std::atomic<std::size_t> next{0}, done{0};
  auto const work = [&] {
    world.device().bind_thread();
    for (std::size_t i = next++; i < candidates.size() && !comm::JobGuard::signalled();
         i = next++) {
      Candidate const& candidate = candidates[i];
      kernels::Tunable const* const tunable = candidate.row->tunable;
      bool const is_ready = candidate.configuration.is_empty() || tunable->prepare == nullptr;
      if (!is_ready) {
        problems[i] =
            tunable->prepare(*tunable, candidate.configuration, kind, world.device().facts());
      }
      ++done;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < std::max(1, world.placement().threads); ++i) threads.emplace_back(work);
    ProgressLine line{name};
    while (done < candidates.size() && !comm::JobGuard::signalled()) {
      line.update("compile", done, candidates.size(), start);
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
  }
  std::string first;
  std::vector<Candidate> ready;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (problems[i].empty()) {
      ready.push_back(candidates[i]);
    } else if (first.empty()) {
      first = problems[i];
    }
  }
  std::size_t const lost = candidates.size() - ready.size();
  if (lost > 0) core::print("{} configurations are left out, the first of them: {}\n", lost, first);
  candidates = std::move(ready);
}

/// Keeps the best of each variant.
void keep(std::string const& path, measure::TuningClass const& of,
          std::vector<Candidate> const& candidates, measure::TuningResult const& result,
          double amount) {
  measure::TunedTable table = run::read_table(path);
  std::vector<kernels::VariantInfo const*> kept;
  for (std::size_t const i : result.ranking) {
    Candidate const& candidate = candidates[i];
    if (std::ranges::find(kept, candidate.row) != kept.end()) continue;
    kept.push_back(candidate.row);
    std::string const configuration =
        candidate.configuration.is_empty()
            ? ""
            : kernels::to_text(*candidate.row->tunable, candidate.configuration);
    table.put({of, std::string{candidate.row->name}, configuration, amount / result.seconds[i]});
  }
  std::string const why = io::replace_whole_file(path, table.to_toml());
  if (!why.empty()) core::fail(why);
}

core::Exit tune_case(comm::World& world, run::Planned const& planned,
                     TuneArguments const& arguments, std::string const& path) {
  core::Case const& spec = planned.spec;
  measure::WorkloadEntry const& entry = *planned.entry;
  measure::Workload const& workload = *planned.selected.workload;
  std::vector<Candidate> candidates = measure::candidates_of(workload, entry, spec, world.device());
  std::optional<measure::TuningClass> of = workload.tuning_class();
  std::string const& device = world.device().facts().name;
  if (candidates.empty() || !of) {
    return refuse(world,
                  fmt::format("tune: no variant of {} that runs this case on {} is tunable; take "
                              "another device, size, type or layout",
                              spec.workload->name, device),
                  core::Exit::environment);
  }
  of->device = device;
  std::string const name = fmt::format(
      "tune {} {} {} {}", of->operation, of->type, of->layout,
      fmt::join(spec.size.value.begin(), spec.size.value.begin() + spec.size.count, ","));
  std::size_t const all = candidates.size();
  auto const begin = Clock::now();
  prepare_all(world, name, workload.problem_kind(), candidates);
  double const prepared_s = seconds_since(begin);
  if (world.interrupted()) return core::Exit::interrupted;

  SearchJournal journal{fmt::format("{}\n{}\n{}\n{}", version(), device, core::to_toml(spec),
                                    arguments.exhaustive ? "exhaustive" : "halving"),
                        candidates, arguments.restart};
  if (journal.samples() > 0) {
    core::print("{}: continues after {} samples of an interrupted search\n", name,
                journal.samples());
  }
  measure::TuningResult result;
  double const amount = workload.describe({}).amount;
  std::string const unit{workload.describe({}).unit};
  auto const rate = [&](double seconds) { return core::format_rate(amount / seconds, unit); };
  {
    ProgressLine line{name};
    auto const start = Clock::now();
    measure::TunerOptions options;
    options.exhaustive = arguments.exhaustive;
    options.known = journal.known();
    options.on_cost = [&](std::size_t i, double cost) { journal.add(candidates[i], cost); };
    options.on_progress = [&](std::size_t best, double best_s, std::size_t taken,
                              std::size_t total) {
      line.update(fmt::format("best {} at {}", candidates[best].name(), rate(best_s)), taken, total,
                  start);
    };
    result = measure::tune(world, spec, entry, candidates, options);
  }
  if (result.interrupted) {
    core::print("{}: interrupted; the same command goes on\n", name);
    return core::Exit::interrupted;
  }
  journal.remove();
  for (std::string const& why : result.dropped) core::print("left out: {}\n", why);
  if (result.ranking.empty()) {
    core::print("TUNE FAIL {}: no candidate computes what the reference does\n", name);
    return core::Exit::wrong_result;
  }
  report::Table table =
      report::text_table({"", "candidate", "median", "rate", "time of the first over it"});
  for (std::size_t place = 0; place < result.ranking.size(); ++place) {
    std::size_t const i = result.ranking[place];
    table.add_row({fmt::format("{}", place + 1), candidates[i].name(),
                   core::format_seconds(result.seconds[i]), rate(result.seconds[i]),
                   fmt::format("{:.3f}", result.seconds[result.ranking[0]] / result.seconds[i])});
  }
  core::print("{}", write_text(table, report::terminal_of_output()));
  keep(path, *of, candidates, result, amount);
  std::size_t const best = result.ranking.front();
  core::print(
      "TUNE PASS {}: {} at {}; {} of {} legal configurations in {} of measuring, {} of "
      "compiling; kept for {} on {} in {}\n",
      name, candidates[best].name(), rate(result.seconds[best]), candidates.size() - 1, all - 1,
      core::format_seconds(result.measured_s), core::format_seconds(prepared_s), of->shape, device,
      path);
  return core::Exit::pass;
}

/// Finds the fastest configurations of an operation's variants for the device of one rank, and keeps
/// them for runs.
core::Exit tune(TuneArguments const& arguments, int& argc, char**& argv) {
  comm::World world{argc, argv};
  world.require_launcher();
  if (world.size() > 1) {
    return refuse(world,
                  "tune: one rank tunes for its device; start it without mpirun, or with -n 1",
                  core::Exit::bad_config);
  }
  std::string const path = arguments.output.empty() ? run::user_table_path() : arguments.output;
  if (path.empty()) {
    return refuse(world,
                  "tune: there is no folder to keep what is found; set XDG_CACHE_HOME or HOME, "
                  "or name a file by --output",
                  core::Exit::environment);
  }
  if (arguments.output.empty()) {
    std::error_code error;
    fs::create_directories(fs::path{path}.parent_path(), error);
  }
  // read_table() says what is no table.
  std::string why = io::unwritable_reason(path, "");
  if (io::is_standard_output(path)) why = "standard output has the ranking; name a file";
  if (!why.empty()) return refuse(world, "tune: --output: " + why, core::Exit::bad_config);
  run::Input input;
  input.workload = arguments.operation;
  input.sets = arguments.sets;
  core::Parsed<core::Config> const read = run::read_config(world, input);
  if (!read) return refuse(world, read.why(), core::Exit::bad_config);
  core::Config config = *read;
  config.run.tuned = core::Tuned::off;  // what was found before is found again, or is not
  run::read_table(path);                // what is no table is told before any work
  world.enter_phase("open the device", config.run.timeout.init_s);
  why = world.choose_devices(config.run);
  if (!why.empty()) return refuse(world, why, core::Exit::environment);
  world.open(config.run);
  run::Plan const plan = run::make_plan(world, config);
  if (world.interrupted()) return run::refuse_interrupted(world);
  for (run::Planned const& planned : plan.cases) {
    if (!planned.problem.empty()) return refuse(world, planned.problem, planned.code);
  }
  for (run::Planned const& planned : plan.cases) {
    core::Exit const exit = tune_case(world, planned, arguments, path);
    if (exit != core::Exit::pass) return exit;
  }
  return core::Exit::pass;
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  auto const arguments = std::make_shared<TuneArguments>();
  CLI::App* const command = app.add_subcommand(
      "tune", "Find and keep the fastest configurations of an operation on this device");
  command
      ->add_option("operation", arguments->operation,
                   "A workload with tunable variants, such as gemm")
      ->type_name("OPERATION")
      ->required();
  add_sets(*command, arguments->sets,
           "KEY=VALUE of the case, such as size=[1Ki,4Ki], type=f32, layout=nn, or run.KEY=VALUE; "
           "each case of a sweep is tuned");
  command
      ->add_option("--output", arguments->output,
                   "The table to write, instead of tuned.toml in $XDG_CACHE_HOME/quadrille")
      ->type_name("FILE");
  command->add_flag("--exhaustive", arguments->exhaustive,
                    "Time every configuration `repetitions` times instead of halving their number");
  command->add_flag("--restart", arguments->restart,
                    "Start over where an earlier search was interrupted");
  command->footer("Example: quadrille tune gemm --set type=f32 --set size=[2Ki,8Ki]");
  command->callback([&action, arguments] {
    action = [arguments](int& argc, char**& argv) { return tune(*arguments, argc, argv); };
  });
}

}  // namespace quadrille::commands
