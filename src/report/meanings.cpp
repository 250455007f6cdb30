// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/meanings.hpp"

#include <algorithm>
#include <iterator>

namespace quadrille::report {
namespace {

/// Of columns without a metric of their own.
struct Meaning {
  std::string_view key;
  std::string_view text;
};
constexpr Meaning kColumns[]{
    {"id", "The case and the variant, CASE:VARIANT, unique in a result."},
    {"case",
     "Name of the case: `name` in the input file, else the workload; a sweep appends .1, .2, ..."},
    {"workload", "What is measured; `quadrille list workloads` has them all."},
    {"type", "Element type of the arrays."},
    {"size",
     "Extents of the whole problem in elements, in the order that the workload names them."},
    {"variant", "The implementation; `quadrille explain NAME` prints what its file says of it."},
    {"backend",
     "Who computed it: reference, vendor (any library), or host, cuda, kokkos for our own."},
    {"transport", "What moved data between ranks; none where a case exchanges nothing."},
    {"ranks", "MPI ranks that took part."},
    {"grid", "Process grid, rows x columns; none where the workload has no grid."},
    {"device", "Model of rank 0's device; the result lists all ranks' devices."},
    {"verdict",
     "How the measurement ended: see `quadrille explain PASS`, FAIL, SKIP, UNSUPPORTED,\n"
     "ERROR, TIMEOUT, INTERRUPTED."},
    {"reason", "Why there is no PASS: one sentence, with what to change where something can be."},
    {"samples", "Timed repetitions that the median is of."},
    {"median_low_s", "Lower end of the 95 % interval of the median."},
    {"median_high_s", "Upper end of the 95 % interval of the median."},
    {"min_s", "The fastest repetition, of the slowest rank's times."},
    {"p95_s", "95 of 100 repetitions took at most so long."},
    {"max_s", "The slowest repetition."},
    {"first_use_s",
     "Time of the very first repetition: loading of code, allocation inside of libraries,\n"
     "connections. Never part of the samples."},
    {"warmups", "Untimed executions after the first use, of the rank that had the fewest."},
    {"warmup_s", "Time of these executions."},
    {"fastest_round_s", "The least of the medians of all rounds of a burn-in."},
    {"slowest_round_s", "The largest of the medians of all rounds of a burn-in."},
    {"slowest_rank", "The rank that was most often the slowest of a repetition."},
    {"unit", "What the rate counts in a second: B/s, FLOP/s, eval/s, ..."},
    {"ceiling_is_measured",
     "Whether a case before it in the run measured the peak that limits it; else it\n"
     "is the nominal one."},
    {"ratio_to_vendor_low", "Lower end of the 95 % interval of the ratio to the vendor."},
    {"ratio_to_vendor_high", "Upper end of the 95 % interval of the ratio to the vendor."},
    {"share_of_local_low", "Lower end of the 95 % interval of the share of the local ceiling."},
    {"share_of_local_high", "Upper end of the 95 % interval of the share of the local ceiling."},
    {"published_rate",
     "The figure that the technique's source reports for this problem, from its own device."},
    {"published_on", "The device of the published figure."},
    {"bound", "What the check allows; an error above it is FAIL."},
    {"wrong_count", "Elements that the check found wrong."},
    {"first_wrong",
     "The first of them: its global place, its rank, what was expected and what was found."},
    {"digest",
     "Of the bits of the result: equal for repetitions, and for runs, that computed the same."},
    {"compute_s", "Median time of the leg that computes alone, with all data at hand."},
    {"communicate_s", "Median time of the leg that communicates alone."},
    {"serial_s", "Median time of both legs one after the other."},
    {"overlapped_s", "Median time of the whole pipeline, as it is meant to run."},
    {"hidden_low", "Lower end of the 95 % interval of hidden."},
    {"hidden_high", "Upper end of the 95 % interval of hidden."},
    {"slowdown_compute", "Overlapped time over that of computation alone."},
    {"slowdown_communicate", "Overlapped time over that of communication alone."},
    {"timing",
     "Whose clock: events of the device, the host's after a synchronisation, or (launch_only)\n"
     "the host's before it, which is no time of the work."},
    {"batch", "Executions that each sample is the mean of: short kernels are timed together."},
    {"buffer_sets",
     "Sets of buffers that a batch rotates over, so that the last-level cache holds none of\n"
     "the next."},
    {"source", "Where the technique comes from, or own."},
    {"kernels",
     "Each launch of one execution as the driver sees it: name, grid, block, registers, shared\n"
     "memory."},
    {"implementation",
     "What the row of a library calls: the candidate that it or its audit chose."},
};

}  // namespace

std::string_view meaning_of(measure::Outcome outcome) {
  using enum measure::Outcome;
  switch (outcome) {
    case pass: return "The result was checked before and after timing and is right. Numbers count.";
    case fail:
      return "The result is wrong: a wrong element is named, and there is no speed. Exit code 1.";
    case skip:
      return "Left out on purpose, for the reason beside it: a demonstration of a mistake, a check "
             "that\n"
             "was switched off, a reference that would take too long. Skipped is not passed.";
    case unsupported:
      return "This device, build, type, layout or size does not do it; the reason names what is "
             "missing.\n"
             "Exit code 3 where the case asks for the variant by its name.";
    case error: return "A call failed, for the reason beside it. Exit code 4.";
    case timeout:
      return "A repetition took longer than run.timeout.repetition. It was waited for, at most\n"
             "run.timeout.patience, and the other variants went on. Exit code 5.";
    case interrupted:
      return "INT, TERM or USR1 arrived: the samples until then are kept. Exit code 7; `run "
             "--resume\n"
             "latest` goes on.";
  }
  return {};
}

std::string_view meaning_of(Change change) {
  using enum Change;
  switch (change) {
    case broken: return "compare: it passed in the base, and is FAIL, ERROR or TIMEOUT now.";
    case slower: return "compare: the 95 % interval of new time / base time lies above 1 + margin.";
    case faster: return "compare: the 95 % interval of new time / base time lies below 1 - margin.";
    case ambiguous:
      return "compare: the 95 % interval of new time / base time crosses a margin, or there are "
             "too few\n"
             "samples for one. More repetitions, or a wider --margin, decide it.";
    case no_speed:
      return "compare: it did not pass on either side, or not any more for want of something.";
    case refused:
      return "compare: it was measured otherwise (device, ranks, size, clock, ...), so that times "
             "say\n"
             "nothing about a change; every difference is named.";
    case only_in_base: return "compare: the base alone has it.";
    case only_in_new: return "compare: the new run alone has it.";
    case same:
      return "compare: the 95 % interval of new time / base time lies within 1 - margin and 1 + "
             "margin.";
  }
  return {};
}

std::string_view meaning_of(Column const& column) {
  if (!column.metric.meaning.empty()) return column.metric.meaning;
  auto const* const found = std::ranges::find(kColumns, column.key, &Meaning::key);
  return found == std::end(kColumns) ? std::string_view{} : found->text;
}

}  // namespace quadrille::report
