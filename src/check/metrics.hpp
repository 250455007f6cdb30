// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace quadrille::check {

/// Whose rate it is: a GPU's (without GPUs its node's), a node's, or that between two nodes.
enum class Scope { device, node, pair };

/// What of a record is the value.
enum class Value { rate, time, pair_latency, pair_rate };

/// Which part of a GPU limits a rate; a fault slows all rates of a part.
enum class Part { processor, host_link, peer_link, node };

/// A rate by which devices and nodes are judged.
struct Metric {
  std::string_view name;  ///< and that of its case
  std::string_view unit;
  /// Its case as keys of an input file; empty: that of the metric above in the table.
  std::string_view keys;
  std::string_view shared_keys = {};  ///< that cases of its kind have, too
  Scope scope = Scope::device;
  Value value = Value::rate;
  Part part = Part::processor;
  bool on_hosts = true;     ///< else on GPUs alone
  bool is_quick = true;     ///< a part of --quick
  bool is_settled = false;  ///< at the clock that a GPU has after seconds of work
  int min_ranks = 1;        ///< of those that measure it together
  /// Of the expected value: what is less far from it is no finding.
  double band = 0.05;
  /// Of what the hardware can do at the clock of the samples: below it is SLOW whatever others do.
  double min_share = 0;

  bool lower_is_better() const { return value == Value::time || value == Value::pair_latency; }
};

/// In the order of measurement.
std::span<Metric const> metrics();
/// nullptr where none has the name.
Metric const* find_metric(std::string_view name);

}  // namespace quadrille::check
