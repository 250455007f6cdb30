// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/run.hpp"

#include "commands/build_info.hpp"
#include "commands/commands.hpp"
#include "commands/help.hpp"
#include "commands/plan.hpp"
#include "commands/progress.hpp"
#include "commands/rerun.hpp"
#include "commands/resume.hpp"
#include "commands/run_directory.hpp"
#include "commands/tuned.hpp"
#include "core/options.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "io/field_file.hpp"
#include "io/json.hpp"
#include "io/result_file.hpp"
#include "io/trace_file.hpp"
#include "io/whole_file.hpp"
#include "measure/case_runner.hpp"
#include "measure/fault.hpp"
#include "measure/roofline.hpp"
#include "measure/rounds.hpp"
#include "report/screen.hpp"
#include "report/table.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <tuple>

namespace quadrille::commands {
namespace {

namespace fs = std::filesystem;

std::string now_utc() {
  auto const now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  std::time_t const time = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

/// Time, job and chance: unique without asking anybody.
std::string unique_id() {
  std::string id = now_utc();
  std::erase_if(id, [](char c) { return c == ':' || c == '-'; });
  if (char const* const job = std::getenv("SLURM_JOB_ID")) id += fmt::format("-job{}", job);
  return fmt::format("{}-{:04x}", id, std::random_device{}() & 0xffff);
}

/// Seconds for MPI to start and for the configuration to be read. The input file is not known yet;
/// what is wrong with a --set is told when it is applied.
double start_limit(RunArguments const& arguments) {
  constexpr std::string_view kKey = "run.timeout.init=";
  double limit = core::Timeouts{}.init_s;
  for (std::string_view const set : arguments.sets) {
    if (!set.starts_with(kKey)) continue;
    if (auto const seconds = core::parse_seconds(set.substr(kKey.size()))) limit = *seconds;
  }
  return limit;
}

measure::RunInfo describe_run(comm::World const& world, core::Config const& config,
                              RunArguments const& arguments, measure::Fault fault) {
  measure::RunInfo info;
  info.started = now_utc();
  info.status = "running";
  info.config = core::to_toml(config);
  info.build = build_facts();
  info.environment = environment_facts();
  info.ranks = world.placements();
  if (fault != measure::Fault::none) {
    info.events.push_back(
        fmt::format("--inject-fault {}: results were damaged on purpose", core::to_text(fault)));
  }
  if (!arguments.rerun.empty()) {
    info.events.push_back(fmt::format("rerun of {}", arguments.rerun));
  }
  if (config.run.fake_nodes > 1) {
    info.events.push_back(
        fmt::format("fake_nodes = {}: messages between parts of a node went as between nodes",
                    config.run.fake_nodes));
  }
  for (core::Case const& spec : config.cases) {
    if (spec.throttle <= 0) continue;
    info.events.push_back(fmt::format("{}: modelled link, all messages of a rank leave at {}",
                                      spec.name, core::format_rate(spec.throttle, "B/s")));
  }
  return info;
}

/// Whether another round of all cases begins: one alone would compare nothing. Collective.
bool is_round_due(comm::World const& world, std::int64_t rounds,
                  std::chrono::steady_clock::time_point start, double duration_s) {
  std::chrono::duration<double> const spent = std::chrono::steady_clock::now() - start;
  bool const is_due = duration_s > 0 && (rounds < 2 || spent.count() < duration_s);
  return world.group().agree(is_due) >= 0;
}

/// Whether all rounds of this measurement must leave the same bits.
bool leaves_same_bits(comm::World const& world, Planned const& planned,
                      measure::Record const& record) {
  return measure::any_of(planned.entry->variants, [&](kernels::VariantInfo const& row) {
    return row.name == record.variant && row.runs_on(world.device().kind()) &&
           measure::leaves_same_bits(row);
  });
}

/// Collective. Writes what the last repetition of a case read and wrote, from where it lies.
void save_fields(comm::World& world, measure::Workload& workload, std::string const& path) {
  bool const on_host = world.device().kind() == device::Kind::host;
  auto const fetch = [stream = world.stream()](auto... copy) {
    stream.copy_2d(copy...);
    stream.synchronize();
  };
  std::vector<io::HostField> fields;
  for (measure::Field const& field : workload.fields()) {
    if (field.shape.empty()) continue;
    io::HostField& out = fields.emplace_back();
    out.name = field.name;
    out.type = field.type;
    out.shape = field.shape;
    if (!on_host && !field.is_pageable) out.fetch = fetch;
    for (auto const& [row, col, view] : field.blocks) {
      out.blocks.push_back({row, col, view.rows, view.cols, view.ld, view.data});
    }
  }
  world.stream().synchronize();
  io::write_fields(
      world.group(), path, fields,
      static_cast<std::size_t>(std::min(world.settings().chunk_bytes, measure::kSaveBytes)));
}

/// Shown where the job may end before its table: the finished cases, on rank 0 from memory, on others by
/// the journal, and what the running case has sampled.
class PartialTable {
 public:
  PartialTable(bool has_result, measure::RunResult const& result, std::string journal)
      : result_{has_result ? &result : nullptr}, journal_{std::move(journal)} {}

  /// For each change of the result.
  std::unique_lock<std::mutex> lock() { return std::unique_lock{mutex_}; }
  void set_running(std::vector<measure::Record> records) {
    std::lock_guard const guard{mutex_};
    running_ = std::move(records);
  }
  void print() {
    std::lock_guard const guard{mutex_};
    core::Parsed<measure::RunResult> const finished =
        result_ != nullptr ? *result_ : io::read_result(journal_);
    if (!finished) return;
    measure::RunResult result = *finished;
    if (result.info.status != "running") result.failure = "the job failed at its end";
    for (measure::Record const& record : running_) {
      bool const is_there = std::ranges::any_of(
          finished->records, [&](measure::Record const& known) { return known.id == record.id; });
      if (!is_there) result.records.push_back(record);
    }
    std::string const table = report::render_screen(result, report::terminal_of_output()) + "\n" +
                              report::render_end(result, journal_);
    // Nobody is left to tell whether it was shown.
    std::ignore = core::show_output(table);
  }

 private:
  measure::RunResult const* result_;
  std::string journal_;
  std::mutex mutex_;
  std::vector<measure::Record> running_;
};

/// The cases of a run, one after the other and in rounds, with what tells of them: journal, screen
/// and result. All members but the constructor are collective.
class CaseLoop {
 public:
  CaseLoop(comm::World& world, core::Config const& config, std::vector<Planned> const& plan,
           measure::Fault fault, std::string const& trace, RunStart& start, Output& out)
      : world_{world},
        config_{config},
        plan_{plan},
        fault_{fault},
        start_{start},
        kept_{start.result.finished_cases},
        is_over_{start.result.info.status == "finished"},
        partial_{std::make_shared<PartialTable>(is_first(), start.result,
                                                (start.directory / "result.jsonl").string())},
        out_{out},
        progress_{estimates(), config.run.duration_s} {
    if (!trace.empty()) trace_.emplace(trace);
    // What finished before something fails is shown like all else.
    world.on_abort(start.directory.string(), [partial = partial_] { partial->print(); });
    options_.best_rows =
        std::make_shared<measure::BestRows>(measure::BestRows::quick_clock, memory_of_best());
    options_.on_partial = [this](std::vector<measure::Record> records) {
      partial_->set_running(std::move(records));
    };
    options_.on_progress = [this](measure::Progress const& step) { progress_.update(step); };
    out_.print(report::render_run_header(result().info) + "\n");
    if (is_over_) out_.print("this run is finished: nothing is left to measure\n\n");
  }

  core::Exit run() {
    std::optional<measure::DeviceHealth> health;
    if (has_rounds()) health.emplace(world_);
    auto const begin = std::chrono::steady_clock::now();
    do {
      for (std::size_t i = 0; i < plan_.size() && !interrupted_; ++i) measure(i);
    } while (!interrupted_ && is_round_due(world_, round_++, begin, config_.run.duration_s));
    if (is_first()) progress_.end();

    world_.finish();
    world_.enter_phase("write the result", config_.run.timeout.write_s);
    // Rank 0 shows all from here on, and a peer that fails beside it would show the same again.
    if (!is_first()) world_.on_abort(start_.directory.string(), {});
    if (health) judge_rounds(*health);
    if (!is_over_) end();
    std::string const file = write_files();
    out_.log(report::render_table(result()) + "\n" + report::result_line(judged(), file) + "\n");
    world_.on_abort(start_.directory.string(), {});
    out_.show(report::render_screen(judged(), report::terminal_of_output()) + "\n" +
              report::render_end(judged(), file));
    world_.on_abort("", {});
    // Rank 0 alone knows what ran before.
    auto const code = static_cast<std::int64_t>(measure::ending_of(judged()).code);
    return static_cast<core::Exit>(world_.group().max(is_first() ? code : 0));
  }

 private:
  bool is_first() const { return world_.rank() == 0; }
  /// How long each case is thought to take; nothing where an earlier run has finished it.
  std::vector<double> estimates() const {
    std::vector<double> seconds;
    for (Planned const& planned : plan_) {
      bool const is_kept = std::ranges::find(kept_, planned.spec.name) != kept_.end();
      seconds.push_back(is_kept ? 0 : planned.seconds);
    }
    return seconds;
  }
  bool has_rounds() const { return config_.run.duration_s > 0; }
  /// The result, which has not passed where some output was lost so far.
  measure::RunResult const& judged() {
    auto const lock = partial_->lock();
    result().failure = out_.problem();
    return result();
  }
  /// Writes result and trace on rank 0, each whatever becomes of the other. The file that has the result.
  std::string write_files() {
    fs::path const journal = start_.directory / "result.jsonl";
    fs::path const file = start_.directory / "result.h5";
    if (!is_first()) return file;
    bool const is_written = is_over_ && fs::exists(file);
    std::string const why = is_written ? "" : io::write_result(file, result());
    out_.report(why);
    if (trace_) {
      std::string const lost = trace_->write();
      out_.report(lost.empty() ? "" : "--trace: " + lost);
      if (lost.empty()) {
        out_.show(
            fmt::format("wrote {}: ui.perfetto.dev shows it\n", core::one_line(trace_->path())));
      }
    }
    return why.empty() ? file : journal;
  }
  measure::RunResult& result() { return start_.result; }

  void measure(std::size_t index) {
    Planned const& planned = plan_[index];
    core::Case const& spec = planned.spec;
    bool const is_kept = std::ranges::find(kept_, spec.name) != kept_.end();
    if (world_.group().max(std::int64_t{is_kept}) > 0) {
      for (measure::Record const& record : result().records) {
        if (record.name == spec.name) peaks_.add(spec, record);
      }
      return;
    }
    if (is_first()) progress_.begin(round_, index, spec.name);
    options_.decorate = [this, data = spec.data](std::unique_ptr<measure::Workload> workload) {
      // What is wrong once must be found in a later round too.
      bool const is_due = !has_rounds() || round_ == 2 || fault_ != measure::Fault::once;
      return measure::make_faulty(std::move(workload), is_due ? fault_ : measure::Fault::none,
                                  data);
    };
    options_.on_outputs = [&](measure::Workload& workload) {
      if (!spec.save || round_ > 1) return;
      save_fields(world_, workload, (start_.directory / "fields" / (spec.name + ".h5")).string());
    };
    options_.on_trace = nullptr;
    if (trace_ && round_ == 1) {
      options_.on_trace = [this](measure::TracedRepetition const& repetition) {
        trace_->add(world_, repetition);
      };
    }
    std::vector<measure::Record> records;
    if (planned.unsupported.empty()) {
      records = measure::measure_case(world_, spec, *planned.entry, options_);
    } else {
      records.push_back(measure::unsupported_record(world_, spec, planned.unsupported));
    }
    for (measure::Record& record : records) {
      interrupted_ = interrupted_ || record.outcome == measure::Outcome::interrupted;
      peaks_.set_in(spec, record);
      peaks_.add(spec, record);
      keep(planned, std::move(record));
    }
    partial_->set_running({});
    if (is_first() && !interrupted_ && !has_rounds()) {
      start_.journal.append(io::finished_case_line(spec.name));
    }
    interrupted_ = interrupted_ || world_.interrupted();
  }

  void keep(Planned const& planned, measure::Record record) {
    std::unique_lock lock = partial_->lock();
    std::vector<measure::Record>& records = result().records;
    auto known = std::ranges::find(records, record.id, &measure::Record::id);
    bool is_news = known == records.end();
    if (is_news) {
      known = records.insert(known, std::move(record));
    } else {
      measure::Outcome const before = known->outcome;
      measure::join_round(*known, std::move(record), leaves_same_bits(world_, planned, *known));
      // Rounds 2, 4, 8, ...: what is lost with a killed run is at most half, and the journal of a
      // long run stays small.
      is_news = std::has_single_bit(static_cast<std::uint64_t>(round_)) || known->outcome != before;
    }
    lock.unlock();
    if (is_first() && is_news) start_.journal.append(io::to_json_line(*known));
  }

  /// ... and what the devices counted meanwhile.
  void judge_rounds(measure::DeviceHealth const& health) {
    std::string const telemetry = health.telemetry();
    std::vector<std::string> const changes = health.changes();
    {
      auto const lock = partial_->lock();
      std::vector<std::string>& events = result().info.events;
      if (!telemetry.empty()) events.push_back(telemetry);
      events.insert(events.end(), changes.begin(), changes.end());
      for (measure::Record& record : result().records) {
        measure::judge_rounds(record);
        record.suspect.insert(record.suspect.end(), changes.begin(), changes.end());
      }
    }
    if (!is_first()) return;
    for (measure::Record const& record : result().records) {
      start_.journal.append(io::to_json_line(record));
    }
  }

  void end() {
    measure::RunInfo& info = result().info;
    {
      auto const lock = partial_->lock();
      info.status = interrupted_ ? "interrupted" : "finished";
      info.finished = now_utc();
      if (interrupted_) info.events.push_back("interrupted by a signal; later cases did not run");
    }
    if (is_first()) start_.journal.append(io::to_json_line(info));
  }

  comm::World& world_;
  core::Config const& config_;
  std::vector<Planned> const& plan_;
  measure::Fault fault_;
  RunStart& start_;
  std::vector<std::string> kept_;  ///< cases that an earlier run has finished
  bool is_over_;                   ///< which were all
  std::shared_ptr<PartialTable> partial_;
  Output& out_;
  ProgressLine progress_;
  std::optional<io::TraceFile> trace_;
  measure::CaseOptions options_;
  measure::MeasuredPeaks peaks_;  ///< on rank 0, which has the rates
  std::int64_t round_ = 1;
  bool interrupted_ = false;
};

core::Exit measure_all(comm::World& world, core::Config const& config, Plan& plan,
                       RunArguments const& arguments, measure::Fault fault) {
  world.enter_phase("open the result", config.run.timeout.init_s);
  std::string id = arguments.run_id.empty() ? unique_id() : arguments.run_id;
  world.group().broadcast(id);
  RunStart start{.directory = fs::path{config.run.output} / id};
  start.result.info = describe_run(world, config, arguments, fault);
  start.result.info.run_id = id;
  bool const shares_files = std::ranges::any_of(plan.cases, [](Planned const& planned) {
    return planned.entry->shares_files || (planned.spec.save && io::writes_fields_together());
  });
  if (arguments.resume.empty()) {
    std::string const why = make_directory(world, start, arguments.force, shares_files);
    if (!why.empty()) return refuse(world, why, core::Exit::environment);
  } else {
    std::string const why = config.run.duration_s > 0
                                ? "--resume: a burn-in (--duration) begins anew"
                                : resume(world, config.run.output, arguments.resume, start);
    if (!why.empty()) return refuse(world, why, core::Exit::bad_config);
    std::string const unshared = shares_files ? unshared_problem(world, start) : "";
    if (!unshared.empty()) return refuse(world, unshared, core::Exit::environment);
  }
  Output out{world.rank() == 0, start.directory / "log.txt"};
  if (world.group().agree(!out.problem().empty()) >= 0) return core::Exit::environment;
  measure::RunInfo& info = start.result.info;
  if (!start.lock.warning().empty()) info.events.push_back(start.lock.warning());
  // Of a run that has ended nothing is left to be measured, and its journal stays as it is.
  bool const has_ended = info.status == "finished";
  if (world.group().agree(has_ended) < 0) {
    std::vector<comm::TransportTime> const times =
        choose_transports(world, plan, info.transport_times);
    world.enter_phase("open the result", config.run.timeout.init_s);
    if (world.rank() == 0) {
      if (arguments.resume.empty()) {
        start.journal = io::Journal{(start.directory / "result.jsonl").string()};
        std::string const why =
            io::write_whole_file((start.directory / "config.toml").string(), info.config);
        if (!why.empty()) core::fail(why);
      } else if (times != info.transport_times) {
        info.events.emplace_back("transports were measured for the cases that were left");
      }
      info.transport_times = times;
      start.journal.append(io::to_json_line(info));
    }
  }
  return CaseLoop{world, config, plan.cases, fault, arguments.trace, start, out}.run();
}

}  // namespace

core::Exit run(RunArguments const& arguments, int& argc, char**& argv) {
  if (!arguments.as.empty()) return plan_as(arguments);
  double const limit = start_limit(arguments);
  comm::World world{argc, argv, limit};
  world.require_launcher();
  world.enter_phase("read the configuration", limit);
  std::optional<measure::Fault> const fault =
      arguments.fault.empty() ? measure::Fault::none
                              : core::parse_enum<measure::Fault>(arguments.fault);
  if (!fault) {
    return refuse(world, fmt::format("--inject-fault: {}", word_problem(arguments.fault, "FAULT")),
                  core::Exit::bad_config);
  }
  for (std::string const& why :
       {name_problem("--run-id", arguments.run_id), name_problem("--resume", arguments.resume),
        std::string{arguments.run_id == kLatestRun ? "--run-id 'latest': --resume needs this word"
                                                   : ""}}) {
    if (!why.empty()) return refuse(world, why, core::Exit::bad_config);
  }
  core::Parsed<core::Config> const parsed = read_config(world, arguments);
  if (!parsed) return refuse(world, parsed.why(), core::Exit::bad_config);
  core::Config config = *parsed;
  for (core::Case& spec : config.cases) spec = measure::with_fault(std::move(spec), *fault);
  if (arguments.print_config) {
    if (world.rank() == 0) core::print("{}", core::to_toml(config));
    return core::Exit::pass;
  }

  if (!arguments.trace.empty()) {
    std::string const why = trace_problem(world, config.run.output, arguments);
    if (!why.empty()) return refuse(world, why, core::Exit::bad_config);
  }
  world.enter_phase("open the device", config.run.timeout.init_s);
  world.open(config.run);
  Plan plan = make_plan(world, config);
  if (world.interrupted()) return refuse_interrupted(world);
  if (!arguments.rerun.empty() && world.rank() == 0) {
    core::print("{}\n",
                render_changes(arguments.rerun, describe_run(world, config, arguments, *fault)));
    core::flush_output();
  }
  if (arguments.dry_run && world.rank() == 0) {
    core::print("{}", arguments.json ? plan_as_json(plan, world.device().facts(), world.size())
                                     : render_plan(plan, world.size()));
  }
  for (Planned const& planned : plan.cases) {
    if (!planned.problem.empty()) return refuse(world, planned.problem, planned.code);
  }
  if (arguments.dry_run) return core::Exit::pass;
  return measure_all(world, config, plan, arguments, *fault);
}

void add_run(CLI::App& app, Action& action) {
  auto const arguments = std::make_shared<RunArguments>();
  CLI::App* const command =
      app.add_subcommand("run", "Measure the cases of an input file, or one case");
  CLI::Option* const file =
      command->add_option("file", arguments->file, "Input file (TOML)")->type_name("FILE");
  command->add_option("--case", arguments->workload, "One case of this workload without a file")
      ->type_name("WORKLOAD")
      ->excludes(file);
  add_sets(*command, arguments->sets, "run.KEY=VALUE, NAME.KEY=VALUE; with --case also KEY=VALUE");
  add_only(*command, arguments->only, "Names of cases or workloads to run");
  CLI::Option* const run_id =
      command->add_option("--run-id", arguments->run_id,
                          "Name of the run's directory under run.output (default: unique)");
  CLI::Option* const fault =
      command
          ->add_option("--inject-fault", arguments->fault,
                       "Damage results on purpose: the run must fail; see `quadrille list faults`")
          ->type_name("FAULT");
  command
      ->add_option("--trace", arguments->trace,
                   "Write timelines of all ranks and streams to this file, of one more repetition "
                   "of each measurement; ui.perfetto.dev shows it")
      ->type_name("FILE");
  CLI::Option* const dry_run = command->add_flag("--dry-run", arguments->dry_run,
                                                 "Show what would run and what fits in memory");
  CLI::Option* const as = one_of(
      command->add_option("--as", arguments->as,
                          "As --dry-run, for ranks with such a device, which need not be here; "
                          "\"list\" shows all"),
      "DEVICE");
  command
      ->add_option("--ranks", arguments->as_ranks, "Ranks for --as (default: those of the input)")
      ->check(CLI::Range(1, 100'000))
      ->needs(as);
  command->add_flag("--json", arguments->json, "The plan of --dry-run or --as as JSON");
  command->add_flag("--print-config", arguments->print_config, "Print the resolved configuration");
  CLI::Option* const force = command->add_flag(
      "--force", arguments->force,
      "Overwrite the run of this --run-id, unless it still runs, and an earlier trace");
  command
      ->add_option("--resume", arguments->resume,
                   "Go on with the run of this name, or the \"latest\" of run.output: same input, "
                   "options, ranks and build; finished cases stay")
      ->excludes(run_id, fault, dry_run, force);
  command->add_flag_callback(
      "--allow-shared-gpu",
      [arguments] { arguments->sets.emplace_back("run.allow_shared_gpu=true"); },
      "Let several ranks drive one GPU");
  auto const add_setting = [&](std::string const& option, std::string const& key,
                               std::string const& text) {
    command->add_option_function<std::string>(
        option,
        [arguments, key](std::string const& value) {
          arguments->sets.push_back(fmt::format("run.{}={}", key, value));
        },
        text);
  };
  add_setting("--device-map", "device_map",
              "GPU of each local rank, such as 0,2,4,6: index, UUID or PCI address");
  add_setting("--fake-nodes", "fake_nodes",
              "Count each node as so many, to try what joins nodes on one");
  add_setting("--duration", "duration",
              "Burn-in: repeat all cases until so much time is over, such as 1h");
  command->footer([] { return "Keys of [run] and [[case]]:\n" + core::options_help(); });
  command->footer(
      "Examples: mpirun -n 2 quadrille run inputs/quickstart.toml --only summa --set "
      "summa.panel=64\n"
      "          quadrille run --case gemm --set size=[1Ki,2Ki] --set variant=best");
  command->callback([&action, arguments] {
    action = [arguments](int& argc, char**& argv) { return run(*arguments, argc, argv); };
  });
}

}  // namespace quadrille::commands
