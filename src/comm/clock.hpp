// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/group.hpp"

#include <functional>

namespace quadrille::comm {

/// How far a rank's clock is ahead of rank 0's.
struct ClockOffset {
  double seconds = 0;
  double error_s = 0;  ///< it is at most so wrong
};

/// By messages there and back, of which the fastest tells best (F. Cristian, 1989). An offset within its
/// own error is none: ranks of a node read one clock. Collective.
ClockOffset clock_offset(Group const& group, std::function<double()> const& now);

}  // namespace quadrille::comm
