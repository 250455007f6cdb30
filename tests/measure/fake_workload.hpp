// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/sampler.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// A workload that does what a test says and writes down what it was asked for, and a clock that
/// its repetitions advance.
namespace quadrille::test {

/// What the workload does and did on this rank. All of its sets share one.
struct Script {
  measure::Description description{
      .amount = 1, .unit = "B/s", .extras = {}, .memory_bytes = 8, .traits = {}};
  /// Device memory, of a case with these variants; `description` where there is none.
  std::function<double(core::Case const&, measure::Selection const&)> memory_bytes;
  std::function<std::string(kernels::VariantInfo const&)> unsupported =
      [](kernels::VariantInfo const&) { return ""; };
  std::function<std::string(kernels::VariantInfo const&)> unavailable =
      [](kernels::VariantInfo const&) { return ""; };
  /// Seconds of one execution.
  std::function<double(kernels::VariantInfo const&, measure::Leg)> cost =
      [](kernels::VariantInfo const&, measure::Leg) { return 0x1p-10; };
  double reset_s = 0;  ///< of a reset
  /// Whether an execution on data of this seed leaves a wrong result on this rank.
  std::function<bool(kernels::VariantInfo const&, std::uint64_t seed)> is_wrong =
      [](kernels::VariantInfo const&, std::uint64_t) { return false; };
  /// What tunable variants were told to take.
  std::map<kernels::VariantInfo const*, kernels::Configuration> configured;
  std::optional<measure::TuningClass> tuning_class;
  std::optional<measure::StandIn> stand_in;
  int further_calls = 0;  ///< of a library's row on this rank, behind one that is wrong
  std::optional<bool> is_plain_call_wrong;  ///< nothing: there is no such call
  double searched_s = 0;
  std::string skipped;         ///< the verdict's
  std::string implementation;  ///< of a variant that has run
  std::vector<measure::SecondaryMetric> observed;

  std::optional<device::Telemetry> telemetry;
  int lost_read = -1;  ///< the read of it that fails, from 0
  std::size_t last_level_cache_bytes = 0;

  double now = 0;                   ///< what the clock shows
  int sets = 0;                     ///< workloads made
  std::vector<std::string> calls;   ///< "prepare 2", "reset a", "run a", "run a serial", "validate"
  std::vector<std::string> timing;  ///< "start", "stop", "mark", "lap"
  std::vector<int> ran;             ///< set of each execution
  std::vector<bool> traced;         ///< whether there was a trace during each
  std::vector<std::int64_t> max_calls;  ///< behind the gate of each repetition; 0: there was none
  /// How a gate ended that closed for at most so many calls; empty: by stop().
  std::function<std::optional<device::Gate::Expiry>(std::int64_t max_calls)> expiry =
      [](std::int64_t) { return std::nullopt; };

  /// The executions alone.
  std::vector<std::string> runs() const {
    std::vector<std::string> found;
    for (std::string const& call : calls) {
      if (call.starts_with("run ")) found.push_back(call.substr(4));
    }
    return found;
  }
  std::int64_t count(std::string const& call) const {
    return std::count(calls.begin(), calls.end(), call);
  }
};

/// What a case of a fake workload has for parameters.
struct FakeParameters {
  Script* script = nullptr;
  bool operator==(FakeParameters const&) const = default;
};

class FakeWorkload final : public measure::Workload {
 public:
  FakeWorkload(core::Case const& spec, int /*ranks*/, int rank)
      : case_{spec}, script_{*spec.parameters.as<FakeParameters>().script}, rank_{rank} {
    set_ = script_.sets++;
  }

  measure::Description describe(measure::Selection const& selected) const override {
    measure::Description description = script_.description;
    if (script_.memory_bytes) description.memory_bytes = script_.memory_bytes(case_, selected);
    return description;
  }
  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    return script_.unsupported(variant);
  }
  std::string unavailable_reason(kernels::VariantInfo const& variant,
                                 comm::Machine const&) const override {
    return script_.unavailable(variant);
  }
  void prepare(comm::World&, std::uint64_t seed, measure::Selection const&) override {
    seed_ = seed;
    script_.calls.push_back(fmt::format("prepare {}", seed));
  }
  void reset(comm::World&, kernels::VariantInfo const& variant) override {
    output_ = std::numeric_limits<double>::quiet_NaN();
    script_.calls.push_back(fmt::format("reset {}", variant.name));
    script_.now += script_.reset_s;
  }
  void run(comm::World& world, measure::Leg leg, kernels::VariantInfo const& variant) override {
    bool const is_whole = leg == measure::Leg::overlapped;
    script_.calls.push_back(is_whole ? fmt::format("run {}", variant.name)
                                     : fmt::format("run {} {}", variant.name, core::to_text(leg)));
    script_.ran.push_back(set_);
    script_.traced.push_back(world.device().trace() != nullptr);
    script_.now += script_.cost(variant, leg);
    output_ = script_.is_wrong(variant, seed_) ? -1 : static_cast<double>(seed_);
  }
  void select_step(std::int64_t step) override {
    script_.calls.push_back(fmt::format("step {}", step));
  }
  std::optional<measure::TuningClass> tuning_class() const override { return script_.tuning_class; }
  std::optional<measure::StandIn> stand_in() const override { return script_.stand_in; }
  void configure(kernels::VariantInfo const& variant,
                 kernels::Configuration const& configuration) override {
    script_.configured[&variant] = configuration;
  }
  measure::Verdict validate(comm::World& world) override {
    script_.calls.emplace_back("validate");
    if (!script_.skipped.empty()) return {.skipped = script_.skipped};
    int const wrong = world.group().agree(!(output_ == static_cast<double>(seed_)));
    if (wrong < 0) return {.valid = true, .allowed = 1};
    return {.valid = false,
            .error = 2,
            .allowed = 1,
            .wrong = 1,
            .detail = fmt::format("output on rank {} is not {}", wrong, seed_)};
  }
  std::vector<measure::Field> fields() override {
    return {measure::output({&output_, core::DataType::f64, 1, 1, 1})};
  }
  std::string implementation(kernels::VariantInfo const& variant) const override {
    bool const has_run = script_.count(fmt::format("run {}", variant.name)) > 0;
    return has_run ? script_.implementation : "";
  }
  double searched_seconds(kernels::VariantInfo const&) const override { return script_.searched_s; }
  bool drop_call(kernels::VariantInfo const& variant) override {
    if (script_.further_calls == 0) return false;
    --script_.further_calls;
    script_.calls.push_back(fmt::format("drop {}", variant.name));
    return true;
  }
  bool run_plainly(comm::World&, kernels::VariantInfo const& variant) override {
    if (!script_.is_plain_call_wrong) return false;
    script_.calls.push_back(fmt::format("call {}", variant.name));
    output_ = *script_.is_plain_call_wrong ? -1 : static_cast<double>(seed_);
    return true;
  }
  std::vector<measure::SecondaryMetric> observed() override { return script_.observed; }

 private:
  core::Case case_;
  Script& script_;
  int rank_;
  int set_ = 0;
  std::uint64_t seed_ = 0;
  double output_ = 0;
};

/// Shows the time of the script.
class FakeInstruments final : public measure::Instruments {
 public:
  explicit FakeInstruments(Script& script) : script_{script} {}
  double now() override { return script_.now; }
  void start(std::int64_t max_calls) override {
    script_.timing.emplace_back("start");
    script_.max_calls.push_back(max_calls);
    started_ = script_.now;
  }
  Sample stop() override {
    script_.timing.emplace_back("stop");
    std::int64_t const max_calls = script_.max_calls.back();
    return {script_.now - started_, max_calls > 0 ? script_.expiry(max_calls) : std::nullopt};
  }
  void mark() override {
    script_.timing.emplace_back("mark");
    marks_.push_back(script_.now);
  }
  double lap() override {
    script_.timing.emplace_back("lap");
    double const mark = marks_.front();
    marks_.pop_front();
    return mark - std::exchange(started_, mark);
  }
  std::optional<device::Telemetry> telemetry() override {
    return reads_++ == script_.lost_read ? std::nullopt : script_.telemetry;
  }
  std::size_t last_level_cache_bytes() override { return script_.last_level_cache_bytes; }

 private:
  Script& script_;
  double started_ = 0;
  int reads_ = 0;
  std::deque<double> marks_;
};

/// A row that every device runs; of role `own` unless said.
constexpr kernels::VariantInfo fake_row(std::string_view name, int preference = 0,
                                        kernels::Role role = kernels::Role::own,
                                        kernels::Where where = kernels::Where::any) {
  return {.name = name,
          .role = role,
          .where = where,
          .types = {core::DataType::f64},
          .preference = preference,
          .source = "own",
          .summary = "is made up"};
}

/// The entry of a fake workload with these rows.
inline measure::WorkloadEntry fake_entry(measure::Selection rows) {
  return measure::entry({.schema = {.name = "fake", .extents = {"n"}},
                         .summary = "is made up",
                         .work = "1",
                         .local = true,
                         .variants = std::move(rows),
                         .make = measure::make<FakeWorkload>});
}

/// A case of it, which runs by the script: two timed repetitions after a warm-up of one.
inline core::Case fake_case(measure::WorkloadEntry const& entry, Script& script) {
  core::Case spec;
  spec.name = "fake";
  spec.workload = &entry.schema;
  spec.size.value[0] = 1;
  spec.size.count = 1;
  spec.repetitions = 2;
  spec.warmup = {.count = 1, .seconds = 0};
  spec.parameters = core::Parameters{FakeParameters{&script}};
  return spec;
}

}  // namespace quadrille::test
