// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// One step of decoding over a cache without a table: what paging costs.
///
///   k, v of a sequence and head side by side
///
/// Technique    the tokens of a sequence and head of keys lie side by side in memory: as many bytes
///              by as many threads, but no table and long runs of addresses. It reads the same pool
///              as if its blocks were laid out so, hence other tokens and another, right, result
/// Before       paged_bulk; before Hopper paged_split
/// Shapes       any lengths; groups of up to 16 heads; without tokens o = 0
/// Work         4 h d flop for each token; each key and value is read once
/// Launch       128 threads; 56 or 106 KiB of shared memory; parts of 128 to 4096 tokens; then d threads
///              for each row of o
/// Accuracy     error_bound() of attention; weights are rounded to the type
#include "paged_decode/paged_decode_split.cuh"

namespace quadrille::kernels::paged_decode {
namespace {

std::string unsupported(Problem const& p) {
  bool const is_shared = p.table != nullptr && p.first_blocks == nullptr;
  return is_shared ? "takes no pool whose blocks sequences share" : unsupported_split(p);
}

#ifdef QUAD_KERNELS
/// As the fastest paged row for the device copies.
void launch(Problem const& problem, device::StreamView stream) {
  bool const is_bulk = stream.facts().code.compute_capability >= 90;
  is_bulk ? launch_parts<false, Copies::bulk>(problem, stream)
          : launch_parts<false, Copies::pieces>(problem, stream);
}
#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const contiguous{
    {.name = "contiguous",
     .role = Role::ceiling,
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16},
     .needs = split_needs(kNeeds.compute_capability,
                          "groups of up to 16 heads, up to 65535 sequences of up to 8388480 "
                          "tokens, no block shared by sequences"),
     .source = "own",
     .summary = "paged_bulk or paged_split over tokens side by side: the ceiling"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported, .scratch_bytes = parts_bytes}};

}  // namespace quadrille::kernels::paged_decode
