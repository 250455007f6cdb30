// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/generator.hpp"
#include "core/types.hpp"
#include "core/units.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::core {

enum class Check { full, sample, off };
enum class Clock { burst, sustained };

/// Problem extents: m, n, k as far as the workload has them; missing ones repeat the last.
struct Extents {
  std::array<std::int64_t, 3> value{0, 0, 0};
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
  double repetition_s = 60;
  bool operator==(Timeouts const&) const = default;
};

/// One fully resolved measurement. Variants of one case share inputs and are launched alternately.
struct Case {
  std::string name;
  std::string workload;
  DataType type = DataType::f64;
  Extents size;
  std::vector<std::string> variants{"best"};
  /// What the source of a technique reports, as "VARIANT: FIGURE", and the device it ran on.
  std::vector<std::string> published;
  std::string published_on;
  std::string vendor = "auto";  ///< auto: the vendor line joins where it exists; off
  std::string transport = "auto";
  double throttle = 0;  ///< bytes/s of the modelled link; 0: none
  GridShape grid;
  std::int64_t panel = 256;           ///< summa, ptrans: width of a panel in elements
  std::int64_t buffers = 2;           ///< summa, ptrans: panel buffers, 1 to 3
  std::int64_t block = 0;             ///< block-cyclic block; 0: one block per process
  std::string broadcast = "library";  ///< library | ring
  std::string operation;  ///< reduction: sum min max dot norm2; vector: add quadratic; ...; else ""
  std::string host_memory = "pinned";  ///< copy: pinned | registered | pageable
  std::int64_t chunk = 0;  ///< copy: bytes of each copy; 0: all at once. reduction: 0: 64 MiB
  std::string source = "device";    ///< reduction: device | host
  std::int64_t volume = 1LL << 30;  ///< memory: bytes that an execution reads
  std::int64_t carveout = -1;       ///< memory: percent that is shared memory; -1: the driver's
  std::int64_t intervals = 8;       ///< pipeline: parts of the integral
  std::string accumulator = "f64";
  std::string integrand = "sin2cos2";
  std::string rule = "midpoint";
  bool reproducible = false;
  double alpha = 1;
  double beta = 0;
  std::string layout = "nn";  ///< gemm: nn nt tn tt
  bool legs = false;
  bool save = false;
  DataKind data = DataKind::uniform;
  std::uint64_t seed = 1;
  std::int64_t repetitions = 20;
  Warmup warmup;
  Check check = Check::full;
  Clock clock = Clock::burst;
  std::string timing = "auto";  ///< auto | device | synchronised | launch_only
  std::int64_t batch = 0;       ///< executions that each sample is the mean of; 0: chosen
  std::string cache = "cold";   ///< cold | hot: what a batch finds in the last-level cache
  bool demonstrate = false;     ///< also run variants that are wrong on purpose
  bool operator==(Case const&) const = default;
};

/// What holds for the whole job.
struct RunSettings {
  std::string device = "auto";  ///< auto | cuda | host
  std::int64_t chunk_bytes = 256LL << 20;
  Timeouts timeout;
  std::string output = "results";
  bool allow_shared_gpu = false;
  bool operator==(RunSettings const&) const = default;
};

struct Config {
  RunSettings run;
  std::vector<Case> cases;
  bool operator==(Config const&) const = default;
};

/// One row of the option table: the file, --set, --print-config and help all read it.
struct Option {
  std::string_view key;
  std::string_view type;           ///< for people: "count", "seconds", "one of a | b", ...
  std::string_view default_value;  ///< as it would stand in a file; "" if there is none
  enum class Scope { run, run_and_case, only_case } scope;
  bool sweeps;                 ///< a list of values gives a case per value
  std::string_view workloads;  ///< "" for all, else the names that accept it, blank separated
  std::string_view help;
};
std::span<Option const> options();
/// Whether a case of this workload may have the key.
bool accepts(Option const& option, std::string_view workload);
/// The table as text, one entry per key.
std::string options_help();

/// A workload's name and its variants; config needs no more of the layers above.
struct Known {
  std::string workload;
  std::vector<std::string> variants;
};

/// Reads TOML text, applies `sets` ("run.seed=3", "square.panel=512"; with `bare_case`, "panel=512"
/// goes to the only case), expands sweeps, checks every key, type and name. `origin` names the
/// text in messages. Errors are "file.toml:LINE: problem" and carry the nearest valid name.
/// A case without a name gets its workload's, then NAME-2, ...; a case that sweeps becomes NAME.1,
/// NAME.2, ... in the order of the option table, the last key changing fastest.
Parsed<Config> resolve(std::string_view text, std::string_view origin,
                       std::span<std::string const> sets, std::span<Known const> known,
                       bool bare_case = false);

/// The resolved configuration as TOML that resolve() reads back to an equal one.
std::string to_toml(Config const& config);
std::string to_toml(Case const& one);

/// Replaces every case whose grid is "all" by one case per factoring of `ranks`, called NAME.PxQ,
/// and refuses grids that do not have `ranks` processes. "auto" stays.
Parsed<Config> expand_grids(Config const& config, int ranks);

/// A text as it stands for values: "1:9:+2" is 1 3 5 7 9 and "2:16:*2" is 2 4 8 16 (end included);
/// ranges inside a tuple advance together, so "(1:3:+1,8)" is (1,8) (2,8) (3,8). Any other text
/// stands for itself.
Parsed<std::vector<std::string>> expand_sweep(std::string_view text);
/// "4096", "(16Ki,16Ki,4Ki)" or "auto:70%".
Parsed<Extents> parse_size(std::string_view text);

/// The candidate with the smallest edit distance, or "" when none is near.
std::string nearest_name(std::string_view name, std::span<std::string const> candidates);

}  // namespace quadrille::core
