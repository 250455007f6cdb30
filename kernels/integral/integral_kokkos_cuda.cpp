// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral on a GPU with Kokkos.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)   (or Simpson, or Gauss-Legendre, a cell)
///
/// Technique    parallel_reduce over the cells into device memory, so that nobody waits for the
///              result; the integrand is the polynomial of the host. Reproducible: a team per
///              virtual block, its 256 lanes in scratch memory, in the order of the host
/// Shapes       cells [first, first + count) of the interval
/// Types        f64; f32 evaluation of an argument reduced in f64; sums in f64
/// Work         1, 2 or 3 evaluations a cell (midpoint, Simpson, Gauss-Legendre)
/// Constraints  compiled without contraction of a * b + c
/// Launch       the stream's execution space; blocks of 256 threads that Kokkos counts.
///              Reproducible: 256 threads a team, 2 KiB of scratch memory
/// Accuracy     error_bound(); sums in a fixed order
/// Source       own
#include "device/cuda/kokkos_execution.cuh"
#include "integral/integral_math.hpp"

#include <Kokkos_Core.hpp>

namespace quadrille::kernels::integral {
namespace {

using Range = Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<std::int64_t>>;
using Teams = Kokkos::TeamPolicy<Kokkos::Cuda, Kokkos::LaunchBounds<kLanes>>;
using Result = Kokkos::View<double, Kokkos::CudaSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
using Lanes = Kokkos::View<double*, Kokkos::Cuda::scratch_memory_space,
                           Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <Integrand f, Rule rule, class T>
struct Cells {
  using value_type = double;
  Mesh mesh;
  std::int64_t first, count;

  KOKKOS_FUNCTION void operator()(std::int64_t i, double& sum) const {
    sum += cell_value<f, rule, T>(mesh, static_cast<double>(first + i));
  }
  KOKKOS_FUNCTION void init(double& sum) const { sum = 0; }
  KOKKOS_FUNCTION void join(double& into, double const& from) const { into += from; }
  KOKKOS_FUNCTION void final(double& sum) const {
    bool const has_first = first == 0 && count > 0;
    bool const has_last = static_cast<double>(first + count) == mesh.last && count > 0;
    sum = mesh.scale * (sum + end_value<f, rule, T>(mesh, has_first, has_last));
  }
};

template <Integrand f, Rule rule, class T>
struct Blocks {
  Mesh mesh;
  std::int64_t cells, block_first;
  double* blocks;

  KOKKOS_FUNCTION void operator()(Teams::member_type const& team) const {
    std::int64_t const v = block_first + team.league_rank();
    std::int64_t const begin = block_begin(cells, v);
    std::int64_t const end = block_begin(cells, v + 1);
    int const lane = team.team_rank();
    Lanes const lanes{team.team_scratch(0), static_cast<std::size_t>(kLanes)};
    double sum = 0;
    for (std::int64_t i = begin + lane; i < end; i += kLanes) {
      sum += cell_value<f, rule, T>(mesh, static_cast<double>(i));
    }
    lanes(lane) = sum;
    team.team_barrier();
    for (int half = static_cast<int>(kLanes) / 2; half > 0; half /= 2) {
      if (lane < half) lanes(lane) += lanes(lane + half);
      team.team_barrier();  // the next step reads what this one wrote
    }
    if (lane == 0) {
      bool const has_first = begin == 0 && end > begin;
      bool const has_last = static_cast<double>(end) == mesh.last && end > begin;
      blocks[team.league_rank()] =
          mesh.scale * (lanes(0) + end_value<f, rule, T>(mesh, has_first, has_last));
    }
  }
};

template <Integrand f, Rule rule, class T>
void integrate(Problem const& p, device::StreamView stream) {
  Kokkos::Cuda const& space = device::cuda_execution(stream);
  if (!p.reproducible) {
    Kokkos::parallel_reduce("quadrille::integral", Range{space, 0, p.count},
                            Cells<f, rule, T>{mesh_of(p), p.first, p.count}, Result{p.result});
  } else if (p.block_count > 0) {
    Teams teams{space, static_cast<int>(p.block_count), static_cast<int>(kLanes)};
    teams.set_scratch_size(0, Kokkos::PerTeam(Lanes::shmem_size(kLanes)));
    Kokkos::parallel_for("quadrille::integral::blocks", teams,
                         Blocks<f, rule, T>{mesh_of(p), p.cells, p.block_first, p.blocks});
  }
}

}  // namespace

void launch_kokkos_cuda(Problem const& problem, device::StreamView stream) {
  visit(problem,
        [&]<Integrand f, Rule rule, class T>() { integrate<f, rule, T>(problem, stream); });
}

}  // namespace quadrille::kernels::integral
