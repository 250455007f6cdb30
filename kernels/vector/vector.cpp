// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "vector/vector.hpp"

#include <cmath>

namespace quadrille::kernels::vector {
namespace {

using core::DataType;

std::vector<Variant<Problem>> const& table() {
  static std::vector<Variant<Problem>> const rows{
      {{"reference",
        Backend::reference,
        {DataType::f64, DataType::f32},
        "none",
        "DCU programming tutorial, quadFunc",
        "one loop, double precision"},
       launch_reference},
      {{"kokkos",
        Backend::kokkos,
        {DataType::f64, DataType::f32},
        "none",
        "own",
        "all threads, whole vectors, streaming stores",
        0,
        false,
        true},
       QUAD_KOKKOS_LAUNCH(launch_kokkos)},
      {{"host_threads",
        Backend::host,
        {DataType::f64, DataType::f32},
        "none",
        "DCU programming tutorial, quadFunc",
        "threads started for each execution, one slice each"},
       launch_host_threads},
      {{"one_thread",
        Backend::cuda,
        {DataType::f64, DataType::f32},
        "none",
        "PaddleJitLab/CUDATutorial, chapter 02",
        "1 block of 1 thread: the serial loop"},
       QUAD_CUDA_LAUNCH(launch_one_thread)},
      {{"one_block",
        Backend::cuda,
        {DataType::f64, DataType::f32},
        "none",
        "PaddleJitLab/CUDATutorial, chapter 04",
        "1 block of 256 threads that strides"},
       QUAD_CUDA_LAUNCH(launch_one_block)},
      {{"one_element",
        Backend::cuda,
        {DataType::f64, DataType::f32},
        "none",
        "PaddleJitLab/CUDATutorial, chapter 04",
        "one element a thread; 4 sectors a request (f32)"},
       QUAD_CUDA_LAUNCH(launch_one_element)},
      {{"grid_stride",
        Backend::cuda,
        {DataType::f64, DataType::f32},
        "none",
        "own",
        "a grid that fits the device strides"},
       QUAD_CUDA_LAUNCH(launch_grid_stride)},
      {{"vectorized",
        Backend::cuda,
        {DataType::f64, DataType::f32},
        "x, y, out aligned to 16 bytes",
        "own",
        "16 bytes a thread, streaming"},
       QUAD_CUDA_LAUNCH(launch_vectorized)},
      {{"misaligned",
        Backend::cuda,
        {DataType::f64, DataType::f32},
        "x, y, out one element behind 32 bytes",
        "note on Nsight Compute, add2",
        "one_element shifted by an element; 5 sectors a request (f32)"},
       QUAD_CUDA_LAUNCH(launch_misaligned)},
  };
  return rows;
}

}  // namespace

std::span<Variant<Problem> const> variants() { return table(); }

void require_consistent(Problem const& p) {
  QUAD_REQUIRE(p.type == DataType::f64 || p.type == DataType::f32,
               "vector: takes f64 and f32 only");
  QUAD_REQUIRE(p.n >= 0, "vector: n is negative");
  if (p.n == 0) return;
  QUAD_REQUIRE(p.x != nullptr && p.out != nullptr, "vector: x or out is missing");
  QUAD_REQUIRE(p.operation != Operation::add || p.y != nullptr, "vector: add needs y");
  auto const size = static_cast<std::size_t>(p.n) * core::size_of(p.type);
  auto const* out = static_cast<char const*>(p.out);
  for (void const* input : {p.x, p.operation == Operation::add ? p.y : p.x}) {
    auto const* in = static_cast<char const*>(input);
    QUAD_REQUIRE(out + size <= in || in + size <= out, "vector: out overlaps an input");
  }
}

double error_bound(Problem const& p, double x) {
  if (p.operation == Operation::add) return 0;
  double const magnitude = std::abs(p.a) * x * x + std::abs(p.b * x) + std::abs(p.c);
  return 4 * core::epsilon_of(p.type) * magnitude;
}

}  // namespace quadrille::kernels::vector
