// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reproducible reduction, serial: the same bits as every other variant, from the plainest loop.
///
///   blocks[v] = reduction of virtual block v; their combination does not depend on who had which
///
/// Technique    one written order of summation (common/virtual_blocks.hpp): 4096 virtual blocks of
///              256 lanes, folded in halves, compiled without contraction of a * b + c; shared with
///              the other variants by design, so the check of a result is the independent plain
///              reduction, not this
/// Shapes       x, y: the contiguous elements of virtual blocks [block_first, + block_count)
/// Work         n s bytes read (2 n s for dot), one thread
/// Launch       serial, on the stream's own thread
/// Accuracy     accumulators f64: (n / 2^20 + 20) 2^-53 sum|x|; i32: exact below 2^53
#include "device/device.hpp"
#include "reduction/reduction_lanes.hpp"

#include <vector>

namespace quadrille::kernels::reduction {

void launch_reproducible(Problem const& problem, device::StreamView stream) {
  require_consistent(problem);
  visit(problem, [&]<Operation op, class T>() {
    stream.run([p = problem] {
      std::int64_t const origin = block_begin(p.global_n, p.block_first);
      for (std::int64_t b = 0; b < p.block_count; ++b) {
        std::int64_t const begin = block_begin(p.global_n, p.block_first + b) - origin;
        std::int64_t const end = block_begin(p.global_n, p.block_first + b + 1) - origin;
        p.blocks[b] =
            reduce_block<op>(first_of<T>(p) + begin, second_of<op, T>(p) + begin, end - begin);
      }
    });
  });
}

double combine_blocks(Operation operation, std::span<double const> blocks) {
  QUAD_REQUIRE(blocks.size() == kVirtualBlocks,
               "combine_blocks needs the values of all virtual blocks");
  std::vector<double> values{blocks.begin(), blocks.end()};
  auto const fold = [&](auto join_two) {
    return canonical(fold_halves(values.data(), kVirtualBlocks, kVirtualBlocks, join_two));
  };
  switch (operation) {
    case Operation::min: return fold(combine<Operation::min, double>);
    case Operation::max: return fold(combine<Operation::max, double>);
    default: return fold(combine<Operation::sum, double>);
  }
}

}  // namespace quadrille::kernels::reduction
