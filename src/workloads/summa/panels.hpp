// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/summa/division.hpp"

#include <vector>

namespace quadrille::workloads::summa {

/// Columns of A and rows of B, inside one block of both.
struct Panel {
  /// Of A or of B.
  struct Part {
    int owner = 0;                       ///< in the row, or in the column, of the grid
    bool is_own = false;                 ///< of this rank
    std::size_t received = 0, sent = 0;  ///< earlier panels whose part this rank gets, and sends
  };
  std::size_t index = 0;  ///< its turn to travel
  std::int64_t first = 0;
  std::int64_t width = 0;
  Part a, b;

  bool is_own() const { return a.is_own && b.is_own; }
};

/// What one product takes: a panel, or several of this rank's own that lie side by side.
struct Step {
  std::size_t first = 0, last = 0;  ///< panels
  std::int64_t width = 0;           ///< 0: none
  std::vector<std::size_t> panels;
  bool is_first = true;  ///< of the products that this rank adds to C
};

/// All panels in the order in which they travel: the owners in turn.
std::vector<Panel> travelling(Division const& division, std::int64_t widest);

/// The product of this panel alone.
Step alone(Panel const& panel);

/// This rank's products in their order. Others' panels keep that in which they travel, or a buffer might
/// wait for one behind it. Own ones come as many turns earlier as there are buffers: while the rank
/// multiplies those, so many others can arrive.
std::vector<Step> steps_of(Division const& division, std::vector<Panel> const& panels,
                           std::size_t buffers);

}  // namespace quadrille::workloads::summa
