// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/parallel.hpp"

#include "device/host/host_stream.hpp"

#include <algorithm>

namespace quadrille::device {

int parallel_threads(StreamView stream) { return stream_of_task(stream).threads(); }

// OpenMP keeps a team of threads for each thread that starts loops, here the stream's worker.
void parallel_for(StreamView stream, std::int64_t n, std::function<void(std::int64_t)> const& body,
                  Schedule schedule) {
  int const threads = parallel_threads(stream);
  if (threads == 1) {
    for (std::int64_t i = 0; i < n; ++i) body(i);
  } else if (schedule == Schedule::dynamic) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (std::int64_t i = 0; i < n; ++i) body(i);
  } else {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::int64_t i = 0; i < n; ++i) body(i);
  }
}

core::Range part_of_thread(std::int64_t n, int threads, int thread) {
  // Some hundred groups for each thread; up to 128 iterations in a group, some forty.
  std::int64_t group = 1;
  while (group * 100 * threads < n) group *= 2;
  if (group < 128) {
    group = 1;
    while (group * 40 * threads < n && group < 128) group *= 2;
  }
  std::int64_t const groups = (n + group - 1) / group;
  std::int64_t const each = (groups + threads - 1) / threads * group;
  std::int64_t const first = std::min(n, each * thread);
  return {first, std::min(each, n - first)};
}

}  // namespace quadrille::device
