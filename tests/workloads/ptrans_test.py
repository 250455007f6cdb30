# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Transposes out of and into the peers' memory, as those by messages, on every grid of the ranks.

Sizes that no grid and no block divides, more ranks than rows, blocks of one element and larger than the matrix.

ptrans_test.py RANKS BINARY LAUNCHER...
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check  # noqa: E402

INPUT = """
[run]
device = "host"
repetitions = 2
warmup = { count = 1, seconds = 0 }
check = "full"
vendor = "off"
transport = "ipc"

[[case]]
name = "whole"
workload = "ptrans"
type = ["f64", "i8"]
size = ["(133,207)", "(3,5)", "(517,90)"]
grid = "all"
panel = 60
variant = ["host_simd", "one_sided_get", "one_sided_put"]
legs = true

[[case]]
name = "cyclic"
workload = "ptrans"
type = "f32"
size = ["(133,207)", "(3,5)", "(90,517)"]
grid = "all"
block = [1, 7, 64]
variant = ["one_sided_get", "one_sided_put"]
legs = true

# Large enough for stores past the caches.
[[case]]
name = "large"
workload = "ptrans"
type = "f32"
size = "(1500,1300)"
block = [0, 100]
variant = ["one_sided_get", "one_sided_put"]
"""
ONE_SIDED = "['one_sided_get','one_sided_put']"
FAULTS = ("drop_message", "wrong_rank", "misplaced_wait")


def main():
    ranks = int(sys.argv[1])
    program = Program(sys.argv[2:])
    source = program.input(INPUT)
    process, report, _ = program.run(source, ranks=ranks)
    check(process.returncode == 0, "the run must pass", process)
    for case in report["cases"]:
        check(case["verdict"] == "PASS", f"{case['id']}: {case['verdict']}: {case['reason']}", process)
    digests = {}
    for case in report["cases"]:
        digests.setdefault(case["id"].split(":")[0], set()).add(case["digest"])
    check(all(len(of_case) == 1 for of_case in digests.values()), f"other bits: {digests}")
    rows = len(report["cases"])
    if ranks != 4:
        return print(f"{rows} rows pass on {ranks} ranks")

    small = ["--case", "ptrans", "--set", "size=(133,207)", "--set", "run.device=host", "--set", "run.repetitions=1",
             "--set", "run.warmup={count=1,seconds=0}", "--set", "run.vendor=off"]
    for fault in FAULTS:
        process, report, _ = program.run(*small, "--set", f"variant={ONE_SIDED}", "--set", "transport=ipc",
                                         "--set", "block=[0,16]", "--set", "grid=2x2", "--inject-fault", fault,
                                         ranks=ranks)
        check(process.returncode == 1, f"{fault} must fail", process)
        check(all(case["verdict"] == "FAIL" for case in report["cases"]), f"{fault} must be found in all", process)

    # Where no memory is shared it says so, and the best of the others runs.
    process, report, _ = program.run(*small, "--set", f"variant={ONE_SIDED[:-1]},'best']", "--set", "transport=mpi",
                                     ranks=ranks)
    found = {case["variant"]: (case["verdict"], case["reason"]) for case in report["cases"]}
    for refused in (found.pop("one_sided_get"), found.pop("one_sided_put")):
        check(refused[0] == "UNSUPPORTED" and "shares no memory" in refused[1], f"by mpi: {refused}", process)
    check([verdict for verdict, _ in found.values()] == ["PASS"], f"by mpi: {found}", process)
    process, report, _ = program.run(*small, "--set", "transport=ipc", ranks=ranks)
    best = [(case["variant"], case["verdict"]) for case in report["cases"]]
    check(best == [("one_sided_put", "PASS")], f"by ipc: {best}", process)
    print(f"{rows} rows pass on {ranks} ranks; {len(FAULTS)} faults are found")


main()
