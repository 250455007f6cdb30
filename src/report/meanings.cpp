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
     "How the measurement ended: see `quadrille explain PASS`, FAIL, \"WRONG (library)\", SKIP,\n"
     "UNSUPPORTED, ERROR, TIMEOUT, INTERRUPTED."},
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
    {"vendor_is_suspect", "Whether the row that ratio_to_vendor is to is SUSPECT."},
    {"copy_is_suspect", "Whether the row that ratio_to_copy is to is SUSPECT."},
    {"local_is_suspect", "Whether the row that share_of_local is to is SUSPECT."},
    {"timing",
     "Whose clock: events of the device, the host's after a synchronisation, or (launch_only)\n"
     "the host's before it, which is no time of the work. A sample begins when all its work is "
     "enqueued on\n"
     "all ranks: a gate holds the device until then. None does where the host takes part: "
     "pipeline, "
     "api,\n"
     "serving, vectors that stream from the host, messages that the host drives."},
    {"batch",
     "Executions that each sample is the mean of: short kernels are timed together, enqueued "
     "behind "
     "one\ngate."},
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

constexpr Word kWords[]{
    {"speedup", "report --scaling: rate over that on the fewest ranks."},
    {"efficiency",
     "report --scaling: speedup over the factor of the ranks. predict: work per second and device "
     "over\nthat of the measured run."},
    {"serial",
     "A leg: computation and communication one after the other. report --scaling: the share of the "
     "time\nthat more ranks do not shrink, by Amdahl's law."},
    {"bandwidth", "Bytes in a second; of an exchange the slope of its fitted times."},
    {"numa", "The NUMA node of a rank's device or cores."},
    {"units",
     "1 GB/s = 1e9 bytes/s; Ki, Mi, Gi are powers of 1024, k, M, G of 1000; a fused multiply-add "
     "is "
     "2 flop."},
    {"resume", "run --resume NAME continues after the last finished case; see `explain results`."},
    {"doctor",
     "quadrille doctor shows and checks placement, devices and messages, and times nothing."},
    {"tune", "quadrille tune OPERATION finds the best configurations; see `explain tuning`."},
    {"simulated in", "What a simulation took on this host; the times in it are further rates."},
    {"gate",
     "Holds the device until the work of a sample is enqueued on all ranks, so that the clock "
     "shows "
     "the\n"
     "device and not the host. compare --gate: ends with 6 where something is SLOWER or BROKEN."},
    {"good?",
     "Whether the best variant of a case is as fast as it can be: yes, fair, no, or why nobody\n"
     "knows; the limit beside it says what keeps it from more."},
    {"limit",
     "What keeps a measurement from being faster: memory, cache, compute, PCIe, link, latency, "
     "launch\nor power."},
    {"flags",
     "What to know of a row before its numbers: SUSPECT, modelled link, or the verdict of one "
     "that\n"
     "has no speed; the footnote of its number says why."},
    {"swept", "The keys in which cases of one sweep differ, KEY=VALUE."},
    {"settings", "The keys that a case sets to other than their defaults, KEY=VALUE."},
    {"interval", "The 95 % interval of the median, as a share of it."},
    {"rounds", "Rounds of a burn-in, with the fastest and the slowest of their medians."},
    {"local",
     "Rate over that of the same work without communication; of a rank: its number in its node."},
    {"first use", "Time of the very first repetition, which loads code and makes connections."},
    {"what to try", "What brings the cases that are not good closer to their limits."},
    {"what stands out", "The verdicts and rows that a person should look at first."},
    {"the best of each case", "The fastest of our variants that passed in each case."},
    {"the best of each operation", "The fastest of our variants that passed, at the largest size."},
    {"best variant",
     "The fastest of our variants that passed; a reference or a vendor's never is."},
    {"the best transport", "What each transport reaches with the fastest of our variants."},
    {"best transport",
     "The one whose fastest variant has the highest rate; cases that differ in their transport\n"
     "alone are one case of the first screen."},
    {"operation", "Workload and type of a group of cases."},
    {"result", "Which of several results a row is of."},
    {"measurement", "A variant of a case, as it was measured."},
    {"series", "A line of a chart: what differs between the curves of one operation."},
    {"what", "What the technique changes, in one line."},
    {"published on", "The device of the figure that the technique's source published."},
    {"fact", "What is known of a build or a machine."},
    {"link",
     "What joins two devices: NVLink, PCIe, shared memory, a network; as a limit: messages take\n"
     "longer than the work they serve."},
    {"exchange", "A workload that only sends: its time is fitted as latency + bytes / bandwidth."},
    {"rank", "An MPI process; it drives one device."},
    {"node", "The host that a rank runs on."},
    {"uuid", "Identity of a GPU; two ranks with one share it."},
    {"pci", "Address of a GPU on its node."},
    {"cpus", "Cores that a rank may run on."},
    {"n", "Samples: timed repetitions that the median is of."},
    {"p95", "95 of 100 repetitions took at most so long."},
    {"% ceiling",
     "Rate over what the roofline allows, in percent; `reached` in the terminal report."},
    {"error / bound", "The largest error that the check found, and what it allows."},
    {"why", "Why there is no PASS, or why a time is not trusted."},
    {"summary", "Verdicts, what stands out, and the best of each operation."},
    {"scaling",
     "report --scaling joins results of different numbers of ranks: speedup, efficiency, the "
     "serial\n"
     "share of Amdahl's law (strong scaling) or what a doubling of ranks adds (weak: with weak = "
     "true\n"
     "the problem grows with the ranks), and latency and bandwidth of exchanges."},
    {"predict",
     "quadrille predict --ranks 8:4096:*2 RESULT fits rates and messages of a run and says what "
     "more\n"
     "ranks would take; further results, on more ranks, stand beside what was predicted."},
    {"ladder",
     "The variants of an operation in their reading order, from the plainest to the fastest, each "
     "with\n"
     "one technique more. report --ladder shows what each gains over the fastest above it."},
    {"variants", "The variants of each operation at one size, in their reading order."},
    {"sizes", "Rates and times over the sizes of a sweep."},
    {"roofline",
     "The most that a kernel of this many operations per byte reaches: the lesser of the device's "
     "peak\n"
     "and of that intensity times its bandwidth, both measured where `peak` and `copy` ran."},
    {"overlap",
     "Whether messages cost time of their own: four legs (compute, communicate, serial, "
     "overlapped) are\n"
     "measured in turn; hidden = (compute + communicate - overlapped) / the shorter of both."},
    {"links", "Latency and rate from each rank to each other."},
    {"clocks and power", "What devices told of themselves behind each repetition."},
    {"placement", "Node, device, cores and threads of each rank."},
    {"environment",
     "Versions, and the variables that may change a run: those of CUDA, NCCL, UCX, Open MPI, "
     "Slurm,\n"
     "OpenMP, Kokkos and HDF5, none that may hold a secret."},
    {"how to reproduce",
     "The configuration as it was resolved, and the command that runs it again."},
    {"what differs between the results",
     "Facts of build, machine and settings that are not the same."},
    {"exchanges: latency and bandwidth",
     "time = latency + bytes / bandwidth, fitted to each exchange."},
    {"change",
     "What compare found of a measurement: SLOWER, FASTER, SAME, AMBIGUOUS, BROKEN, REFUSED, ..."},
    {"new / base",
     "compare: the median time of the new run over that of the base, with its 95 % interval;\n"
     "below 1, in percent below 0, is faster."},
    {"base", "compare: the run, or several, with which the new one is compared."},
    {"new", "compare: the run that is judged, the last that is named."},
    {"ratios", "compare --html: new / base of every measurement, beside the margin."},
    {"notes", "What was left out of a joined report, and why."},
    {"transport_times",
     "How long exchanges took by each transport before the first case, by which transport = "
     "\"auto\"\n"
     "chose; `explain transports` has the rule."},
    {"auto takes", "The transport that transport = \"auto\" is for such an exchange."},
    {"events", "What happened during a run: signals, retries, a changed clock."},
    {"all measurements", "Every row of a result; a click on a column's head sorts."},
};

}  // namespace

std::span<Word const> words() { return kWords; }

std::string_view meaning_of(Answer answer) {
  using enum Answer;
  switch (answer) {
    case yes:
      return "good? The best variant reaches 80 % of its limit or of a copy, or 95 % of the "
             "vendor.";
    case fair:
      return "good? The best variant reaches half of its limit, or 80 % of the vendor; or it is "
             "close\n"
             "to one of both and far from the other.";
    case no: return "good? The best variant is below half of its limit and 80 % of the vendor.";
    case suspect:
      return "good? Its time is not trusted, for the reason beside SUSPECT, or none is that it is "
             "compared with.";
    case no_result: return "good? No variant of the case has a speed.";
    case unknown: return "good? There is neither a limit nor a vendor's row to compare with.";
  }
  return {};
}

std::string_view meaning_of(Limit limit) {
  using enum Limit;
  switch (limit) {
    case unknown: return "No limit is known of it.";
    case memory: return "limit: the bandwidth of the device's memory.";
    case cache: return "limit: a cache; it is faster than the memory's bandwidth allows.";
    case compute: return "limit: the units that compute, of the roofline's peak.";
    case pcie: return "limit: PCIe between devices and hosts, by its generation and width.";
    case link: return "limit: messages take longer than the work they serve.";
    case latency:
      return "limit: what each message and launch costs whatever it does: below 20 us for each of "
             "them,\nmessages of P ranks in log2 P rounds.";
    case launch:
      return "limit: what each launch or call costs whatever it does: below 20 us for each of "
             "them.";
    case power: return "limit: a GPU lowered its clock at its power limit, as NVML says.";
  }
  return {};
}

std::string_view meaning_of(kernels::Role role) {
  using enum kernels::Role;
  switch (role) {
    case own: return "A technique of this project.";
    case reference: return "The textbook: what others are compared with, never the best of a case.";
    case vendor: return "The vendor's library, one call for the whole operation.";
    case peer: return "Another program or library that does the same.";
    case ceiling: return "Moves the same bytes, or does the same work without communication.";
    case demonstration: return "Shows a mistake; its result is expected to be wrong: SKIP.";
  }
  return {};
}

std::string_view meaning_of(measure::Outcome outcome) {
  using enum measure::Outcome;
  switch (outcome) {
    case pass: return "The result was checked before and after timing and is right. Numbers count.";
    case fail:
      return "The result is wrong: a wrong element is named, and there is no speed. Exit code 1.";
    case wrong_library:
      return "The result of a library is wrong, and so is that of a plain call of it on the same "
             "operands.\n"
             "There is no speed, and nothing is compared with it. It fails no run.";
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
             "run.timeout.grace, and the other variants went on. Exit code 5.";
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
    case broken: return "It passed in the base, and is FAIL, ERROR or TIMEOUT now.";
    case slower: return "The 95 % interval of new time / base time lies above 1 + margin.";
    case faster: return "The 95 % interval of new time / base time lies below 1 - margin.";
    case ambiguous:
      return "The 95 % interval of new time / base time crosses a margin, there are too few "
             "samples "
             "for\n"
             "one, or a time is SUSPECT: the ratio is shown, in brackets. More repetitions, or a "
             "wider\n"
             "--margin, decide it. Exit code 9 where nothing else was found.";
    case no_speed: return "It did not pass on either side, or not any more for want of something.";
    case refused:
      return "It was measured otherwise (device, ranks, size, clock, ...), so that times say\n"
             "nothing about a change; every difference is named.";
    case only_in_base: return "The base alone has it.";
    case only_in_new: return "The new run alone has it.";
    case same:
      return "The 95 % interval of new time / base time lies within 1 - margin and 1 + margin.";
  }
  return {};
}

std::string_view meaning_of(Column const& column) {
  if (!column.metric.meaning.empty()) return column.metric.meaning;
  auto const* const found = std::ranges::find(kColumns, column.key, &Meaning::key);
  return found == std::end(kColumns) ? std::string_view{} : found->text;
}

}  // namespace quadrille::report
