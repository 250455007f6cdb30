// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose as in the textbook: what every other variant is compared with.
///
///   out[j][i] = in[i][j]
///
/// Technique    two loops in the order of the formula; not meant to be fast
/// Shapes       row-major, any extents and leading dimensions, not overlapping
/// Work         2 m n s bytes, one thread
/// Launch       serial, on the stream's own thread
/// Accuracy     exact
#include "device/device.hpp"
#include "transpose/transpose.hpp"

namespace quadrille::kernels::transpose {
namespace {

template <class T>
void transpose(Problem const& p) {
  auto const* in = static_cast<T const*>(p.in.data);
  auto* out = static_cast<T*>(p.out.data);
  for (std::int64_t i = 0; i < p.in.rows; ++i) {
    for (std::int64_t j = 0; j < p.in.cols; ++j) out[j * p.out.ld + i] = in[i * p.in.ld + j];
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem] {
    switch (core::size_of(problem.in.type)) {
      case 8: return transpose<std::uint64_t>(problem);
      case 4: return transpose<std::uint32_t>(problem);
      case 2: return transpose<std::uint16_t>(problem);
      default: return transpose<std::uint8_t>(problem);
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const reference{{.name = "reference",
                                                   .role = Role::reference,
                                                   .where = Where::host,
                                                   .types = kEveryType,
                                                   .source = "own",
                                                   .summary = "two loops, one thread"},
                                                  launch};

}  // namespace quadrille::kernels::transpose
