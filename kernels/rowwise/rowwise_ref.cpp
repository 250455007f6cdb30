// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Norms, activations, rotary positions and embeddings of tokens, as in the definition.
///
///   y = layer_norm(r), rms_norm(r), gelu(x), swiglu(x), rotary(x) or rows of x, row by row: rowwise.hpp
///
/// Technique    the formulas in f64, one after the other; not meant to be fast
/// Shapes       any
/// Work         each tensor is read and written once, by one thread
/// Launch       serial, on the stream's own thread
/// Accuracy     ErrorBound
#include "device/device.hpp"
#include "rowwise/rowwise.hpp"

#include <cmath>

namespace quadrille::kernels::rowwise {
namespace {

template <class T>
void norm(Problem const& p, std::int64_t i) {
  std::int64_t const n = p.features();
  auto const* const x = static_cast<T const*>(p.x.data) + i * n;
  auto const* r = x;
  if (p.has_residual()) {
    auto const* const residual = static_cast<T const*>(p.residual.data) + i * n;
    auto* const sum = static_cast<T*>(p.sum.data) + i * n;
    for (std::int64_t j = 0; j < n; ++j) {
      sum[j] = T(static_cast<double>(x[j]) + static_cast<double>(residual[j]));
    }
    r = sum;
  }
  bool const is_layer = p.action == Action::layer_norm;
  double mean = 0, squares = 0;
  for (std::int64_t j = 0; j < n && is_layer; ++j) mean += static_cast<double>(r[j]);
  mean /= static_cast<double>(n);
  for (std::int64_t j = 0; j < n; ++j) {
    squares += (static_cast<double>(r[j]) - mean) * (static_cast<double>(r[j]) - mean);
  }
  double const sigma = std::sqrt(squares / static_cast<double>(n) + kNormEpsilon);
  auto const* const gain = static_cast<T const*>(p.weights.data);
  auto* const y = static_cast<T*>(p.y.data) + i * n;
  for (std::int64_t j = 0; j < n; ++j) {
    double const bias = is_layer ? static_cast<double>(gain[n + j]) : 0;
    y[j] = T((static_cast<double>(r[j]) - mean) / sigma * static_cast<double>(gain[j]) + bias);
  }
}

template <class T>
void activate(Problem const& p, std::int64_t i) {
  std::int64_t const n = p.features();
  auto const* const x = static_cast<T const*>(p.x.data) + i * p.x.cols;
  auto* const y = static_cast<T*>(p.y.data) + i * n;
  for (std::int64_t j = 0; j < n; ++j) {
    auto const g = static_cast<double>(x[j]);
    y[j] = p.action == Action::gelu ? T(g * (1 + std::erf(g / std::sqrt(2.0))) / 2)
                                    : T(g / (1 + std::exp(-g)) * static_cast<double>(x[n + j]));
  }
}

template <class T>
void rotate(Problem const& p, std::int64_t i) {
  std::int64_t const d = p.head_size, half = d / 2;
  auto const* const cosines = static_cast<float const*>(p.cos_sin.data) + p.positions[i] * d;
  for (std::int64_t first = i * p.features(); first < (i + 1) * p.features(); first += d) {
    auto const* const x = static_cast<T const*>(p.x.data) + i * (p.x.ld - p.features()) + first;
    auto* const y = static_cast<T*>(p.y.data) + first;
    for (std::int64_t j = 0; j < half; ++j) {
      double const c = cosines[j], s = cosines[half + j];
      auto const a = static_cast<double>(x[j]), b = static_cast<double>(x[half + j]);
      y[j] = T(a * c - b * s);
      y[half + j] = T(b * c + a * s);
    }
  }
}

template <class T>
void embed(Problem const& p, std::int64_t i) {
  std::int64_t const n = p.features();
  auto const* const x = static_cast<T const*>(p.x.data) + p.rows[i] * n;
  auto const* const position =
      p.weights.rows > 0 ? static_cast<T const*>(p.weights.data) + p.positions[i] * n : nullptr;
  auto* const y = static_cast<T*>(p.y.data) + i * n;
  for (std::int64_t j = 0; j < n; ++j) {
    double const added = position == nullptr ? 0 : static_cast<double>(position[j]);
    y[j] = T(static_cast<double>(x[j]) + added);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem] {
    core::visit_type(problem.y.type, [&](auto zero) {
      using T = decltype(zero);
      for (std::int64_t i = 0; i < problem.tokens(); ++i) {
        if (is_norm(problem.action)) {
          norm<T>(problem, i);
        } else if (problem.action == Action::rotary) {
          rotate<T>(problem, i);
        } else if (problem.action == Action::embedding) {
          embed<T>(problem, i);
        } else {
          activate<T>(problem, i);
        }
      }
    });
  });
}

}  // namespace

extern constinit Variant<Problem> const reference{
    {.name = "reference",
     .role = Role::reference,
     .where = Where::host,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .batch_invariant = true,
     .source = "own",
     .summary = "the formulas in f64, one thread"},
    launch};

}  // namespace quadrille::kernels::rowwise
