// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// One step of decoding whose tokens the copy engine brings.
///
///   o_i, m_i, l_i of tokens [i n, (i + 1) n);  o = sum_i o_i exp(m_i - m) / sum_i l_i exp(m_i - m)
///
/// Technique    a lane looks up the place of one token for a tile, not of eight, and starts one
///              bulk copy of its row of keys or values, not 16 copies of 16 bytes. Barriers count
///              the bytes, and a stage is filled again as soon as it has been read: three tiles of
///              a warp are on their way where `paged_split` has two. The second kernel is launched
///              while the last parts run, and waits for them
/// Before       paged_split
/// Shapes       any lengths, blocks and tables; groups of up to 16 heads; without tokens o = 0
/// Work         4 h d flop for each token; each key and value is read once; 4 (d + 2) bytes a head and part
///              are written and read
/// Launch       128 threads; 56 or 106 KiB of shared memory; parts of 128 to 4096 tokens; then d threads
///              for each row of o
/// Accuracy     error_bound() of attention; weights are rounded to the type
#include "paged_decode/paged_decode_split.cuh"

namespace quadrille::kernels::paged_decode {

extern constinit Variant<Problem> const paged_bulk{
    {.name = "paged_bulk",
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16},
     .needs = split_needs(90),
     .preference = 40,
     .source = "after Dao et al., Flash-Decoding",
     .summary = "paged_split with rows of keys and values by bulk copies"},
    QUAD_KERNEL_LAUNCH(launch_parts<true, Copies::bulk>),
    {.unsupported = unsupported_split, .scratch_bytes = parts_bytes}};

}  // namespace quadrille::kernels::paged_decode
