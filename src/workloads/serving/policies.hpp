// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <span>

namespace quadrille::workloads::serving {

/// Who runs in the next step, and how K and V lie.
struct Batching {
  /// Requests join and leave after any step; else a batch stays together until its last token, and
  /// all of it are as long as its longest.
  bool by_step = true;
  /// K and V in blocks that are taken when there are tokens for them; else in one piece, reserved
  /// for the limit of the request.
  bool paged = false;
  /// One step has whole prompts beside single tokens; else it is all prompts or all single tokens.
  bool mixes = false;
  /// Prompts are cut where the tokens of a step reach its budget.
  bool chunks = false;
};

/// A way of batching and its name.
struct Policy : kernels::VariantInfo {
  Batching batching{};
};

/// In the order in which they were invented.
std::span<Policy const> policies();

}  // namespace quadrille::workloads::serving
