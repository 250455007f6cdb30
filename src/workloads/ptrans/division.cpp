// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/ptrans/division.hpp"

#include <algorithm>
#include <numeric>

namespace quadrille::workloads::ptrans {

namespace {

namespace transpose = kernels::transpose;

Run common_run(comm::Distribution const& in_a, int part_a, comm::Distribution const& in_b,
               int part_b) {
  auto const begin_of = [](comm::Distribution const& d, int part) {
    return d.parts() == 1 ? 0 : d.global(part, 0);
  };
  std::int64_t const a = begin_of(in_a, part_a), b = begin_of(in_b, part_b);
  std::int64_t const begin = std::max(a, b);
  std::int64_t const end = std::min(a + in_a.count(part_a), b + in_b.count(part_b));
  if (begin >= end) return {};
  return {begin - a, begin - b, end - begin};
}

/// Global indices that one process holds as rows (columns) of A and another as columns (rows) of B.
transpose::CommonIndices common_indices(comm::Distribution const& in_a, int part_a,
                                        comm::Distribution const& in_b, int part_b,
                                        bool is_cyclic) {
  if (!is_cyclic) {
    Run const run = common_run(in_a, part_a, in_b, part_b);
    return {run.count, std::max<std::int64_t>(1, run.count), {run.a, 0}, {run.b, 0}};
  }
  std::int64_t const block = in_a.block(), parts_a = in_a.parts(), parts_b = in_b.parts();
  std::int64_t const cycle = std::lcm(parts_a, parts_b);
  std::int64_t first = 0;  // the first block of both
  while (first < cycle && (first % parts_a != part_a || first % parts_b != part_b)) ++first;
  if (first == cycle) return {};
  comm::Distribution const both{in_a.size(), block, static_cast<int>(cycle)};
  transpose::CommonIndices common{both.count(static_cast<int>(first)),
                                  block,
                                  {first / parts_a * block, cycle / parts_a * block},
                                  {first / parts_b * block, cycle / parts_b * block}};
  // On a square grid they are all that either has.
  if (parts_a == parts_b) common.block = std::max<std::int64_t>(1, common.count);
  return common;
}

}  // namespace

Division::Division(core::Case const& spec, int all_ranks, int own_rank)
    : m{spec.size[0]},
      n{spec.size[1]},
      type{spec.type},
      ranks{all_ranks},
      rank{own_rank},
      grid{spec.grid.rows > 0 ? spec.grid : comm::near_square(ranks)} {
  auto const& p = spec.parameters.as<Parameters>();
  a = {{m, p.block, grid.rows}, {n, p.block, grid.cols}, row_of(rank), col_of(rank)};
  b = {{n, p.block, grid.rows}, {m, p.block, grid.cols}, row_of(rank), col_of(rank)};
  steps = static_cast<std::size_t>((m + p.panel - 1) / p.panel);
  is_cyclic = p.block > 0 && ranks > 1;
}

Pair Division::pair(int from, int to) const {
  Pair p{common_run(a.rows, row_of(from), b.cols, col_of(to)),
         common_run(a.cols, col_of(from), b.rows, row_of(to))};
  p.in_place = p.cols.count == a.cols.count(col_of(from));
  return p;
}

transpose::CommonIndices Division::common_rows(int from, int to) const {
  return common_indices(a.rows, row_of(from), b.cols, col_of(to), is_cyclic);
}

transpose::CommonIndices Division::common_cols(int from, int to) const {
  return common_indices(a.cols, col_of(from), b.rows, row_of(to), is_cyclic);
}

}  // namespace quadrille::workloads::ptrans
