// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// One step of decoding with every sequence split among blocks of threads.
///
///   o_i, m_i, l_i of tokens [i n, (i + 1) n);  o = sum_i o_i exp(m_i - m) / sum_i l_i exp(m_i - m)
///
/// Technique    `paged` has as many blocks of threads as sequences times heads of keys: few sequences
///              leave multiprocessors idle, and of unequal ones the longest is waited for. Here a block
///              has a part of the tokens, some eight parts for each multiprocessor, and leaves its sums
///              with its own maximum; a second kernel joins the parts of a row in order, so that the
///              result has the same bits every time
/// Before       paged
/// Shapes       any lengths, blocks and tables; groups of up to 16 heads; without tokens o = 0
/// Work         4 h d flop for each token; each key and value is read once; 4 (d + 2) bytes a head and part
///              are written and read
/// Launch       128 threads; 56 or 106 KiB of shared memory; parts of 128 to 4096 tokens; then d threads
///              for each row of o
/// Accuracy     error_bound() of attention; weights are rounded to the type
#include "paged_decode/paged_decode_split.cuh"

namespace quadrille::kernels::paged_decode {

extern constinit Variant<Problem> const paged_split{
    {.name = "paged_split",
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16},
     .needs = split_needs(),
     .preference = 30,
     .source = "after Dao et al., Flash-Decoding",
     .summary = "parts of each sequence side by side, joined in order by a second kernel"},
    QUAD_KERNEL_LAUNCH(launch_parts<true, Copies::pieces>),
    {.unsupported = unsupported_split, .scratch_bytes = parts_bytes}};

}  // namespace quadrille::kernels::paged_decode
