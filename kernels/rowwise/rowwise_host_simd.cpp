// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Norms, activations, rotary positions and embeddings of tokens, on the threads of a host.
///
///   y = layer_norm(r), rms_norm(r), gelu(x), swiglu(x), rotary(x) or rows of x, row by row: rowwise.hpp
///
/// Technique    tokens on all threads. A row becomes f32 in a buffer that stays in the first-level cache,
///              where loops without branches are vectors: sums have a lane of their own for each of 16
///              elements. Exponentials and error functions are the library's
/// Shapes       any
/// Work         each tensor is read and written once
/// Launch       one parallel loop of the stream over tokens
/// Accuracy     ErrorBound
#include "device/host/parallel.hpp"
#include "rowwise/rowwise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace quadrille::kernels::rowwise {
namespace {

/// term(j) for j < n, in lanes that vectors have.
template <class Term>
float sum_of(std::int64_t n, Term const& term) {
  constexpr std::int64_t kLanes = 16;
  std::array<float, kLanes> lanes{};
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l) lanes[static_cast<std::size_t>(l)] += term(j + l);
  }
  float sum = 0;
  for (; j < n; ++j) sum += term(j);
  for (float const lane : lanes) sum += lane;
  return sum;
}

template <class T>
void norm(Problem const& p, std::int64_t i, float* r) {
  std::int64_t const n = p.features();
  auto const* const x = static_cast<T const*>(p.x.data) + i * n;
  if (p.has_residual()) {
    auto const* const residual = static_cast<T const*>(p.residual.data) + i * n;
    auto* const sum = static_cast<T*>(p.sum.data) + i * n;
    for (std::int64_t j = 0; j < n; ++j) {
      sum[j] = T(static_cast<float>(x[j]) + static_cast<float>(residual[j]));
      r[j] = static_cast<float>(sum[j]);
    }
  } else {
    for (std::int64_t j = 0; j < n; ++j) r[j] = static_cast<float>(x[j]);
  }
  auto const width = static_cast<float>(n);
  bool const is_layer = p.action == Action::layer_norm;
  float const mean = is_layer ? sum_of(n, [&](std::int64_t j) { return r[j]; }) / width : 0;
  float const squares =
      sum_of(n, [&](std::int64_t j) { return (r[j] - mean) * (r[j] - mean); }) / width;
  float const scale = 1 / std::sqrt(squares + static_cast<float>(kNormEpsilon));
  auto const* const gain = static_cast<T const*>(p.weights.data);
  auto* const y = static_cast<T*>(p.y.data) + i * n;
  for (std::int64_t j = 0; j < n; ++j) {
    float const bias = is_layer ? static_cast<float>(gain[n + j]) : 0;
    y[j] = T((r[j] - mean) * scale * static_cast<float>(gain[j]) + bias);
  }
}

template <class T>
void activate(Problem const& p, std::int64_t i) {
  std::int64_t const n = p.features();
  auto const* const x = static_cast<T const*>(p.x.data) + i * p.x.cols;
  auto* const y = static_cast<T*>(p.y.data) + i * n;
  if (p.action == Action::gelu) {
    for (std::int64_t j = 0; j < n; ++j) {
      auto const g = static_cast<float>(x[j]);
      y[j] = T(g * (1 + std::erf(g * 0.70710678F)) * 0.5F);
    }
  } else {
    for (std::int64_t j = 0; j < n; ++j) {
      auto const g = static_cast<float>(x[j]);
      y[j] = T(g / (1 + std::exp(-g)) * static_cast<float>(x[n + j]));
    }
  }
}

template <class T>
void rotate(Problem const& p, std::int64_t i) {
  std::int64_t const d = p.head_size, half = d / 2;
  auto const* const cosines = static_cast<float const*>(p.cos_sin.data) + p.positions[i] * d;
  float const* const sines = cosines + half;
  for (std::int64_t first = i * p.features(); first < (i + 1) * p.features(); first += d) {
    auto const* const x = static_cast<T const*>(p.x.data) + i * (p.x.ld - p.features()) + first;
    auto* const y = static_cast<T*>(p.y.data) + first;
    for (std::int64_t j = 0; j < half; ++j) {
      auto const a = static_cast<float>(x[j]), b = static_cast<float>(x[half + j]);
      y[j] = T(a * cosines[j] - b * sines[j]);
      y[half + j] = T(b * cosines[j] + a * sines[j]);
    }
  }
}

template <class T>
void embed(Problem const& p, std::int64_t i) {
  std::int64_t const n = p.features();
  auto const* const x = static_cast<T const*>(p.x.data) + p.rows[i] * n;
  auto* const y = static_cast<T*>(p.y.data) + i * n;
  if (p.weights.rows == 0) {
    std::copy_n(x, n, y);
    return;
  }
  auto const* const position = static_cast<T const*>(p.weights.data) + p.positions[i] * n;
  for (std::int64_t j = 0; j < n; ++j) {
    y[j] = T(static_cast<float>(x[j]) + static_cast<float>(position[j]));
  }
}

template <class T>
void run(Problem const& p, device::StreamView stream) {
  device::parallel_for(stream, p.tokens(), [&](std::int64_t i) {
    if (is_norm(p.action)) {
      thread_local std::vector<float> row;
      row.resize(static_cast<std::size_t>(p.features()));
      norm<T>(p, i, row.data());
    } else if (p.action == Action::rotary) {
      rotate<T>(p, i);
    } else if (p.action == Action::embedding) {
      embed<T>(p, i);
    } else {
      activate<T>(p, i);
    }
  });
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem, stream] {
    switch (problem.y.type) {
      case core::DataType::f32: return run<float>(problem, stream);
      case core::DataType::f16: return run<core::f16>(problem, stream);
      default: return run<core::bf16>(problem, stream);
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const host_simd{
    {.name = "host_simd",
     .where = Where::host,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .preference = 10,
     .batch_invariant = true,
     .source = "own",
     .summary = "tokens on all threads, rows in f32 in the first-level cache"},
    launch};

}  // namespace quadrille::kernels::rowwise
