// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "copy/copy.hpp"

#include "device/device.hpp"

namespace quadrille::kernels::copy {
// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  kokkos,
  vendor,
  vectorized,
  bulk_async
);
// clang-format on

Variants<Problem> variants() { return kTable; }

ProblemFacts facts_of(Problem const& p) {
  auto const row = [&](void const* data) {
    return device::MatrixView{const_cast<void*>(data), core::DataType::i8, 1, p.bytes, p.bytes};
  };
  return {.types = core::DataType::i8,
          .result = {"the target", row(p.to)},
          .inputs = {{{"the source", row(p.from)}}}};
}

void copy_in_order(Problem const& problem, device::StreamView stream) {
  if (stream.device().kind() == device::Kind::cuda) return vendor.launch(problem, stream);
  host_simd.launch(problem, stream);
}

void require_consistent(Problem const& p) {
  QUAD_REQUIRE(p.bytes >= 0, "copy: bytes is negative");
  if (p.bytes == 0) return;
  QUAD_REQUIRE(p.to != nullptr && p.from != nullptr, "copy: an array is missing");
  auto const* to = static_cast<char const*>(p.to);
  auto const* from = static_cast<char const*>(p.from);
  QUAD_REQUIRE(to + p.bytes <= from || from + p.bytes <= to, "copy: the arrays overlap");
}

}  // namespace quadrille::kernels::copy
