// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "measure/workload.hpp"

#include <memory>
#include <string_view>

namespace quadrille::measure {

/// Damage done on purpose, to prove that the checks can fail.
enum class Fault {
  none,
  nan,
  inf,
  sign,
  bit_flip,
  off_by_one,
  missing_tile,
  last_row,
  swap_blocks,
  swap_columns,
  f32,
  tf32,
  bf16,
  rank_one,
  wrong_rank,
  drop_message,
  not_run,
  stale,
  once,
  misplaced_wait,
};
constexpr auto enum_names(Fault) {
  return core::EnumNames<Fault, 20>{{{Fault::none, "none"},
                                     {Fault::nan, "nan"},
                                     {Fault::inf, "inf"},
                                     {Fault::sign, "sign"},
                                     {Fault::bit_flip, "bit_flip"},
                                     {Fault::off_by_one, "off_by_one"},
                                     {Fault::missing_tile, "missing_tile"},
                                     {Fault::last_row, "last_row"},
                                     {Fault::swap_blocks, "swap_blocks"},
                                     {Fault::swap_columns, "swap_columns"},
                                     {Fault::f32, "f32"},
                                     {Fault::tf32, "tf32"},
                                     {Fault::bf16, "bf16"},
                                     {Fault::rank_one, "rank_one"},
                                     {Fault::wrong_rank, "wrong_rank"},
                                     {Fault::drop_message, "drop_message"},
                                     {Fault::not_run, "not_run"},
                                     {Fault::stale, "stale"},
                                     {Fault::once, "once"},
                                     {Fault::misplaced_wait, "misplaced_wait"}}};
}

/// What it does, in half a sentence.
std::string_view summary_of(Fault fault);

/// Whether it happens between ranks, of which one alone has none.
constexpr bool needs_ranks(Fault fault) {
  return fault == Fault::wrong_rank || fault == Fault::drop_message ||
         fault == Fault::misplaced_wait;
}

/// The case as a fault wants it: `off_by_one` takes integer data, which are exact.
core::Case with_fault(core::Case spec, Fault fault);

/// `real`, whose inputs, repetitions or results have the fault, if there is one. validate() says
/// `skipped` where it does not apply to this workload, world or size, or changes no value of them, as
/// faults that move elements of `data` that are all alike. Faults of messages sit in the channels that the
/// workload connects in prepare().
std::unique_ptr<Workload> make_faulty(std::unique_ptr<Workload> real, Fault fault,
                                      core::DataKind data = core::DataKind::uniform);

}  // namespace quadrille::measure
