// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"
#include "device/views.hpp"

namespace quadrille::kernels {

/// What a library's row can do beside its launches. Empty: it cannot.
template <class Problem>
struct Library {
  /// Executes a problem as a program does that knows nothing of this one, by the library's plain call
  /// with a handle of its own. Waits for it.
  void (*plain)(Problem const& problem, device::StreamView stream) = nullptr;
  /// Seconds of a launch, as the search has found that chose its call; 0 before, and where no clock
  /// showed it.
  double (*seconds)(Problem const& problem) = nullptr;
  /// For a call whose result was wrong: from now on launches of the problem make the next of those that
  /// the search has ranked. False where there is none.
  bool (*drop)(Problem const& problem) = nullptr;

  double searched_seconds(Problem const& problem) const {
    return seconds == nullptr ? 0 : seconds(problem);
  }
  bool drop_call(Problem const& problem) const { return drop != nullptr && drop(problem); }
};

/// That of a row in a table with at most one library's row for hosts and one for GPUs; empty for rows of
/// this project.
template <class Problem>
Library<Problem> library_of(VariantInfo const& row, Library<Problem> const& on_hosts,
                            Library<Problem> const& on_gpus) {
  if (row.role != Role::vendor) return {};
  if (row.where == Where::host) return on_hosts;
  return row.where == Where::cuda ? on_gpus : Library<Problem>{};
}

}  // namespace quadrille::kernels
