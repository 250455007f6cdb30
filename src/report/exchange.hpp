// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/transport_choice.hpp"
#include "core/units.hpp"
#include "measure/record.hpp"

#include <optional>
#include <string>

namespace quadrille::report {

/// A repetition that is one exchange.
struct ExchangeCall {
  comm::Operation operation = comm::Operation::broadcast;
  double row_bytes = 0;      ///< that each rank gives, or gets of a broadcast
  double message_bytes = 0;  ///< of one message: of alltoall the part for one rank, else the row
};
/// Empty where a record's repetitions are something else, or have a case that this program cannot read.
std::optional<ExchangeCall> exchange_of(measure::Record const& record);

// Exchanges in the tables of other programs, for what reads those: one for each variant, transport, type
// and further setting, with a row for each size. Each time is the median over repetitions of the slowest
// rank's; what has no speed stands there as a comment. An error names the first case that the program
// has no test of.

/// As the OSU micro-benchmarks: time in us by bytes of a message (osu_allreduce, osu_alltoall,
/// osu_bcast); of pairs the latency of small messages and the rate of large ones in MB/s from rank 0 to
/// rank 1 (osu_latency, osu_bw), each of one message at a time.
core::Parsed<std::string> render_osu(measure::RunResult const& result);

/// As nccl-tests: the out-of-place half of the tables of all_reduce_perf, alltoall_perf,
/// broadcast_perf and sendrecv_perf.
core::Parsed<std::string> render_nccl_tests(measure::RunResult const& result);

}  // namespace quadrille::report
