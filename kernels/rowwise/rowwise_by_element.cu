// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Norms, activations, rotary positions and embeddings of tokens, an element for each thread at a time.
///
///   y = layer_norm(r), rms_norm(r), gelu(x), swiglu(x), rotary(x) or rows of x, row by row: rowwise.hpp
///
/// Technique    the definition: a block has a row of a norm, and goes through it once for the mean, once for
///              the variance and once for the result; of the others a thread has an element, or the two that
///              a rotation makes. Accesses are coalesced, but as narrow as the type
/// Shapes       any
/// Work         x is read up to three times, by way of the second-level cache; y is written once
/// Launch       256 threads; norms: a block for each token
/// Accuracy     ErrorBound
#include "rowwise/rowwise_cuda.cuh"

namespace quadrille::kernels::rowwise {
namespace {

#ifdef QUAD_KERNELS

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads) rowwise_norm_element_kernel(Operands<T> p) {
  QUAD_SHARED(float, sums, [2][32]);
  std::int64_t const n = p.features, first = std::int64_t{blockIdx.x} * n;
  auto const width = static_cast<float>(n);
  T const* const r = p.residual == nullptr ? p.x + first : p.sum + first;
  float mean = 0, squares = 0;
  for (std::int64_t j = threadIdx.x; j < n; j += kThreads) {
    if (p.residual != nullptr) {
      p.sum[first + j] = from_f32<T>(to_f32(p.x[first + j]) + to_f32(p.residual[first + j]));
    }
    mean += to_f32(r[j]);
  }
  mean = p.bias == nullptr ? 0 : block_sum(mean, sums[0]) / width;
  for (std::int64_t j = threadIdx.x; j < n; j += kThreads) {
    float const off = to_f32(r[j]) - mean;
    squares += off * off;
  }
  float const variance = block_sum(squares, sums[1]) / width;
  float const scale = 1 / sqrtf(variance + static_cast<float>(kNormEpsilon));
  for (std::int64_t j = threadIdx.x; j < n; j += kThreads) {
    float const bias = p.bias == nullptr ? 0 : to_f32(p.bias[j]);
    p.y[first + j] = from_f32<T>((to_f32(r[j]) - mean) * scale * to_f32(p.gain[j]) + bias);
  }
}

template <class T, bool kIsGelu>
__global__ void __launch_bounds__(kThreads)
    rowwise_activate_element_kernel(Operands<T> p, std::int64_t elements) {
  std::int64_t const e = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (e >= elements) return;
  if constexpr (kIsGelu) {
    p.y[e] = from_f32<T>(gelu(to_f32(p.x[e])));
  } else {
    std::int64_t const gate = e + e / p.features * p.features;
    p.y[e] = from_f32<T>(swiglu(to_f32(p.x[gate]), to_f32(p.x[gate + p.features])));
  }
}

/// A pair for each thread.
template <class T>
__global__ void __launch_bounds__(kThreads)
    rowwise_rotary_element_kernel(Operands<T> p, std::int64_t pairs) {
  std::int64_t const pair = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (pair >= pairs) return;
  int const half = p.head_size / 2;
  std::int64_t const head = pair / half, token = head * p.head_size / p.features;
  auto const j = static_cast<int>(pair % half);
  float const* const cos_sin = p.cos_sin + std::int64_t{p.positions[token]} * p.head_size + j;
  std::int64_t const at = head * p.head_size + j;
  T const* const x = p.x + token * (p.ld_x - p.features) + at;
  float const a = to_f32(x[0]), b = to_f32(x[half]);
  p.y[at] = from_f32<T>(a * cos_sin[0] - b * cos_sin[half]);
  p.y[at + half] = from_f32<T>(b * cos_sin[0] + a * cos_sin[half]);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    rowwise_embedding_element_kernel(Operands<T> p, std::int64_t elements) {
  std::int64_t const e = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (e >= elements) return;
  std::int64_t const token = e / p.features, j = e % p.features;
  float value = to_f32(p.x[p.rows[token] * p.features + j]);
  if (p.gain != nullptr) value += to_f32(p.gain[p.positions[token] * p.features + j]);
  p.y[e] = from_f32<T>(value);
}

void launch(Problem const& problem, device::StreamView stream) {
  with_type(problem, [&]<class T>() {
    auto const p = operands<T>(problem);
    std::int64_t const elements = problem.tokens() * problem.features();
    auto const grid = [](std::int64_t threads) {
      return dim3(static_cast<unsigned>((threads + kThreads - 1) / kThreads));
    };
    switch (problem.action) {
      case Action::gelu:
        QUAD_LAUNCH((rowwise_activate_element_kernel<T, true>), grid(elements), dim3(kThreads), 0,
                    stream, p, elements);
        break;
      case Action::swiglu:
        QUAD_LAUNCH((rowwise_activate_element_kernel<T, false>), grid(elements), dim3(kThreads), 0,
                    stream, p, elements);
        break;
      case Action::rotary:
        QUAD_LAUNCH(rowwise_rotary_element_kernel<T>, grid(elements / 2), dim3(kThreads), 0, stream,
                    p, elements / 2);
        break;
      case Action::embedding:
        QUAD_LAUNCH(rowwise_embedding_element_kernel<T>, grid(elements), dim3(kThreads), 0, stream,
                    p, elements);
        break;
      default:
        QUAD_LAUNCH(rowwise_norm_element_kernel<T>, dim3(static_cast<unsigned>(problem.tokens())),
                    dim3(kThreads), 0, stream, p);
    }
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const by_element{
    {.name = "by_element",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .preference = 1,
     .batch_invariant = true,
     .source = "own",
     .summary = "an element for each thread, and of a norm a row for each block, three times"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::rowwise
