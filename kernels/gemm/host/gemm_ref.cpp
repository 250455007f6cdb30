// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product as in the textbook: what every other variant is compared with.
///
///   C[i][j] = alpha * sum_p op(A)[i][p] * op(B)[p][j] + beta * C[i][j]
///
/// Technique    three loops in the order of the formula; not meant to be fast
/// Shapes       row-major, any extents and leading dimensions, op() by index
/// Work         2 m n k flop, one thread
/// Launch       serial, on the stream's own thread
/// Accuracy     f64: k eps w / 2 at worst; narrower: one rounding of the f64 sum; i32: exact modulo
///              2^32 for sums below 2^53. What others emulate it computes
#include "device/device.hpp"
#include "gemm/gemm.hpp"

namespace quadrille::kernels::gemm {
namespace {

/// Element (q, j) of op(B).
template <class T>
double element_of_b(Problem const& p, std::int64_t q, std::int64_t j) {
  if (p.weights != Weights::none) {
    std::int64_t const each = per_byte(p.weights);
    std::int8_t const byte = p.b.as<std::int8_t>()[j * p.b.ld + q / each];
    auto const factor = static_cast<double>(p.b_scales.as<T>()[q / kScaled * p.b_scales.ld + j]);
    return factor * (each == 1 ? byte : half_of(byte, q % each));
  }
  auto const* const b = p.b.as<T>();
  return static_cast<double>(p.transpose_b ? b[j * p.b.ld + q] : b[q * p.b.ld + j]);
}

template <class T, class Out>
void multiply(Problem const& p) {
  auto const* a = p.a.as<T>();
  auto* c = p.c.as<Out>();
  auto const* const a_scales = static_cast<float const*>(p.a_scales.data);
  auto const* const b_scales = static_cast<float const*>(p.b_scales.data);
  for (std::int64_t i = 0; i < p.m(); ++i) {
    for (std::int64_t j = 0; j < p.n(); ++j) {
      double sum = 0;
      for (std::int64_t q = 0; q < p.k(); ++q) {
        T const x = p.transpose_a ? a[q * p.a.ld + i] : a[i * p.a.ld + q];
        double const scale = a_scales == nullptr
                                 ? 1
                                 : static_cast<double>(a_scales[q / kScaled * p.a_scales.ld + i]) *
                                       b_scales[j / kScaled * p.b_scales.ld + q / kScaled];
        sum += static_cast<double>(x) * element_of_b<T>(p, q, j) * scale;
      }
      double result = p.alpha * sum;
      if (p.beta != 0) result += p.beta * static_cast<double>(c[i * p.c.ld + j]);
      if constexpr (std::is_integral_v<Out>) {
        c[i * p.c.ld + j] = static_cast<Out>(static_cast<std::int64_t>(result));
      } else {
        c[i * p.c.ld + j] = static_cast<Out>(result);
      }
    }
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  core::visit_type(problem.a.type, [&](auto zero) {
    using T = decltype(zero);
    using Wide = std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, float>;
    auto* const run = problem.c.type == problem.a.type         ? multiply<T, T>
                      : problem.c.type == core::DataType::bf16 ? multiply<T, core::bf16>
                                                               : multiply<T, Wide>;
    stream.run([problem, run] {
      for (std::int64_t g = 0; g < problem.groups.count; ++g) run(problem.group(g));
    });
  });
}

}  // namespace

extern constinit Variant<Problem> const reference{
    {.name = "reference",
     .role = Role::reference,
     .where = Where::host,
     .types = {core::DataType::f64,
               core::DataType::f32,
               core::DataType::f16,
               {core::DataType::f16, core::Compute::f32, core::DataType::f32},
               core::DataType::bf16,
               {core::DataType::bf16, core::Compute::f32, core::DataType::f32},
               core::DataType::i32,
               {core::DataType::i8, core::Compute::i32, core::DataType::i32},
               {core::DataType::e4m3, core::Compute::f32, core::DataType::f32},
               {core::DataType::e4m3, core::Compute::f32, core::DataType::bf16},
               {core::DataType::e5m2, core::Compute::f32, core::DataType::f32},
               {core::DataType::e5m2, core::Compute::f32, core::DataType::bf16},
               {core::DataType::f64, core::Compute::emulated},
               {core::DataType::f32, core::Compute::emulated}},
     .batch_invariant = true,
     .source = "own",
     .summary = "three loops, one thread, sums in f64"},
    launch,
    {.notes = {.takes_scales = true,
               .takes_weights = true,
               .takes_groups = true,
               .takes_pointers = true}}};

}  // namespace quadrille::kernels::gemm
