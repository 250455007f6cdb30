// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/metrics.hpp"

#include <array>

namespace quadrille::commands {
namespace {

constexpr std::array kMetrics{
    Metric{"median", "s",
           "Median over repetitions of t = the slowest rank's time from a common barrier to the "
           "end of\n"
           "its stream. Each rank's clock stops before the closing barrier; all samples are in the "
           "file."},
    Metric{
        "interval", "s",
        "95 % interval of the median by order statistics (binomial), without any assumption about\n"
        "the distribution. The whole range where fewer than six repetitions were timed."},
    Metric{
        "rate", "per second",
        "Work of one repetition, summed over ranks, divided by the median time. The work of each\n"
        "workload is a formula: see `quadrille explain WORKLOAD`. 1 GB/s = 1e9 bytes/s; a fused\n"
        "multiply-add is 2 flop."},
    Metric{"peak", "%",
           "Rate as a share of what the devices of all ranks could do; empty where unknown."},
    Metric{
        "vendor", "ratio",
        "Median of the paired ratios: the vendor's time of a repetition over ours, both launched\n"
        "alternately in this run, with the 95 % interval of that median. Above 1 is faster."},
    Metric{"copy", "ratio", "Rate over the rate of a plain copy of the same bytes in this run."},
    Metric{"error", "scaled",
           "Largest error found by the check, scaled by the bound of the rounding analysis where "
           "there\n"
           "is one (1 is the limit); for exact results the number of differing elements is what "
           "counts."},
    Metric{"imbalance", "ratio",
           "Median over repetitions of the slowest rank's time over the mean of all ranks."},
    Metric{"cv", "ratio", "Standard deviation of the repetition times over their mean."},
    Metric{
        "hidden", "ratio",
        "(t_compute + t_communicate - t_overlapped) / min(t_compute, t_communicate) from four "
        "legs\n"
        "that are run alternately: 1 when the shorter part costs nothing, 0 when the two run one\n"
        "after the other, negative when they hinder each other. Raw, never clamped."},
    Metric{"bus", "B/s",
           "allreduce: 2 (P - 1) / P of the bytes over the time. What each link carries when the "
           "work\n"
           "is shared evenly, so that it compares with the link's rate for any number of ranks."},
    Metric{"latency", "s",
           "memory: the median over the number of steps of a walk, each of which needs the one "
           "before."},
    Metric{"bank conflicts", "wavefronts",
           "reduction: passes of shared memory beyond one for each request of a warp, of one rank, "
           "by a\n"
           "model from the addresses that the kernel's threads access."},
    Metric{"suspect", "flag",
           "Not trusted: the rate exceeds 1.05 x the peak, the coefficient of variation exceeds 20 "
           "%,\n"
           "or the imbalance exceeds 1.5. The number is shown, never removed."},
    Metric{"modelled link", "flag",
           "run.throttle was set: every message of a rank went through one modelled link of that "
           "rate.\n"
           "Good for tests of overlap, meaningless as a speed of this machine."},
};

}  // namespace

std::span<Metric const> metrics() { return kMetrics; }

}  // namespace quadrille::commands
