// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm_cuda.cuh"
#include "gemm/tensor_cores/gemm_half.cuh"

/// The rows of products of 16-bit matrices, and the way from a problem to a kernel.
namespace quadrille::kernels::gemm {

/// Accumulators in f16, and in f32 with C in either type.
inline constexpr TypeList kHalfTypes{
    {core::DataType::f16, core::Compute::f16},
    {core::DataType::f16},
    {core::DataType::f16, core::Compute::f32, core::DataType::f32}};
inline constexpr TypeList kHalfAndBf16Types{
    {core::DataType::f16, core::Compute::f16},
    {core::DataType::f16},
    {core::DataType::f16, core::Compute::f32, core::DataType::f32},
    {core::DataType::bf16},
    {core::DataType::bf16, core::Compute::f32, core::DataType::f32}};

/// A row of the ladder whose kernel copies whole pieces of 16 bytes.
constexpr VariantInfo row(std::string_view name, std::string_view summary, HalfConfig const& config,
                          TypeList types = kHalfTypes, int preference = 0,
                          Tunable const* tunable = nullptr) {
  return {.name = name,
          .where = Where::cuda,
          .types = types,
          .needs = {.layouts = {Layout::nn, Layout::nt},
                    .row_bytes = 16,
                    .alignment = 16,
                    .max_extent = kMaxCudaExtent,
                    .tile = {config.bm, config.bn}},
          .tunable = tunable,
          .preference = preference,
          .source = "after cuda_hgemm 2023",
          .summary = summary};
}

/// As half_config() takes it.
constexpr Configuration configuration_of(HalfConfig const& c) {
  return Configuration{c.bm,     c.bn,
                       c.bk,     c.warp_m,
                       c.warp_n, static_cast<int>(c.layout),
                       c.stages, static_cast<int>(c.fragment_double_buffer),
                       c.raster, static_cast<int>(c.epilogue),
                       c.blocks};
}

/// Of `mma_async_stage4`, the preset of `mma_tuned`.
inline constexpr HalfConfig kStage4Config{
    .layout = SmemLayout::rotated,
    .stages = 4,
    .fragment_double_buffer = FragmentDoubleBuffer::across_k_tiles,
    .epilogue = Epilogue::block_rotated};

#ifdef QUAD_KERNELS

template <class T>
HalfOperands<T> half_operands(Problem const& problem) {
  auto const narrow = [](std::int64_t extent) { return static_cast<int>(extent); };
  return {static_cast<T const*>(problem.a.data),
          static_cast<T const*>(problem.b.data),
          problem.c.data,
          problem.a.ld,
          problem.b.ld,
          problem.c.ld,
          narrow(problem.m()),
          narrow(problem.n()),
          narrow(problem.k()),
          static_cast<SumOf<T>::Type>(problem.alpha),
          static_cast<SumOf<T>::Type>(problem.beta),
          problem.c.type == core::DataType::f32};
}

/// Calls launch.operator()<T, Sum, kTransposedB>() with the types and the layout of a problem.
template <bool kBf16 = false, class Launch>
void with_types(Problem const& problem, Launch const& launch) {
  auto const with_layout = [&]<class T, class Sum>(T, Sum) {
    if (problem.transpose_b) {
      launch.template operator()<T, Sum, true>();
    } else {
      launch.template operator()<T, Sum, false>();
    }
  };
  if (problem.m() == 0 || problem.n() == 0) return;
  if constexpr (kBf16) {
    if (problem.a.type == core::DataType::bf16) return with_layout(__nv_bfloat16{}, float{});
  }
  if (core::compute_for(problem.a.type, problem.compute) == core::Compute::f16) {
    with_layout(__half{}, __half{});
  } else {
    with_layout(__half{}, float{});
  }
}

/// A block for each tile of C.
template <class T>
dim3 tiles_of(HalfOperands<T> const& p, HalfConfig const& config) {
  return {static_cast<unsigned>(divide_up(p.m, config.bm) * divide_up(p.n, config.bn))};
}

/// Calls launch.operator()<Tile>(operands, grid) with a block for each tile of C.
template <HalfConfig kConfig, bool kBf16 = false, class Launch>
void with_tile(Problem const& problem, Launch const& launch) {
  with_types<kBf16>(problem, [&]<class T, class Sum, bool kTransposedB>() {
    auto const p = half_operands<T>(problem);
    launch.template operator()<HalfTile<kConfig, T, Sum, kTransposedB>>(p, tiles_of(p, kConfig));
  });
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
