// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// One step of decoding over a cache without a table: what paging costs.
///
///   k, v of a sequence and head side by side
///
/// Technique    `paged_bulk`, before Hopper `paged_split`, with the tokens of a sequence and head of keys
///              side by side in memory: as many bytes by as many threads, but no table and long runs of
///              addresses. It reads the same pool as if its blocks were laid out so, hence other tokens
///              and another, right, result
/// Shapes       any lengths; groups of up to 16 heads; without tokens o = 0
/// Types        f16, bf16; weights are rounded to the type, accumulators f32
/// Work         4 h d flop for each token; each key and value is read once
/// Constraints  q, k and v aligned to 16 bytes; up to 65535 sequences of up to 8388480 tokens; a pool with
///              no block that sequences share
/// Launch       128 threads; 56 or 106 KiB of shared memory; parts of 128 to 4096 tokens; then d threads
///              for each row of o
/// Accuracy     error_bound() of attention
/// Source       own
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
     .needs = kNeeds,
     .source = "own",
     .summary = "paged_bulk or paged_split over tokens side by side: the ceiling"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported, .scratch_bytes = parts_bytes}};

}  // namespace quadrille::kernels::paged_decode
