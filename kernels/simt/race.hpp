// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simt/engine.hpp"

/// Race detector. Kernel files compiled with -fsanitize=thread call __tsan_read4 and so on before
/// each access; race.cpp defines these, so libtsan is not linked, and keeps for each byte who wrote
/// and read it last, at which time of his own clock. Two accesses race when neither thread had
/// seen the other's time through a barrier, a warp synchronisation, an mbarrier or an atomic. That
/// depends on no schedule. Everything here is a no-op unless an instrumented file is linked and the
/// schedule of the launch finds races.
namespace quadrille::simt::race {

/// Whether it looks in this launch.
bool enabled();

// The engine tells what happens.
void launch_begins(Launch const& launch);
void launch_ends();
void block_begins(Block& block);
/// All blocks of a cluster.
void blocks_end(std::span<Block* const> blocks);
/// These threads have met: each has seen all that the others did before.
void join(std::span<Thread* const> threads);

/// A clock that travels through memory: of an mbarrier, an atomic word, a named barrier. The key is
/// the address of the object (in shared or global memory), or any other address that is unique.
void release(void const* key);
void acquire(void const* key);
/// The same for what other blocks of the cluster see, which acquire() does not.
void release_in_cluster(void const* key);
void acquire_in_cluster(void const* key);
/// Atomic access of `size` bytes: never races with another one, does with plain ones.
void atomic_access(void const* p, std::size_t size, bool writes, Place place);
/// __threadfence(): later relaxed atomics of this thread release what came before; earlier ones
/// acquire.
void fence(bool device_scope);

// Accesses made by models on behalf of the current thread; models are not instrumented.
void read(void const* p, std::size_t size, Place place);
void write(void const* p, std::size_t size, Place place);

// Device memory by the asynchronous proxy, which sees what ordinary stores of this launch wrote
// there only after a fence.

/// Bulk and tensor loads: an error where neither the writer has called the fence since nor the
/// reader at all.
void read_by_async_proxy(void const* p, std::size_t size, Place place);
/// Bulk and tensor stores.
void write_by_async_proxy(void const* p, std::size_t size, Place place);
void fence_async_proxy();

/// Bytes of shared memory that an asynchronous copy is about to write: any access by anybody until
/// end_async is an error. The write itself is ordered after what the current thread has seen.
void begin_async(void* p, std::size_t size, Place place, char const* what);
/// cp.async: completed by the current thread's wait, which is when it counts as written.
void end_async(void* p, std::size_t size, Place place);
/// Bulk copies: written by nobody's thread; only who acquires `key` (the mbarrier) has seen it.
void end_async(void* p, std::size_t size, Place place, void const* key);

}  // namespace quadrille::simt::race

/// Models must not be instrumented themselves.
#define QUAD_SIMT_MODEL __attribute__((no_sanitize("thread"), noinline))
