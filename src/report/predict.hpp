// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"
#include "report/terminal.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Times of distributed work on more ranks than were measured, by a model of latency and bandwidth.
///
/// A repetition computes for t_c and communicates for t_x; of the shorter one a share h is hidden:
///
///   t = t_c + t_x - h min(t_c, t_x)
///   t_x = messages latency + max(bytes within the node / rate, bytes that leave the node / its network)
///
/// Rates and h are those of the measured legs, or fitted to all sizes of a measurement; of a workload
/// its measure::CostModel knows messages and bytes, and what nothing can hide. Ranks fill a node before
/// the next one; the grid is the most nearly square. Ranks of host devices share their node's rates, GPUs
/// have their own.
namespace quadrille::report {

/// What joins two nodes, for all ranks of a node together.
struct Network {
  double bytes_per_s = 0;
  double latency_s = 0;
};

/// A port of 400 Gbit/s, as clusters give each GPU; what joins GPUs within a node is no guess at it.
inline constexpr Network kAssumedNetwork{50e9, 5e-6};

struct PredictSettings {
  std::vector<std::int64_t> ranks;
  std::int64_t ranks_per_node = 0;  ///< 0: as many as the measured run had
  /// None: as measured, or of a run within one node what is assumed of a cluster: kAssumedNetwork for
  /// each GPU of a node, or for a host.
  std::optional<Network> network{};
  bool weak = false;  ///< matrices grow with the ranks, so that each keeps as much memory
};

struct Prediction {
  std::string id;  ///< of the measurement
  std::int64_t ranks = 0, nodes = 0;
  double seconds = 0;
  /// Work per second and device (of hosts: per node), over that of the measured run; at most 1, since
  /// nobody has measured more.
  double efficiency = 0;
  /// Share of t_x, at least 0; nothing where there is none, or no legs.
  std::optional<double> hidden;
};

/// A measurement that was predicted from another run.
struct PredictionCheck {
  std::string id;
  std::int64_t ranks = 0;
  double predicted_s = 0, measured_s = 0;
  double error() const { return predicted_s / measured_s - 1; }
};

struct PredictionReport {
  std::vector<Prediction> predictions;
  std::vector<PredictionCheck> checks;
  std::vector<std::string> left_out;  ///< measurements that tell too little, and why
  std::vector<std::string>
      impossible;  ///< rank counts that cannot do a measurement's work, and why
};

/// From the first run; the others, and the first itself, are what it is checked against.
PredictionReport predict(std::span<measure::RunResult const> runs, PredictSettings const& settings);
std::string render_text(PredictionReport const& report, measure::RunResult const& run,
                        PredictSettings const& settings, Terminal const& terminal = kUnlimited);

}  // namespace quadrille::report
