// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reduction on a GPU with Kokkos.
///
///   s = sum x[i], sum x[i] y[i], sum x[i]^2, min x[i] or max x[i]
///
/// Technique    parallel_reduce over the elements into device memory, so that nobody waits for the
///              result; neighbouring threads take neighbouring elements. Reproducible: a team per
///              virtual block, its 256 lanes in scratch memory, in the order of the host
/// Shapes       x, y: n contiguous elements
/// Types        f64 in f64; f32 in f32 or f64; i32 in i64; min and max in the type, i32 in f64
/// Work         n s bytes read (2 n s for dot)
/// Constraints  i32: partial sums below 2^63 in magnitude; reproducible: accumulator f64
/// Launch       the stream's execution space; blocks of 256 threads that Kokkos counts.
///              Reproducible: 256 threads a team, 2 KiB of scratch memory
/// Accuracy     4 eps sqrt(n) sum|x| with eps of the accumulator for uniform data; at worst
///              (n / (2048 units) + 40) eps / 2 sum|x|; min, max exact; i32 exact below 2^53
/// Source       own
#include "device/cuda/kokkos_execution.cuh"
#include "reduction/reduction_lanes.hpp"

#include <Kokkos_Core.hpp>

#include <cstring>

namespace quadrille::kernels::reduction {
namespace {

using Range = Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<std::int64_t>>;
using Teams = Kokkos::TeamPolicy<Kokkos::Cuda, Kokkos::LaunchBounds<kLanes>>;
using Lanes = Kokkos::View<double*, Kokkos::Cuda::scratch_memory_space,
                           Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// A partial result in as many bytes as the result, a double, has: one becomes the other in place.
template <class Acc>
struct alignas(double) Partial {
  Acc value;
};

template <class Acc>
using Result =
    Kokkos::View<Partial<Acc>, Kokkos::CudaSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Kokkos::Min and Max lose NaN, so the functor brings its own join. Pointers, not Views: see
/// vector_kokkos_cuda.cpp.
template <Operation op, class Acc, class T>
struct Elements {
  using value_type = Partial<Acc>;
  static_assert(sizeof(value_type) == sizeof(double));
  T const *x, *y;

  KOKKOS_FUNCTION void operator()(std::int64_t i, value_type& total) const {
    total.value = absorb<op>(total.value, x[i], y[i]);
  }
  KOKKOS_FUNCTION void init(value_type& total) const { total.value = start<op, Acc>(); }
  KOKKOS_FUNCTION void join(value_type& into, value_type const& from) const {
    into.value = reduction::join<op>(into.value, from.value);
  }
  KOKKOS_FUNCTION void final(value_type& total) const {
    auto const result = static_cast<double>(total.value);
    memcpy(&total, &result, sizeof(double));
  }
};

template <Operation op, class T>
struct Blocks {
  T const* x;
  T const* y;
  std::int64_t global_n, block_first;
  double* blocks;

  KOKKOS_FUNCTION void operator()(Teams::member_type const& team) const {
    std::int64_t const v = block_first + team.league_rank();
    std::int64_t const origin = block_begin(global_n, block_first);
    std::int64_t const begin = block_begin(global_n, v) - origin;
    std::int64_t const end = block_begin(global_n, v + 1) - origin;
    int const lane = team.team_rank();
    Lanes const lanes{team.team_scratch(0), static_cast<std::size_t>(kLanes)};
    double sum = start<op, double>();
    // Loads do not wait for the additions, which must be in order: eight are in flight.
#pragma unroll 8
    for (std::int64_t i = begin + lane; i < end; i += kLanes) sum = absorb<op>(sum, x[i], y[i]);
    lanes(lane) = sum;
    team.team_barrier();
    for (int half = static_cast<int>(kLanes) / 2; half > 0; half /= 2) {
      if (lane < half) lanes(lane) = reduction::join<op>(lanes(lane), lanes(lane + half));
      team.team_barrier();  // the next step reads what this one wrote
    }
    if (lane == 0) blocks[team.league_rank()] = canonical(lanes(0));
  }
};

template <Operation op, class Acc, class T>
void reduce_elements(Problem const& p, device::StreamView stream) {
  Kokkos::parallel_reduce("quadrille::reduction", Range{device::cuda_execution(stream), 0, p.n},
                          Elements<op, Acc, T>{first_of<T>(p), second_of<op, T>(p)},
                          Result<Acc>{reinterpret_cast<Partial<Acc>*>(p.result)});
}

template <Operation op, class T>
void reduce_blocks(Problem const& p, device::StreamView stream) {
  if (p.block_count == 0) return;
  Teams teams{device::cuda_execution(stream), static_cast<int>(p.block_count),
              static_cast<int>(kLanes)};
  teams.set_scratch_size(0, Kokkos::PerTeam(Lanes::shmem_size(kLanes)));
  Kokkos::parallel_for(
      "quadrille::reduction::blocks", teams,
      Blocks<op, T>{first_of<T>(p), second_of<op, T>(p), p.global_n, p.block_first, p.blocks});
}

}  // namespace

void launch_kokkos_cuda(Problem const& problem, device::StreamView stream) {
  visit(problem, [&]<Operation op, class T>() {
    if (problem.reproducible) {
      reduce_blocks<op, T>(problem, stream);
    } else {
      visit_accumulator<op, T>(problem,
                               [&]<class Acc>() { reduce_elements<op, Acc, T>(problem, stream); });
    }
  });
}

}  // namespace quadrille::kernels::reduction
