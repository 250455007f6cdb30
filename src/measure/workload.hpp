// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "common/variant.hpp"
#include "core/options.hpp"
#include "measure/record.hpp"

#include <memory>
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

/// What a case costs and needs, known without running anything.
struct Description {
  double amount = 0;         ///< work of one repetition over all ranks, in units of `unit`
  std::string_view unit;     ///< "FLOP/s", "B/s", "eval/s"
  double device_bytes = 0;   ///< compulsory device memory traffic, all ranks
  double network_bytes = 0;  ///< bytes that must leave a device, all ranks
  std::vector<Extra> extras;
  double memory_bytes = 0;  ///< device memory of the neediest rank, buffers included
  int min_ranks = 1;
  bool has_legs = false;
  bool communicates = false;
  bool replicated = false;  ///< every rank's output is the same
};

/// What validate() found, agreed over ranks: the same on every rank.
struct Verdict {
  bool valid = false;
  double error = 0;    ///< largest scaled error: error / bound-free scale of the workload
  double allowed = 0;  ///< the bound it was held against
  std::int64_t wrong = 0;
  std::string detail;  ///< first offending element; empty when valid
};

/// A distributed array: this rank's blocks in device memory and their place in the global array.
struct Field {
  std::string name;
  core::DataType type = core::DataType::f64;
  std::vector<std::int64_t> shape;  ///< 1 or 2 extents
  struct Block {
    std::int64_t row = 0, col = 0;  ///< place of the first element; col only where 1-D uses `col`
    device::MatrixView view;
  };
  std::vector<Block> blocks;  ///< may be empty on a rank without data
};

/// One measured operation, prepared for one case. See the table in README "Adding a workload" for
/// who may allocate, synchronise and communicate where.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual Description describe() const = 0;
  /// All rows that this case could run, in table order; "best" and "vendor" are chosen among them.
  virtual std::vector<kernels::VariantInfo const*> variants() const = 0;
  /// False for peers that only know the whole operation.
  virtual bool has_legs(kernels::VariantInfo const&) const { return describe().has_legs; }
  /// The row that stands for the vendor in ratios and joins by itself; "" is every vendor row.
  virtual std::string_view vendor_row() const { return {}; }
  /// Name of the variant that "best" means on this kind of device; "" where there is none.
  virtual std::string_view best(device::Kind kind) const = 0;
  /// Whether this workload can use the row on this kind of device.
  virtual bool runs_on(kernels::VariantInfo const& variant, device::Kind kind) const {
    return variant.runs_on(kind);
  }
  /// Why extents or layout of the case keep the row out, and which to take; empty otherwise.
  virtual std::string refusal(kernels::VariantInfo const&) const { return {}; }
  /// Collective. The first call allocates and connects; every call fills the inputs from `seed`.
  /// Called once with another seed for the check before timing, so that old results never pass.
  virtual void prepare(comm::World& world, std::uint64_t seed) = 0;
  /// Enqueues: outputs to NaN, C restored. Before each repetition of this variant, untimed.
  virtual void reset(comm::World& world, kernels::VariantInfo const& variant) = 0;
  /// Enqueues exactly one repetition; world.stream() is behind all of it at the end.
  /// Neither allocates device memory nor synchronises.
  virtual void run(comm::World& world, Leg leg, kernels::VariantInfo const& variant) = 0;
  /// Whether run() may follow run() without a reset() and leave the same outputs, as batches do.
  virtual bool repeatable(kernels::VariantInfo const&) const { return true; }
  /// Whether run() on a GPU enqueues on world.stream() alone and never synchronises, so that it can
  /// be recorded in place of being run.
  virtual bool recordable() const { return false; }
  /// Collective. Judges the outputs of the last repetition against recomputed values.
  virtual Verdict validate(comm::World& world) = 0;
  /// What the last repetition wrote on this rank; faults are injected here.
  virtual std::vector<device::MatrixView> outputs() = 0;
  /// Distributed inputs and outputs for saving; may be empty.
  virtual std::vector<Field> fields() { return {}; }
  /// The result as text with all its bits, where it is small enough to compare runs by it. Blocks.
  virtual std::string digest(comm::World&) { return {}; }
  /// Rates measured inside the last repetition; empty for most.
  virtual std::vector<Extra> observed() { return {}; }
  /// Puts the waits of the pipeline in the wrong place on purpose; false without a pipeline.
  virtual bool misplace_waits() { return false; }
};

/// One row of the workload table: defined in the workload's own file.
struct WorkloadEntry {
  core::WorkloadSchema schema;  ///< name, extents, keys and the options of its own
  std::string_view summary;
  std::string_view work;  ///< the formula, as `explain` prints it
  bool local;             ///< every rank does the whole work at once
  /// Same arguments on every rank; touches no device. `ranks` is the size of the world.
  std::unique_ptr<Workload> (*make)(core::Case const& spec, int ranks, int rank);
  /// Names for messages and `list variants`, of the operation as a whole.
  std::vector<kernels::VariantInfo const*> (*variants)();
};

/// For WorkloadEntry::make.
template <class T>
std::unique_ptr<Workload> make(core::Case const& spec, int ranks, int rank) {
  return std::make_unique<T>(spec, ranks, rank);
}

/// Names of rows, for WorkloadSchema::variants.
inline std::vector<std::string_view> names_of(
    std::vector<kernels::VariantInfo const*> const& rows) {
  std::vector<std::string_view> names;
  for (kernels::VariantInfo const* row : rows) names.push_back(row->name);
  return names;
}

}  // namespace quadrille::measure
