// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/subjects.hpp"

namespace quadrille::commands {
namespace {

constexpr Subject kSubjects[]{
    {"exit codes", "what the program returns, and which code wins",
     R"(0  all passed
1  a result is wrong
2  usage or configuration
3  environment: no such GPU, too little memory, a variant that a case names cannot run
4  run-time error: CUDA, NCCL, MPI, HDF5, a full disk
5  time-out
6  slower or broken (compare --gate)
7  interrupted: what is finished is kept
8  nothing executed, or no baseline to compare with
9  nothing could be decided: too few samples, or times that are not trusted
Where several hold, the first in the order 2, 5, 4, 3, 1, 6, 9, 7, 8. The same on every rank.
A 1 without a RESULT line is the launcher's, no wrong result: mpirun ends so where it cannot start the
ranks, and when it is told to stop. The scripts in jobs/ end with 4 then.)"},
    {"results", "what a run writes, and how it goes on after an end",
     R"(results/RUN/result.h5 holds everything on the screen, every timed sample of every rank, the
resolved configuration, versions, environment and placement. result.jsonl beside it has a line
per finished case: a run that fails shows, and a killed run keeps, what it finished, and
`report` says that it did not end. config.toml is the resolved input; log.txt has every column
of every table;
fields/CASE.h5 the arrays of the last repetition of a case with save = true; .lock says which
process writes there. A full disk ends the run with 4, one line that names the file, and the
table of what is finished. Where output to the screen, log.txt or result.h5 alone is lost, all
cases run, and the end is 4.
run ... --resume latest (or the name of the directory) continues after the last finished case:
same input, options, build, ranks and devices, else it says what differs. Transports are chosen
by the times that the run had measured.
rerun RESULT [--case ID] repeats a run, or one measurement of it, and says what differs now.)"},
    {"comparing", "what compare judges, and what it refuses",
     R"(compare BASE... NEW matches measurements by what they are, whatever their cases are called,
and judges the 95 % interval of the ratio of their median times: SAME within --margin (1 %), SLOWER
or FASTER beyond it, AMBIGUOUS where it crosses, or where a time is SUSPECT: take more
repetitions. Where all is AMBIGUOUS, the end is 9. Below 6 repetitions there is no interval, up to
8 it is the whole range. What was measured otherwise (device, ranks, size, clock, ...) is REFUSED
and each difference named; what passed and now fails is BROKEN. The interval of one run knows how its samples vary, not how runs
differ: several base runs show that and widen it, three or more to any purpose. --gate ends with
6 where something is SLOWER or BROKEN, or missing in a run that did not end. --html FILE writes a
page with all ratios, their intervals and the margin as a chart; --json (compare.schema.json) and
--junit FILE are for programs.)"},
    {"repetitions", "how often a case runs, and when it is enough",
     R"(repetitions = 20 are timed, behind warmup = { count = 3, seconds = 0.5 }. With stop = "1 %"
more, at most 1000, until the 95 % interval of every variant's median is within so much of it.
Variants of a case are launched alternately, so that all see the same clocks. clock =
"sustained" runs each for 3 s of its own without a pause, and shows the energy of a repetition
and the rate per watt where GPUs tell.)"},
    {"clocks", "whose clock times a repetition",
     R"(On a GPU its own, by events that it reaches once the work is enqueued, so that no launch is
in them; on a host its clock after a synchronisation. GPU kernels below 50 us are timed in batches
of 100, which rotate over buffers larger than the last-level cache (cache = "hot": the same ones
again and again). Every vendor row takes as long as a loop of plain calls of its library, which
a test audits.)"},
    {"burn-in", "the same cases for hours, each round compared with the first",
     R"(run --duration 1h runs all cases again and again. Each round must have the bits of the
first; SUSPECT where rounds differ in time or a GPU counts errors (ECC, Xid, PCIe, NVLink). Samples
are those of the last round, so that days take no more memory than minutes.)"},
    {"memory use", "what a case takes, and sizes that fit",
     R"(--dry-run shows before any work what memory each case takes, on the GPU and on the host, and
about how long; --as "H100 SXM" the same for a device that need not be here, with the variants that
it cannot run, and --json as JSON. The table [about] of an input says for which devices and ranks it
is: on these a plan fails as the run would, elsewhere it lists what is left out. size = "auto:70%" takes as much as fits into that share of what is free, control
groups and all that a case allocates included; a check adds at most 64 MiB to a rank.)"},
    {"types", "what arrays hold, products are added in, and results hold",
     R"(type says what the arrays hold, compute what products are multiplied and added in, and out
(gemm) what C holds. 16-bit types are computed in f32 and may be stored as f32: type = "f16",
out = "f32".)"},
    {"checks", "how a result is judged, and how the judge is judged",
     R"(Inputs are a pure function of seed, array and global index: they differ by position and by
rank, and any rank recomputes any element. Outputs are NaN before each repetition. A case is checked
before timing on other data than the timed, and again on the last timed repetition, so that
neither an old result nor a skipped write passes. A digest of the output's bits is taken after
every repetition, outside the clock: all must equal that of the checked one, but for variants
that add in any order.
Transposes, exchanges and files are compared bit by bit; of an allreduce each rank judges a
slice, and all must hold its bits. Products: sampled entries plus Freivalds' test for all rows,
C x - alpha A (B x) - beta C0 x with two vectors of whole numbers from the seed; bad rows are
recomputed to name the element. The bound adds random roundings up: right results stay below
half of it, those of inputs that were rounded to the next smaller type exceed it (f32 from TF32
inputs 4 times at k = 2^20).
Reductions: against an independent sum, by the depth of the variant's tree; exact on integer
data. Integrals: against the closed form, per rank and in total. Where a bound is not below the
value, zero would pass: that is UNSUPPORTED. reproducible = true (integral, reduction) gives the
same bits for any number of ranks.
--inject-fault FAULT damages inputs, repetitions or results on purpose, and the run must fail
and name the element; selftest does this for every fault, workload and transport that exists
here, also where sums are 131072 long, and ends with 1 where one is not found.)"},
    {"architectures", "which GPUs kernels are compiled for",
     R"(Kernels are compiled for H100 and H200 (90a). For other GPUs configure with their compute
capability, -DQUADRILLE_CUDA_ARCHITECTURES=80, or for several with a list, "80;90a;100" (A100,
Hopper, B200; 8.0 is the earliest): the build takes about as many times as long, and each device
runs what is for it. The wgmma rows are 90a alone, tensor copies and clusters are for 9.0 and
later: elsewhere lists and results say UNSUPPORTED and what is missing, and variant = "best"
takes the best of what runs.)"},
    {"kokkos build", "one source for host and GPU, compiled for both",
     R"(A kokkos variant is one source for host and GPU, compiled for the host by default. With
  jobs/setup.sh --kokkos-cuda && cmake --preset kokkos-cuda && cmake --build --preset kokkos-cuda
it runs on the GPU too, as a third column beside our kernels and the vendor's; such a program needs
a GPU and its driver to start.)"},
    {"transports", "how data travel between ranks",
     R"(transport = "auto", the default, takes what is fastest for the messages of a case, by operation
and size: a run with such cases measures before the first of them, in a second or two, all that
serve its ranks. The preferred one, "nccl" where every rank has a GPU of its own and else "mpi",
gives way only to one that is 10 % faster, so that the choice stays from run to run; where nothing
decides, as under a throttle, it is taken. Results name what was taken and keep the times
(transport_times); mpirun -n 2 quadrille doctor shows them. Between runs that both chose, compare
takes the transport for a result and says where it changed. "mpi" goes through pinned memory;
"mpi_gpu" hands memory of GPUs to an MPI that says that it takes it, after a trial with patterns,
and reduces as mpi does, on the host; "ipc", between ranks of one node, goes through memory that
they share: copies ordered by words that streams set and wait for, also on host devices; on GPUs
kernels for exchanges that overlap nothing. summa then reads panels, and ptrans works
(one_sided_get, one_sided_put), in the peers' memory itself. "hybrid" takes ipc within nodes and
nccl or mpi between them; --fake-nodes 2 counts the halves of a node as nodes, to try it on one.
"all" makes a case for each, and reports say which was the best. throttle = "500 MB/s" sends all
messages of a rank through one modelled link, to prove overlap on any machine
(inputs/overlap.toml); such results are marked. nccl_ctas limits the multiprocessors that NCCL
takes from what is computed meanwhile; beside products with sms it takes those that they leave.
Without sms, products of summa whose panels kernels move start a block for each tile, not one for
each multiprocessor that stays: as they end, they make room for those kernels.
cuBLAS, NCCL, NVML and NVRTC are looked for at run time.)"},
    {"tuning", "the fastest configuration of a kernel for this device",
     R"(tune gemm --set type=f32 --set size=[2Ki,8Ki] searches all legal configurations of the
tunable kernels, in turn with the untuned choice: NVRTC compiles them from their own source,
successive halving times the better ones more, and what wins was checked. It is kept per device,
type, layout and nearest powers of two of the extents in $XDG_CACHE_HOME/quadrille/tuned.toml (else
~/.cache), before the program's own table; variant = "best" and the tunable variants take it,
results name the configuration, run.tuned = "off" ignores it. An interrupted search goes on with
the same command. Where nothing was found, "best" of gemm is the fastest of a short search among own
variants before the case (50 ms, or three executions of four), which "off" leaves out, too; the
user's table keeps it for exactly this case.
config = "tuned_tiles BM=64,BN=64,BK=16,TM=8,TN=4" takes a configuration of your own,
config = "mma_tuned SLOTS=3" changes one thing alone.)"},
};

}  // namespace

std::span<Subject const> subjects() { return kSubjects; }

}  // namespace quadrille::commands
