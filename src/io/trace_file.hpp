// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "core/units.hpp"
#include "measure/sampler.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::io {

/// First bytes of such a file, by which it is told from others.
inline constexpr std::string_view kTraceBegin =
    R"({"displayTimeUnit": "ms", "otherData": {"schema":"quadrille-trace")";

/// Timelines of all ranks in Chrome's format of trace events, which Perfetto shows: a process for each
/// rank, a thread for each stream, one repetition behind the other. trace.schema.json describes it.
class TraceFile {
 public:
  /// On rank 0 with a file that is written by write() alone.
  explicit TraceFile(std::string path) : path_{std::move(path)} {}
  std::string const& path() const { return path_; }
  /// Puts a repetition behind those before. Collective.
  void add(comm::World const& world, measure::TracedRepetition const& repetition);
  /// On rank 0. Empty, or why it cannot be written.
  [[nodiscard]] std::string write() const;

 private:
  std::size_t row_of(int rank, std::string const& name);
  void append(std::string const& event);

  std::string path_;
  std::string events_;                          ///< as JSON, separated by commas
  std::vector<std::vector<std::string>> rows_;  ///< names of each rank's
  double end_us_ = 0;                           ///< of the last repetition
  double error_us_ = 0;                         ///< of all clocks
};

/// What a stream or thread of a rank did for a while in a traced repetition.
struct TracedSpan {
  int rank = 0;
  std::string row;  ///< the stream, or what the thread carries
  std::string of;   ///< id of the measurement
  device::TraceKind kind = device::TraceKind::kernel;
  std::string name, label;
  double begin_s = 0, end_s = 0;  ///< by one clock, behind the repetitions before
};
/// The spans of a file that a TraceFile wrote, rank by rank within each repetition.
core::Parsed<std::vector<TracedSpan>> read_trace(std::string const& path);

}  // namespace quadrille::io
