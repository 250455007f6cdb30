// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral with Kokkos.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)   (or Simpson, or Gauss-Legendre, a cell)
///
/// Technique    parallel_reduce into memory of the device, so that nobody waits for the result; the
///              integrand is a branch-free polynomial. On a GPU an iteration is a cell; on a host
///              it is a chunk, so that no long chain of additions rounds to one side. Reproducible:
///              a team per virtual block, its 256 lanes in scratch memory, in the one written
///              order, compiled without contraction of a * b + c
/// Shapes       cells [first, first + count) of the interval
/// Work         1, 2 or 3 evaluations a cell (midpoint, Simpson, Gauss-Legendre)
/// Launch       the stream's execution space; on a GPU blocks of 256 threads that Kokkos counts, on
///              a host 1024 cells an iteration. Reproducible: teams of 256 threads (host: one),
///              2 KiB of scratch memory
/// Accuracy     error_bound(); sums in a fixed order
#include "common/kokkos.hpp"
#include "integral/integral_math.hpp"

namespace quadrille::kernels::integral {
namespace {

template <Integrand f, Rule rule, class T, class Space>
struct Cells {
  using value_type = double;
  static constexpr std::int64_t kChunk = kOnGpu<Space> ? 1 : 1024;
  Mesh mesh;
  std::int64_t first, count;

  KOKKOS_FUNCTION void operator()(std::int64_t chunk, double& total) const {
    std::int64_t const begin = chunk * kChunk;
    std::int64_t const end = begin + kChunk < count ? begin + kChunk : count;
    double sum = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      sum += cell_value<f, rule, T>(mesh, static_cast<double>(first + i));
    }
    total += sum;
  }
  KOKKOS_FUNCTION void init(double& sum) const { sum = 0; }
  KOKKOS_FUNCTION void join(double& into, double const& from) const { into += from; }
  KOKKOS_FUNCTION void final(double& sum) const {
    bool const has_first = first == 0 && count > 0;
    bool const has_last = static_cast<double>(first + count) == mesh.last && count > 0;
    sum = mesh.scale * (sum + end_value<f, rule, T>(mesh, has_first, has_last));
  }
};

template <Integrand f, Rule rule, class T, class Space>
struct Blocks {
  static constexpr int kThreads = kOnGpu<Space> ? static_cast<int>(kLanes) : 1;
  using Teams = Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<kThreads>>;
  using Lanes = Unmanaged<double[kLanes], typename Space::scratch_memory_space>;

  Mesh mesh;
  std::int64_t cells, block_first;
  double* blocks;

  KOKKOS_FUNCTION void operator()(typename Teams::member_type const& team) const {
    std::int64_t const v = block_first + team.league_rank();
    std::int64_t const begin = block_begin(cells, v);
    std::int64_t const end = block_begin(cells, v + 1);
    Lanes const lanes{team.team_scratch(0)};
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, static_cast<int>(kLanes)), [&](int lane) {
      double sum = 0;
      for (std::int64_t i = begin + lane; i < end; i += kLanes) {
        sum += cell_value<f, rule, T>(mesh, static_cast<double>(i));
      }
      lanes(lane) = sum;
    });
    team.team_barrier();
    for (int half = static_cast<int>(kLanes) / 2; half > 0; half /= 2) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, half),
                           [&](int lane) { lanes(lane) += lanes(lane + half); });
      team.team_barrier();  // the next step reads what this one wrote
    }
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      bool const has_first = begin == 0 && end > begin;
      bool const has_last = static_cast<double>(end) == mesh.last && end > begin;
      blocks[team.league_rank()] =
          mesh.scale * (lanes(0) + end_value<f, rule, T>(mesh, has_first, has_last));
    });
  }
};

template <Integrand f, Rule rule, class T, class Space>
void integrate(Space const& space, Problem const& p) {
  if (!p.reproducible) {
    using Functor = Cells<f, rule, T, Space>;
    std::int64_t const chunks = (p.count + Functor::kChunk - 1) / Functor::kChunk;
    Kokkos::parallel_reduce("quadrille::integral", RangeOf<Space>{space, 0, chunks},
                            Functor{mesh_of(p), p.first, p.count},
                            Unmanaged<double, typename Space::memory_space>{p.result});
  } else if (p.block_count > 0) {
    using Functor = Blocks<f, rule, T, Space>;
    typename Functor::Teams teams{space, static_cast<int>(p.block_count), Functor::kThreads};
    teams.set_scratch_size(0, Kokkos::PerTeam(Functor::Lanes::shmem_size()));
    Kokkos::parallel_for("quadrille::integral::blocks", teams,
                         Functor{mesh_of(p), p.cells, p.block_first, p.blocks});
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  device::run_kokkos(stream, [p = problem](auto const& space) {
    visit(p, [&]<Integrand f, Rule rule, class T>() { integrate<f, rule, T>(space, p); });
  });
}

}  // namespace

extern constinit Variant<Problem> const kokkos{
    {.name = "kokkos",
     .where = Where::kokkos,
     .types = {core::DataType::f64, core::DataType::f32},
     .preference = 10,
     .source = "own",
     .summary = "one source for host and GPU: parallel_reduce, polynomials on a reduced range"},
    launch};

}  // namespace quadrille::kernels::integral
