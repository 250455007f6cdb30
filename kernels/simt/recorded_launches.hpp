// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simt/engine.hpp"

#include <functional>
#include <vector>

namespace quadrille::simt {

/// What `enqueue` launches, in place of running it.
std::vector<Launch> launches_of(std::function<void()> const& enqueue);

}  // namespace quadrille::simt
