// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sum of two vectors, and a quadratic function of one, as in the textbook.
///
///   out[i] = x[i] + y[i];   out[i] = (a x[i] + b) x[i] + c
///
/// Technique    one loop in double precision, rounded once to the type
/// Shapes       x, y, out: n contiguous elements
/// Work         add: n flop, 3 n s bytes; quadratic: 4 n flop, 2 n s bytes
/// Launch       serial, on the stream's own thread
/// Accuracy     add: 1/2 ulp; quadratic: 2^-51 (|a| x^2 + |b x| + |c|), then one rounding to f32
#include "device/device.hpp"
#include "vector/vector.hpp"

namespace quadrille::kernels::vector {
namespace {

template <class T>
void evaluate(Problem const& p) {
  auto const* x = static_cast<T const*>(p.x);
  auto const* y = static_cast<T const*>(p.y);
  auto* out = static_cast<T*>(p.out);
  for (std::int64_t i = 0; i < p.n; ++i) {
    auto const at = static_cast<double>(x[i]);
    double const value = p.operation == Operation::add ? at + static_cast<double>(y[i])
                                                       : p.a * at * at + p.b * at + p.c;
    out[i] = static_cast<T>(value);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([p = problem] {
    if (p.type == core::DataType::f64) return evaluate<double>(p);
    evaluate<float>(p);
  });
}

}  // namespace

extern constinit Variant<Problem> const reference{
    {.name = "reference",
     .role = Role::reference,
     .where = Where::host,
     .types = {core::DataType::f64, core::DataType::f32},
     .source = "DCU programming tutorial, quadFunc",
     .summary = "one loop, double precision"},
    launch};

}  // namespace quadrille::kernels::vector
