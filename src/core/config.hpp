// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/enum_names.hpp"
#include "core/generator.hpp"
#include "core/parameters.hpp"
#include "core/types.hpp"
#include "core/units.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::core {

enum class Check { full, sample, off };
constexpr auto enum_names(Check) {
  return EnumNames<Check, 3>{
      {{Check::full, "full"}, {Check::sample, "sample"}, {Check::off, "off"}}};
}

enum class Clock { burst, sustained };
constexpr auto enum_names(Clock) {
  return EnumNames<Clock, 2>{{{Clock::burst, "burst"}, {Clock::sustained, "sustained"}}};
}

/// Whose clock times a repetition: events of the device, the host's after a synchronisation, or the
/// host's before it.
enum class Timing { automatic, device, synchronised, launch_only };
constexpr auto enum_names(Timing) {
  return EnumNames<Timing, 4>{{{Timing::automatic, "auto"},
                               {Timing::device, "device"},
                               {Timing::synchronised, "synchronised"},
                               {Timing::launch_only, "launch_only"}}};
}

/// What a batch finds in the last-level cache.
enum class Cache { cold, hot };
constexpr auto enum_names(Cache) {
  return EnumNames<Cache, 2>{{{Cache::cold, "cold"}, {Cache::hot, "hot"}}};
}

/// Whether the vendor's line joins a case by itself.
enum class VendorLine { automatic, off };
constexpr auto enum_names(VendorLine) {
  return EnumNames<VendorLine, 2>{{{VendorLine::automatic, "auto"}, {VendorLine::off, "off"}}};
}

/// Whether "best" and tunable variants take what tuning has found.
enum class Tuned { automatic, off };
constexpr auto enum_names(Tuned) {
  return EnumNames<Tuned, 2>{{{Tuned::automatic, "auto"}, {Tuned::off, "off"}}};
}

enum class DeviceChoice { automatic, cuda, host };
constexpr auto enum_names(DeviceChoice) {
  return EnumNames<DeviceChoice, 3>{{{DeviceChoice::automatic, "auto"},
                                     {DeviceChoice::cuda, "cuda"},
                                     {DeviceChoice::host, "host"}}};
}

/// Problem extents, as far as the workload has them; missing ones repeat the last.
struct Extents {
  std::array<std::int64_t, 8> value{};
  int count = 0;             ///< how many were given; 1 (of value 0) while auto_fraction holds
  double auto_fraction = 0;  ///< > 0: "auto:70%", to be resolved against free memory
  std::int64_t operator[](std::size_t i) const {
    auto const last = static_cast<std::size_t>(count > 1 ? count - 1 : 0);
    return value[std::min({i, last, value.size() - 1})];
  }
  bool operator==(Extents const&) const = default;
};

/// P x Q processes; 0 x 0 means "auto", -1 x -1 "all" until expand_grids() has replaced it.
struct GridShape {
  int rows = 0;
  int cols = 0;
  bool operator==(GridShape const&) const = default;
};
inline constexpr GridShape kAllGrids{-1, -1};

struct Warmup {
  std::int64_t count = 3;
  double seconds = 0.5;
  bool operator==(Warmup const&) const = default;
};

struct Timeouts {
  double init_s = 120;
  double prepare_s = 300;
  double repetition_s = 60;
  double grace_s = 120;
  double check_s = 300;
  double write_s = 600;
  bool operator==(Timeouts const&) const = default;
};

struct WorkloadSchema;

/// One fully resolved measurement. Variants of one case share inputs and are launched alternately.
struct Case {
  std::string name;
  WorkloadSchema const* workload = nullptr;
  DataType type = DataType::f64;         ///< what arrays hold
  Compute compute = Compute::automatic;  ///< what products are added in, where there is a choice
  Extents size;
  Extents size_host;  ///< what a host device takes in place of `size`; count 0: the same
  bool weak = false;  ///< `size` is for one rank; false once it has been multiplied
  std::vector<std::string> variants{"best"};
  /// What the source of a technique reports, as "VARIANT: FIGURE", and the device it ran on.
  std::vector<std::string> published;
  std::string published_on;
  /// What it launched for them, as core/published_launch.hpp reads it.
  std::vector<std::string> published_launch;
  std::vector<std::string> published_counts;  ///< "VARIANT COUNTER: NUMBER" of its profile
  /// Configurations of tunable variants, as parse_configurations() reads them. "auto": what tuning has
  /// found, else their own choice.
  std::string config = "auto";
  VendorLine vendor = VendorLine::automatic;
  std::string transport = "auto";
  bool transport_is_chosen = false;  ///< of "auto", by measured times; no key
  double throttle = 0;               ///< bytes/s of the modelled link; 0: none
  std::int64_t nccl_ctas = 0;        ///< that an exchange of NCCL takes at most; 0: chosen
  GridShape grid;
  bool legs = false;
  bool save = false;
  DataKind data = DataKind::uniform;
  std::uint64_t seed = 1;
  std::int64_t repetitions = 20;
  double stop_percent = 0;  ///< of the median: half its interval, where repetitions end; 0: none
  /// The same, above which a number is SUSPECT; 0: never.
  double suspect_percent = kAutomaticPercent;
  static constexpr double kAutomaticPercent = -1;
  Warmup warmup;
  Check check = Check::full;
  Clock clock = Clock::burst;
  Timing timing = Timing::automatic;
  std::int64_t batch = 0;  ///< executions that each sample is the mean of; 0: chosen
  Cache cache = Cache::cold;
  bool demonstrate = false;  ///< also run variants that are wrong on purpose
  Parameters parameters;     ///< the workload's own
  bool operator==(Case const&) const = default;
};

/// What holds for the whole job.
struct RunSettings {
  DeviceChoice device = DeviceChoice::automatic;
  std::int64_t chunk_bytes = 256LL << 20;
  Timeouts timeout;
  std::string output = "results";
  bool allow_shared_gpu = false;
  /// Index, UUID or PCI address of the GPU that each local rank drives; empty: that of its index.
  std::vector<std::string> device_map;
  std::int64_t fake_nodes = 1;  ///< parts that each node counts as, in place of one
  Tuned tuned = Tuned::automatic;
  double duration_s = 0;  ///< all cases again and again until so many seconds are over; 0: once
  bool operator==(RunSettings const&) const = default;
};

/// Something that a document has, and what shows it here: cases of an input, or a command.
struct Covered {
  std::string document;
  std::string place;  ///< chapter, kernel or table of the document
  std::string item;
  std::string cases{};    ///< of the input, with commas between ...
  std::string variant{};  ///< ... and what they measure it with, where it is one
  std::string command{};  ///< in place of cases
  bool operator==(Covered const&) const = default;
};

/// What an input says of itself in its table [about]: what it is for, and what it takes.
struct About {
  std::string purpose;
  std::vector<std::string> devices;       ///< on which all that it names runs
  std::vector<std::int64_t> ranks;        ///< numbers of ranks that it is for, the usual one first
  std::map<std::string, double> memory;   ///< bytes of a device that a rank takes; of some devices
  std::map<std::string, double> seconds;  ///< that it takes about; of some devices
  std::vector<Covered> covers;            ///< of the documents that it follows
  bool operator==(About const&) const = default;
};

struct Config {
  RunSettings run;
  std::vector<Case> cases;
  std::optional<About> about{};  ///< stays with the file: to_toml() leaves it out
  bool operator==(Config const&) const = default;
};

/// The names that a configuration may use, from the layers above; lives as long as the program.
struct NameTable {
  std::span<WorkloadSchema const* const> workloads;
  std::vector<std::string> transports;  ///< that a case may ask for, "auto" and "all" included
  std::vector<std::string> devices{};   ///< kinds that [about] may name
};

/// Reads TOML text, applies `sets` ("run.seed=3", "square.panel=512"; with `bare_case`, "panel=512"
/// goes to the only case), expands sweeps, checks every key, type and name. `origin` names the
/// text in messages. Errors are "file.toml:LINE: problem" and carry the nearest valid name.
/// A case without a name gets its workload's, then NAME-2, ...; a case that sweeps becomes NAME.1,
/// NAME.2, ... in the order of options_of(), the last key changing fastest. Former names of keys and
/// variants are taken; `notes` says what each is called now, also beside an error.
Parsed<Config> resolve(std::string_view text, std::string_view origin,
                       std::span<std::string const> sets, NameTable const& name_table,
                       bool bare_case = false, std::vector<std::string>* notes = nullptr);

/// The resolved configuration as TOML that resolve() reads back to an equal one.
std::string to_toml(Config const& config);
std::string to_toml(Case const& spec);

/// Replaces every case whose grid is "all" by one case per factoring of `ranks`, called NAME.PxQ,
/// and refuses grids that do not have `ranks` processes. "auto" stays.
Parsed<Config> expand_grids(Config const& config, int ranks);

/// The values that a text means: "1:9:+2" is 1 3 5 7 9 and "2:16:*2" is 2 4 8 16 (end included);
/// ranges inside a tuple advance together, so "(1:3:+1,8)" is (1,8) (2,8) (3,8). Any other text
/// means itself.
Parsed<std::vector<std::string>> expand_sweep(std::string_view text);
/// What resolve() takes at most: a sweep of a resolved configuration writes its texts once for each
/// case.
inline constexpr std::size_t kMaxConfigBytes = 32 << 20;

/// "4096", "(16Ki,16Ki,4Ki)" or "auto:70%".
Parsed<Extents> parse_size(std::string_view text);

/// A variant and, where it has parameters, their values.
struct NamedConfiguration {
  std::string variant;
  std::string configuration;
};
/// Of "VARIANT NAME=64,OTHER=8; ANOTHER"; of "auto": none.
Parsed<std::vector<NamedConfiguration>> parse_configurations(std::string_view text);
/// Those of a resolved case.
std::vector<NamedConfiguration> configurations_of(Case const& spec);

/// The entries of "0,2,4,6", none of them empty.
Parsed<std::vector<std::string>> parse_device_map(std::string_view text);

/// " (did you mean 'x'?)", within a sentence, with the nearest candidate: up to a third of its letters differ.
/// Where none is near `otherwise`, or where that would list more than 50 the nearest three.
std::string suggestion(std::string_view name, std::span<std::string const> candidates,
                       std::string_view otherwise = {});

}  // namespace quadrille::core
