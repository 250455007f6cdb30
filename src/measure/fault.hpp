// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "measure/workload.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace quadrille::measure {

/// Damage done on purpose, to prove that the checks can fail.
enum class Fault {
  none,
  nan,             ///< one element becomes NaN (integers: the largest value)
  inf,             ///< one element becomes infinite (integers: the smallest value)
  sign,            ///< one element changes its sign
  bit_flip,        ///< the highest mantissa bit of one element flips (integers: the lowest bit)
  off_by_one,      ///< one is added to one element, on integer data
  missing_tile,    ///< a tile was never written
  last_row,        ///< the last row was never written
  swap_blocks,     ///< two ranks' outputs change places, or two halves where ranks agree
  wrong_rank,      ///< data come from the wrong rank
  drop_message,    ///< a message never reaches its place
  not_run,         ///< the operation is not executed at all
  stale,           ///< the output is that of an earlier execution on other data
  misplaced_wait,  ///< a wait in the wrong place of the pipeline: right results, no overlap
};

constexpr auto enum_names(Fault) {
  return core::EnumNames<Fault, 14>{{{Fault::none, "none"},
                                     {Fault::nan, "nan"},
                                     {Fault::inf, "inf"},
                                     {Fault::sign, "sign"},
                                     {Fault::bit_flip, "bit_flip"},
                                     {Fault::off_by_one, "off_by_one"},
                                     {Fault::missing_tile, "missing_tile"},
                                     {Fault::last_row, "last_row"},
                                     {Fault::swap_blocks, "swap_blocks"},
                                     {Fault::wrong_rank, "wrong_rank"},
                                     {Fault::drop_message, "drop_message"},
                                     {Fault::not_run, "not_run"},
                                     {Fault::stale, "stale"},
                                     {Fault::misplaced_wait, "misplaced_wait"}}};
}

/// Damages this repetition's outputs after run(). False on every rank when the fault cannot apply
/// to this workload, world or size. Collective. Handles the faults from nan to wrong_rank.
bool damage_outputs(comm::World& world, Workload& workload, Fault fault);

/// Copies of all outputs of this rank, for `stale`.
std::vector<std::vector<std::byte>> save_outputs(comm::World& world, Workload& workload);
void restore_outputs(comm::World& world, Workload& workload,
                     std::vector<std::vector<std::byte>> const& saved);

}  // namespace quadrille::measure
