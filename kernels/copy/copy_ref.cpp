// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Copy as in the textbook.
///
///   to[i] = from[i]
///
/// Technique    one loop over bytes; the compiler may widen it
/// Shapes       n contiguous bytes
/// Work         2 n bytes
/// Launch       serial, on the stream's own thread
/// Accuracy     exact
#include "copy/copy.hpp"
#include "device/device.hpp"

namespace quadrille::kernels::copy {

namespace {

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([p = problem] {
    auto* to = static_cast<unsigned char*>(p.to);
    auto const* from = static_cast<unsigned char const*>(p.from);
    for (std::int64_t i = 0; i < p.bytes; ++i) to[i] = from[i];
  });
}

}  // namespace

extern constinit Variant<Problem> const reference{{.name = "reference",
                                                   .role = Role::reference,
                                                   .where = Where::host,
                                                   .types = kEveryType,
                                                   .source = "own",
                                                   .summary = "one loop over bytes"},
                                                  launch};

}  // namespace quadrille::kernels::copy
