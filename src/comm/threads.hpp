// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "core/types.hpp"

#include <cstdint>
#include <functional>

namespace quadrille::comm {

/// Calls `work(range)` for parts of [0, n), one for each of this rank's host threads, and waits for them. The
/// parts are the same whether they run side by side or, inside of other work, one after the other.
void on_threads(World const& world, std::int64_t n,
                std::function<void(core::Range const&)> const& work);

}  // namespace quadrille::comm
