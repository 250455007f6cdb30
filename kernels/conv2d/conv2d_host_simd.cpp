// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution with vectors of the host's width.
///
///   Y = W X_col
///
/// Technique    the product with the column matrix, of which only a panel that stays in the
///              second-level cache exists at a time: as wide as a register tile, in the order in
///              which the tile reads it, so that what im2col writes is what packing would. Filters
///              are packed once. A tile of output channels x positions stays in registers along all
///              terms. f16 and bf16 are widened in the panels
/// Shapes       nchw or nhwc, any extents; taps outside of the image are 0
/// Work         2 n k p q (c / groups) r s flop; columns are written and read in the cache
/// Launch       blocks of positions of an image, several for each thread, in one parallel loop of the
///              stream; buffers belong to the threads and grow to the largest problem: 256 KiB for
///              panels, or one panel, and k c r s floats for the filters
/// Accuracy     c r s eps w / 2 at worst, eps (sqrt(c r s) + 2) w for random data
#include "conv2d/conv2d.hpp"
#include "conv2d/conv2d_columns.hpp"
#include "device/host/parallel.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace quadrille::kernels::conv2d {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kRows = 8;  // 24 accumulators, 3 vectors of a panel, 1 broadcast: 28 of 32 registers
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
constexpr int kRows = 4;  // 12 accumulators, 3 vectors of a panel, 1 broadcast: 16 registers
#else
constexpr int kVectorBytes = 16;
constexpr int kRows = 4;
#endif
constexpr int kTileVectors = 3;
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(float));
constexpr int kCols = kTileVectors * kLanes;
using Vector [[gnu::vector_size(kVectorBytes)]] = float;
// Of panels: a part of the second-level cache.
constexpr std::int64_t kPanelFloats = 1 << 16;

constexpr std::int64_t divide_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

/// Otherwise the compiler loads a value again at each of its uses, and the load ports, not the
/// multipliers, set the pace.
[[gnu::always_inline]] inline Vector in_register(Vector value) {
#if defined(__x86_64__)
  asm("" : "+v"(value));
#endif
  return value;
}

/// A vector that memory need not be aligned for.
[[gnu::always_inline]] inline Vector load(float const* from) {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// kRows filters times kCols positions, each packed with the values of a term together.
void multiply_tile(std::int64_t terms, float const* filters, float const* panel,
                   float (&sums)[kRows][kCols]) {
  Vector sum[kRows][kTileVectors] = {};
#pragma GCC unroll 4
  for (std::int64_t t = 0; t < terms; ++t) {
    Vector line[kTileVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kTileVectors; ++v) line[v] = in_register(load(panel + v * kLanes));
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      Vector const factor = in_register(filters[r] - Vector{});
#pragma GCC unroll 3
      for (int v = 0; v < kTileVectors; ++v) sum[r][v] += factor * line[v];
    }
    filters += kRows;
    panel += kCols;
  }
  std::memcpy(sums, sum, sizeof sums);
}

template <class T>
class Convolution {
 public:
  explicit Convolution(Problem const& problem)
      : problem_{problem},
        z_{problem.shape},
        terms_{z_.terms()},
        positions_{z_.positions()},
        panels_of_filters_{divide_up(z_.group_filters(), kRows)} {}

  void run(device::StreamView stream) const {
    if (z_.n == 0 || z_.k == 0) return;
    // Of the stream's own thread, which waits for those of the loops.
    thread_local std::vector<float> packed_filters;
    packed_filters.resize(
        static_cast<std::size_t>(z_.groups * panels_of_filters_ * kRows * terms_));
    float* const filters = packed_filters.data();
    device::parallel_for(stream, z_.groups * panels_of_filters_,
                         [=, this](std::int64_t panel) { pack_filters(panel, filters); });
    std::int64_t const panels = divide_up(positions_, kCols);
    std::int64_t const together = std::clamp<std::int64_t>(
        kPanelFloats / std::max<std::int64_t>(1, terms_ * kCols), 1, panels);
    std::int64_t const blocks = divide_up(panels, together);
    device::parallel_for(
        stream, z_.n * blocks,
        [=, this](std::int64_t part) {
          core::Range const block = core::split_evenly(panels, blocks, part % blocks);
          convolve(part / blocks, block, filters);
        },
        device::Schedule::dynamic);
  }

 private:
  void pack_filters(std::int64_t panel, float* packed) const {
    std::int64_t const group = panel / panels_of_filters_;
    std::int64_t const first = panel % panels_of_filters_ * kRows;
    T const* const from = problem_.w.as<T>() + (group * z_.group_filters() + first) * terms_;
    float* const to = packed + panel * kRows * terms_;
    for (std::int64_t t = 0; t < terms_; ++t) {
      for (std::int64_t r = 0; r < kRows; ++r) {
        bool const is_there = first + r < z_.group_filters();
        to[t * kRows + r] = is_there ? static_cast<float>(from[r * terms_ + t]) : 0;
      }
    }
  }

  /// All output channels of a block of panels of positions.
  void convolve(std::int64_t image, core::Range const& block, float const* filters) const {
    thread_local std::vector<float> packed;
    std::int64_t const panel_floats = terms_ * kCols;
    packed.resize(static_cast<std::size_t>(block.count * panel_floats));
    for (std::int64_t g = 0; g < z_.groups; ++g) {
      for (std::int64_t b = 0; b < block.count; ++b) {
        core::Range const at = positions_of(block.first + b);
        float* const panel = packed.data() + b * panel_floats;
        if (at.count < kCols) std::fill_n(panel, panel_floats, 0.0F);
        columns<T>(problem_, image, g, at, panel, kCols);
      }
      for (std::int64_t f = 0; f < panels_of_filters_; ++f) {
        float const* const own = filters + (g * panels_of_filters_ + f) * kRows * terms_;
        for (std::int64_t b = 0; b < block.count; ++b) {
          float sums[kRows][kCols];
          multiply_tile(terms_, own, packed.data() + b * panel_floats, sums);
          store(image, g, f * kRows, positions_of(block.first + b), sums);
        }
      }
    }
  }

  core::Range positions_of(std::int64_t panel) const {
    std::int64_t const first = panel * kCols;
    return {first, std::min<std::int64_t>(kCols, positions_ - first)};
  }

  void store(std::int64_t image, std::int64_t group, std::int64_t first_filter,
             core::Range const& at, float const (&sums)[kRows][kCols]) const {
    T* const y = problem_.y.as<T>() + image * z_.k * positions_;
    std::int64_t const filters = std::min<std::int64_t>(kRows, z_.group_filters() - first_filter);
    std::int64_t const k = group * z_.group_filters() + first_filter;
    if (problem_.layout == DataLayout::nchw) {
      for (std::int64_t r = 0; r < filters; ++r) {
        T* const line = y + (k + r) * positions_ + at.first;
        for (std::int64_t j = 0; j < at.count; ++j) line[j] = static_cast<T>(sums[r][j]);
      }
    } else {
      for (std::int64_t j = 0; j < at.count; ++j) {
        T* const line = y + (at.first + j) * z_.k + k;
        for (std::int64_t r = 0; r < filters; ++r) line[r] = static_cast<T>(sums[r][j]);
      }
    }
  }

  Problem problem_;
  Shape z_;
  std::int64_t terms_, positions_, panels_of_filters_;
};

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem, stream] {
    switch (problem.x.type) {
      case core::DataType::f32: return Convolution<float>{problem}.run(stream);
      case core::DataType::f16: return Convolution<core::f16>{problem}.run(stream);
      default: return Convolution<core::bf16>{problem}.run(stream);
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const host_simd{
    {.name = "host_simd",
     .where = Where::host,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .preference = 20,
     .source = "own",
     .summary = "panels of the column matrix in cache, register tiles in vectors"},
    launch};

}  // namespace quadrille::kernels::conv2d
