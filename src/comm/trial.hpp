// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/group.hpp"

#include <string>

namespace quadrille::comm {

/// What a trial found on the lowest rank that has a reason, on every rank; empty where none has one.
/// Collective.
inline std::string first_reason(Group const& group, std::string why) {
  int const first = group.agree(!why.empty());
  if (first < 0) return {};
  group.broadcast(why, first);
  return why;
}

}  // namespace quadrille::comm
