# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Executions that follow each other without a reset leave right results, whatever panels and buffers.

batch_test.py RANKS BINARY LAUNCHER...
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
vendor = "off"
batch = 8

[[case]]
name = "summa"
workload = "summa"
size = "(96,112,300)"
panel = [16, 64]
buffers = "1:3:+1"
variant = "host_simd"

[[case]]
name = "ptrans"
workload = "ptrans"
size = "(233,307)"
panel = [16, 64]
buffers = "1:3:+1"
"""


def main():
    ranks = int(sys.argv[1])
    program = Program(sys.argv[2:])
    source = program.input(INPUT)
    process, report, _ = program.run(source, ranks=ranks)
    check(report is not None and len(report["cases"]) == 12, "all cases must run", process)
    for case in report["cases"]:
        check(case["verdict"] == "PASS", f"{case['id']}: {case['verdict']}: {case['reason']}", process)
    check(process.returncode == 0, "the run must pass", process)


main()
