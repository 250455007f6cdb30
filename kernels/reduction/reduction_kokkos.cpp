// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reduction with Kokkos.
///
///   s = sum x[i], sum x[i] y[i], sum x[i]^2, min x[i] or max x[i]
///
/// Technique    parallel_reduce into memory of the device, so that nobody waits for the result. On
///              a GPU an iteration is an element, and neighbouring threads take neighbouring ones;
///              on a host it is a chunk, so that no long chain of additions rounds to one side.
///              Reproducible: a team per virtual block, its 256 lanes in scratch memory, in the one
///              written order, compiled without contraction of a * b + c
/// Shapes       x, y: n contiguous elements
/// Work         n s bytes read (2 n s for dot)
/// Launch       the stream's execution space; on a GPU blocks of 256 threads that Kokkos counts, on
///              a host 1024 elements an iteration. Reproducible: teams of 256 threads (host: one),
///              2 KiB of scratch memory
/// Accuracy     4 eps sqrt(n) sum|x| with eps of the accumulator for uniform data; at worst GPU (n
///              / (2048 multiprocessors) + 40), host (1024 + n / (1024 threads)) eps / 2 sum|x|;
///              min, max exact; i32 exact below 2^53, partial sums below 2^63
#include "common/kokkos.hpp"
#include "reduction/reduction_lanes.hpp"

#include <algorithm>
#include <cstring>

namespace quadrille::kernels::reduction {
namespace {

/// A partial result in as many bytes as the result, a double, has: one becomes the other in place.
template <class Acc>
struct alignas(double) Partial {
  Acc value;
};

/// Kokkos::Min and Max lose NaN, so the functor brings its own join. Pointers, not Views: see
/// vector_kokkos.cpp.
template <Operation op, class Acc, class T, class Space>
struct Chunks {
  using value_type = Partial<Acc>;
  static_assert(sizeof(value_type) == sizeof(double));
  static constexpr std::int64_t kChunk = kOnGpu<Space> ? 1 : 1024;
  T const *x, *y;
  std::int64_t n;

  KOKKOS_FUNCTION void operator()(std::int64_t chunk, value_type& total) const {
    std::int64_t const begin = chunk * kChunk;
    std::int64_t const end = begin + kChunk < n ? begin + kChunk : n;
    Acc sum = start<op, Acc>();
    for (std::int64_t i = begin; i < end; ++i) sum = accumulate<op>(sum, x[i], y[i]);
    total.value = reduction::combine<op>(total.value, sum);
  }
  KOKKOS_FUNCTION void init(value_type& total) const { total.value = start<op, Acc>(); }
  KOKKOS_FUNCTION void join(value_type& into, value_type const& from) const {
    into.value = reduction::combine<op>(into.value, from.value);
  }
  KOKKOS_FUNCTION void final(value_type& total) const {
    auto const result = static_cast<double>(total.value);
    memcpy(&total, &result, sizeof(double));
  }
};

template <Operation op, class Acc, class T, class Space>
void reduce_chunks(Space const& space, Problem const& p) {
  using Functor = Chunks<op, Acc, T, Space>;
  using Result = Unmanaged<Partial<Acc>, typename Space::memory_space>;
  std::int64_t const chunks = (p.n + Functor::kChunk - 1) / Functor::kChunk;
  Kokkos::parallel_reduce("quadrille::reduction", RangeOf<Space>{space, 0, chunks},
                          Functor{first_of<T>(p), second_of<op, T>(p), p.n},
                          Result{reinterpret_cast<Partial<Acc>*>(p.result)});
}

template <Operation op, class T, class Space>
struct Blocks {
  static constexpr int kThreads = kOnGpu<Space> ? static_cast<int>(kLanes) : 1;
  using Teams = Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<kThreads>>;
  using Lanes = Unmanaged<double[kLanes], typename Space::scratch_memory_space>;

  T const* x;
  T const* y;
  std::int64_t global_n, block_first;
  double* blocks;

  KOKKOS_FUNCTION void operator()(typename Teams::member_type const& team) const {
    std::int64_t const v = block_first + team.league_rank();
    std::int64_t const origin = block_begin(global_n, block_first);
    std::int64_t const begin = block_begin(global_n, v) - origin;
    std::int64_t const end = block_begin(global_n, v + 1) - origin;
    Lanes const lanes{team.team_scratch(0)};
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, static_cast<int>(kLanes)), [&](int lane) {
      double sum = start<op, double>();
      // Loads do not wait for the additions, which must be in order: eight are in flight.
#pragma unroll 8
      for (std::int64_t i = begin + lane; i < end; i += kLanes)
        sum = accumulate<op>(sum, x[i], y[i]);
      lanes(lane) = sum;
    });
    team.team_barrier();
    for (int half = static_cast<int>(kLanes) / 2; half > 0; half /= 2) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, half), [&](int lane) {
        lanes(lane) = reduction::combine<op>(lanes(lane), lanes(lane + half));
      });
      team.team_barrier();  // the next step reads what this one wrote
    }
    Kokkos::single(Kokkos::PerTeam(team),
                   [&] { blocks[team.league_rank()] = canonical(lanes(0)); });
  }
};

template <Operation op, class T, class Space>
void reduce_blocks(Space const& space, Problem const& p) {
  using Functor = Blocks<op, T, Space>;
  if (p.block_count == 0) return;
  typename Functor::Teams teams{space, static_cast<int>(p.block_count), Functor::kThreads};
  teams.set_scratch_size(0, Kokkos::PerTeam(Functor::Lanes::shmem_size()));
  Kokkos::parallel_for(
      "quadrille::reduction::blocks", teams,
      Functor{first_of<T>(p), second_of<op, T>(p), p.global_n, p.block_first, p.blocks});
}

void launch(Problem const& problem, device::StreamView stream) {
  device::run_kokkos(stream, [p = problem](auto const& space) {
    visit(p, [&]<Operation op, class T>() {
      if (p.reproducible) return reduce_blocks<op, T>(space, p);
      visit_accumulator<op, T>(p, [&]<class Acc>() { reduce_chunks<op, Acc, T>(space, p); });
    });
  });
}

}  // namespace

extern constinit Variant<Problem> const kokkos{
    {.name = "kokkos",
     .where = Where::kokkos,
     .types = kReductionTypes,
     .preference = 10,
     .source = "own",
     .summary = "one source for host and GPU: parallel_reduce into device memory"},
    launch,
    {.notes = {.chain = [](double n, device::Facts const& device) {
       return std::min(n, 1024.0) + n / (1024.0 * std::max(1, device.multiprocessors));
     }}}};

}  // namespace quadrille::kernels::reduction
