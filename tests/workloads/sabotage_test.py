# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Each fault, injected into each workload, must turn it red and name what is wrong.

sabotage_test.py RANKS FAULT TESTED,... BINARY LAUNCHER...
"""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import TESTS, Program, check  # noqa: E402

# What this one makes wrong is the time alone: the test of overlap has it.
JUDGED_BY_TIME = {"misplaced_wait"}


def main():
    ranks, fault = int(sys.argv[1]), sys.argv[2]
    tested = set(sys.argv[3].split(",")) | JUDGED_BY_TIME
    program = Program(sys.argv[4:])
    faults = {row["name"] for row in program.listed("faults")}
    check(faults == tested, f"tested are {sorted(tested)}, there are {sorted(faults)}")
    communicates = {workload["name"]: workload["communicates"] for workload in program.listed("workloads")}
    process, report, _ = program.run(TESTS / "workloads" / "small.toml", "--inject-fault", fault, ranks=ranks)
    check(report is not None, "no result was written", process)
    check(process.returncode == 1, "a damaged run must end with 1", process)
    check("RESULT FAIL" in process.stdout, "the last line must say FAIL", process)
    for case in report["cases"]:
        where = f"{fault} in {case['id']}"
        # Where nothing is sent, nothing can be dropped.
        if fault == "drop_message" and not communicates[case["workload"]]:
            check(case["verdict"] == "SKIP", f"{where}: {case['verdict']} instead of SKIP", process)
            continue
        check(case["verdict"] == "FAIL", f"{where}: {case['verdict']} instead of FAIL", process)
        check(" on rank " in case["reason"] or "row " in case["reason"],
              f"{where}: the message does not name an element: {case['reason']}", process)
        check("expected" in case["reason"] and "got" in case["reason"],
              f"{where}: the message does not say what was expected: {case['reason']}", process)
        check(case["rate"] is None or not math.isfinite(case["rate"]) or fault == "stale" or case["rate"] == 0,
              f"{where}: a wrong result has no speed", process)
    print(f"{fault}: {len(report['cases'])} cases turned red or were skipped as they should")


main()
