// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "copy/copy.hpp"

namespace quadrille::kernels::copy {
namespace {

using core::DataType;

std::vector<DataType> all_types() {
  return {DataType::f64, DataType::f32, DataType::f16, DataType::bf16,
          DataType::i64, DataType::i32, DataType::i8};
}

std::vector<Variant<Problem>> const& table() {
  static std::vector<Variant<Problem>> const rows{
      {{"reference", Backend::reference, all_types(), "none", "own", "one loop over bytes"},
       launch_reference},
      {{"kokkos", Backend::kokkos, all_types(), "none", "own",
        "all threads, streaming stores: the ceiling", 0, false, true},
       QUAD_KOKKOS_LAUNCH(launch_kokkos)},
      {{"vendor", Backend::vendor, all_types(), "none", "the platform's memcpy",
        "the stream's own copy"},
       launch_vendor},
      {{"vectorized", Backend::cuda, all_types(), "none", "own",
        "a 16-byte access per thread: the ceiling on a GPU"},
       QUAD_CUDA_LAUNCH(launch_vectorized)},
      {{"bulk_async", Backend::cuda, all_types(), "sm_90, aligned to 16 bytes", "own",
        "bulk copies through a ring in shared memory", 90},
       QUAD_CUDA_LAUNCH(launch_bulk_async)},
  };
  return rows;
}

}  // namespace

std::span<Variant<Problem> const> variants() { return table(); }

void require_consistent(Problem const& p) {
  QUAD_REQUIRE(p.bytes >= 0, "copy: bytes is negative");
  if (p.bytes == 0) return;
  QUAD_REQUIRE(p.to != nullptr && p.from != nullptr, "copy: an array is missing");
  auto const* to = static_cast<char const*>(p.to);
  auto const* from = static_cast<char const*>(p.from);
  QUAD_REQUIRE(to + p.bytes <= from || from + p.bytes <= to, "copy: the arrays overlap");
}

}  // namespace quadrille::kernels::copy
