// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// The steps of the pipeline on the host.
///
///   partials[p] = amplitude h sum_i sin^2(2 x_i) cos^2(x_i),   sum = sum_p partials[p]
///
/// Technique    one loop in stream order; the streams' own threads make the overlap, as in the DCU
///              programming tutorial, integral_async
/// Shapes       any number of cells; count partial sums
/// Work         one sine and one cosine a cell, 8 bytes written a partial sum
/// Launch       one task of the stream, on its own thread
/// Accuracy     eps sqrt(cells) of the sum of magnitudes; f32 is evaluated in f64 too
#include "device/device.hpp"
#include "pipeline/pipeline.hpp"

#include <algorithm>
#include <cmath>

namespace quadrille::kernels::pipeline {

void launch_integrate_host(Interval const& interval, device::StreamView stream) {
  stream.run([p = interval] {
    double const h = (p.upper - p.lower) / static_cast<double>(std::max<std::int64_t>(1, p.cells));
    std::int64_t const stride = p.count * kItemsPerPartial;
    for (std::int64_t part = 0; part < p.count; ++part) {
      double sum = 0;
      for (std::int64_t first = part * kItemsPerPartial; first < p.cells; first += stride) {
        std::int64_t const last = std::min(p.cells, first + kItemsPerPartial);
        for (std::int64_t i = first; i < last; ++i) {
          double const x = p.lower + (static_cast<double>(i) + 0.5) * h;
          double const value = std::sin(2 * x) * std::cos(x);
          sum += value * value;
        }
      }
      p.partials[part] = p.amplitude * h * sum;
    }
  });
}

void launch_add_up_host(double const* values, std::int64_t n, double* sum, Into into,
                        device::StreamView stream) {
  stream.run([=] {
    double total = into == Into::added_to ? *sum : 0;
    for (std::int64_t i = 0; i < n; ++i) total += values[i];
    *sum = total;
  });
}

}  // namespace quadrille::kernels::pipeline
