# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Each fault, injected into each workload, must turn it red and name what is wrong.

The sizes are those of small.toml, and of deep.toml, where sums are so long that rounding is not far
below the damage.

sabotage_test.py RANKS FAULT TESTED,... BINARY LAUNCHER...
"""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import TESTS, Program, check  # noqa: E402

# Faults of messages.
OF_MESSAGES = {"drop_message", "misplaced_wait"}
# Faults of inputs do not reach workloads that compute from indices, read what another kernel made, or
# keep their input in memory of the host.
OF_INPUTS = {"f32", "tf32", "bf16", "rank_one"}
WITH_INPUTS = {"vector", "copy", "reduction", "transpose", "ptrans", "gemm", "summa"}
BITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}
# The fault of one repetition needs another that is checked.
REPETITIONS = {"once": 2}
KEPT = {"f32": 24, "tf32": 11, "bf16": 8}


def cannot_apply(fault, case, communicates):
    """Whether the fault changes nothing there, which must be said and never pass."""
    if fault in OF_MESSAGES:
        return not communicates[case["workload"]]
    if fault not in OF_INPUTS:
        return False
    if case["workload"] not in WITH_INPUTS or "streamed" in case["id"]:
        return True
    return fault in KEPT and BITS.get(case["type"], 0) <= KEPT[fault]


def judge(fault, program, source, ranks, communicates):
    process, report, _ = program.run(TESTS / "workloads" / source, "--inject-fault", fault,
                                     "--set", f"run.repetitions={REPETITIONS.get(fault, 1)}", ranks=ranks)
    check(report is not None, "no result was written", process)
    check(process.returncode == 1, "a damaged run must end with 1", process)
    check("RESULT FAIL" in process.stdout, "the last line must say FAIL", process)
    for case in report["cases"]:
        where = f"{fault} in {case['id']} of {source}"
        if cannot_apply(fault, case, communicates):
            check(case["verdict"] == "UNSUPPORTED", f"{where}: {case['verdict']} instead of UNSUPPORTED", process)
            continue
        check(case["verdict"] == "FAIL", f"{where}: {case['verdict']} instead of FAIL", process)
        check(" on rank " in case["reason"] or "row " in case["reason"],
              f"{where}: the message does not name an element: {case['reason']}", process)
        check("expected" in case["reason"] and "got" in case["reason"],
              f"{where}: the message does not say what was expected: {case['reason']}", process)
        check(case["rate"] is None or not math.isfinite(case["rate"]) or fault == "stale" or case["rate"] == 0,
              f"{where}: a wrong result has no speed", process)
    return len(report["cases"])


def main():
    ranks, fault = int(sys.argv[1]), sys.argv[2]
    tested = set(sys.argv[3].split(","))
    program = Program(sys.argv[4:])
    faults = {row["name"] for row in program.listed("faults")}
    check(faults == tested, f"tested are {sorted(tested)}, there are {sorted(faults)}")
    communicates = {workload["name"]: workload["communicates"] for workload in program.listed("workloads")}
    count = sum(judge(fault, program, source, ranks, communicates) for source in ("small.toml", "deep.toml"))
    print(f"{fault}: {count} cases turned red or were refused as they should")


main()
