// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/transport_choice.hpp"
#include "comm/world.hpp"
#include "common/tunable.hpp"
#include "common/variant.hpp"
#include "core/options.hpp"
#include "measure/cost_model.hpp"
#include "measure/pair_schedule.hpp"
#include "measure/record.hpp"
#include "measure/tuned_table.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::measure {

/// Which part of a pipeline a repetition runs. Workloads without communication know `overlapped`
/// only.
enum class Leg { compute, communicate, serial, overlapped };
inline constexpr Leg kLegs[] = {Leg::compute, Leg::communicate, Leg::serial, Leg::overlapped};
constexpr auto enum_names(Leg) {
  return core::EnumNames<Leg, 4>{{{Leg::compute, "compute"},
                                  {Leg::communicate, "communicate"},
                                  {Leg::serial, "serial"},
                                  {Leg::overlapped, "overlapped"}}};
}

/// The variants of a case that run, as the workload is told.
using Selection = std::vector<kernels::VariantInfo const*>;
/// Whether one of them satisfies a condition.
template <class Condition>
bool any_of(Selection const& selection, Condition&& condition) {
  return std::ranges::any_of(selection, [&](auto const* variant) { return condition(*variant); });
}

/// What distinguishes a workload's pipeline; the defaults are those of most.
struct Traits {
  int min_ranks = 1;
  bool communicates = false;
  bool has_legs = false;    ///< but for peers, which only know the whole operation
  bool replicated = false;  ///< every rank's output is the same
  /// Whether run() may follow run() without a reset() and leave the same outputs, as batches do; not
  /// for variants that work in place.
  bool repeatable = true;
  /// Whether run() on a GPU enqueues on world.stream() alone and never synchronises, so that it can
  /// be recorded in place of being run.
  bool graph_capturable = false;
  /// Whether executions that communicate may follow one another without a barrier between, as those
  /// of an automatic batch do.
  bool can_pipeline = false;
  /// Whether it measures calls of the host, or its executions wait for the device before all is
  /// enqueued: then the host's clock times them.
  bool host_timed = false;
  /// Whether outputs' bits depend on how many executions followed reset(), as in a batch, or on what was
  /// chosen by measurement, so that a result keeps no digest of them.
  bool state_depends_on_count = false;
  /// Whether "best" is the own row that is fastest in a search before the case: all of them do the same
  /// work, and a device shows what an execution takes. Else it is that of the highest preference.
  bool searches_best = false;
  /// Whose rows join a case by themselves and are what rates are compared with.
  kernels::Role bar = kernels::Role::vendor;
  /// Whether a row of the role `ceiling` does each rank's share of the work without communication,
  /// where others copy its bytes. Such a row joins a case by itself, too.
  bool has_local_ceiling = false;
};

inline bool is_repeatable(Traits const& traits, kernels::VariantInfo const& variant) {
  return traits.repeatable && !variant.in_place;
}

/// Whether all executions of a variant on the same data must leave the same bits.
inline bool leaves_same_bits(kernels::VariantInfo const& variant) {
  return !variant.any_order && variant.role != kernels::Role::peer &&
         variant.role != kernels::Role::demonstration;
}

/// What `suspect` of a case says, or stands for. Messages of GPUs that the host drives pass through its
/// memory, which it shares with all that it does besides.
inline double suspect_percent(core::Case const& spec, bool host_drives_messages) {
  if (spec.suspect_percent != core::Case::kAutomaticPercent) return spec.suspect_percent;
  return host_drives_messages ? 15 : 5;
}

/// Arrays of so many bytes are the memory's: no cache holds a part of them that counts.
inline constexpr double kFarBeyondCaches = 256 << 20;

/// What a case costs, known without running anything.
struct Description {
  double amount = 0;        ///< work of one repetition over all ranks, in units of `unit`
  std::string_view unit;    ///< "FLOP/s", "B/s", "eval/s"
  double flop = 0;          ///< operations, all ranks; 0 where nobody compares them with a peak
  double gpu_flop = 0;      ///< more on GPUs, where hosts evaluate in operations that nobody counts
  double device_bytes = 0;  ///< compulsory device memory traffic, all ranks
  double network_bytes = 0;  ///< bytes that must leave a device, all ranks
  double pcie_bytes = 0;     ///< between devices and hosts in the direction of more, all ranks
  std::vector<SecondaryMetric> extras;
  /// Of which the rate is what the device can do: a ceiling for the cases after it.
  Resource measures = Resource::none;
  double memory_bytes = 0;  ///< device memory, peak over ranks, buffers included
  double host_bytes = 0;    ///< the same of the host, page-locked or plain, beside bounded scratch
  Traits traits;
  /// What its messages are, by which transport = "auto" is chosen: most of the bytes, where it has
  /// several kinds. None where no messages travel by channels.
  std::optional<comm::Traffic> traffic{};
  /// Of a workload that is timed pair by pair; such a one is not repeatable. Its amount is that of
  /// the large messages, and the time of a repetition that of the steps that send them.
  std::optional<PairSchedule> pairs{};
};

/// What validate() found, agreed over ranks: the same on every rank.
struct Verdict {
  bool valid = false;
  double error = 0;    ///< largest scaled error: error / bound-free scale of the workload
  double allowed = 0;  ///< the bound it was compared with
  std::int64_t wrong = 0;
  std::string detail{};  ///< first offending element; empty when valid
  std::string
      digest{};  ///< the result with all its bits, where it is small enough to compare by it
  std::string skipped{};  ///< why nothing could be judged; then the rest means nothing
};

/// Of what is saved, that copies hold at a time where the host does not reach it.
inline constexpr std::int64_t kSaveBytes = 16 << 20;

/// An array that this rank holds a part of.
struct Field {
  std::string name{};
  core::DataType type = core::DataType::f64;
  std::vector<std::int64_t> shape{};  ///< of the whole array, 1 or 2 extents; empty: not for files
  struct Block {
    std::int64_t row = 0, col = 0;  ///< place of the first element; col only where 1-D uses `col`
    device::MatrixView view;
  };
  std::vector<Block> blocks{};  ///< as they lie in the whole array; may be empty on a rank
  device::MatrixView view{};    ///< this rank's part
  bool is_output = false;       ///< what the last repetition wrote
  bool is_input = false;        ///< what it read
  bool is_pageable = false;     ///< in memory of the host that a GPU does not reach
};

inline Field input(Field field) {
  field.is_input = true;
  return field;
}
/// An input that is not for files.
inline Field input(device::MatrixView const& view) {
  return {.type = view.type, .view = view, .is_input = true};
}

inline Field output(Field field) {
  field.is_output = true;
  return field;
}
/// An output that is not for files.
inline Field output(device::MatrixView const& view) {
  return {.type = view.type, .view = view, .is_output = true};
}

struct WorkloadEntry;

/// A case of another workload, some of whose rows are this one's.
struct StandIn {
  WorkloadEntry const* entry = nullptr;
  core::Case spec{};
};

/// One measured operation, prepared for one case. See the table in README "Adding a workload" for
/// who may allocate, synchronise and communicate where.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual Description describe(Selection const& selected) const = 0;
  /// Why this rank cannot run a variant that the device runs: layout, extents, options of the case.
  /// Empty where it can.
  virtual std::string unsupported_reason(kernels::VariantInfo const&, device::Device const&) const {
    return {};
  }
  /// Device memory that these variants take besides, where the device decides how much.
  virtual double scratch_bytes(Selection const&, device::Facts const&) const { return 0; }
  /// Why the ranks of this machine cannot run a variant that each of their devices runs: what must
  /// join them. Empty where they can.
  virtual std::string unavailable_reason(kernels::VariantInfo const&, comm::Machine const&) const {
    return {};
  }
  /// Collective. The first call allocates and connects; every call fills the inputs from `seed`.
  /// Called once with another seed for the check before timing, so that old results never pass.
  virtual void prepare(comm::World& world, std::uint64_t seed, Selection const& selected) = 0;
  /// Enqueues: outputs to NaN, C restored. Before each repetition of this variant, untimed.
  virtual void reset(comm::World& world, kernels::VariantInfo const& variant) = 0;
  /// Enqueues exactly one repetition; world.stream() is behind all of it at the end.
  /// Neither allocates device memory nor synchronises.
  virtual void run(comm::World& world, Leg leg, kernels::VariantInfo const& variant) = 0;
  /// From now on run() enqueues this step of description's schedule of pairs, not a whole repetition.
  virtual void select_step(std::int64_t) {}
  /// Collective. Judges the outputs of the last repetition against recomputed values.
  virtual Verdict validate(comm::World& world) = 0;
  /// Inputs and outputs of the variant that reset() was called for last: for files, and for damage by
  /// faults.
  virtual std::vector<Field> fields() = 0;
  /// What its tunable variants are tuned for, but for the device; nothing where it has none.
  virtual std::optional<TuningClass> tuning_class() const { return std::nullopt; }
  /// The case in which the search for "best" times rows in place of this one: the same on every rank.
  virtual std::optional<StandIn> stand_in() const { return std::nullopt; }
  /// What its tunable variants are compiled for.
  virtual kernels::ProblemKind problem_kind() const { return {}; }
  /// From now on run() of this tunable variant takes this configuration; empty: its own choice.
  virtual void configure(kernels::VariantInfo const&, kernels::Configuration const&) {}
  /// What a library's row chose to call, once it has run; empty for most.
  virtual std::string implementation(kernels::VariantInfo const&) const { return {}; }
  /// Seconds of an execution, as the search has found that chose it; 0: there was none, or no clock
  /// showed it.
  virtual double searched_seconds(kernels::VariantInfo const&) const { return 0; }
  /// For a library's row whose result was wrong: from now on run() makes the next of the calls that its
  /// search has ranked. False where there is none.
  virtual bool drop_call(kernels::VariantInfo const&) { return false; }
  /// Does what reset() does, and a repetition as a program makes it that knows nothing of this one, by a
  /// plain call of a row's library. False, and nothing is done, where there is no such call.
  virtual bool run_plainly(comm::World&, kernels::VariantInfo const&) { return false; }
  /// Rates measured inside the last repetition; empty for most.
  virtual std::vector<SecondaryMetric> observed() { return {}; }
};

/// What the last repetition wrote on this rank.
inline std::vector<device::MatrixView> outputs_of(Workload& workload) {
  std::vector<device::MatrixView> outputs;
  for (Field const& field : workload.fields()) {
    if (field.is_output) outputs.push_back(field.view);
  }
  return outputs;
}

/// One row of the workload table: defined in the workload's own file.
struct WorkloadEntry {
  core::WorkloadSchema schema;  ///< name, extents, keys and the options of its own
  std::string_view summary;
  std::string_view work;  ///< the formula, as `explain` prints it
  bool local;             ///< every rank does the whole work at once
  /// All rows that a case could run, in table order.
  Selection variants;
  /// Results are of the inputs' type: a case reaches no other types of its rows.
  bool keeps_type = false;
  /// Same arguments on every rank; touches no device. `ranks` is the size of the world.
  std::unique_ptr<Workload> (*make)(core::Case const& spec, int ranks, int rank);
  /// Why a case cannot have a file that it names; empty where it can. Of most there are none. Not
  /// collective: rank 0 alone reads files, before anything else is done.
  std::string (*file_problem)(core::Case const& spec) = nullptr;
  /// All ranks write to one file in run.output, which they must share.
  bool shares_files = false;
  /// The secondary metrics of its records; one of several, such as "TTFT p50", has the meaning of the
  /// name that it begins with.
  std::vector<Metric> secondary{};
  /// Of a workload whose results are in secondary metrics, its own time being that of a simulation: what
  /// pages draw of it, the first chart being the figure by which variants are compared.
  std::vector<MetricChart> charts{};
  /// For predictions on other numbers of ranks; of most there is none.
  CostModel const* cost_model = nullptr;
};

/// For WorkloadEntry::make.
template <class T>
std::unique_ptr<Workload> make(core::Case const& spec, int ranks, int rank) {
  return std::make_unique<T>(spec, ranks, rank);
}

/// The entry, whose schema has the names of its variants from now on.
inline WorkloadEntry entry(WorkloadEntry all) {
  for (kernels::VariantInfo const* row : all.variants) all.schema.variants.push_back(row->name);
  return all;
}

}  // namespace quadrille::measure
