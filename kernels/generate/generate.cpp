// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "generate/generate.hpp"

#include "common/variant.hpp"

namespace quadrille::kernels::generate {
namespace {

void (*const kFill)(Problem const&, device::StreamView) = QUAD_CUDA_LAUNCH(launch_fill);
void (*const kCompare)(Problem const&, Differences*,
                       device::StreamView) = QUAD_CUDA_LAUNCH(launch_compare);

void require_usable(Problem const& p) {
  QUAD_REQUIRE(kFill != nullptr && kCompare != nullptr,
               "generate: this program was built without CUDA");
  QUAD_REQUIRE(p.data.rows >= 0 && p.data.cols >= 0 && p.data.ld >= p.data.cols,
               "generate: extents and leading dimension do not fit together");
}

}  // namespace

void fill(Problem const& problem, device::StreamView stream) {
  require_usable(problem);
  if (problem.data.rows > 0 && problem.data.cols > 0) kFill(problem, stream);
}

void compare(Problem const& problem, Differences* found, device::StreamView stream) {
  require_usable(problem);
  if (problem.data.rows > 0 && problem.data.cols > 0) kCompare(problem, found, stream);
}

}  // namespace quadrille::kernels::generate
