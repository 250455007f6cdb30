// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simt/engine.hpp"

/// What the parts of the engine share.
namespace quadrille::simt {

/// The thread may run again.
void make_ready(Thread& thread);
/// Leaves the current thread, which has noted where it waits, until it is made ready.
void block_self();
/// Notes where the current thread waits.
void wait_at(State state, Place place, char const* what);

// Parts of a block's life that belong to its shared memory.
void poison_shared_memory(Block& block);
void check_shared_guards(Block const& block);
void free_shared_memory(Block& block);

std::string text_of(Place place);

}  // namespace quadrille::simt
