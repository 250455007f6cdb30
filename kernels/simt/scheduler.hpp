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

/// Writes what a cp.async copies to its target.
void complete_copy(AsyncCopy const& copy);

std::string text_of(Place place);

/// The thread has exited: the cluster's barrier no longer waits for it.
void leave_cluster(Thread const& thread);

/// Makes another thread the current one, as whom a model acts.
class OnBehalfOf {
 public:
  explicit OnBehalfOf(Thread* thread) : before_{std::exchange(current, thread)} {}
  ~OnBehalfOf() { current = before_; }
  OnBehalfOf(OnBehalfOf const&) = delete;
  OnBehalfOf& operator=(OnBehalfOf const&) = delete;

 private:
  Thread* before_;
};

}  // namespace quadrille::simt
