// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/judges.hpp"
#include "comm/world.hpp"
#include "core/config.hpp"
#include "measure/fault.hpp"

#include <functional>
#include <string>
#include <vector>

namespace quadrille::check {

/// How long a check may take.
enum class Depth { quick, normal, thorough };

/// The cases of all metrics of a depth as an input file.
std::string cases_of(Depth depth, double limit_s);
/// Seconds from the start after which a node that has not answered is given up.
double limit_of(Depth depth);

/// What a check has measured.
struct Measured {
  std::vector<Subject> subjects;  ///< as subjects_of() has them, without the GPUs of lost nodes
  /// The slowest pair of nodes by bandwidth; empty where there is no pair.
  std::string worst_pair{};
  bool is_interrupted = false;
};

/// The nodes of an open world, each before its GPUs, without readings. The model of a node says how many
/// ranks measure on it.
std::vector<Subject> subjects_of(comm::World const& world);

struct Request {
  core::Config config{};
  std::uint64_t seed = 1;                       ///< draws the pairs of nodes
  measure::Fault fault = measure::Fault::none;  ///< damages results on the first node
  double limit_s = 0;
};

/// Measures the cases on all nodes at once, each alone, then between pairs of nodes: each with at most 8
/// partners, all pairs of a round at once. Collective.
///
/// `conclude` is called once, on rank 0, and tells what the job ends with. No node waits for another but for
/// its partner in a pair: a rank that fails or hangs tells rank 0 so, and a node that says nothing within the
/// limit is lost. Where one is, the job ends here behind `conclude`.
core::Exit measure_nodes(comm::World& world, Request const& request,
                         std::function<core::Exit(Measured)> const& conclude);

}  // namespace quadrille::check
