// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"
#include "device/device.hpp"

#include <functional>
#include <vector>

/// Parallel loops of host kernels, only inside a task of a host stream:
/// `stream.run([=] { parallel_for(stream, n, ...); })`. Each stream has threads of its own, so loops
/// of two streams run at the same time.
namespace quadrille::device {

/// Which iterations a thread takes.
enum class Schedule {
  even,     ///< neighbouring ones, all threads as many
  dynamic,  ///< the next one whenever it has finished one
};

/// Threads of a loop: those of the stream's device.
int parallel_threads(StreamView stream);

/// body(i) for i < n; returns when all are done.
void parallel_for(StreamView stream, std::int64_t n, std::function<void(std::int64_t)> const& body,
                  Schedule schedule = Schedule::even);

/// The iterations i < n that thread `thread` of `threads` adds up: whole groups of them, cut as
/// Kokkos cuts a range, so that both give the same bits.
core::Range part_of_thread(std::int64_t n, int threads, int thread);

/// term(i) for i < n, joined in a fixed order: each thread joins its part, then the parts are
/// joined. `identity` changes nothing when joined.
template <class T, class Term, class Join>
T parallel_reduce(StreamView stream, std::int64_t n, T identity, Term const& term,
                  Join const& join) {
  struct alignas(64) Partial {  // no two threads write to one line of the cache
    T value;
  };
  int const threads = parallel_threads(stream);
  std::vector<Partial> partials(static_cast<std::size_t>(threads));
  parallel_for(stream, threads, [&](std::int64_t thread) {
    core::Range const part = part_of_thread(n, threads, static_cast<int>(thread));
    T sum = identity;
    for (std::int64_t i = 0; i < part.count; ++i) sum = join(sum, term(part.first + i));
    partials[static_cast<std::size_t>(thread)].value = sum;
  });
  T total = partials[0].value;
  for (std::size_t t = 1; t < partials.size(); ++t) total = join(total, partials[t].value);
  return total;
}

}  // namespace quadrille::device
