// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// A kernel that does next to nothing.
///
///   counters[t] = counters[t] + 1
///
/// Technique    as little as can be checked: its time is that of a launch
/// Shapes       4 counters of i64
/// Work         4 additions
/// Launch       1 block of 4 threads
/// Accuracy     exact
#include "api/api.hpp"
#include "common/simt.cuh"

namespace quadrille::kernels::api {
namespace {

__global__ void api_count_kernel(std::int64_t* counters) { ++counters[threadIdx.x]; }

}  // namespace

void launch_count(std::int64_t* counters, device::StreamView stream) {
  QUAD_LAUNCH(api_count_kernel, 1, kCounters, 0, stream, counters);
}

}  // namespace quadrille::kernels::api
