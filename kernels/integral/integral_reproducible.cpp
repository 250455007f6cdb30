// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reproducible integral, serial: the same bits as every other variant, from the plainest loop.
///
///   blocks[v] = integral over the cells of virtual block v
///
/// Technique    one written order of summation (common/virtual_blocks.hpp) over the project's own
///              polynomials, compiled without contraction of a * b + c; shared with the other
///              variants by design, so the check of a result is the closed form, not this
/// Shapes       cells of virtual blocks [block_first, + block_count)
/// Work         1, 2 or 3 evaluations a cell (midpoint, Simpson, Gauss-Legendre), one thread
/// Launch       serial, on the stream's own thread
/// Accuracy     error_bound()
#include "device/device.hpp"
#include "integral/integral_math.hpp"

namespace quadrille::kernels::integral {

void launch_reproducible(Problem const& problem, device::StreamView stream) {
  require_consistent(problem);
  visit(problem, [&]<Integrand f, Rule rule, class T>() {
    stream.run([p = problem] {
      Mesh const mesh = mesh_of(p);
      for (std::int64_t b = 0; b < p.block_count; ++b) {
        std::int64_t const v = p.block_first + b;
        p.blocks[b] =
            integrate_cells<f, rule, T>(mesh, block_begin(p.cells, v), block_begin(p.cells, v + 1));
      }
    });
  });
}

}  // namespace quadrille::kernels::integral
