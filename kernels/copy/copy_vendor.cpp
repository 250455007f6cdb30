// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Copy by the platform: the bar.
///
///   to[i] = from[i]
///
/// Technique    the copy of the stream: memcpy on the host, cudaMemcpyAsync on a GPU
/// Shapes       n contiguous bytes
/// Work         2 n bytes
/// Launch       one call, in stream order
/// Accuracy     exact
#include "copy/copy.hpp"

namespace quadrille::kernels::copy {

namespace {

void launch(Problem const& problem, device::StreamView stream) {
  stream.copy(problem.to, problem.from, static_cast<std::size_t>(problem.bytes));
}

}  // namespace

extern constinit Variant<Problem> const vendor{{.name = "vendor",
                                                .role = Role::vendor,
                                                .where = Where::any,
                                                .types = kEveryType,
                                                .source = "the platform's memcpy",
                                                .summary = "the stream's own copy",
                                                .caveat = "on a host one thread"},
                                               launch};

}  // namespace quadrille::kernels::copy
