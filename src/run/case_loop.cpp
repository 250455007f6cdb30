// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "run/case_loop.hpp"

#include "comm/job_guard.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "io/field_file.hpp"
#include "io/json.hpp"
#include "io/result_file.hpp"
#include "io/trace_file.hpp"
#include "io/whole_file.hpp"
#include "measure/case_runner.hpp"
#include "measure/roofline.hpp"
#include "report/junit.hpp"
#include "report/open.hpp"
#include "report/screen.hpp"
#include "report/table.hpp"
#include "run/progress.hpp"
#include "run/rounds.hpp"
#include "run/tuned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>

namespace quadrille::run {
namespace {

namespace fs = std::filesystem;

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

/// Adds those of the records that are of other cases than a result has.
void add_cases(measure::RunResult& result, std::vector<measure::Record> const& records) {
  std::set<std::string> names;
  for (measure::Record const& known : result.records) names.insert(known.name);
  std::ranges::copy_if(records, std::back_inserter(result.records),
                       [&](measure::Record const& record) { return !names.contains(record.name); });
}

void set_interrupted(measure::RunInfo& info) {
  info.status = "interrupted";
  info.events.push_back("interrupted by a signal; later cases did not run");
}

/// What of a plan is not measured, all of it as long as nothing is.
std::vector<measure::Record> unmeasured(comm::World const& world,
                                        std::vector<Planned> const& plan) {
  std::vector<measure::Record> records;
  for (Planned const& planned : plan) {
    if (!planned.unsupported.empty()) {
      records.push_back(measure::unsupported_record(world, planned.spec, planned.unsupported));
      continue;
    }
    for (measure::Record& record :
         measure::unmeasured_records(world, planned.spec, planned.selected.variants)) {
      records.push_back(std::move(record));
    }
  }
  return records;
}

/// What stands on the screen at the end of a run.
std::string rendered_end(measure::RunResult const& result, std::string const& file, bool is_quiet) {
  report::Terminal const terminal = report::terminal_of_output();
  if (is_quiet) return report::shown_result(result, file, terminal);
  return report::render_screen(result, terminal) + "\n" +
         report::render_end(result, file, terminal);
}

/// Shown where the job may end before its table: the finished cases, on rank 0 from memory, on others by
/// the journal, what the running case has sampled, and what was planned besides.
class PartialTable {
 public:
  PartialTable(bool has_result, bool is_quiet, measure::RunResult const& result,
               std::string journal, std::string junit, std::vector<measure::Record> planned)
      : result_{has_result ? &result : nullptr},
        is_quiet_{is_quiet},
        journal_{std::move(journal)},
        junit_{std::move(junit)},
        planned_{std::move(planned)} {}

  /// For each change of the result.
  std::unique_lock<std::mutex> lock() { return std::unique_lock{mutex_}; }
  void set_running(std::vector<measure::Record> records) {
    std::lock_guard const guard{mutex_};
    running_ = std::move(records);
  }
  void print() {
    std::lock_guard const guard{mutex_};
    core::Parsed<measure::RunResult> const finished =
        result_ != nullptr ? *result_ : report::open_result(journal_);
    if (!finished) return;
    measure::RunResult result = *finished;
    if (result.info.status == "finished") {
      result.failure = "the job failed at its end";
    } else if (result.info.status == "running" && comm::JobGuard::signalled()) {
      set_interrupted(result.info);
    }
    for (measure::Record const& record : running_) {
      bool const is_there = std::ranges::any_of(
          finished->records, [&](measure::Record const& known) { return known.id == record.id; });
      if (!is_there) result.records.push_back(record);
    }
    add_cases(result, planned_);
    // Nobody is left to tell whether it was shown.
    std::ignore = core::show_output(rendered_end(result, journal_, is_quiet_));
    if (!junit_.empty()) std::ignore = io::replace_whole_file(junit_, report::render_junit(result));
    is_printed_ = true;
  }
  /// Then nothing is left to show.
  bool is_printed() {
    std::lock_guard const guard{mutex_};
    return is_printed_;
  }
  std::vector<measure::Record> const& planned() const { return planned_; }

 private:
  measure::RunResult const* result_;
  bool is_quiet_, is_printed_ = false;
  std::string journal_, junit_;
  std::vector<measure::Record> planned_;
  std::mutex mutex_;
  std::vector<measure::Record> running_;
};

/// The cases of a run, one after the other and in rounds, with what tells of them: journal, screen
/// and result. All members but the constructor are collective.
class CaseLoop {
 public:
  CaseLoop(comm::World& world, core::Config const& config, std::vector<Planned>& plan,
           measure::Fault fault, Destination const& destination, RunStart& start, Output& out)
      : world_{world},
        config_{config},
        plan_{plan},
        fault_{fault},
        start_{start},
        kept_{start.result.finished_cases},
        is_over_{start.result.info.status == "finished"},
        partial_{std::make_shared<PartialTable>(is_first(), out.is_quiet(), start.result,
                                                (start.directory / "result.jsonl").string(),
                                                destination.junit, unmeasured(world, plan))},
        junit_{destination.junit},
        out_{out},
        progress_{estimates(), config.run.duration_s} {
    if (!destination.trace.empty()) trace_.emplace(destination.trace);
    // What finished before something fails is shown like all else.
    world.on_abort(start.directory.string(), [partial = partial_] { partial->print(); });
    options_.best_rows =
        std::make_shared<measure::BestRows>(measure::BestRows::quick_clock, memory_of_best());
    options_.on_partial = [this](std::vector<measure::Record> records) {
      partial_->set_running(std::move(records));
    };
    if (!out_.is_quiet()) {
      options_.on_progress = [this](measure::Progress const& step) { progress_.update(step); };
    }
    std::string const over = is_over_ ? "this run is finished: nothing is left to measure\n\n" : "";
    auto const header = [&](report::Terminal const& terminal) {
      return report::render_run_header(result().info, terminal) + "\n" + over;
    };
    out_.show(header(report::terminal_of_output()));
    out_.log(header(report::kUnlimited));
  }

  core::Exit run() {
    std::optional<DeviceHealth> health;
    if (has_rounds()) health.emplace(world_);
    auto const begin = std::chrono::steady_clock::now();
    do {
      for (std::size_t i = 0; i < plan_.size() && !interrupted_; ++i) measure(i);
    } while (!interrupted_ && is_round_due(world_, round_++, begin, config_.run.duration_s));
    if (shows_progress()) progress_.end();

    world_.finish();
    // Rank 0 shows all from here on, and a peer that fails beside it would show the same again.
    if (!is_first()) world_.on_abort(start_.directory.string(), {});
    world_.enter_phase("write the result", config_.run.timeout.write_s);
    if (health) judge_rounds(*health);
    if (!is_over_) end();
    std::string const file = write_files();
    out_.log(report::render_details(result(), {.width = 120}) + "\n" +
             report::result_line(judged(), file) + "\n");
    world_.on_abort(start_.directory.string(), {});
    if (!partial_->is_printed()) out_.tell(rendered_end(judged(), file, out_.is_quiet()));
    world_.on_abort("", {});
    // Rank 0 alone knows what ran before.
    auto const code = static_cast<std::int64_t>(measure::ending_of(judged()).code);
    return static_cast<core::Exit>(world_.group().max(is_first() ? code : 0));
  }

 private:
  bool is_first() const { return world_.rank() == 0; }
  bool shows_progress() const { return is_first() && !out_.is_quiet(); }
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
    if (!junit_.empty()) {
      std::string const lost = io::replace_whole_file(junit_, report::render_junit(judged()));
      out_.report(lost.empty() ? "" : "--junit: " + lost);
    }
    return why.empty() ? file : journal;
  }
  measure::RunResult& result() { return start_.result; }

  void measure(std::size_t index) {
    Planned& planned = plan_[index];
    core::Case const& spec = planned.spec;
    bool const is_kept = std::ranges::find(kept_, spec.name) != kept_.end();
    if (world_.group().max(std::int64_t{is_kept}) > 0) {
      for (measure::Record const& record : result().records) {
        if (record.name == spec.name) peaks_.add(spec, record);
      }
      return;
    }
    if (shows_progress()) progress_.begin(round_, index, spec.name);
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
      records = measure::measure_case(world_, spec, *planned.entry, planned.selected, options_);
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
      run::join_round(*known, std::move(record), leaves_same_bits(world_, planned, *known));
      // Rounds 2, 4, 8, ...: what is lost with a killed run is at most half, and the journal of a
      // long run stays small.
      is_news = std::has_single_bit(static_cast<std::uint64_t>(round_)) || known->outcome != before;
    }
    lock.unlock();
    if (is_first() && is_news) start_.journal.append(io::to_json_line(*known));
  }

  /// ... and what the devices counted meanwhile.
  void judge_rounds(DeviceHealth const& health) {
    std::string const telemetry = health.telemetry();
    std::vector<std::string> const changes = health.changes();
    {
      auto const lock = partial_->lock();
      std::vector<std::string>& events = result().info.events;
      if (!telemetry.empty()) events.push_back(telemetry);
      events.insert(events.end(), changes.begin(), changes.end());
      for (measure::Record& record : result().records) {
        run::judge_rounds(record);
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
      info.status = "finished";
      info.finished = now_utc();
      if (interrupted_) {
        set_interrupted(info);
        add_cases(result(), partial_->planned());
      }
    }
    if (is_first()) start_.journal.append(io::to_json_line(info));
  }

  comm::World& world_;
  core::Config const& config_;
  std::vector<Planned>& plan_;
  measure::Fault fault_;
  RunStart& start_;
  std::vector<std::string> kept_;  ///< cases that an earlier run has finished
  bool is_over_;                   ///< which were all
  std::shared_ptr<PartialTable> partial_;
  std::string junit_;
  Output& out_;
  ProgressLine progress_;
  std::optional<io::TraceFile> trace_;
  measure::CaseOptions options_;
  measure::MeasuredPeaks peaks_;  ///< on rank 0, which has the rates
  std::int64_t round_ = 1;
  bool interrupted_ = false;
};

}  // namespace

core::Exit run_cases(comm::World& world, core::Config const& config, std::vector<Planned>& plan,
                     measure::Fault fault, Destination const& destination, RunStart& start,
                     Output& out) {
  return CaseLoop{world, config, plan, fault, destination, start, out}.run();
}

}  // namespace quadrille::run
