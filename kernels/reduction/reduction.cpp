// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "reduction/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace quadrille::kernels::reduction {
namespace {

using core::DataType;

std::vector<Variant<Problem>> const& table() {
  static std::vector<Variant<Problem>> const rows{
      {{"reference",
        Backend::reference,
        {DataType::f64, DataType::f32, DataType::i32},
        "none",
        "own",
        "one thread, blocked sums in extended precision"},
       launch_reference},
      {{"kokkos",
        Backend::kokkos,
        {DataType::f64, DataType::f32, DataType::i32},
        "none",
        "own",
        "parallel_reduce over chunks of 256 independent lanes",
        0,
        false,
        true},
       QUAD_KOKKOS_LAUNCH(launch_kokkos)},
      {{"vendor",
        Backend::vendor,
        {DataType::f64, DataType::f32},
        "dot and norm2 only on the host, not reproducible",
        "OpenBLAS; CUB, cuBLAS",
        "cblas_ddot, dnrm2; on a GPU DeviceReduce, cublasDdot, Dnrm2"},
       launch_vendor},
      {{"naive",
        Backend::cuda,
        {DataType::f64, DataType::f32, DataType::i32},
        "sum, not reproducible",
        "CUDA tutorial, chapter 08",
        "tree in shared memory, every second thread idle in each warp"},
       QUAD_CUDA_LAUNCH(launch_naive)},
      {{"interleaved",
        Backend::cuda,
        {DataType::f64, DataType::f32, DataType::i32},
        "sum, not reproducible",
        "CUDA tutorial, chapter 09/01",
        "active threads are neighbours; their words are not: bank conflicts"},
       QUAD_CUDA_LAUNCH(launch_interleaved)},
      {{"sequential",
        Backend::cuda,
        {DataType::f64, DataType::f32, DataType::i32},
        "sum, not reproducible",
        "CUDA tutorial, chapter 09/02",
        "halving strides: no bank conflict"},
       QUAD_CUDA_LAUNCH(launch_sequential)},
      {{"two_loads",
        Backend::cuda,
        {DataType::f64, DataType::f32, DataType::i32},
        "sum, not reproducible",
        "CUDA tutorial, chapter 09/03",
        "first addition while loading, half as many blocks"},
       QUAD_CUDA_LAUNCH(launch_two_loads)},
      {{"unrolled_last_warp",
        Backend::cuda,
        {DataType::f64, DataType::f32, DataType::i32},
        "sum, not reproducible",
        "CUDA tutorial, chapter 09/04",
        "the last warp synchronises itself, without barriers of the block"},
       QUAD_CUDA_LAUNCH(launch_unrolled_last_warp)},
      {{"unrolled",
        Backend::cuda,
        {DataType::f64, DataType::f32, DataType::i32},
        "sum, not reproducible",
        "CUDA tutorial, chapter 09/04",
        "all steps written out by a template"},
       QUAD_CUDA_LAUNCH(launch_unrolled)},
      {{"shuffle",
        Backend::cuda,
        {DataType::f64, DataType::f32, DataType::i32},
        "not reproducible",
        "own",
        "warp shuffles, one shared word a warp"},
       QUAD_CUDA_LAUNCH(launch_shuffle)},
      {{"vectorized",
        Backend::cuda,
        {DataType::f64, DataType::f32, DataType::i32},
        "not reproducible",
        "own",
        "grid stride, eight 16-byte loads in flight"},
       QUAD_CUDA_LAUNCH(launch_vectorized)},
      {{"one_launch",
        Backend::cuda,
        {DataType::f64, DataType::f32, DataType::i32},
        "none",
        "own",
        "the last block to finish joins all, in a fixed order"},
       QUAD_CUDA_LAUNCH(launch_one_launch)},
      {{"bulk_async",
        Backend::cuda,
        {DataType::f64, DataType::f32, DataType::i32},
        "sm_90; not reproducible; dot: x and y aligned alike",
        "own",
        "a ring of bulk copies feeds threads that only add",
        90},
       QUAD_CUDA_LAUNCH(launch_bulk_async)},
      {{"binned",
        Backend::cuda,
        {DataType::f64, DataType::f32, DataType::i32},
        "no virtual blocks",
        "own; bins: Demmel and Nguyen",
        "exact sums in integer bins, whatever the order"},
       QUAD_CUDA_LAUNCH(launch_binned)},
  };
  return rows;
}

/// Rows that only add: the steps of a ladder that is about something else.
constexpr std::string_view kSumOnly[] = {"naive",     "interleaved",        "sequential",
                                         "two_loads", "unrolled_last_warp", "unrolled"};

}  // namespace

std::span<Variant<Problem> const> variants() { return table(); }

bool supports(VariantInfo const& variant, Operation operation, device::Kind kind) {
  if (variant.backend == Backend::vendor) {
    return kind == device::Kind::cuda || operation == Operation::dot ||
           operation == Operation::norm2;
  }
  return operation == Operation::sum ||
         std::find(std::begin(kSumOnly), std::end(kSumOnly), variant.name) == std::end(kSumOnly);
}

bool supports_reproducible(VariantInfo const& variant) {
  if (variant.backend == Backend::cuda) return variant.name == "one_launch";
  return variant.backend != Backend::vendor;
}

void launch_vendor(Problem const& problem, device::StreamView stream) {
#ifdef QUADRILLE_CUDA_KERNELS
  if (stream.device().kind() == device::Kind::cuda) return launch_vendor_cuda(problem, stream);
#endif
  launch_vendor_host(problem, stream);
}

std::size_t scratch_bytes(std::int64_t n) {
  // A page for counters and bins, then a partial result of 8 bytes for each block of the variant
  // with the most blocks, one for 256 elements, or what CUB asks for.
  constexpr std::size_t kCounters = 4096;
  constexpr std::size_t kLeast = 1 << 20;
  return kCounters + std::max(kLeast, 8 * static_cast<std::size_t>((n + 255) / 256));
}

void require_consistent(Problem const& p) {
  QUAD_REQUIRE(p.type == DataType::f64 || p.type == DataType::f32 || p.type == DataType::i32,
               "reduction: takes f64, f32 and i32 only");
  QUAD_REQUIRE(p.n >= 0, "reduction: n is negative");
  QUAD_REQUIRE(p.n == 0 || p.x != nullptr, "reduction: x is missing");
  QUAD_REQUIRE(p.n == 0 || p.operation != Operation::dot || p.y != nullptr,
               "reduction: dot needs y");
  QUAD_REQUIRE(
      p.accumulator == DataType::f64 || (p.accumulator == DataType::f32 && p.type == DataType::f32),
      "reduction: the accumulator is f64, or f32 for f32 elements");
  if (!p.reproducible) {
    QUAD_REQUIRE(p.result != nullptr, "reduction: result is missing");
    return;
  }
  QUAD_REQUIRE(p.accumulator == DataType::f64,
               "reduction: reproducible sums accumulate in f64; set accumulator = \"f64\"");
  QUAD_REQUIRE(
      p.block_first >= 0 && p.block_count >= 0 && p.block_first + p.block_count <= kVirtualBlocks,
      "reduction: virtual blocks out of range");
  QUAD_REQUIRE(p.global_n >= 0 && p.n == block_begin(p.global_n, p.block_first + p.block_count) -
                                             block_begin(p.global_n, p.block_first),
               "reduction: n is not the number of elements of the virtual blocks");
  QUAD_REQUIRE(p.block_count == 0 || p.blocks != nullptr, "reduction: blocks is missing");
}

double identity(Operation operation) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (operation) {
    case Operation::min: return kInfinity;
    case Operation::max: return -kInfinity;
    default: return 0;
  }
}

double error_bound(Problem const& problem, double n, double sum_of_magnitudes) {
  bool const exact = problem.operation == Operation::min || problem.operation == Operation::max ||
                     problem.type == DataType::i32;
  if (exact) return 0;
  return 4 * core::epsilon_of(problem.accumulator) * std::sqrt(n) * sum_of_magnitudes;
}

}  // namespace quadrille::kernels::reduction
